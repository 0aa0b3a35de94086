"""The device formulas in numpy: what every kernel has to compute, bit by bit.

Independent of the kernels and of the dialect's Python reference; 64-bit integers throughout, with
the device's 32-bit wrap where a left shift or a sum overflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]
Floats = npt.NDArray[Any]


def wrap32(v: Ints) -> Ints:
    """The low 32 bits, signed."""
    return np.asarray(((v + 2**31) & (2**32 - 1)) - 2**31, np.int64)


def requantize(v: Ints, multiplier: int, shift: int) -> Ints:
    """v * multiplier * 2^(shift - 31): rounds half up, then half away from zero."""
    left, right = max(shift, 0), max(-shift, 0)
    shifted = wrap32(v.astype(np.int64) << left)
    t: Ints = np.minimum((shifted * multiplier + 2**30) >> 31, 2**31 - 1)
    if right == 0:
        return t
    y, remainder = t >> right, t & (2**right - 1)
    threshold = ((2**right - 1) >> 1) + (y < 0)
    return np.asarray(y + (remainder > threshold))


def quantize(x: Floats, scale: float, zero_point: int, low: int, high: int) -> Ints:
    """clamp(rhe(x * (1 / f32(scale))) + zero_point); NaN counts as 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = x.astype(np.float32) * (np.float32(1) / np.float32(scale))
    rounded = np.rint(np.nan_to_num(product.astype(np.float64), nan=0.0, posinf=2.0**40, neginf=-(2.0**40)))
    limited = np.clip(rounded, -(2.0**40), 2.0**40).astype(np.int64)
    return np.clip(limited + zero_point, low, high)


def dequantize(q: Ints, scale: float, zero_point: int) -> Floats:
    """(q - zero_point) * f32(scale)."""
    with np.errstate(over="ignore"):
        return (q.astype(np.int64) - zero_point).astype(np.float32) * np.float32(scale)


def add(
    a: Ints,
    b: Ints,
    zero_points: tuple[int, int, int],
    rescales: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
    bounds: tuple[int, int],
) -> Ints:
    """clamp(rq(rq((a - za) << 20) + rq((b - zb) << 20)) + zo); operands broadcast."""
    left = requantize(wrap32((a.astype(np.int64) - zero_points[0]) << 20), *rescales[0])
    right = requantize(wrap32((b.astype(np.int64) - zero_points[1]) << 20), *rescales[1])
    return np.clip(requantize(wrap32(left + right), *rescales[2]) + zero_points[2], *bounds)


def mul(a: Ints, b: Ints, zero_points: tuple[int, int, int], rescale: tuple[int, int]) -> Ints:
    """clamp(rq((a - za) * (b - zb)) + zo, -128, 127); operands broadcast."""
    product = (a.astype(np.int64) - zero_points[0]) * (b.astype(np.int64) - zero_points[1])
    return np.clip(requantize(product, *rescale) + zero_points[2], -128, 127)


def linear(
    x: Ints,
    w: Ints,
    start: Ints | int,
    offsets: tuple[int, int, int],
    rescale: tuple[int, int],
    bounds: tuple[int, int],
) -> Ints:
    """clamp(rq((x + offsets[0]) @ (w + offsets[1]).T + start) + offsets[2]).

    With a kernel sum as `start`, pass 0 for the first offset.
    """
    acc = (x.astype(np.int64) + offsets[0]) @ (w.astype(np.int64) + offsets[1]).T + start
    return np.clip(requantize(wrap32(acc), *rescale) + offsets[2], *bounds)


def div(a: Ints, b: Ints, zero_points: tuple[int, int, int], factor: float) -> Ints:
    """clamp(rha(f32(a - za) / f32(b - zb) * f32(factor)) + zo) to the type of `a`; x / 0 counts as 0."""
    numerator = (a.astype(np.int64) - zero_points[0]).astype(np.float32)
    divisor = (b.astype(np.int64) - zero_points[1]).astype(np.float32)
    with np.errstate(all="ignore"):
        quotient = np.where(divisor == 0, np.float32(0), numerator / divisor)
        scaled = (quotient * np.float32(factor)).astype(np.float64)
    away = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    info = np.iinfo(a.dtype)
    return np.clip(away + zero_points[2], info.min, info.max).astype(np.int64)


def batch_matmul(
    lhs: Ints, rhs_transposed: Ints, offsets: tuple[int, int], zero_point: int, rescale: tuple[int, int]
) -> Ints:
    """clamp(rq((l + offsets[0]) @ (r + offsets[1])) + zero_point), batch by batch."""
    left = lhs.astype(np.int64) + offsets[0]
    right = np.swapaxes(rhs_transposed.astype(np.int64) + offsets[1], 1, 2)
    return np.clip(requantize(wrap32(left @ right), *rescale) + zero_point, -128, 127)


def _high(a: Ints, b: Ints | int) -> Ints:
    """Product of two Q31 numbers, rounded half up."""
    return np.asarray((a * b + 2**30) >> 31)


def _rounded(v: Ints, bits: Ints | int) -> Ints:
    """v / 2^bits, rounded half up."""
    return np.asarray((v + (1 << (np.asarray(bits) - 1))) >> bits)


def _exp(v: Ints) -> Ints:
    """exp in Q31 of Q5.26 numbers up to 0: Taylor around -1/8, one factor per bit from 1/4 up to 16."""
    fraction = v % 2**24 - 2**24
    rest = fraction - v
    x = fraction * 32 + 2**28
    x2 = _high(x, x)
    tail = _rounded(_high(x2, x2), 2) + _high(x2, x)
    x_sum = x + _rounded(_high(tail, round(2**31 / 3)) + x2, 1)
    centre = round(np.exp(-1 / 8) * 2**31)
    result = centre + _high(x_sum, centre)
    for bit in range(7):
        factor = round(np.exp(-(2.0 ** (bit - 2))) * 2**31)
        result = np.where((rest >> (24 + bit)) & 1, _high(result, factor), result)
    return np.where(v == 0, 2**31 - 1, result)


def softmax(x: Ints, axis: int, rescale: tuple[int, int], diff_min: int) -> Ints:
    """Fixed-point softmax of the device, to scale 1/256 and zero point -128."""
    diff = x.astype(np.int64) - x.max(axis=axis, keepdims=True)
    counted = diff >= max(diff_min, -(2**31 >> max(rescale[1], 0)))
    e = np.where(counted, _exp(requantize(np.where(counted, diff, 0), *rescale)), 0)
    total = np.where(counted, _rounded(e, 12), 0).sum(axis=axis, keepdims=True)
    bits = np.ceil(np.log2(np.minimum(total, 2**31 - 1) + 1)).astype(np.int64)  # 2^(bits-1) <= total < 2^bits
    half = np.minimum(total, 2**31 - 1) << (31 - bits)
    r = round(48 / 17 * 2**29) + _high(half, -round(32 / 17 * 2**29))
    for _ in range(3):
        r = r + _high(r, 2**29 - _high(half, r)) * 4
    scaled = _rounded(_high(np.minimum(2 * r, 2**31 - 1), e), bits + 3)
    return np.clip(np.where(counted, scaled, 0) - 128, -128, 127)
