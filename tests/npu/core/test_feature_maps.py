from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.standin.npu.errors import NpuError, NpuFault
from harness.standin.npu.feature_maps import FeatureMap, read, write
from harness.standin.npu.memory import ArrayMemory, Regions

BASE = 0x1000


def address(fmap: FeatureMap, y: int, x: int, c: int) -> int:
    """The address formula of the reference, element by element."""
    size = fmap.dtype.itemsize
    tile = 0
    if x > fmap.width0 - 1:
        x, tile = x - fmap.width0, 1
    height = fmap.height1 if tile == 1 else fmap.height0
    if y >= height:
        y, tile = y - height, tile + 2
    stride_y, stride_x, stride_c = fmap.strides
    if fmap.bricks:
        return fmap.bases[tile] + y * stride_y + x * 16 * size + c // 16 * stride_c + c % 16 * size
    return fmap.bases[tile] + y * stride_y + x * stride_x + c * size


@st.composite
def maps(draw: st.DrawFn) -> tuple[FeatureMap, tuple[int, int, int]]:
    dtype = np.dtype(draw(st.sampled_from(["<i1", "<u1", "<i2", "<i4", "<i8"])))
    height, width, depth = draw(st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 40)))
    bricks = draw(st.booleans())
    size = dtype.itemsize
    channels = -(-depth // 16) * 16 if bricks else depth
    pitch = channels * width * size + draw(st.integers(0, 5))
    strides = (pitch, depth * size, width * 16 * size)
    plane = pitch * height
    backwards = draw(st.booleans()) and not bricks
    if backwards:
        strides = (-pitch, strides[1], strides[2])
    first = plane if backwards else 0
    bases = (first, first + plane, first + 2 * plane, first + 3 * plane)
    split = draw(st.tuples(st.integers(1, width), st.integers(1, height), st.integers(1, height)))
    fmap = FeatureMap("IFM", dtype, 0, "TILE2X2", 0, bricks, bases, strides, *split)
    return fmap, (height, width, depth)


@settings(max_examples=60)
@given(maps(), st.integers(0, 1 << 30))
def test_every_element_lies_where_the_formula_says(
    drawn: tuple[FeatureMap, tuple[int, int, int]], seed: int
) -> None:
    fmap, shape = drawn
    data = np.random.default_rng(seed).integers(0, 256, 1 << 16, dtype=np.uint8)
    before = data.copy()
    regions = Regions(ArrayMemory(BASE, data), (BASE,))
    values = read(fmap, regions, shape).copy()
    size = fmap.dtype.itemsize
    for index in np.ndindex(shape):
        at = address(fmap, *index)
        assert values[index] == np.frombuffer(before[at : at + size].tobytes(), fmap.dtype)[0]
    write(fmap, regions, ~values)
    assert np.array_equal(read(fmap, regions, shape), ~values)
    untouched = np.ones(len(data), bool)
    for index in np.ndindex(shape):
        untouched[address(fmap, *index) :][:size] = False
    assert np.array_equal(data[untouched], before[untouched])


def test_outside_memory_is_a_bus_error() -> None:
    fmap = FeatureMap("IFM", np.dtype("i1"), 0, "TILE2X2", 0, False, (0, 0, 0, 0), (100, 1, 1), 100, 100, 100)
    with pytest.raises(NpuFault) as caught:
        read(fmap, Regions(ArrayMemory(BASE, np.zeros(500, np.uint8)), (BASE,)), (6, 4, 1))
    assert caught.value.kind == "bus"
    assert caught.value.address == BASE


def test_huge_feature_maps_are_refused_before_anything_is_allocated() -> None:
    fmap = FeatureMap(
        "IFM", np.dtype("i1"), 0, "TILE2X2", 0, False, (0, 0, 0, 0), (0, 0, 0), 1 << 16, 1 << 16, 1
    )
    with pytest.raises(NpuError, match="65536x65536x65536"):
        read(
            fmap,
            Regions(ArrayMemory(BASE, np.zeros(1 << 17, np.uint8)), (BASE,)),
            (1 << 16, 1 << 16, 1 << 16),
        )
