"""CONV and DEPTHWISE: operands, bias and output around the products of `conv` (reference section 7)."""

from __future__ import annotations

import numpy as np

from harness.standin.npu import conv
from harness.standin.npu.accumulate import add_to_start
from harness.standin.npu.context import Context
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.numerics import Ints
from harness.standin.npu.output import channel_scaling, finish, global_scaling, is_global
from harness.standin.npu.scale_stream import channel_scales
from harness.standin.npu.window import window
from harness.standin.npu.windowed import window_input

MOST_PRODUCTS = 1 << 36  # a matrix product does more than other operations in the same time
MOST_COLUMNS = 1 << 27  # elements that one row of the OFM is computed from


def convolution(context: Context, weights_ifm2: bool) -> None:
    """Execute OP_CONV, with weights from the weight stream or (U85) from IFM2.

    Raises:
        NpuError: a malformed weight stream, or operands outside memory.
    """
    state = context.state
    geometry, depth = window(state), state.IFM_DEPTH_M1 + 1
    if context.ofm_shape[1] * geometry.y.kernel * geometry.x.kernel * depth > MOST_COLUMNS:
        raise unimplemented(f"a kernel of {geometry.y.kernel}x{geometry.x.kernel}x{depth} elements")
    ifm = window_input(context, geometry, depth, MOST_PRODUCTS)
    if weights_ifm2:
        _finish(context, conv.convolve_ifm2(state, ifm, _ifm2_weights(context)))
    else:
        _finish(context, conv.convolve(state, ifm, context.memory))


def depthwise(context: Context) -> None:
    """Execute OP_DEPTHWISE.

    Raises:
        NpuError: a malformed weight stream, or operands outside memory.
    """
    ifm = window_input(context, window(context.state), context.ofm_shape[2])
    _finish(context, conv.depthwise(context.state, ifm, context.memory))


def _ifm2_weights(context: Context) -> Ints:
    """IFM2 (1, OFM depth, IFM depth)."""
    state = context.state
    if state.KERNEL_HEIGHT_M1 or state.KERNEL_WIDTH_M1:
        raise parse_error("weights from IFM2 with a kernel that is not 1x1")
    return context.load("IFM2", (1, context.ofm_shape[2], state.IFM_DEPTH_M1 + 1))


def _finish(context: Context, products: Ints) -> None:
    state = context.state
    if is_global(state):  # U85 with weights from IFM2: no weight stream, no bias
        finish(context, add_to_start(context, products), global_scaling(state))
        return
    context.note_input(
        "WEIGHT", context.memory.view(state.WEIGHT_REGION, state.WEIGHT_BASE, state.WEIGHT_LENGTH)
    )
    scales = channel_scales(state, context.memory, context.ofm_shape[2])
    biased = np.add(products, scales.bias, dtype=np.int64)
    finish(context, add_to_start(context, biased), channel_scaling(state, scales))
