"""Activations: tables of 8 and 16 bits, clamps fused into their producer, softmax."""

from __future__ import annotations

from functools import partial

import torch
from torch.nn import functional

from harness import Case, Check, cases
from tests.ops.inputs import Inputs, calibrated, uniform
from tests.ops.modules import of


def ramp(low: float, high: float, steps: int) -> Inputs:
    """Equal steps: with 257 of them, each entry of an int8 table is read."""

    def make(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return (torch.linspace(low, high, steps),)

    return make


RAMP = ramp(-8.0, 8.0, 257)
sigmoid = partial(Case, of(torch.sigmoid))
tanh = partial(Case, of(torch.tanh))
relu = partial(Case, of(torch.relu))
softmax = functional.softmax


@cases(
    "u55 u65 u85",
    ramp=sigmoid(RAMP),
    rank4=sigmoid(uniform((1, 5, 3, 7), low=-6.0, high=2.0)),
    int16=sigmoid(ramp(-8.0, 8.0, 1001), activation_bits=16),
)
def test_sigmoid(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    narrow=sigmoid(uniform((3, 17))),
    saturating=sigmoid(uniform((77,), low=-9.0, high=9.0), calibration=calibrated(uniform((77,)))),
    int16_rank3=sigmoid(uniform((2, 3, 11), low=-3.0, high=7.0), activation_bits=16),
)
def test_sigmoid_of_other_ranges(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", ramp=tanh(RAMP))
def test_tanh(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    int16=tanh(ramp(-8.0, 8.0, 1001), activation_bits=16),
)
def test_tanh_int16(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    ramp=relu(RAMP),
    int16=relu(uniform((3, 19)), activation_bits=16),
)
def test_relu(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    hardtanh_bounds=Case(of(functional.hardtanh, -2.5, 0.75), RAMP),
    hardswish=Case(of(functional.hardswish), RAMP),
    hardsigmoid=Case(of(functional.hardsigmoid), RAMP),
    gelu=Case(of(functional.gelu), RAMP),
    silu=Case(of(functional.silu), RAMP),
    elu=Case(of(functional.elu), RAMP),
    leaky_relu=Case(of(functional.leaky_relu, 0.1), RAMP),
    glu=Case(of(functional.glu), uniform((3, 14), low=-4.0, high=4.0)),
)
def test_activation(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", rows=Case(of(softmax, dim=-1), uniform((2, 10), low=-4.0, high=4.0)))
def test_softmax(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    channels=Case(of(softmax, dim=1), uniform((1, 5, 3, 2), low=-4.0, high=4.0)),
    logarithmic=Case(of(functional.log_softmax, dim=-1), uniform((2, 7), low=-3.0, high=3.0)),
)
def test_softmax_of_other_forms(case: Case, check: Check) -> None:
    check(case)
