"""The output stage of every operation: scale, zero point, clip, table, store (reference sections 5 and 6)."""

from __future__ import annotations

import numpy as np

from harness.standin.npu.context import Context
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.feature_maps import FeatureMap, feature_map, write
from harness.standin.npu.lut import input_bits, look_up, table_of
from harness.standin.npu.numerics import Ints, Scaling, scale, wrap
from harness.standin.npu.registers import RegisterState
from harness.standin.npu.scale_stream import ChannelScales


def rounding(state: RegisterState) -> str:
    """The OFM rounding mode."""
    register = "OFM_SCALE" if state.config.is_u85 else "OFM_PRECISION"
    return state.choice(register, "round_mode")


def is_global(state: RegisterState) -> bool:
    """True if OFM_SCALE scales all channels, False if the scale stream has a scale for each."""
    return state.choice("OFM_PRECISION", "scale_mode") == "GLOBAL"


def global_scaling(state: RegisterState) -> Scaling:
    """The scaling that OFM_SCALE holds."""
    double_round = state.field("OFM_SCALE", "dbl_rnd") if state.config.is_u85 else 0
    shift = state.field("OFM_SCALE", "shift")
    return Scaling(state.field("OFM_SCALE", "scale"), shift, rounding(state), double_round)


def channel_scaling(state: RegisterState, scales: ChannelScales) -> Scaling:
    """The scaling that the scale stream holds."""
    return Scaling(scales.multiplier, scales.shift, rounding(state))


def finish(context: Context, accumulators: Ints, scaling: Scaling | None) -> None:
    """Turn accumulators (H, W, C) into the OFM and store it.

    Args:
        context: the run.
        accumulators: before scaling; U85 keeps them for an operation with acc_input KEEP.
        scaling: None for operations that bypass it.

    Raises:
        NpuError: a mode that is not modelled, or an OFM outside memory.
    """
    state = context.state
    context.accumulators = accumulators
    if state.config.is_u85 and state.choice("ACC_FORMAT", "acc_output") == "DISABLE":
        return
    ofm = feature_map(state, "OFM")
    values = accumulators if scaling is None else scale(accumulators, scaling)
    if ofm.zero_point:
        values = np.add(values, ofm.zero_point, dtype=np.int64)
    values = wrap(_activate(context, ofm, values), ofm.dtype)
    if state.config.is_u85:
        values = _arrange(state, values)
    context.result_flag = bool(values.any()) if values.size == 1 else None
    if context.tracing:
        context.output = values
    if ofm.storage == "CHAINED":
        context.chains[ofm.region] = values
    elif ofm.storage == "NONE":
        raise parse_error("the OFM has no storage, but output is enabled")
    else:
        write(ofm, context.memory, values)


def _activate(context: Context, ofm: FeatureMap, values: Ints) -> Ints:
    """Clip, then look up."""
    state = context.state
    function = state.choice("ACTIVATION", "activation_function")
    number = state.field("ACTIVATION", "table") if state.config.is_u85 else 0
    table = table_of(state.config, function, number, ofm.bits)
    if table is not None and not ofm.signed and not state.config.is_u85:
        raise unimplemented(f"activation {function} with an unsigned OFM")
    if _clips(state, ofm):
        signed = ofm.signed or table is not None
        low, high = (_bound(state.ACTIVATION_MIN, signed), _bound(state.ACTIVATION_MAX, signed))
        if low > high:
            raise parse_error(f"clip bounds {low}..{high}")
        values = np.clip(values, low, high)
    elif ofm.bits <= 16 and not state.config.is_u85:
        raise unimplemented("an OFM of up to 16 bits without clipping")
    if table is None:
        return values
    if ofm.bits < input_bits(table[0]):
        raise unimplemented(f"{function} with an OFM of {ofm.bits} bits")
    return look_up(context.lut, *table, values)


def _clips(state: RegisterState, ofm: FeatureMap) -> bool:
    clip_range = state.choice("ACTIVATION", "activation_clip_range")
    if state.config.is_u85:
        return clip_range == "B16"
    if clip_range != "OFM_PRECISION":
        raise unimplemented(f"clip range {clip_range}")
    return ofm.bits <= 16


def _bound(value: int, signed: bool) -> int:
    return value - (1 << 16) if signed and value >= 1 << 15 else value


def _arrange(state: RegisterState, values: Ints) -> Ints:
    """U85: transpose, then reverse."""
    order = state.choice("OFM_PRECISION", "activation_transpose")
    values = values.transpose(["HWC".index(axis) for axis in order])
    reverse = state.choice("OFM_PRECISION", "activation_reverse")
    return values if reverse == "NONE" else np.flip(values, "HWC".index(reverse))
