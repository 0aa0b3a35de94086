"""Input of the operations that slide a window over the IFM (reference section 4)."""

from __future__ import annotations

import numpy as np

from harness.standin.npu.context import Context
from harness.standin.npu.errors import unimplemented
from harness.standin.npu.feature_maps import check_size
from harness.standin.npu.numerics import Ints
from harness.standin.npu.window import Window

MOST_WORK = 1 << 33  # element operations: seconds, and far above what an operation of a network needs


def window_input(context: Context, window: Window, depth: int, most_work: int = MOST_WORK) -> Ints:
    """The IFM (H, W, depth) that all windows cover, without padding, upscaled, minus its zero point.

    Raises:
        NpuError: sizes that only a corrupt stream asks for, or an IFM outside memory.
    """
    out_height, out_width, out_depth = context.ofm_shape
    height, width = window.y.input_size(out_height), window.x.input_size(out_width)
    check_size("IFM", (height, width, depth))
    check_size("OFM", context.ofm_shape)
    taps = window.y.kernel * window.x.kernel
    if out_height * out_width * max(out_depth, depth) * taps > most_work:
        raise unimplemented(f"{taps} kernel elements for an OFM of {context.ofm_shape}")
    mode = context.state.choice("IFM_UPSCALE", "mode")
    if mode == "NONE":
        return context.load("IFM", (height, width, depth))
    small = context.load("IFM", (-(-height // 2), -(-width // 2), depth))
    if mode == "NEAREST":
        return small.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]
    upscaled: Ints = np.zeros((height, width, depth), small.dtype)
    upscaled[::2, ::2] = small
    return upscaled
