"""Feature maps in memory: formats, tiles, strides and types (reference section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.standin.npu.errors import unimplemented
from harness.standin.npu.memory import Regions
from harness.standin.npu.numerics import Ints
from harness.standin.npu.registers import RegisterState

LARGEST = 1 << 25  # elements; far above what fits the memories of these systems

Shape = tuple[int, int, int]

_BITS = {"B8": 8, "B16": 16, "B32": 32, "B64": 64}
_BRICK = 16  # channels of an NHCWB16 brick


@dataclass(frozen=True)
class FeatureMap:
    """What the registers of IFM, IFM2 or OFM describe.

    Attributes:
        name: "IFM", "IFM2" or "OFM".
        dtype: little-endian element type.
        zero_point: read as the type's signedness says.
        storage: "TILE2X2", or on U85 "CHAINED" (`region` is then a buffer number) or "NONE".
        region: region number.
        bricks: True for NHCWB16, False for NHWC.
        bases: byte offsets of tiles 0-3 (top left, top right, bottom left, bottom right).
        strides: bytes from one element to the next in Y, X and (NHCWB16: brick) C.
        width0, height0, height1: sizes of tiles 0 (and 2) and 1.
    """

    name: str
    dtype: np.dtype[Any]
    zero_point: int
    storage: str
    region: int
    bricks: bool = False
    bases: tuple[int, int, int, int] = (0, 0, 0, 0)
    strides: Shape = (0, 0, 0)
    width0: int = 0
    height0: int = 0
    height1: int = 0

    @property
    def signed(self) -> bool:
        """True for a signed element type."""
        return bool(self.dtype.kind == "i")

    @property
    def bits(self) -> int:
        """Width of an element: 8, 16, 32 or 64."""
        return self.dtype.itemsize * 8


def scalar(state: RegisterState, name: str) -> FeatureMap:
    """The type and zero point of a scalar operand, as a feature map without storage.

    Raises:
        NpuError: a register it needs was never written.
    """
    precision = f"{name}_PRECISION"
    bits = _BITS[state.choice(precision, "activation_precision")]
    signed = state.choice(precision, "activation_type") == "SIGNED"
    zero_point = _register(state, f"{name}_ZERO_POINT")
    if signed and zero_point >= 1 << 15:
        zero_point -= 1 << 16
    return FeatureMap(name, np.dtype(f"<{'i' if signed else 'u'}{bits // 8}"), zero_point, "NONE", 0)


def feature_map(state: RegisterState, name: str) -> FeatureMap:
    """The feature map `name` ("IFM", "IFM2" or "OFM") as the registers describe it now.

    Raises:
        NpuError: a register it needs was never written, or it is stored in three tiles.
    """
    precision = f"{name}_PRECISION"
    element = scalar(state, name)
    storage = state.choice(precision, "activation_storage") if state.config.is_u85 else "TILE2X2"
    if storage == "TILE3X1":
        raise unimplemented(f"{name} in three tiles (TILE3X1)")
    if storage == "NONE":
        return element
    region = _register(state, f"{name}_REGION")
    if storage == "CHAINED":
        return replace(element, storage=storage, region=region)
    bases = tuple(_register(state, f"{name}_BASE{tile}") for tile in range(4))
    strides = tuple(_register(state, f"{name}_STRIDE_{axis}") for axis in "YXC")
    return replace(
        element,
        storage=storage,
        region=region,
        bricks=state.choice(precision, "activation_format") == "NHCWB16",
        bases=(bases[0], bases[1], bases[2], bases[3]),
        strides=(strides[0], strides[1], strides[2]),
        width0=_register(state, f"{name}_WIDTH0_M1") + 1,
        height0=_register(state, f"{name}_HEIGHT0_M1") + 1,
        height1=_register(state, f"{name}_HEIGHT1_M1") + 1,
    )


def read(source: FeatureMap, memory: Regions, shape: Shape) -> Ints:
    """The elements (H, W, C) of a feature map in its own type: a view of memory where one can describe it.

    Raises:
        NpuError: part of it lies outside memory.
    """
    check_size(source.name, shape)
    pieces = list(_pieces(source, memory, shape))
    if len(pieces) == 1 and pieces[0][1].ndim == 3:
        return pieces[0][1]
    values: Ints = np.empty(shape, source.dtype)
    for place, stored in pieces:
        part = values[place]
        part[...] = stored.reshape(part.shape)
    return values


def write(target: FeatureMap, memory: Regions, values: Ints) -> None:
    """Store values (H, W, C), already in the feature map's type.

    Raises:
        NpuError: part of it lies outside memory.
    """
    height, width, depth = values.shape
    for place, stored in list(_pieces(target, memory, (height, width, depth))):
        stored[...] = values[place].reshape(stored.shape)


def check_size(name: str, shape: Shape) -> None:
    """Refuse what only a corrupt stream asks for.

    Raises:
        NpuError: more than `LARGEST` elements.
    """
    height, width, depth = shape
    if height * width * depth > LARGEST:
        raise unimplemented(f"{name} of {height}x{width}x{depth} elements")


def broadcast_shape(state: RegisterState, name: str, shape: Shape) -> Shape | None:
    """The shape of an elementwise operand: axes that are broadcast have size 1. None for a scalar operand."""
    height, width, depth = shape
    register = f"{name}_BROADCAST"
    if state.config.is_u85:
        mode = state.field(register, "broadcast_mode")
        if state.choice(register, "broadcast_mode") == "SCALAR":
            return None
        flags = [bool(mode & 1 << bit) for bit in range(3)]
    elif name == "IFM":
        return shape
    else:
        if state.field(register, "broadcast_constant"):
            return None
        flags = [bool(state.field(register, f"broadcast_{axis}")) for axis in "hwc"]
    return (1 if flags[0] else height, 1 if flags[1] else width, 1 if flags[2] else depth)


def _register(state: RegisterState, name: str) -> int:
    value: int = getattr(state, name)
    return value


Place = tuple[slice, slice, slice]


def _pieces(fmap: FeatureMap, memory: Regions, shape: Shape) -> Iterator[tuple[Place, Ints]]:
    """The parts of a feature map that one strided view each can describe, with their place in (H, W, C).

    A view has shape (h, w, c), or (h, w, bricks, channels) in NHCWB16.
    """
    size = fmap.dtype.itemsize
    stride_y, stride_x, stride_c = fmap.strides
    for base, rows, columns in _tiles(fmap, shape):
        h, w = rows.stop - rows.start, columns.stop - columns.start
        if not fmap.bricks:
            strides = (stride_y, stride_x, size)
            yield (
                (rows, columns, slice(0, shape[2])),
                _strided(fmap, memory, base, (h, w, shape[2]), strides),
            )
            continue
        brick_strides = (stride_y, _BRICK * size, stride_c, size)
        whole, rest = divmod(shape[2], _BRICK)
        for first, count, channels in ((0, whole, _BRICK), (whole, 1, rest)):
            if count and channels:
                place = (rows, columns, slice(first * _BRICK, first * _BRICK + count * channels))
                start = base + first * stride_c
                yield place, _strided(fmap, memory, start, (h, w, count, channels), brick_strides)


def _tiles(fmap: FeatureMap, shape: Shape) -> Iterator[tuple[int, slice, slice]]:
    """Base offset, rows and columns of each tile in use."""
    height, width, _ = shape
    for right in (0, 1):
        columns = slice(fmap.width0, width) if right else slice(0, min(width, fmap.width0))
        split = fmap.height1 if right else fmap.height0
        for bottom in (0, 1):
            rows = slice(split, height) if bottom else slice(0, min(height, split))
            if rows.start < rows.stop and columns.start < columns.stop:
                yield fmap.bases[right + 2 * bottom], rows, columns


def _strided(
    fmap: FeatureMap, memory: Regions, base: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Ints:
    """A writable view of memory; strides may be negative."""
    reach = [(count - 1) * stride for count, stride in zip(shape, strides, strict=True)]
    lowest = sum(min(0, distance) for distance in reach)
    highest = sum(max(0, distance) for distance in reach)
    block = memory.view(fmap.region, base + lowest, highest - lowest + fmap.dtype.itemsize)
    return np.ndarray(shape, fmap.dtype, buffer=block.data, offset=-lowest, strides=strides)
