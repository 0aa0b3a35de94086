"""The order in which the hardware reads the weights of an operation (reference sections 9.3 and 9.4).

An operation works on OFM blocks of some depth. For each, the weight stream holds the elements of that slice
of the OHWI weight tensor in the order of the hardware's loops, with zeros where a loop leaves the tensor.
`block_order` gives the elements of one such block as flat indices into the slice; all blocks but the last
have the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.config import NpuConfig

PADDING = -1
_OUTSIDE = -(1 << 40)  # more than any index, so that one such term makes a sum negative

Ints = NDArray[np.int64]
Point = tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """What the element order depends on. Pairs are (y, x).

    Attributes:
        config: The NPU.
        depthwise: One input channel per output channel; `ifm_depth` is 1.
        part_kernel_first: KERNEL_STRIDE.weight_order.
        block_depth: Depth of an OFM block.
        ublock_depth: Depth of an OFM micro block.
        ifm_depth: Input channels.
        kernel: Kernel elements, not dilated.
        stride: Kernel strides.
        dilation: 1 or 2.
        ifm_bits: 8 or 16.
        sparse: U85: 2:4 sparsity.
        decoders: Number of streams that share the channels of a micro block (U85).
    """

    config: NpuConfig
    depthwise: bool
    part_kernel_first: bool
    block_depth: int
    ublock_depth: int
    ifm_depth: int
    kernel: Point
    stride: Point = (1, 1)
    dilation: Point = (1, 1)
    ifm_bits: int = 8
    sparse: bool = False
    decoders: int = 1

    @property
    def ifm_block_depth(self) -> int:
        """Input channels that are read before the next kernel element ("IB")."""
        if not self.config.is_u85:
            if self.depthwise:
                return 8
            return 16 if self.part_kernel_first or self.ifm_bits == 16 else 32
        if self.part_kernel_first:
            return 16
        if self.config.macs <= 256 and self.ublock_depth == 16 and not self.sparse:
            return 32
        return 128 if self.sparse and self.ifm_bits == 8 else 64

    @property
    def ifm_ublock_depth(self) -> int:
        """Input channels that are read together ("IU")."""
        if not self.config.is_u85:
            return 8
        if self.depthwise:
            return 1
        narrow = self.part_kernel_first and self.ifm_bits == 16 and not self.sparse
        return 8 if narrow else self.ifm_block_depth

    @property
    def kernel_round(self) -> int:
        """Kernel elements are padded to a multiple of this ("RND")."""
        if not self.config.is_u85:
            if self.depthwise:
                return 4
            return 1 if not self.part_kernel_first else 2 if self.ifm_bits == 16 else 4
        if self.depthwise:
            return 10
        return 1 if not self.part_kernel_first else 10 if self.ifm_bits == 16 or self.sparse else 5

    @property
    def fwd_block(self) -> int:
        """Elements of one decoder in turn in a FWD stream (U85)."""
        return self.ublock_depth * self.ifm_ublock_depth * self.kernel_round // self.decoders


@lru_cache(maxsize=32)
def block_order(layout: Layout, depth: int, stream: int = 0, ascending: bool = True) -> NDArray[np.int32]:
    """Element order of an OFM block.

    Args:
        layout: The geometry.
        depth: Channels of this block, at most `layout.block_depth`.
        stream: Weight decoder (U85).
        ascending: Direction of the IFM blocks (U85: alternates from OFM block to OFM block).

    Returns:
        Flat indices into the block's weights, an array (depth, kernel height, kernel width, ifm_depth);
        `PADDING` for elements of the stream outside of it. Not to be written to.
    """
    parts = (
        _u85_parts(layout, depth, stream, ascending) if layout.config.is_u85 else _u55_parts(layout, depth)
    )
    order = np.concatenate([part.ravel() for part in parts])
    return np.asarray(np.maximum(order, PADDING), np.int32)


def _u55_parts(layout: Layout, depth: int) -> Iterator[Ints]:
    ifm_block, ifm_ublock, ublock = layout.ifm_block_depth, layout.ifm_ublock_depth, layout.ublock_depth
    out = _outputs(layout, depth, np.arange(0, depth, ublock)[:, None] + np.arange(ublock))
    for start in range(0, layout.ifm_depth, ifm_block):
        span = min(ifm_block, layout.ifm_depth - start) if layout.part_kernel_first else ifm_block
        inner = _inputs(layout, start + np.arange(0, span, ifm_ublock)[:, None] + np.arange(ifm_ublock))
        for y, x, height, width in _sub_kernels(layout, x_outer=False):
            place = _u55_places(layout, (y, x), (height, width))
            if layout.depthwise:
                yield out[:, None, :] + place[:, None]  # ou, e, o
            elif layout.part_kernel_first:  # io, ou, e, o, i
                yield out[:, None, :, None] + place[:, None, None] + inner[:, None, None, None, :]
            else:  # ou, e, ii, o, i
                yield out[:, None, None, :, None] + place[:, None, None, None] + inner[:, None, :]


def _u55_places(layout: Layout, origin: Point, size: Point) -> Ints:
    """Kernel elements of a sub-kernel, row by row."""
    height, width = size
    count = -(-height * width // layout.kernel_round) * layout.kernel_round
    element = np.arange(count)
    y, x = element // width, element % width
    return np.where(y < height, _place(layout, origin[0] + y, origin[1] + x), _OUTSIDE)


def _u85_parts(layout: Layout, depth: int, stream: int, ascending: bool) -> Iterator[Ints]:
    ifm_block, ifm_ublock, ublock = layout.ifm_block_depth, layout.ifm_ublock_depth, layout.ublock_depth
    step = 1 if layout.depthwise else 16 if layout.sparse else 8
    groups = np.arange(stream * 4, ublock, 4 * layout.decoders)[:, None] + np.arange(4)
    out = _outputs(layout, depth, np.arange(0, depth, ublock)[:, None, None] + groups)
    starts = range(0, layout.ifm_depth, ifm_block)
    for start in starts if ascending else reversed(starts):
        span = min(ifm_block, layout.ifm_depth - start)
        ublocks = np.arange(0, span, ifm_ublock)[:, None, None]
        steps = np.arange(0, ifm_ublock, step)[:, None]
        inner = _inputs(layout, start + ublocks + steps + np.arange(step))  # io, ii, i
        for y, x, height, width in _sub_kernels(layout, x_outer=True):
            place = _u85_places(layout, (y, x), (height, width))
            yield (  # io, ou, k, ii, og, o4, i
                out[:, None, None, :, :, None]
                + place[:, None, None, None, None]
                + inner[:, None, None, :, None, None, :]
            )


def _u85_places(layout: Layout, origin: Point, size: Point) -> Ints:
    """Kernel elements of a sub-kernel: phase by phase of the stride, each serpentine, then padding."""
    once = not (layout.depthwise or layout.part_kernel_first)
    stride_y, stride_x = (1, 1) if once else layout.stride
    pause = _depthwise_pause(layout)
    unit = layout.kernel_round
    left = -(-size[0] * size[1] // unit) * unit
    places: list[int] = []
    for phase_y, phase_x in product(range(stride_y), range(stride_x)):
        rows = range(phase_y, size[0], stride_y)
        columns = range(phase_x, size[1], stride_x)
        for index, y in enumerate(rows):
            for x in reversed(columns) if index % 2 else columns:
                places.append(int(_place(layout, np.int64(origin[0] + y), np.int64(origin[1] + x))))
                left -= 1
                if left % unit == 0:
                    places += [_OUTSIDE] * pause
    if left > 0:
        places += [_OUTSIDE] * (left + pause)
    return np.array(places, np.int64)


def _depthwise_pause(layout: Layout) -> int:
    """Steps of padding after a group of depthwise kernel elements ("DWPAD")."""
    if not layout.depthwise or (layout.ifm_bits == 8 and layout.config.macs <= 256):
        return 0
    return 2 if layout.config.macs <= 512 else 6


def _sub_kernels(layout: Layout, *, x_outer: bool) -> Iterator[tuple[int, int, int, int]]:
    """Kernels are cut to 8x8 dilated elements: (y, x, height, width) of each piece."""
    height, width = layout.kernel
    step_y, step_x = 8 // layout.dilation[0], 8 // layout.dilation[1]
    ys, xs = range(0, height, step_y), range(0, width, step_x)
    origins = [(y, x) for x in xs for y in ys] if x_outer else [(y, x) for y in ys for x in xs]
    for y, x in origins:
        yield y, x, min(step_y, height - y), min(step_x, width - x)


def _outputs(layout: Layout, depth: int, channel: Ints) -> Ints:
    size = layout.kernel[0] * layout.kernel[1] * layout.ifm_depth
    return np.where(channel < depth, channel * size, _OUTSIDE)


def _inputs(layout: Layout, channel: Ints) -> Ints:
    return np.where(channel < layout.ifm_depth, channel, _OUTSIDE)


def _place(layout: Layout, y: Ints | np.int64, x: Ints | np.int64) -> Ints:
    return np.asarray((y * layout.kernel[1] + x) * layout.ifm_depth)
