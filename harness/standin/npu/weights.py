"""Weights of convolutions: read the streams, decompress and put them into OHWI order (reference section 9).

Decoded tensors are kept, by the content of their streams, for repeated inferences and for operations that
are cut into stripes: what was decoded once costs a hash the next time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.memory import Regions
from harness.standin.npu.registers import RegisterState
from harness.standin.npu.weights_order import PADDING, Layout, block_order
from harness.standin.npu.weights_swd import decode_swd
from harness.standin.npu.window import window

Weights = NDArray[np.int16]

MOST_WEIGHTS = 1 << 27  # of one operation, with padding; far above what fits the memories of these systems

_KEPT_BYTES = 256 << 20
_FWD_HEADER = 32


class WeightCache:
    """Decoded tensors, the least recently used of which are dropped beyond `limit` bytes."""

    def __init__(self, limit: int = _KEPT_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[tuple[object, ...], Weights] = OrderedDict()

    def decode(self, layout: Layout, depth: int, streams: Sequence[bytes], *, fwd: bool = False) -> Weights:
        """As `decode`, but only once for the same content."""
        digests = tuple(blake2b(stream, digest_size=16).digest() for stream in streams)
        key = (layout, depth, fwd, digests)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        weights = decode(layout, depth, streams, fwd=fwd)
        weights.flags.writeable = False
        self._kept[key] = weights
        self._size += weights.nbytes
        while self._size > self._limit and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._size -= dropped.nbytes
        return weights


_cache = WeightCache()


def operation_weights(state: RegisterState, memory: Regions, *, depthwise: bool) -> Weights:
    """The weights of the CONV or DEPTHWISE operation that the registers describe.

    Returns:
        int16 (output channel, kernel y, kernel x, input channel), not to be written to; one input channel for
        DEPTHWISE. Values are 9-bit signed, zero point corrected.

    Raises:
        NpuError: a stream is malformed, outside memory or of a kind that is not modelled.
    """
    config = state.config
    depth = state.OFM_DEPTH_M1 + 1
    fwd = config.is_u85 and state.field("WEIGHT_FORMAT", "weight_format") == 1
    layout = _layout(state, depthwise)
    _check(layout, depth, fwd)
    two_cores = not config.is_u85 and config.cores > 1 and state.PARALLEL_MODE == 1
    number = 1 if fwd else min(2, depth) if two_cores else layout.decoders
    streams = [_stream(state, memory, index) for index in range(number)]
    if two_cores:
        return _two_cores(layout, depth, streams)
    return _cache.decode(layout, depth, streams, fwd=fwd)


def decode(layout: Layout, depth: int, streams: Sequence[bytes], *, fwd: bool = False) -> Weights:
    """Decompress and reorder the streams of one operation.

    Args:
        layout: Geometry and hardware.
        depth: Output channels of the operation.
        streams: One SWD stream for each of `layout.decoders`, or a single FWD stream.
        fwd: U85: the format is FWD.

    Returns:
        int16 (depth, kernel height, kernel width, layout.ifm_depth).

    Raises:
        NpuError: a stream is malformed, or its order is not the one computed (padding that is not zero).
    """
    blocks = [
        (start, min(layout.block_depth, depth - start)) for start in range(0, depth, layout.block_depth)
    ]
    size = layout.kernel[0] * layout.kernel[1] * layout.ifm_depth
    weights = np.zeros((depth, size), np.int16)
    orders = [
        [block_order(layout, count, stream, index % 2 == 0) for index, (_, count) in enumerate(blocks)]
        for stream in range(layout.decoders)
    ]
    totals = [sum(order.size for order in group) for group in orders]
    if fwd:
        elements = _split_fwd(layout, decode_fwd(streams[0], sum(totals)))
    else:
        elements = [decode_swd(data, total) for data, total in zip(streams, totals, strict=True)]
    for group, values in zip(orders, elements, strict=True):
        at = 0
        for (start, count), order in zip(blocks, group, strict=True):
            part = values[at : at + order.size]
            at += order.size
            inside = order != PADDING
            if np.count_nonzero(part) != np.count_nonzero(part := part[inside]):
                raise parse_error("the weight stream has values where the operation's order has padding")
            weights[start : start + count].reshape(-1)[order[inside]] = part
    return weights.reshape(depth, *layout.kernel, layout.ifm_depth)


def decode_fwd(data: bytes, count: int) -> Weights:
    """Decompress a FWD stream of U85: bytes or indices into a table of 4 or 16 weights.

    Args:
        data: The stream, header included.
        count: Number of weights expected.

    Raises:
        NpuError: the stream is too short, or has a zero adjustment, for which there is no example to go by.
    """
    header = int.from_bytes(data[:_FWD_HEADER], "little")
    raw, small = header & 1, header >> 1 & 1
    width = 8 if raw else 2 if small else 4
    used = -(-count * width // 8)
    if len(data) < _FWD_HEADER + used:
        raise parse_error(
            f"the FWD weight stream has {len(data)} bytes, the operation needs {_FWD_HEADER + used}"
        )
    if header >> 104 & 0xFF:
        raise unimplemented("FWD weights with a zero adjustment")
    body = np.frombuffer(data, np.uint8, used, _FWD_HEADER)
    if raw:
        return np.asarray(body.view(np.int8), np.int16)
    codes = [header >> (112 + 9 * entry) & 0x1FF for entry in range(16)]
    table = np.array([-(code >> 1) if code & 1 else code >> 1 for code in codes], np.int16)
    indices = body[:, None] >> np.arange(0, 8, width, dtype=np.uint8) & np.uint8((1 << width) - 1)
    return np.asarray(table[indices.ravel()[:count]])


def _split_fwd(layout: Layout, values: Weights) -> list[Weights]:
    """One FWD stream serves all decoders in turn."""
    turns = values.reshape(-1, layout.decoders, layout.fwd_block)
    return [np.ascontiguousarray(turns[:, index]).reshape(-1) for index in range(layout.decoders)]


def _two_cores(layout: Layout, depth: int, streams: Sequence[bytes]) -> Weights:
    """U65-512: core 0 has the even output channels, core 1 the odd ones, each with a stream of its own."""
    weights = np.empty((depth, *layout.kernel, layout.ifm_depth), np.int16)
    for core, data in enumerate(streams):
        block = -(-(layout.block_depth - core) // 2)
        part = Layout(**{**layout.__dict__, "block_depth": max(block, 1)})
        weights[core::2] = _cache.decode(part, -(-(depth - core) // 2), [data])
    return weights


def _layout(state: RegisterState, depthwise: bool) -> Layout:
    config, kernel = state.config, window(state)
    microblock = state.field("ACC_FORMAT", "microblock") if config.is_u85 else 0
    precision = state.field("IFM_PRECISION", "activation_precision")
    return Layout(
        config=config,
        depthwise=depthwise,
        part_kernel_first=not depthwise and state.field("KERNEL_STRIDE", "weight_order") == 1,
        block_depth=state.OFM_BLK_DEPTH_M1 + 1,
        ublock_depth=config.ofm_ublock_depth(microblock),
        ifm_depth=1 if depthwise else state.IFM_DEPTH_M1 + 1,
        kernel=(kernel.y.kernel, kernel.x.kernel),
        stride=(kernel.y.stride, kernel.x.stride),
        dilation=(kernel.y.dilation, kernel.x.dilation),
        ifm_bits=8 << precision,
        sparse=config.is_u85 and state.field("WEIGHT_FORMAT", "weight_sparsity") == 1,
        decoders=config.weight_decoders if config.is_u85 else 1,
    )


def _check(layout: Layout, depth: int, fwd: bool) -> None:
    """Refuse what nobody has seen, and sizes that only a corrupt stream asks for."""
    inputs = -(-layout.ifm_depth // layout.ifm_block_depth) * layout.ifm_block_depth
    outputs = -(-depth // layout.ublock_depth) * layout.ublock_depth
    if layout.kernel[0] * layout.kernel[1] * inputs * outputs > MOST_WEIGHTS:
        raise unimplemented(f"{depth} filters of {layout.kernel} with {layout.ifm_depth} channels")
    if fwd and layout.depthwise:
        raise unimplemented("FWD weights of a depthwise convolution")
    if fwd and layout.sparse and layout.decoders > 1:
        raise unimplemented("2:4 sparse FWD weights on several weight decoders")


def _stream(state: RegisterState, memory: Regions, index: int) -> bytes:
    prefix = "WEIGHT" if index == 0 else f"WEIGHT{index}"
    base, length = getattr(state, f"{prefix}_BASE"), getattr(state, f"{prefix}_LENGTH")
    return memory.view(state.WEIGHT_REGION, base, length).tobytes()
