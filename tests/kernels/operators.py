"""Calls of each operator with named defaults, so that a test states only what it is about."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels import oracle
from tests.kernels.driver import CHANNELS_LAST, Call, Tensor

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


@dataclass(frozen=True)
class Matmul:
    """Parameters: minus the zero points of both sides, zero point of the output, rescale."""

    offsets: tuple[int, int] = (5, -9)
    zero_point: int = -3
    rescale: tuple[int, int] = (1518500250, -8)

    def call(
        self, lhs: Tensor, rhs: Tensor, scratch: Tensor | None = None, out: Tensor | None = None
    ) -> Call:
        shape = (*lhs.array.shape[:2], *rhs.array.shape[1:2])
        values = (lhs, self.offsets[0], rhs, self.offsets[1], self.zero_point, *self.rescale)
        room = scratch or Tensor(np.zeros(0, np.uint8))
        return Call("cortex_m::quantized_batch_matmul.out", (*values, room, out or output(shape, "int8")))

    def expected(self, lhs: npt.NDArray[Any], rhs: npt.NDArray[Any]) -> oracle.Ints:
        return oracle.batch_matmul(lhs, rhs, self.offsets, self.zero_point, self.rescale)


def div(
    a: Tensor, b: Tensor, zero_points: tuple[int, int, int], factor: float, out: Tensor | None = None
) -> Call:
    """cortex_m::quantized_div; `factor` is scale of a / (scale of b * scale of the output)."""
    za, zb, zo = zero_points
    result = out or output(a.array.shape, a.array.dtype.name)
    return Call("cortex_m::quantized_div.out", (a, za, b, zb, zo, factor, result))


def integers(rng: np.random.Generator, dtype: str, *shape: int) -> npt.NDArray[Any]:
    """Values over the whole range of a type."""
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def softmax_parameters(scale: float) -> tuple[int, int, int]:
    """Multiplier, shift and smallest difference that AoT computes for an input scale."""
    mantissa, shift = math.frexp(min(scale * 2**26, 2**31 - 1))
    multiplier = round(mantissa * 2**31)
    if multiplier == 2**31:
        multiplier, shift = multiplier // 2, shift + 1
    return multiplier, shift, -math.floor(31 * 2**26 / 2**shift)


def softmax(
    x: Tensor,
    dim: int,
    by: tuple[int, int, int],
    out: Tensor | None = None,
    zero_points: tuple[int, int] = (3, -128),
) -> Call:
    """cortex_m::softmax; `by` is multiplier, shift and smallest difference."""
    result = out or output(x.array.shape, "int8", x.dim_order)
    return Call("cortex_m::softmax.out", (x, dim, *zero_points, *by, result))


def transpose(x: Tensor, perm: tuple[int, ...], out: Tensor | None = None) -> Call:
    """cortex_m::transpose."""
    shape = tuple(x.array.shape[p] for p in perm if 0 <= p < x.array.ndim)
    return Call("cortex_m::transpose.out", (x, list(perm), out or output(shape, x.array.dtype.name)))


def pad(
    x: Tensor,
    amounts: list[tuple[int, int]],
    value: int,
    channels_last: bool = False,
    out: Tensor | None = None,
) -> Call:
    """cortex_m::pad; `amounts`: a pair a dimension in logical order (the operator: four in storage order)."""
    four = [(0, 0)] * (4 - len(amounts)) + amounts
    stored = [four[i] for i in CHANNELS_LAST] if channels_last else four
    shape = tuple(n + sum(pair) for n, pair in zip(x.array.shape, amounts, strict=True))
    result = out or output(shape, "int8", CHANNELS_LAST if channels_last else None)
    before, after = [a for a, _ in stored], [b for _, b in stored]
    return Call("cortex_m::pad.out", (x, before, after, value, result))


def activation(x: Tensor, table: npt.NDArray[Any], out: Tensor | None = None) -> Call:
    """cortex_m::quantized_activation."""
    result = out or output(x.array.shape, "int8", x.dim_order)
    return Call("cortex_m::quantized_activation.out", (x, Tensor(table), result))
