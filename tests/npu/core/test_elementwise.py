from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.standin.npu.errors import NpuError
from tests.npu.core.assembler import Array, Assembler

RNG = np.random.default_rng(5)
A = RNG.integers(-128, 128, (2, 3, 5)).astype(np.int8)
B = RNG.integers(-128, 128, (2, 3, 5)).astype(np.int8)
BOTH = ("ethos-u55-128", "ethos-u85-256")


def compute(
    npu: str,
    mode: str,
    a: Array,
    b: Array | None,
    dtype: str,
    prepare: Callable[[Assembler], None] | None = None,
) -> Array:
    stream = Assembler(npu)
    if dtype == "i4" or dtype == "i8":
        stream.clip(0, 0)
        if stream.config.is_u85:
            stream.emit("ACTIVATION", activation_clip_range="NONE")
    stream.feature_map("IFM", a)
    if b is not None:
        stream.feature_map("IFM2", b)
    ofm = np.zeros(a.shape, dtype)
    at = stream.feature_map("OFM", ofm)
    if prepare:
        prepare(stream)
    return stream.emit("OP_ELEMENTWISE", mode).result(at, ofm)


@pytest.mark.parametrize("npu", BOTH)
@pytest.mark.parametrize(
    ("mode", "function"),
    [
        ("ADD", np.add),
        ("SUB", np.subtract),
        ("MUL", np.multiply),
        ("MIN", np.minimum),
        ("MAX", np.maximum),
    ],
)
@pytest.mark.parametrize("dtype", ["i1", "i4"])
def test_arithmetic(npu: str, mode: str, function: np.ufunc, dtype: str) -> None:
    exact = function(A.astype(int), B.astype(int))
    wanted = np.clip(exact, -128, 127) if dtype == "i1" else exact
    assert np.array_equal(compute(npu, mode, A, B, dtype), wanted)


@pytest.mark.parametrize(
    ("mode", "function"),
    [
        ("CMP_EQ", np.equal),
        ("CMP_NE", np.not_equal),
        ("CMP_GE", np.greater_equal),
        ("CMP_GT", np.greater),
        ("AND", np.bitwise_and),
        ("OR", np.bitwise_or),
        ("XOR", np.bitwise_xor),
        ("AND_NOT", lambda a, b: a & ~b),
    ],
)
def test_u85_comparisons_and_bits(mode: str, function: Callable[[Array, Array], Array]) -> None:
    other = np.where(RNG.integers(0, 2, A.shape), A, B).astype(np.int8)
    result = function(A, other)
    wanted = -result.astype(np.int8) if result.dtype == bool else result
    assert np.array_equal(compute("ethos-u85-256", mode, A, other, "i1"), wanted)


@pytest.mark.parametrize("npu", BOTH)
def test_unary(npu: str) -> None:
    words = np.array([[[0, 1, -1, 2**30, -(2**31), 12345]]], np.int32)
    assert compute(npu, "ABS", A, None, "i4").tolist() == np.abs(A.astype(int)).tolist()
    assert compute(npu, "CLZ", words, None, "i4").ravel().tolist() == [32, 31, 0, 1, 0, 18]


def test_not() -> None:
    assert np.array_equal(compute("ethos-u85-256", "NOT", A, None, "i1"), ~A)


def test_shifts() -> None:
    a = np.array([[[5, -5, 2**31 - 1, -(2**31)]]], np.int32)
    b = np.array([[[1, 1, 1, 31]]], np.int32)
    assert compute("ethos-u85-256", "SHL", a, b, "i4").ravel().tolist() == [10, -10, -2, 0]
    assert compute("ethos-u85-256", "LSR", a, b, "i4").ravel().tolist() == [2, 2147483645, 2**30 - 1, 1]
    assert compute("ethos-u55-128", "SHR", a, b, "i4").ravel().tolist() == [3, -2, 2**30, -1]

    def floor(stream: Assembler) -> None:
        stream.rounding("TRUNCATE_TO_LOWER")

    assert compute("ethos-u85-256", "SHR", a, b, "i4", floor).ravel().tolist() == [2, -3, 2**30 - 1, -1]


def test_division_truncates() -> None:
    a, b = (np.array([[values]], np.int32) for values in ([7, -7, 7, -7], [2, 2, -2, -2]))
    assert compute("ethos-u85-256", "DIV", a, b, "i4").ravel().tolist() == [3, -3, -3, 3]


def test_products_of_int32_are_exact() -> None:
    a = np.array([[[2**31 - 1, -(2**31)]]], np.int32)

    def shift(stream: Assembler) -> None:
        stream.rounding("NATURAL", 1, 31)

    wanted = [((value * value) + (1 << 30)) >> 31 for value in (2**31 - 1, -(2**31))]
    assert compute("ethos-u85-256", "MUL", a, a, "i8", shift).ravel().tolist() == wanted


def test_u55_broadcast_and_operand_order() -> None:
    row = np.array([[[1, 2, 3, 4, 5]]], np.int8)

    def swap(stream: Assembler) -> None:
        stream.emit("IFM2_BROADCAST", broadcast_h="ENABLE", broadcast_w="ENABLE", operand_order="ORDER_A")

    assert np.array_equal(compute("ethos-u55-128", "SUB", A, row, "i4", swap), row.astype(int) - A)


def test_u55_scalar_is_signed_and_has_a_zero_point() -> None:
    def scalar(stream: Assembler) -> None:
        stream.emit("IFM2_PRECISION", activation_type="SIGNED").emit("IFM2_ZERO_POINT", 3)
        stream.emit("IFM2_BROADCAST", broadcast_constant="ENABLE").emit("IFM2_SCALAR", 0xFFFB)

    assert np.array_equal(compute("ethos-u55-128", "ADD", A, None, "i4", scalar), A.astype(int) - 8)


@pytest.mark.parametrize("axis", ["IFM", "IFM2"])
def test_u85_scalar(axis: str) -> None:
    def scalar(stream: Assembler) -> None:
        stream.emit("OP_SCALAR", 0xFFFFFF85).emit(f"{axis}_BROADCAST", "SCALAR").emit(f"{axis}_ZERO_POINT", 0)
        stream.emit(f"{axis}_PRECISION", activation_type="SIGNED", activation_storage="NONE")

    result = compute("ethos-u85-256", "SUB", A, A, "i4", scalar)
    assert np.array_equal(result, -123 - A.astype(int) if axis == "IFM" else A.astype(int) + 123)


def test_u85_broadcast_of_both_operands() -> None:
    column, row = A[:, :1, :], B[:1]

    def broadcast(stream: Assembler) -> None:
        stream.feature_map("IFM", column)
        stream.emit("IFM_BROADCAST", "W").emit("IFM2_BROADCAST", "H")

    assert np.array_equal(compute("ethos-u85-256", "ADD", A, row, "i4", broadcast), column.astype(int) + row)


def test_u55_input_scaling_of_unequal_scales() -> None:
    def scales(stream: Assembler) -> None:
        stream.emit("OPA_SCALE", shift=11, scale=0x50000000)
        precision = {"activation_type": "SIGNED", "scale_mode": "OPA_32", "round_mode": "NATURAL"}
        stream.emit("IFM_PRECISION", **precision)

    factor, shift = 0x50000000, 11
    wanted = [
        [(int(a) * factor + (1 << (shift - 1))) >> shift for a in A.ravel()],
        (B.astype(int) << 19).ravel(),
    ]
    result = compute("ethos-u55-128", "ADD", A, B, "i4", scales).ravel()
    assert np.array_equal(result, (np.array(wanted[0]) + wanted[1]).astype(np.int32))


@pytest.mark.parametrize("npu", BOTH)
def test_a_changed_rounding_mode_is_caught(npu: str) -> None:
    """Negative control: with DBL instead of NATURAL the same stream gives other numbers."""
    a = np.arange(-64, 64, dtype=np.int8).reshape(1, 8, 16)
    results = []
    for mode in ("NATURAL", "DOUBLE_SYMMETRIC" if npu.startswith("ethos-u85") else "DBL"):
        stream = Assembler(npu).rounding(mode, 0x40000000, 33)
        stream.feature_map("IFM", a)
        stream.feature_map("IFM2", a)
        at = stream.feature_map("OFM", np.zeros_like(a))
        results.append(stream.emit("OP_ELEMENTWISE", "ADD").result(at, a))
    assert np.array_equal(results[0], [(2 * a.astype(int) * (1 << 30) + (1 << 32)) >> 33][0])
    assert not np.array_equal(results[0], results[1])


def test_in_place() -> None:
    stream = Assembler("ethos-u55-128")
    at = stream.feature_map("IFM", A)
    stream.feature_map("IFM2", B)
    stream.feature_map("OFM", A)
    for tile in range(4):
        stream.emit(f"OFM_BASE{tile}", at)
    assert np.array_equal(stream.emit("OP_ELEMENTWISE", "MAX").result(at, A), np.maximum(A, B))


def test_chaining() -> None:
    stream = Assembler("ethos-u85-256")
    stream.feature_map("IFM", A)
    stream.feature_map("IFM2", B)
    stream.feature_map("OFM", A)
    stream.emit("OFM_PRECISION", activation_type="SIGNED", activation_storage="CHAINED", scale_mode="GLOBAL")
    stream.emit("OFM_REGION", 2).emit("OP_ELEMENTWISE", "MAX")
    stream.emit("IFM_PRECISION", activation_type="SIGNED", activation_storage="CHAINED").emit("IFM_REGION", 2)
    at = stream.feature_map("OFM", np.zeros_like(A))
    result = stream.emit("OP_ELEMENTWISE", "SUB").result(at, A)
    assert np.array_equal(result, np.clip(np.maximum(A, B).astype(int) - B, -128, 127))


@pytest.mark.parametrize(
    ("mode", "a", "b"),
    [("SHL", 1, 32), ("SHR", 1, -1), ("DIV", 1, 0), ("LRELU", 1, 1)],
)
def test_what_is_not_known_is_refused(mode: str, a: int, b: int) -> None:
    with pytest.raises(NpuError, match=mode) as caught:
        compute("ethos-u85-256", mode, np.full((1, 1, 1), a, np.int32), np.full((1, 1, 1), b, np.int32), "i4")
    assert caught.value.kind == "unimplemented"
