"""Where accumulators start (reference section 7, ACC_FORMAT): from zero, from those kept, or from IFM2."""

from __future__ import annotations

import numpy as np

from harness.standin.npu.context import Context
from harness.standin.npu.errors import parse_error
from harness.standin.npu.numerics import Ints


def start(context: Context) -> Ints | None:
    """The accumulators (H, W, C) that an operation adds to; None for zero.

    Raises:
        NpuError: none of this shape were kept.
    """
    if not context.config.is_u85:
        return None
    source = context.state.choice("ACC_FORMAT", "acc_input")
    if source == "RESET":
        return None
    if source == "IFM2":
        return context.load("IFM2", context.ofm_shape)
    kept = context.accumulators
    if kept is None or kept.shape != context.ofm_shape:
        have = "none" if kept is None else f"those of shape {kept.shape}"
        raise parse_error(f"accumulators of shape {context.ofm_shape} are to be kept, there are {have}")
    return kept


def add_to_start(context: Context, accumulators: Ints) -> Ints:
    """Accumulators of an operation on top of those it starts from."""
    first = start(context)
    return accumulators if first is None else np.add(accumulators, first, dtype=np.int64)
