"""RESIZE, U85 only (reference section 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.context import Context
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.feature_maps import check_size
from harness.standin.npu.numerics import Ints, Scaling
from harness.standin.npu.output import finish, rounding
from harness.standin.npu.registers import RegisterState

_EXTRA_SHIFT = 16  # what OFM_SCALE.shift holds too much

Index = NDArray[np.int64]


def resize(context: Context, mode: str) -> None:
    """Execute OP_RESIZE of a `resize_mode`.

    Raises:
        NpuError: a mode that is not modelled, or operands outside memory.
    """
    state = context.state
    if mode not in ("BILINEAR", "NEAREST"):
        raise unimplemented(f"resize mode {mode}")
    height, width, depth = context.ofm_shape
    check_size("OFM", context.ofm_shape)
    ifm_height, ifm_width = state.KERNEL_HEIGHT_M1 + 1, state.KERNEL_WIDTH_M1 + 1
    ifm = context.load("IFM", (ifm_height, ifm_width, depth)).astype(np.int64)
    along_y = _interpolate(ifm, 0, _positions(state, "Y", height, ifm_height), mode)
    result = _interpolate(along_y, 1, _positions(state, "X", width, ifm_width), mode)
    shift = state.field("OFM_SCALE", "shift") - _EXTRA_SHIFT
    if shift < 0:
        raise parse_error(f"RESIZE with an OFM shift of {shift + _EXTRA_SHIFT}")
    finish(context, result, Scaling(state.field("OFM_SCALE", "scale"), shift, rounding(state)))


def _positions(state: RegisterState, axis: str, outputs: int, size: int) -> tuple[Index, Index, Index, int]:
    """Both neighbours of each output element, its distance from the first, and the distance between them."""
    n = int(getattr(state, f"RESIZE_{axis}_SCALE_N_M1")) + 1
    step = state.field(f"RESIZE_{axis}", "one_step_int") * n + state.field(f"RESIZE_{axis}", "one_step_mod")
    offset = int(getattr(state, f"RESIZE_{axis}_OFFSET"))
    offset -= (offset >> 11) << 12
    position = np.arange(outputs, dtype=np.int64) * step + offset
    whole, fraction = position // n, position % n
    return np.clip(whole, 0, size - 1), np.clip(whole + 1, 0, size - 1), fraction, n


def _interpolate(values: Ints, dimension: int, positions: tuple[Index, Index, Index, int], mode: str) -> Ints:
    first, second, fraction, n = positions
    if mode == "NEAREST":
        return np.take(values, np.where(2 * fraction >= n, second, first), axis=dimension)
    shape = [1, 1, 1]
    shape[dimension] = len(fraction)
    weight = fraction.reshape(shape)
    result: Ints = (
        np.take(values, first, dimension) * (n - weight) + np.take(values, second, dimension) * weight
    )
    return result
