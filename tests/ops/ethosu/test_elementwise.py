"""Functions of two tensors: broadcasting, unequal scales, 8 and 16 bits; comparisons on U85."""

from __future__ import annotations

from functools import partial

import torch

from harness import Case, Check, cases
from tests.ops.inputs import calibrated, channels_last, ranges, uniform
from tests.ops.modules import of

PAIR = uniform((2, 3, 5), (2, 3, 5), low=-3.0, high=1.0)
add, sub, mul = (partial(Case, of(function)) for function in (torch.add, torch.sub, torch.mul))


@cases(
    "u55 u65 u85",
    rank3=add(PAIR),
    broadcast=add(uniform((2, 3, 5), (1, 3, 1))),
    int16=add(PAIR, activation_bits=16),
)
def test_add(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    channels_last=add(channels_last(uniform((1, 5, 3, 7), (1, 5, 3, 7)))),
    unequal_scales=add(ranges(((50,), -0.01, 0.01), ((50,), -100.0, 90.0))),
    saturating=add(uniform((64,), (64,), low=-4, high=4), calibration=calibrated(uniform((64,), (64,)))),
    to_self=Case(of(lambda x: x + x), uniform((3, 11))),
    scalar=Case(of(torch.add, 0.75), uniform((3, 11))),
    alpha=Case(of(torch.add, alpha=3), PAIR),
    relu=Case(of(lambda x, y: torch.relu(x + y)), PAIR),
)
def test_add_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    rank3=sub(PAIR),
    broadcast_left=sub(uniform((1, 3, 1), (2, 3, 5))),
    reversed=Case(of(lambda x: 1.5 - x), uniform((3, 11))),
)
def test_sub(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", rank3=mul(PAIR), int16=mul(PAIR, activation_bits=16))
def test_mul(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    channels=mul(uniform((1, 6, 3, 5), (1, 6, 1, 1))),
    unequal_scales=mul(ranges(((50,), -0.01, 0.01), ((50,), -100.0, 90.0))),
    scalar=Case(of(torch.mul, -2.5), uniform((3, 11))),
)
def test_mul_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u85", rank2=Case(of(torch.div), ranges(((3, 7), -2.0, 2.0), ((3, 7), 1.0, 3.0))))
def test_div(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", minimum=Case(of(torch.minimum), PAIR), maximum=Case(of(torch.maximum), PAIR))
def test_minmax(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    minimum_broadcast=Case(of(torch.minimum), uniform((2, 3, 5), (1, 3, 1))),
    maximum_int16=Case(of(torch.maximum), PAIR, activation_bits=16),
)
def test_minmax_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u85",
    eq=Case(of(lambda x: x == torch.relu(x)), uniform((3, 11))),
    gt=Case(of(torch.gt), PAIR),
    ge_scalar=Case(of(torch.ge, 0.25), uniform((3, 11))),
    lt_broadcast=Case(of(torch.lt), uniform((2, 3, 5), (1, 3, 1))),
)
def test_comparison(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u85",
    tensors=Case(of(lambda x, y: torch.where(x > y, x, y * 2.0)), PAIR),
    both=Case(of(lambda x, y: torch.where((x > y) & (x < 0.5), x, y)), PAIR),
)
def test_where(case: Case, check: Check) -> None:
    check(case)
