"""DMA (reference section 11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.context import Context
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.feature_maps import LARGEST
from harness.standin.npu.numerics import Ints
from harness.standin.npu.registers import RegisterState

Offsets = NDArray[np.int64]


def dma(context: Context) -> None:
    """Execute OP_DMA_START.

    Raises:
        NpuError: a mode that is not modelled, or an address outside memory.
    """
    state = context.state
    if state.choice("DMA0_SRC_REGION", "region_mode") == "INTERNAL":
        raise unimplemented("a DMA from internal memory")
    mode = state.choice("DMA0_SRC_REGION", "stride_mode")
    if state.config.is_u85:
        source, destination = _rows(context, "SRC", mode), _rows(context, "DST", mode)
    elif mode == "D1":
        source = destination = np.zeros((1, 1), np.int64)
    else:
        raise unimplemented(f"a DMA of stride mode {mode}")
    length = state.DMA0_LEN
    if length == 0:
        return
    if length * source.size > LARGEST:
        raise unimplemented(f"a DMA of {source.size} rows of {length} bytes")
    data = _windows(context, "SRC", state.DMA0_SRC, source, length)[_relative(source)]
    context.note_input("SRC", data)
    if context.tracing:
        context.output = data
    if state.choice("DMA0_DST_REGION", "region_mode") == "INTERNAL":
        context.lut.load(state.DMA0_DST, data.reshape(-1))
    else:
        _windows(context, "DST", state.DMA0_DST, destination, length)[_relative(destination)] = data


def _rows(context: Context, side: str, mode: str) -> Offsets:
    """Byte offsets of the rows (SIZE1, SIZE0) from the base address, by strides or by an index table.

    Vela scatters and gathers a single row in mode D1, which still takes its place from the table.
    """
    state = context.state
    inner = 1 if mode == "D1" else state.DMA0_SIZE0
    outer = state.DMA0_SIZE1 if mode == "D3" else 1
    if inner * outer == 0:
        raise parse_error(f"a DMA of {outer}x{inner} rows")
    if inner * outer > LARGEST:
        raise unimplemented(f"a DMA of {outer}x{inner} rows")
    i = np.arange(outer, dtype=np.int64)[:, None]
    j: Offsets = np.arange(inner, dtype=np.int64)[None, :]
    if state.choice(f"DMA0_{side}_REGION", "idx_mode") == "ENABLED":
        j = _indices(context, outer, inner)
    stride0, stride1 = (_stride(state, f"DMA0_{side}_STRIDE{axis}") for axis in (0, 1))
    return i * (stride1 if outer > 1 else 0) + j * stride0


def _stride(state: RegisterState, name: str) -> int:
    return int(getattr(state, name)) if state.has(name) else 0


def _indices(context: Context, outer: int, inner: int) -> Offsets:
    state = context.state
    skip = _stride(state, "DMA0_IDX_SKIP1")
    pitch = 4 * inner + skip
    if pitch < 4 * inner:
        raise unimplemented(f"a DMA index table with a gap of {skip}")
    table = context.memory.view(state.DMA0_IDX_REGION, state.DMA0_IDX, (outer - 1) * pitch + 4 * inner)
    rows: Ints = np.ndarray((outer, inner), "<i4", buffer=table.data, strides=(pitch, 4))
    if rows.min() < 0 or rows.max() > state.DMA0_IDX_MAX:
        raise unimplemented(f"a DMA index outside 0..{state.DMA0_IDX_MAX}")
    context.note_input("IDX", rows.copy())
    return rows.astype(np.int64)


def _windows(context: Context, side: str, base: int, rows: Offsets, length: int) -> NDArray[np.uint8]:
    """All runs of `length` bytes, from the lowest row to the highest."""
    region = context.state.field(f"DMA0_{side}_REGION", "region")
    low, high = int(rows.min()), int(rows.max())
    block = context.memory.view(region, base + low, high - low + length)
    windows: NDArray[np.uint8] = np.lib.stride_tricks.sliding_window_view(block, length, writeable=True)
    return windows


def _relative(rows: Offsets) -> Offsets:
    relative: Offsets = rows - rows.min()
    return relative
