"""POOL (reference section 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.accumulate import add_to_start, start
from harness.standin.npu.context import Context
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.numerics import Ints, Scaling, scale
from harness.standin.npu.output import channel_scaling, finish, global_scaling, is_global, rounding
from harness.standin.npu.scale_stream import channel_scales
from harness.standin.npu.window import Axis, Window, window
from harness.standin.npu.windowed import window_input


def pool(context: Context, mode: str) -> None:
    """Execute OP_POOL of a `pooling_mode`.

    Raises:
        NpuError: a mode that is not modelled, or operands outside memory.
    """
    state = context.state
    accumulators = _accumulators(context, mode)
    if mode == "ARGMAX_X":
        finish(context, accumulators, None)
    elif is_global(state):
        finish(context, accumulators, global_scaling(state))
    else:
        scales = channel_scales(state, context.memory, context.ofm_shape[2])
        finish(context, accumulators + scales.bias, channel_scaling(state, scales))


def _accumulators(context: Context, mode: str) -> Ints:
    if mode == "NONE":
        first = start(context)
        if first is None:
            raise parse_error("POOL NONE without accumulators to start from")
        return first
    geometry = window(context.state)
    if mode in ("MAX", "MIN"):
        ifm = window_input(context, geometry, context.ofm_shape[2])
        return _extreme(ifm, geometry, context, mode)
    if mode in ("AVERAGE", "SUM"):
        ifm = window_input(context, geometry, context.ofm_shape[2])
        total = add_to_start(context, _sum(ifm, geometry, context))
        return _average(total, geometry, context) if mode == "AVERAGE" else total
    if mode == "REDUCE_SUM":
        return add_to_start(context, _reduce_sum(context, geometry))
    if mode == "ARGMAX_X":
        return _argmax_x(context, geometry)
    raise unimplemented(f"pooling mode {mode}")


def _slide(values: Ints, axis: Axis, dimension: int, outputs: int, ufunc: np.ufunc, padding: int) -> Ints:
    """Combine the elements of each window along one dimension."""
    pads = [(0, 0)] * values.ndim
    pads[dimension] = (axis.before, axis.after)
    if axis.before or axis.after:
        values = np.pad(values, pads, constant_values=padding)
    result: Ints | None = None
    for tap in range(axis.kernel):
        first = tap * axis.dilation
        taken = [slice(None)] * values.ndim
        taken[dimension] = slice(first, first + (outputs - 1) * axis.stride + 1, axis.stride)
        part = values[tuple(taken)]
        if axis.kernel == 1:
            return part
        result = part.copy() if result is None else ufunc(result, part, out=result)
    if result is None:
        raise parse_error("a kernel without elements")
    return result


def _extreme(ifm: Ints, geometry: Window, context: Context, mode: str) -> Ints:
    ufunc, padding = (
        (np.maximum, np.iinfo(ifm.dtype).min) if mode == "MAX" else (np.minimum, np.iinfo(ifm.dtype).max)
    )
    height, width, _ = context.ofm_shape
    rows = _slide(ifm, geometry.y, 0, height, ufunc, padding)
    return _slide(rows, geometry.x, 1, width, ufunc, padding)


def _sum(ifm: Ints, geometry: Window, context: Context) -> Ints:
    """Sums; int32 holds those of 8- and 16-bit elements over windows of fewer than 2**14."""
    height, width, _ = context.ofm_shape
    if geometry.y.kernel * geometry.x.kernel >= 1 << 14:
        ifm = ifm.astype(np.int64)
    rows = _slide(ifm, geometry.y, 0, height, np.add, 0)
    return _slide(rows, geometry.x, 1, width, np.add, 0)


def _reduce_sum(context: Context, geometry: Window) -> Ints:
    if context.ofm_shape[2] != 1:
        raise parse_error(f"REDUCE_SUM to a depth of {context.ofm_shape[2]}")
    ifm = window_input(context, geometry, context.state.IFM_DEPTH_M1 + 1)
    sums: Ints = ifm.sum(axis=2, keepdims=True, dtype=np.int64)
    return _sum(sums, geometry, context)


def _average(total: Ints, geometry: Window, context: Context) -> Ints:
    """Divide by the number of valid elements; U55 without padding leaves that to OFM_SCALE."""
    if not context.config.is_u85 and not geometry.padded:
        return total
    height, width, _ = context.ofm_shape
    rows = _valid(geometry.y, height)
    columns = _valid(geometry.x, width)
    count = (rows[:, None] * columns[None, :])[:, :, None]
    if not count.all():
        raise parse_error("an average over padding only")
    extra = np.frexp((count - 1).astype(np.float64))[1].astype(np.int64)  # bit length of count - 1
    reciprocal = (np.int64((1 << 30) + 1) << extra) // count
    return scale(total, Scaling(reciprocal, 30 + extra, rounding(context.state)))


def _valid(axis: Axis, outputs: int) -> NDArray[np.int64]:
    ones: Ints = np.ones(axis.input_size(outputs), np.int64)
    return _slide(ones, axis, 0, outputs, np.add, 0).astype(np.int64)


def _argmax_x(context: Context, geometry: Window) -> Ints:
    if geometry.padded or geometry.y.kernel != 1 or geometry.x.dilation != 1:
        raise unimplemented("ARGMAX_X with padding, dilation or a kernel height")
    height, width, depth = context.ofm_shape
    ifm = window_input(context, geometry, depth)[:: geometry.y.stride]
    windows = np.lib.stride_tricks.sliding_window_view(ifm, geometry.x.kernel, axis=1)
    index: Ints = windows[:height, :: geometry.x.stride][:, :width].argmax(axis=-1)
    return index
