"""Calls of each operator with named defaults, so that a test states only what it is about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels import oracle
from tests.kernels.driver import Call, Tensor

POISON = 0x55


def output(shape: tuple[int, ...], dtype: str, dim_order: tuple[int, ...] | None = None) -> Tensor:
    """An output whose content no test expects."""
    return Tensor(np.full(shape, POISON).astype(dtype), dim_order)


def int8(rng: np.random.Generator, *shape: int) -> npt.NDArray[Any]:
    """All int8 values, the extremes more often than others."""
    values = rng.integers(-128, 128, shape)
    extremes = rng.choice([-128, -127, -1, 0, 1, 126, 127], shape)
    return np.where(rng.random(shape) < 0.2, extremes, values).astype(np.int8)


@dataclass(frozen=True)
class Add:
    """Parameters of quantized_add: zero points and rescales of self, other and out; bounds."""

    zero_points: tuple[int, int, int] = (3, -4, 1)
    rescales: tuple[tuple[int, int], tuple[int, int], tuple[int, int]] = (
        (1073741824, -1),
        (1073741824, 0),
        (1789569707, -19),
    )
    bounds: tuple[int, int] = (-128, 127)

    def call(self, a: Tensor, b: Tensor, out: Tensor) -> Call:
        (za, zb, zo), (ra, rb, ro) = self.zero_points, self.rescales
        return Call("cortex_m::quantized_add.out", (a, za, *ra, b, zb, *rb, zo, *ro, *self.bounds, out))

    def expected(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> oracle.Ints:
        return oracle.add(a, b, self.zero_points, self.rescales, self.bounds)


@dataclass(frozen=True)
class Mul:
    """Parameters of quantized_mul."""

    zero_points: tuple[int, int, int] = (-5, 9, 2)
    rescale: tuple[int, int] = (1518500250, -6)

    def call(self, a: Tensor, b: Tensor, out: Tensor) -> Call:
        za, zb, zo = self.zero_points
        return Call("cortex_m::quantized_mul.out", (a, za, b, zb, zo, *self.rescale, out))

    def expected(self, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> oracle.Ints:
        return oracle.mul(a, b, self.zero_points, self.rescale)


@dataclass(frozen=True)
class Linear:
    """Parameters of quantized_linear; offsets of input (minus zero point), filter and output."""

    offsets: tuple[int, int, int] = (7, 0, -3)
    rescale: tuple[int, int] = (1518500250, -8)
    bounds: tuple[int, int] = (-128, 127)

    def call(self, x: Tensor, w: Tensor, bias: Tensor | None, kernel_sum: Tensor | None, out: Tensor) -> Call:
        multiplier, shift = self.rescale
        low, high = self.bounds
        return Call(
            "cortex_m::quantized_linear.out",
            (x, w, bias, kernel_sum, *self.offsets, [multiplier], [shift], high, low, out),
        )

    def expected(self, x: npt.NDArray[Any], w: npt.NDArray[Any], bias: npt.NDArray[Any] | int) -> oracle.Ints:
        return oracle.linear(x, w, bias, self.offsets, self.rescale, self.bounds)

    def expected_with_sum(
        self, x: npt.NDArray[Any], w: npt.NDArray[Any], kernel_sum: npt.NDArray[Any]
    ) -> oracle.Ints:
        without = replace(self, offsets=(0, *self.offsets[1:]))
        return without.expected(x, w, kernel_sum.astype(np.int64).reshape(-1))

    def kernel_sum(self, w: npt.NDArray[Any], bias: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What AoT computes for vector cores, shape [1, outputs]."""
        sums = self.offsets[0] * (w.astype(np.int64) + self.offsets[1]).sum(axis=1) + bias
        return np.asarray(sums, np.int32).reshape(1, -1)


def quantize(
    x: npt.NDArray[Any],
    scale: float,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str = "int8",
    **changes: Any,
) -> Call:
    """cortex_m::quantize_per_tensor; `changes` replaces tensors: input, out."""
    return _quantization("quantize", x, scale, zero_point, bounds, dtype, output(x.shape, dtype), changes)


def dequantize(
    q: npt.NDArray[Any], scale: float, zero_point: int, bounds: tuple[int, int], **changes: Any
) -> Call:
    """cortex_m::dequantize_per_tensor of an int8 or int16 array."""
    out = output(q.shape, "float32")
    return _quantization("dequantize", q, scale, zero_point, bounds, q.dtype.name, out, changes)


def _quantization(
    name: str,
    x: npt.NDArray[Any],
    scale: float,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str,
    out: Tensor,
    changes: dict[str, Any],
) -> Call:
    code = {"int8": 1, "int16": 2}.get(dtype, 3)
    values = (changes.get("input", Tensor(x)), scale, zero_point, *bounds, changes.get("code", code))
    return Call(f"cortex_m::{name}_per_tensor.out", (*values, changes.get("out", out)))
