"""Weight streams against Vela's own encoder; the order of U85, for which there is none, by its properties."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from ethosu import mlw_codec
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.standin.npu.config import NpuConfig
from harness.standin.npu.errors import NpuError
from harness.standin.npu.memory import ArrayMemory, Regions
from harness.standin.npu.registers import RegisterState
from harness.standin.npu.weights import WeightCache, decode, decode_fwd, operation_weights
from harness.standin.npu.weights_order import PADDING, Layout, block_order
from harness.standin.npu.weights_swd import decode_swd

fixed = settings(derandomize=True, deadline=None, max_examples=60)

KINDS = ("uniform", "narrow", "sparse", "zero", "few", "zeros first")


def weights_of(kind: str, count: int, seed: int) -> NDArray[np.int16]:
    rng = np.random.default_rng(seed)
    wide = rng.integers(-255, 256, count)
    values = {
        "uniform": wide,
        "narrow": np.round(rng.normal(0, 12, count)).clip(-255, 255),
        "sparse": np.round(rng.laplace(0, 20, count)).clip(-127, 127) * (rng.random(count) < 0.2),
        "zero": np.zeros(count),
        "few": rng.choice([-3, 5, 100, 0], count),
        "zeros first": np.where(np.arange(count) < count // 2, 0, wide),
    }
    return values[kind].astype(np.int16)


def encode(values: NDArray[np.int16]) -> bytes:
    return bytes(mlw_codec.encode(values.tolist()))


@fixed
@given(st.sampled_from(KINDS), st.integers(1, 3000), st.integers(0, 999))
def test_swd_equals_what_vela_encoded(kind: str, count: int, seed: int) -> None:
    values = weights_of(kind, count, seed)
    np.testing.assert_array_equal(decode_swd(encode(values), count), values)


@pytest.mark.parametrize("kind", KINDS)
def test_swd_of_several_slices(kind: str) -> None:
    values = weights_of(kind, 100_000, 1)
    np.testing.assert_array_equal(decode_swd(encode(values), values.size), values)


@pytest.mark.parametrize("kind", KINDS)
def test_swd_of_another_length_is_an_error(kind: str) -> None:
    data = encode(weights_of(kind, 500, 2))
    for count in (1, 499, 501, 5000):
        with pytest.raises(NpuError):
            decode_swd(data, count)


@pytest.mark.parametrize("kind", KINDS)
def test_swd_cut_off_is_an_error(kind: str) -> None:
    data = encode(weights_of(kind, 500, 3)).rstrip(b"\xff")
    for length in {*range(min(20, len(data) - 1)), len(data) // 2}:
        with pytest.raises(NpuError):
            decode_swd(data[:length], 500)


@fixed
@given(st.binary(max_size=400), st.integers(0, 2000))
def test_swd_of_garbage_decodes_or_is_an_error(data: bytes, count: int) -> None:
    with suppress(NpuError):
        assert decode_swd(data, count).size == count


u55_layouts = st.builds(
    Layout,
    config=st.sampled_from([NpuConfig("u55", 32), NpuConfig("u55", 128), NpuConfig("u65", 256)]),
    depthwise=st.just(False),
    part_kernel_first=st.booleans(),
    block_depth=st.sampled_from([8, 16, 24, 64, 128]),
    ublock_depth=st.just(8),
    ifm_depth=st.integers(1, 70),
    kernel=st.tuples(st.integers(1, 11), st.integers(1, 11)),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    ifm_bits=st.sampled_from([8, 16]),
)


def with_ublock(layout: Layout) -> Layout:
    return Layout(**{**vars(layout), "ublock_depth": layout.config.ofm_ublock_depth()})


def reordered_by_vela(layout: Layout, weights: NDArray[np.int16]) -> bytes:
    return bytes(
        mlw_codec.reorder_encode(
            8,
            layout.ublock_depth,
            weights,
            layout.block_depth,
            layout.depthwise,
            layout.part_kernel_first,
            layout.ifm_bits,
            8 // layout.dilation[0],
            8 // layout.dilation[1],
        )[0]
    )


@fixed
@given(u55_layouts, st.integers(1, 40), st.integers(0, 99))
def test_u55_order_of_convolutions(drawn: Layout, depth: int, seed: int) -> None:
    layout = with_ublock(drawn)
    weights = weights_of("uniform", depth * prod(layout.kernel) * layout.ifm_depth, seed)
    weights = weights.reshape(depth, *layout.kernel, layout.ifm_depth)
    np.testing.assert_array_equal(decode(layout, depth, [reordered_by_vela(layout, weights)]), weights)


@fixed
@given(u55_layouts, st.integers(1, 70), st.integers(0, 99))
def test_u55_order_of_depthwise_convolutions(drawn: Layout, depth: int, seed: int) -> None:
    changed = {"depthwise": True, "part_kernel_first": False, "ifm_depth": 1}
    layout = Layout(**{**vars(with_ublock(drawn)), **changed})
    weights = weights_of("uniform", depth * prod(layout.kernel), seed).reshape(depth, *layout.kernel, 1)
    np.testing.assert_array_equal(decode(layout, depth, [reordered_by_vela(layout, weights)]), weights)


def u85_layouts() -> list[Any]:
    """Each microblock of each configuration; the kernel exceeds sub-kernels, is strided and dilated."""
    microblocks = {128: (0, 1), 256: (1, 2, 3), 512: (2, 3), 1024: (2, 3, 4), 2048: (2, 3, 5)}
    cases = []
    for macs, blocks in microblocks.items():
        config = NpuConfig("u85", macs)
        for microblock, kind, bits, sparse in product(
            blocks, ("depthwise", "part", "depth"), (8, 16), (False, True)
        ):
            layout = Layout(
                config=config,
                depthwise=kind == "depthwise",
                part_kernel_first=kind == "part",
                block_depth=max(32, config.ofm_ublock_depth(microblock)),
                ublock_depth=config.ofm_ublock_depth(microblock),
                ifm_depth=1 if kind == "depthwise" else 75,
                kernel=(9, 5),
                stride=(2, 3),
                dilation=(1, 2),
                ifm_bits=bits,
                sparse=sparse and kind != "depthwise",
                decoders=config.weight_decoders,
            )
            cases.append(pytest.param(layout, id=f"{macs}-{microblock}-{kind}-{bits}{'-2:4' * sparse}"))
    return cases


@pytest.mark.parametrize("layout", u85_layouts())
def test_u85_order_has_every_element_once(layout: Layout) -> None:
    for depth in (1, 30, 32):
        size = depth * layout.kernel[0] * layout.kernel[1] * layout.ifm_depth
        for ascending in (True, False):
            streams = [block_order(layout, depth, index, ascending) for index in range(layout.decoders)]
            assert len({stream.size for stream in streams}) == 1
            places = np.concatenate(streams)
            np.testing.assert_array_equal(np.sort(places[places != PADDING]), np.arange(size))


def test_values_in_padding_are_an_error() -> None:
    layout = Layout(NpuConfig("u55", 128), False, False, 16, 8, 5, (1, 1))
    count = block_order(layout, 3).size
    with pytest.raises(NpuError, match="padding"):
        decode(layout, 3, [encode(np.ones(count, np.int16))])


def fwd(body: bytes, *, raw: bool = False, small: bool = False, adjust: int = 0) -> bytes:
    header = raw | small << 1 | adjust << 104
    for entry in range(16):
        magnitude, negative = 3 * entry, entry % 2
        header |= (magnitude << 1 | negative) << (112 + 9 * entry)
    return header.to_bytes(32, "little") + body


def test_fwd_formats() -> None:
    assert decode_fwd(fwd(b"\x01\xff\x80", raw=True), 3).tolist() == [1, -1, -128]
    assert decode_fwd(fwd(b"\x21\x0f"), 3).tolist() == [-3, 6, -45]
    assert decode_fwd(fwd(b"\xe4", small=True), 4).tolist() == [0, -3, 6, -9]


def test_fwd_refuses_what_is_not_known() -> None:
    with pytest.raises(NpuError, match="zero adjustment"):
        decode_fwd(fwd(b"\x01", raw=True, adjust=1), 1)
    with pytest.raises(NpuError, match="33 bytes"):
        decode_fwd(fwd(b"\x01", raw=True), 2)


def test_the_cache_decodes_once_and_forgets() -> None:
    layout = Layout(NpuConfig("u55", 128), False, False, 16, 8, 8, (1, 1))
    first, second = (
        reordered_by_vela(layout, weights_of("uniform", 64, seed).reshape(8, 1, 1, 8)) for seed in (1, 2)
    )
    cache = WeightCache(limit=128)
    one = cache.decode(layout, 8, [first])
    assert cache.decode(layout, 8, [first]) is one
    assert not one.flags.writeable
    cache.decode(layout, 8, [second])
    again = cache.decode(layout, 8, [first])
    assert again is not one
    np.testing.assert_array_equal(again, one)


def weight_registers(depth: int, channels: int, kernel: int) -> RegisterState:
    state = RegisterState(NpuConfig("u55", 128))
    values = {"OFM_DEPTH_M1": depth - 1, "IFM_DEPTH_M1": channels - 1, "OFM_BLK_DEPTH_M1": 15}
    values |= {"KERNEL_HEIGHT_M1": kernel - 1, "KERNEL_WIDTH_M1": kernel - 1}
    values |= dict.fromkeys(("IFM_PAD_TOP", "IFM_PAD_LEFT", "IFM_PAD_BOTTOM", "IFM_PAD_RIGHT"), 0)
    values |= {"WEIGHT_REGION": 0, "WEIGHT_BASE": 16}
    for name, value in values.items():
        state.set(name, value)
    state.set("KERNEL_STRIDE", stride_x_lsb=0)
    state.set("IFM_PRECISION", activation_precision=0)
    return state


def test_weights_are_read_where_the_registers_say() -> None:
    weights = weights_of("uniform", 3 * 2 * 2 * 5, 4).reshape(3, 2, 2, 5)
    stream = reordered_by_vela(Layout(NpuConfig("u55", 128), False, False, 16, 8, 5, (2, 2)), weights)
    state = weight_registers(3, 5, 2)
    state.set("WEIGHT_LENGTH", len(stream))
    data = np.frombuffer(bytes(16) + stream, np.uint8).copy()
    memory = Regions(ArrayMemory(0x1000, data), (0x1000,))
    np.testing.assert_array_equal(operation_weights(state, memory, depthwise=False), weights)
    state.set("WEIGHT_LENGTH", len(stream) + 1)
    with pytest.raises(NpuError, match="no memory"):
        operation_weights(state, memory, depthwise=False)


def test_absurd_sizes_are_refused_at_once() -> None:
    state = weight_registers(65536, 65536, 1)
    with pytest.raises(NpuError, match="65536 filters"):
        operation_weights(state, Regions(ArrayMemory(0, np.zeros(0, np.uint8)), (0,)), depthwise=False)
