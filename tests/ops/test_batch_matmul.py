"""cortex_m::quantized_batch_matmul: bit-exact, with a computed and with a constant right side."""

from __future__ import annotations

import torch

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import ranges, uniform


class Bmm(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


class Matmul(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


class ConstantRight(torch.nn.Module):
    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("right", torch.rand(2, 19, 6, generator=rng) - 0.3)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        right = self.right
        assert isinstance(right, torch.Tensor)
        return torch.bmm(a, right)


@cases(
    "m55 m85",
    one=Case(lambda rng: Bmm(), uniform((1, 1, 1), (1, 1, 1))),
    batches=Case(lambda rng: Bmm(), uniform((3, 5, 17), (3, 17, 9))),
    zero_points=Case(lambda rng: Bmm(), ranges(((2, 4, 33), 1.0, 5.0), ((2, 33, 16), -7.0, -1.0))),
    rank4=Case(lambda rng: Matmul(), uniform((1, 2, 7, 8), (1, 2, 8, 5))),
    constant=Case(ConstantRight, uniform((2, 3, 19))),
)
def test_batch_matmul(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    assert lowered_graph(harness.lower(case)).counts["cortex_m::quantized_batch_matmul"] == 1
