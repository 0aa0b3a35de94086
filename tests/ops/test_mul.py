"""cortex_m::quantized_mul: bit-exact against the dialect reference."""

from __future__ import annotations

from functools import partial

import torch

from harness import Case, Check, cases
from tests.ops.inputs import EDGE_SIZES, calibrated, channels_last, constant, ranges, uniform


class Mul(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y


class Square(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x


mul = partial(Case, lambda rng: Mul())


@cases(
    "m55 m85",
    n17=mul(uniform((17,), (17,))),
    channel_broadcast=mul(channels_last(uniform((1, 17, 3, 5), (1, 17, 1, 1)))),
    saturating=mul(uniform((64,), (64,), low=-4, high=4), calibration=calibrated(uniform((64,), (64,)))),
)
def test_mul(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    **{f"n{n}": mul(uniform((n,), (n,))) for n in EDGE_SIZES if n != 17},
    rank3=mul(uniform((2, 3, 5), (2, 3, 5))),
    channels_last=mul(channels_last(uniform((1, 5, 3, 3), (1, 5, 3, 3)))),
    positive=mul(uniform((37,), (37,), low=1.0, high=3.0)),
    negative=mul(uniform((37,), (37,), low=-9.0, high=-2.0)),
    unequal_scales=mul(ranges(((50,), -0.01, 0.01), ((50,), -100.0, 90.0))),
    zeros=mul(constant(0.0, (19,), (19,))),
    square=Case(lambda rng: Square(), uniform((33,))),
)
def test_mul_of_other_forms(case: Case, check: Check) -> None:
    check(case)
