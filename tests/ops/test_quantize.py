"""cortex_m::quantize_per_tensor and dequantize_per_tensor, called directly: ties, bounds, special values."""

from __future__ import annotations

import math

import torch

from harness import Case, Check, cases
from tests.ops.inputs import EDGE_SIZES, Inputs, uniform


class Quantize(torch.nn.Module):
    def __init__(self, scale: float, zero_point: int, dtype: torch.dtype = torch.int8) -> None:
        super().__init__()
        self.scale, self.zero_point, self.dtype = scale, zero_point, dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        info = torch.iinfo(self.dtype)
        return torch.ops.cortex_m.quantize_per_tensor(
            x, self.scale, self.zero_point, info.min, info.max, self.dtype
        )


class Dequantize(torch.nn.Module):
    def __init__(self, scale: float, zero_point: int, dtype: torch.dtype = torch.int8) -> None:
        super().__init__()
        self.scale, self.zero_point, self.dtype = scale, zero_point, dtype

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        info = torch.iinfo(self.dtype)
        return torch.ops.cortex_m.dequantize_per_tensor(
            q, self.scale, self.zero_point, info.min, info.max, self.dtype
        )


def ties(scale: float) -> Inputs:
    """All products that lie half-way between two steps, for a scale whose reciprocal is exact."""

    def make(rng: torch.Generator) -> tuple[torch.Tensor]:
        return ((torch.arange(-140, 140) + 0.5) * scale,)

    return make


def infinities(rng: torch.Generator) -> tuple[torch.Tensor]:
    return (torch.tensor([math.inf, -math.inf, 3e38, -3e38, 0.0, -0.0, 1e-40] * 3),)


def all_int8(rng: torch.Generator) -> tuple[torch.Tensor]:
    return (torch.arange(-128, 128, dtype=torch.int16).to(torch.int8),)


def some_int16(rng: torch.Generator) -> tuple[torch.Tensor]:
    return (torch.randint(-32768, 32768, (77,), generator=rng, dtype=torch.int16),)


@cases(
    "m55 m85",
    n17=Case(lambda rng: Quantize(0.02, 3), uniform((17,)), quantize=False),
    ties=Case(lambda rng: Quantize(0.25, 0), ties(0.25), quantize=False),
)
def test_quantize(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    **{
        f"n{n}": Case(lambda rng: Quantize(0.02, 3), uniform((n,)), quantize=False)
        for n in EDGE_SIZES
        if n != 17
    },
    ties_odd_zero_point=Case(lambda rng: Quantize(0.5, -7), ties(0.5), quantize=False),
    saturating=Case(lambda rng: Quantize(0.01, 5), uniform((99,), low=-9, high=9), quantize=False),
    infinities=Case(lambda rng: Quantize(0.125, 11), infinities, quantize=False),
    int16=Case(lambda rng: Quantize(0.001, 0, torch.int16), uniform((45,), low=-40, high=40), quantize=False),
)
def test_quantize_of_other_values(case: Case, check: Check) -> None:
    check(case)


@cases("m55 m85", all=Case(lambda rng: Dequantize(0.0371, -5), all_int8, quantize=False))
def test_dequantize(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    low_zero_point=Case(lambda rng: Dequantize(1.5e-7, -128), all_int8, quantize=False),
    int16=Case(lambda rng: Dequantize(0.0007, 12, torch.int16), some_int16, quantize=False),
)
def test_dequantize_of_other_values(case: Case, check: Check) -> None:
    check(case)
