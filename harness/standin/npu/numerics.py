"""Scaling and rounding (reference section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.errors import unimplemented

Ints = NDArray[np.integer[Any]]
Factor = int | NDArray[np.int64]

_SPLIT = 24  # bits of the lower half where a product exceeds 63 bits
_DOUBLE = ("DBL", "DOUBLE_SYMMETRIC")


@dataclass(frozen=True)
class Scaling:
    """A factor `multiplier * 2**-shift`, one for all elements or an array that broadcasts over (H, W, C).

    Attributes:
        multiplier: unsigned, up to 32 bits.
        shift: 0-63.
        rounding: a name of `round_mode`, `round_mode_ifm` or `round_mode_ofm`.
        double_round: `d` of the reference, the field dbl_rnd.
    """

    multiplier: Factor
    shift: Factor
    rounding: str
    double_round: int = 0

    @property
    def identity(self) -> bool:
        """True if scaling changes nothing."""
        return bool(np.all(np.equal(self.multiplier, 1)) and not np.any(self.shift))


def scale(values: Ints, scaling: Scaling) -> Ints:
    """`(values * multiplier + r) >> shift`, exact, rounded as the mode says.

    Raises:
        NpuError: a rounding mode that no known stream uses, or a product of more than 86 bits.
    """
    if scaling.identity:
        return values
    shift = np.asarray(scaling.shift, np.int64)
    multiplier = np.asarray(scaling.multiplier, np.int64)
    offset = _rounding_offset(values, shift, scaling)
    if _fits(values, multiplier, shift):
        result = np.multiply(values, multiplier, dtype=np.int64)
        result += offset
        result >>= shift
        return result
    return _wide(np.asarray(values, np.int64), multiplier, shift, offset)


def _rounding_offset(values: Ints, shift: NDArray[np.int64], scaling: Scaling) -> NDArray[np.int64]:
    mode, d = scaling.rounding, scaling.double_round
    if mode == "TRUNCATE_TO_LOWER":
        return np.zeros_like(shift)
    if mode != "NATURAL" and mode not in _DOUBLE:
        raise unimplemented(f"rounding mode {mode}")
    half: NDArray[np.int64] = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
    twice = shift > 31 - d
    if mode == "NATURAL" or not twice.any():
        return half
    if d:
        raise unimplemented(f"double rounding with dbl_rnd {d}")
    second = np.where(twice, np.int64(1) << 30, 0)
    offset: NDArray[np.int64] = half + np.where(values >= 0, second, -second)
    return offset


def _fits(values: Ints, multiplier: NDArray[np.int64], shift: NDArray[np.int64]) -> bool:
    """True if the product and the rounding offset cannot leave 64 bits."""
    if not values.size:
        return True
    largest = int(np.max(multiplier, initial=0))
    rounding = 1 << int(np.max(shift, initial=0))
    bound = 1 << (values.itemsize * 8 - 1)
    if bound * largest + rounding < 1 << 63:
        return True
    bound = max(abs(int(values.min())), abs(int(values.max())))
    return bound * largest + rounding < 1 << 63


def _wide(
    values: NDArray[np.int64],
    multiplier: NDArray[np.int64],
    shift: NDArray[np.int64],
    offset: NDArray[np.int64],
) -> Ints:
    """The same with the values split in two halves; results are taken modulo 2**64."""
    if max(abs(int(values.min())), abs(int(values.max()))) >= 1 << 54:
        raise unimplemented("the scaling of a value of more than 54 bits")
    upper = (values >> _SPLIT) * multiplier
    lower = (values & ((1 << _SPLIT) - 1)) * multiplier + offset
    coarse = (upper + (lower >> _SPLIT)) >> np.maximum(shift - _SPLIT, 0)
    fine = (upper << np.maximum(_SPLIT - shift, 0)) + (lower >> np.minimum(shift, _SPLIT))
    return np.where(shift >= _SPLIT, coarse, fine)


def wrap(values: Ints, dtype: np.dtype[Any]) -> Ints:
    """Values modulo 2**bits of `dtype`."""
    return values.astype(dtype, casting="unsafe", copy=False)
