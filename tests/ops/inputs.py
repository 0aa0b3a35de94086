"""Input factories: seeded, made by the case and never at import time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Inputs = Callable[[torch.Generator], tuple[torch.Tensor, ...]]
Calibration = Callable[[torch.Generator], list[tuple[Any, ...]]]

# Around the length of an MVE vector of int8 (16) and of float32 (4).
EDGE_SIZES = (1, 3, 4, 5, 7, 15, 16, 17, 31, 32, 33)


def uniform(*shapes: tuple[int, ...], low: float = -1.0, high: float = 1.0) -> Inputs:
    """Independent uniform values for each shape."""

    def make(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return tuple(torch.rand(shape, generator=rng) * (high - low) + low for shape in shapes)

    return make


def ranges(*tensors: tuple[tuple[int, ...], float, float]) -> Inputs:
    """Uniform values with bounds of their own for each tensor: (shape, low, high)."""

    def make(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return tuple(torch.rand(s, generator=rng) * (high - low) + low for s, low, high in tensors)

    return make


def channels_last(make: Inputs) -> Inputs:
    """The same values, 4-D tensors stored channels-last."""

    def remake(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return tuple(x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in make(rng))

    return remake


def constant(value: float, *shapes: tuple[int, ...]) -> Inputs:
    """Every element the same."""

    def make(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return tuple(torch.full(shape, value) for shape in shapes)

    return make


def calibrated(make: Inputs) -> Calibration:
    """Calibrate with other values than those that are run: narrower ones make the run saturate."""

    def samples(rng: torch.Generator) -> list[tuple[Any, ...]]:
        return [make(rng) for _ in range(2)]

    return samples
