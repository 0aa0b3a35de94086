"""Operators that move values: joined, split, sliced, permuted, padded; several outputs."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from harness import Case, Check, cases
from tests.ops.inputs import ranges, uniform
from tests.ops.modules import of

INPUT = uniform((2, 3, 4, 5))


def moved(function: Any, *more: Any, inputs: Any = INPUT, bits: int = 8, **options: Any) -> Case:
    return Case(of(function, *more, **options), inputs, activation_bits=bits)


def cat(dim: int) -> Any:
    return lambda *tensors: torch.cat(tensors, dim)


@cases(
    "u55 u65 u85",
    channels=moved(cat(1), inputs=uniform((1, 3, 4, 5), (1, 2, 4, 5))),
    unequal_scales=moved(cat(0), inputs=ranges(((3, 7), -0.1, 0.1), ((2, 7), -3.0, 2.0))),
)
def test_cat(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    int16=moved(cat(1), inputs=uniform((1, 3, 4), (1, 2, 4)), bits=16),
    stack=moved(lambda x, y: torch.stack((x, y), 1), inputs=uniform((2, 5), (2, 5))),
)
def test_cat_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    split=moved(torch.split, 2, 1, inputs=uniform((1, 5, 3))),
    unbind=moved(torch.unbind, 1, inputs=uniform((2, 3, 4))),
)
def test_split(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", middle=moved(lambda x: x[:, 1:, :3]))
def test_slice(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    strided=moved(lambda x: x[:, :, ::2]),
    select=moved(torch.select, 1, 2),
)
def test_slice_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", last=moved(torch.permute, (0, 2, 3, 1), inputs=uniform((1, 3, 4, 5))))
def test_permute(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    rank3=moved(torch.permute, (2, 0, 1), inputs=uniform((2, 3, 5))),
    reversed=moved(torch.permute, (3, 2, 1, 0), inputs=uniform((1, 3, 4, 5))),
    transpose=moved(torch.transpose, 1, 2, inputs=uniform((1, 3, 5))),
)
def test_permute_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    unsqueeze=moved(torch.unsqueeze, 1, inputs=uniform((2, 5))),
    expand=moved(lambda x: x.expand(2, 3, 5), inputs=uniform((1, 3, 1))),
    repeat=moved(lambda x: x.repeat(2, 3), inputs=uniform((2, 5))),
    pixel_shuffle=moved(functional.pixel_shuffle, 2, inputs=uniform((1, 8, 3, 2))),
)
def test_view(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", image=moved(functional.pad, (1, 2, 3, 0), inputs=uniform((1, 3, 4, 5))))
def test_pad(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    value=moved(functional.pad, (1, 1), value=0.5, inputs=uniform((1, 3, 5))),
    reflect=moved(functional.pad, (1, 2, 2, 1), mode="reflect", inputs=uniform((1, 3, 4, 5))),
)
def test_pad_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u85", rows=moved(torch.flip, (2,), inputs=uniform((1, 3, 4, 5))))
def test_flip(case: Case, check: Check) -> None:
    check(case)


ROWS = torch.tensor([3, 0, 2], dtype=torch.int32)


@cases(
    "u85",
    index_select=moved(lambda x: torch.index_select(x, 0, ROWS), inputs=uniform((5, 7))),
    index=moved(lambda x: x[ROWS], inputs=uniform((5, 7))),
)
def test_gather(case: Case, check: Check) -> None:
    check(case)
