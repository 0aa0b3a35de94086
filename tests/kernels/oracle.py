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
