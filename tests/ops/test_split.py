"""aten::split_with_sizes_copy: one tensor into a list of tensors, along any dimension."""

from __future__ import annotations

import torch

from harness import Case, Check, cases
from tests.ops.inputs import uniform


class Split(torch.nn.Module):
    def __init__(self, sizes: list[int], dim: int) -> None:
        super().__init__()
        self.sizes, self.dim = sizes, dim

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.split(x, self.sizes, self.dim))


def split(shape: tuple[int, ...], sizes: list[int], dim: int) -> Case:
    return Case(lambda rng: Split(sizes, dim), uniform(shape), quantize=False)


SPLITS = {
    "rows": split((6, 4), [1, 3, 2], 0),
    "columns": split((3, 33), [16, 16, 1], -1),
    "middle": split((2, 5, 3), [2, 3], 1),
    "whole": split((4, 4), [4], 0),
    "empty": split((2, 4), [0, 4], 1),
}


@cases("m55", **SPLITS)
def test_split(case: Case, check: Check) -> None:
    check(case)
