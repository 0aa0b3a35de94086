"""The scale stream: bias, scale and shift of each output channel (reference section 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.memory import Bytes, Regions
from harness.standin.npu.registers import RegisterState

RECORD_BYTES = 10


@dataclass(frozen=True)
class ChannelScales:
    """One value a channel, each an array (C,)."""

    bias: NDArray[np.int64]
    multiplier: NDArray[np.int64]
    shift: NDArray[np.int64]


def channel_scales(state: RegisterState, memory: Regions, channels: int) -> ChannelScales:
    """Read the records of an operation's channels.

    Raises:
        NpuError: they lie outside memory.
    """
    if state.config.cores == 2 and state.choice("PARALLEL_MODE", "parallel_mode") == "DUAL_CORE_DEPTH":
        records = np.empty((channels, RECORD_BYTES), np.uint8)
        records[0::2] = _records(state, memory, state.SCALE_BASE, (channels + 1) // 2)
        if channels > 1:
            records[1::2] = _records(state, memory, state.SCALE1_BASE, channels // 2)
    else:
        records = _records(state, memory, state.SCALE_BASE, channels)
    if not state.config.is_u85:
        bias, scale, shift = _signed(records[:, 0:5]), _unsigned(records[:, 5:9]), records[:, 9]
    elif state.choice("ACC_FORMAT", "acc_format") == "I32":
        bias, scale, shift = _signed(records[:, 0:4]), _unsigned(records[:, 4:8]) & 0x7FFFFFFF, records[:, 8]
    else:
        bias, scale, shift = _signed(records[:, 0:6]), _unsigned(records[:, 6:8]) & 0x7FFF, records[:, 8]
    return ChannelScales(bias, scale, (shift & 63).astype(np.int64))


def _records(state: RegisterState, memory: Regions, base: int, count: int) -> Bytes:
    return memory.view(state.SCALE_REGION, base, count * RECORD_BYTES).reshape(count, RECORD_BYTES)


def _unsigned(columns: Bytes) -> NDArray[np.int64]:
    weights = np.int64(1) << np.arange(0, 8 * columns.shape[1], 8, dtype=np.int64)
    total: NDArray[np.int64] = columns.astype(np.int64) @ weights
    return total


def _signed(columns: Bytes) -> NDArray[np.int64]:
    bits = 8 * columns.shape[1]
    value = _unsigned(columns)
    value -= (value >> (bits - 1)) << bits
    return value
