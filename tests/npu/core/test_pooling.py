from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.standin.npu.errors import NpuError
from tests.npu.core.assembler import Array, Assembler

IFM = np.random.default_rng(3).integers(-128, 128, (5, 7, 3)).astype(np.int8)
PADS = (1, 0, 0, 2)
HEIGHT, WIDTH, KERNEL = 2, 4, (3, 3)


def windows(pads: tuple[int, int, int, int]) -> dict[tuple[int, int, int], list[int]]:
    """Valid elements of each 3x3 window, stride 2, by output position."""
    found = {}
    for y, x, c in np.ndindex(HEIGHT, WIDTH, IFM.shape[2]):
        rows = range(2 * y - pads[0], 2 * y - pads[0] + KERNEL[0])
        columns = range(2 * x - pads[1], 2 * x - pads[1] + KERNEL[1])
        inside = [(row, column) for row in rows for column in columns if 0 <= row < 5 and 0 <= column < 7]
        found[y, x, c] = [int(IFM[row, column, c]) for row, column in inside]
    return found


def pooled(npu: str, mode: str, ifm: Array = IFM, zero_point: int = 0) -> Array:
    stream = Assembler(npu)
    stream.kernel(*KERNEL, pads=PADS).emit("KERNEL_STRIDE", stride_x_lsb=1, stride_y_lsb=1)
    stream.feature_map("IFM", ifm, zero_point)
    ofm = np.zeros((HEIGHT, WIDTH, ifm.shape[2]), np.int32)
    stream.clip(-32768, 32767)
    if npu.startswith("ethos-u85"):
        stream.emit("ACTIVATION", activation_clip_range="NONE")
    at = stream.feature_map("OFM", ofm)
    return stream.emit("OP_POOL", mode).result(at, ofm)


@pytest.mark.parametrize(
    ("npu", "mode"),
    [
        ("ethos-u55-128", "MAX"),
        ("ethos-u85-256", "MAX"),
        ("ethos-u85-256", "MIN"),
        ("ethos-u85-256", "SUM"),
    ],
)
def test_extremes_and_sums_ignore_padding(npu: str, mode: str) -> None:
    combine: Callable[[list[int]], int] = {"MAX": max, "MIN": min, "SUM": sum}[mode]  # type: ignore[assignment]
    values = pooled(npu, mode)
    for position, elements in windows(PADS).items():
        assert values[position] == combine(elements)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_padded_averages_divide_by_the_valid_elements(npu: str) -> None:
    values = pooled(npu, "AVERAGE")
    for position, elements in windows(PADS).items():
        count = len(elements)
        k = (count - 1).bit_length()
        reciprocal = (((1 << 30) + 1) << k) // count
        assert values[position] == (sum(elements) * reciprocal + (1 << (29 + k))) >> (30 + k)


def test_unpadded_u55_averages_leave_the_division_to_the_ofm_scale() -> None:
    stream = Assembler("ethos-u55-128")
    ifm = np.full((2, 2, 1), 5, np.int8)
    stream.kernel(2, 2).feature_map("IFM", ifm)
    ofm = np.zeros((1, 1, 1), np.int8)
    at = stream.feature_map("OFM", ofm)
    assert stream.emit("OP_POOL", "AVERAGE").result(at, ofm).tolist() == [[[20]]]


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_reduce_sum_of_int32_wraps_only_at_the_end(npu: str) -> None:
    ifm = np.array([[[2**31 - 1, 2**31 - 1, -(2**31)]], [[1, 2, 3]]], np.int32)
    stream = Assembler(npu).clip(-32768, 32767)
    if npu.startswith("ethos-u85"):
        stream.emit("ACTIVATION", activation_clip_range="NONE")
    stream.feature_map("IFM", ifm)
    ofm = np.zeros((2, 1, 1), np.int32)
    at = stream.feature_map("OFM", ofm)
    assert stream.emit("OP_POOL", "REDUCE_SUM").result(at, ofm).ravel().tolist() == [2**31 - 2, 6]


def test_argmax_takes_the_first_maximum() -> None:
    ifm = np.array([[[1], [7], [7], [-3]]], np.int8)
    stream = Assembler("ethos-u85-256").kernel(1, 4).rounding("TRUNCATE_TO_LOWER", 1, 16)
    stream.feature_map("IFM", ifm)
    ofm = np.zeros((1, 1, 1), np.int32)
    at = stream.feature_map("OFM", ofm)
    assert stream.emit("OP_POOL", "ARGMAX_X").result(at, ofm).item() == 1


@pytest.mark.parametrize("mode", ["NEAREST", "ZEROS"])
def test_upscaling_doubles_the_input(mode: str) -> None:
    stream = Assembler("ethos-u55-128").emit("IFM_UPSCALE", mode)
    ifm = np.array([[[10], [20]], [[30], [40]]], np.int8)
    stream.feature_map("IFM", ifm, zero_point=10)
    ofm = np.zeros((4, 3, 1), np.int8)
    at = stream.feature_map("OFM", ofm, zero_point=10)
    values = stream.emit("OP_POOL", "MAX").result(at, ofm)[:, :, 0]
    if mode == "NEAREST":
        assert values.tolist() == [[10, 10, 20], [10, 10, 20], [30, 30, 40], [30, 30, 40]]
    else:
        assert values.tolist() == [[10, 10, 20], [10, 10, 10], [30, 10, 40], [10, 10, 10]]


def test_accumulators_are_kept_and_continued() -> None:
    stream = Assembler("ethos-u85-256")
    ones, twos = np.full((2, 2, 1), 1, np.int8), np.full((2, 2, 1), 2, np.int8)
    ofm = np.zeros((2, 2, 1), np.int8)
    at = stream.feature_map("OFM", ofm)
    stream.feature_map("IFM", ones)
    stream.emit("ACC_FORMAT", acc_output="DISABLE").emit("OP_POOL", "SUM")
    stream.feature_map("IFM", twos)
    stream.emit("ACC_FORMAT", acc_input="KEEP").emit("OP_POOL", "SUM")
    assert stream.result(at, ofm).ravel().tolist() == [3] * 4


def test_pool_none_copies_ifm2() -> None:
    values = np.array([[[2**40, -(2**40)]]], np.int64)
    stream = Assembler("ethos-u85-256").emit("ACTIVATION", activation_clip_range="NONE")
    stream.feature_map("IFM2", values)
    at = stream.feature_map("OFM", np.zeros_like(values))
    stream.emit("ACC_FORMAT", acc_input="IFM2").emit("IFM2_BROADCAST", "SCALAR").emit("OP_POOL", "NONE")
    assert np.array_equal(stream.result(at, values), values)


@pytest.mark.parametrize("code", ["WHC", "HCW", "WCH", "CHW", "CWH"])
def test_transposition(code: str) -> None:
    stream = Assembler("ethos-u85-256")
    stream.feature_map("IFM", IFM)
    wanted = IFM.transpose(["HWC".index(axis) for axis in code])
    at = stream.feature_map("OFM", np.zeros_like(wanted), activation_transpose=code)
    for axis, size in zip(("HEIGHT", "WIDTH", "DEPTH"), IFM.shape, strict=True):
        stream.emit(f"OFM_{axis}_M1", size - 1)
    assert np.array_equal(stream.emit("OP_POOL", "SUM").result(at, wanted), wanted)


@pytest.mark.parametrize(("axis", "dimension"), [("H", 0), ("W", 1), ("C", 2)])
def test_reversal(axis: str, dimension: int) -> None:
    stream = Assembler("ethos-u85-256")
    stream.feature_map("IFM", IFM)
    at = stream.feature_map("OFM", np.zeros_like(IFM), activation_reverse=axis)
    assert np.array_equal(stream.emit("OP_POOL", "SUM").result(at, IFM), np.flip(IFM, dimension))


@pytest.mark.parametrize(("npu", "mode"), [("ethos-u85-256", "ARGMAX_Y")])
def test_what_is_not_known_is_refused(npu: str, mode: str) -> None:
    with pytest.raises(NpuError, match=mode) as caught:
        pooled(npu, mode)
    assert caught.value.kind == "unimplemented"
    assert caught.value.opcode == "OP_POOL"
    assert caught.value.offset is not None
    assert caught.value.registers["KERNEL_HEIGHT_M1"] == 2
