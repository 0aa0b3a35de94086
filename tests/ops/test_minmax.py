"""cortex_m::minimum and maximum: exact copies of input values, with broadcasting."""

from __future__ import annotations

import torch

from harness import Case, Check, cases
from tests.ops.inputs import channels_last, ranges, uniform


class Minimum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.minimum(x, y)


class Maximum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.maximum(x, y)


INPUTS = {
    **{f"n{n}": uniform((n,), (n,)) for n in (1, 15, 16, 17, 33)},
    "rank2": uniform((3, 7), (3, 7)),
    "row": uniform((5, 17), (17,)),
    "column": uniform((5, 17), (5, 1)),
    "scalar": uniform((3, 11), (1,)),
    "rank4": uniform((2, 3, 4, 5), (1, 3, 1, 5)),
    "channels_last": channels_last(uniform((1, 5, 3, 4), (1, 5, 3, 4))),
    "channels_last_broadcast": channels_last(uniform((1, 5, 3, 4), (1, 5, 1, 1))),
    "disjoint": ranges(((20,), -3.0, -2.0), ((20,), 1.0, 4.0)),
}


BOTH_CORES = ("n17", "rank4", "channels_last_broadcast")


def minimum(on_both: bool) -> dict[str, Case]:
    return {
        name: Case(lambda rng: Minimum(), inputs)
        for name, inputs in INPUTS.items()
        if (name in BOTH_CORES) == on_both
    }


def maximum(on_both: bool) -> dict[str, Case]:
    return {
        name: Case(lambda rng: Maximum(), inputs)
        for name, inputs in INPUTS.items()
        if (name in BOTH_CORES) == on_both
    }


@cases("m55 m85", **minimum(on_both=True))
def test_minimum(case: Case, check: Check) -> None:
    check(case)


@cases("m55", **minimum(on_both=False))
def test_minimum_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("m55 m85", **maximum(on_both=True))
def test_maximum(case: Case, check: Check) -> None:
    check(case)


@cases("m55", **maximum(on_both=False))
def test_maximum_of_other_forms(case: Case, check: Check) -> None:
    check(case)
