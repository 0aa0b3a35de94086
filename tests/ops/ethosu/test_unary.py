"""Functions of one tensor, each over its domain; most become a table."""

from __future__ import annotations

from typing import Any

import torch

from harness import Case, Check, cases
from tests.ops.inputs import uniform
from tests.ops.modules import of

SHAPE = (1, 4, 5, 7)


def unary(function: Any, low: float, high: float, *more: Any, **declared: Any) -> Case:
    return Case(of(function, *more), uniform(SHAPE, low=low, high=high), **declared)


@cases("u55 u65 u85", exp=unary(torch.exp, -3.0, 2.0), abs=unary(torch.abs, -3.0, 2.0))
def test_unary(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    exp_int16=unary(torch.exp, -3.0, 2.0, activation_bits=16),
    log=unary(torch.log, 0.1, 9.0),
    log1p=unary(torch.log1p, -0.5, 9.0),
    sqrt=unary(torch.sqrt, 0.0, 9.0),
    rsqrt=unary(torch.rsqrt, 0.5, 9.0),
    reciprocal=unary(torch.reciprocal, 0.5, 9.0),
    erf=unary(torch.erf, -3.0, 3.0),
    pow2=unary(torch.pow, -3.0, 2.0, 2),
    pow_half=unary(torch.pow, 0.1, 4.0, 1.5),
)
def test_powers(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    sin=unary(torch.sin, -7.0, 7.0),
    cos=unary(torch.cos, -7.0, 7.0),
    atan=unary(torch.atan, -5.0, 5.0),
)
def test_trigonometry(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    abs_int16=unary(torch.abs, -3.0, 2.0, activation_bits=16),
    neg=unary(torch.neg, -3.0, 2.0),
    floor=unary(torch.floor, -3.0, 2.0),
    ceil=unary(torch.ceil, -3.0, 2.0),
    round=unary(torch.round, -3.0, 2.0),
    clamp=unary(torch.clamp, -3.0, 2.0, -1.5, 0.5),
)
def test_sign_and_rounding(case: Case, check: Check) -> None:
    check(case)
