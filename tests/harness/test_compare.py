"""Host comparison: each dtype, each limit, values that are no numbers, files of the wrong size."""

from __future__ import annotations

import time
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.compare import compare_arrays, compare_outputs, inspect_output, load_tensor
from harness.compare.tensors import TensorError, decode_tensor, to_storage
from harness.flow import Comparison, TensorSpec, Tolerance
from harness.outcomes import OutcomeClass

EXACT = Tolerance()
NHWC = (0, 2, 3, 1)


def tensor_spec(array: NDArray[Any], scale: float | None = None) -> TensorSpec:
    return TensorSpec(str(array.dtype), array.shape, tuple(range(array.ndim)), scale)


def compare(
    got: Any, expected: Any, dtype: str, tolerance: Tolerance = EXACT, scale: float | None = None
) -> Comparison:
    a, b = np.array(got, dtype), np.array(expected, dtype)
    return compare_arrays(0, a, b, tensor_spec(b, scale), tolerance)


@pytest.mark.parametrize(
    "dtype",
    [
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
    ],
)
def test_equal_and_one_off_in_every_dtype(dtype: str) -> None:
    assert compare([1, 2, 3], [1, 2, 3], dtype).ok
    result = compare([1, 2, 4], [1, 2, 3], dtype)
    assert (result.ok, result.mismatches, result.worst, result.worst_index) == (False, 1, 1.0, (2,))
    assert result.margin == inf
    assert compare([1, 2, 4], [1, 2, 3], dtype, Tolerance(atol=1)).ok


def test_bool() -> None:
    assert compare([True, False], [True, False], "bool").ok
    assert compare([True, True], [True, False], "bool").problem is OutcomeClass.WRONG


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int8", -128, 127), ("int64", -(2**63), 2**63 - 1), ("uint64", 0, 2**64 - 1)]
)
def test_integer_differences_do_not_wrap(dtype: str, low: int, high: int) -> None:
    for got, expected in ((low, high), (high, low)):
        result = compare([got], [expected], dtype)
        assert not result.ok
        assert result.worst == float(high - low)


def test_unsigned_difference_has_its_sign() -> None:
    assert compare([0], [3], "uint8").histogram == {-3: 1}
    assert compare([3], [0], "uint8").histogram == {3: 1}


@pytest.mark.parametrize(
    ("got", "expected", "ok"),
    [
        (nan, nan, True),
        (inf, inf, True),
        (-inf, -inf, True),
        (inf, -inf, False),
        (nan, 1.0, False),
        (1.0, nan, False),
        (inf, 1e3, False),
        (1e3, inf, False),
        (nan, inf, False),
        (0.0, -0.0, True),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values_that_are_no_numbers(got: float, expected: float, ok: bool, dtype: str) -> None:
    """No tolerance excuses them."""
    for tolerance in (EXACT, Tolerance(atol=1e3, rtol=1e3, qtol=5)):
        result = compare([got, 1.0], [expected, 1.0], dtype, tolerance, scale=0.5)
        assert result.ok is ok
        assert ok or result.worst == inf


def test_a_nan_is_worst_wherever_it_stands() -> None:
    result = compare([[5.0, nan], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]], "float32")
    assert (result.worst, result.worst_index, result.mismatches) == (inf, (0, 1), 2)


def test_formula_is_upstreams() -> None:
    """atol + rtol * |expected|, the reference decides."""
    tolerance = Tolerance(atol=0.5, rtol=0.1)
    assert compare([11.5], [10.0], "float64", tolerance).ok
    assert not compare([11.6], [10.0], "float64", tolerance).ok
    assert not compare([8.4], [10.0], "float64", tolerance).ok
    assert compare([11.5], [10.0], "float64", tolerance).margin == pytest.approx(1.0)


def test_margin_names_the_most_critical_element_not_the_largest_error() -> None:
    result = compare([1009.0, 1.5], [1000.0, 1.0], "float64", Tolerance(rtol=0.01))
    assert (result.worst, result.worst_index) == (9.0, (1,))
    assert result.margin == pytest.approx(50.0)


def test_qtol_counts_steps_of_a_dequantized_output() -> None:
    scale = float(np.float32(0.0123))
    q = np.arange(-128, 128)
    expected = (q * np.float32(scale)).astype(np.float32)
    got = ((q + 1) * np.float32(scale)).astype(np.float32)
    spec = tensor_spec(expected, scale)
    assert compare_arrays(0, got, expected, spec, Tolerance(qtol=1)).ok
    beyond = compare_arrays(0, got, expected, spec, EXACT)
    assert beyond.histogram == {1: 256}
    assert beyond.worst_lsb == 1
    two = ((q + 2) * np.float32(scale)).astype(np.float32)
    assert not compare_arrays(0, two, expected, spec, Tolerance(qtol=1)).ok


def test_qtol_of_integers_is_in_their_own_steps() -> None:
    """Also where a scale is known: an int8 output holds quantized values."""
    assert compare([1, 5], [1, 4], "int8", Tolerance(qtol=1), scale=0.01).ok
    assert not compare([1, 6], [1, 4], "int8", Tolerance(qtol=1), scale=0.01).ok


def test_qtol_without_a_scale_is_no_licence() -> None:
    assert not compare([1.0], [1.5], "float32", Tolerance(qtol=100)).ok


@pytest.mark.parametrize(
    ("differences", "problem"),
    [
        ({1: 2, -1: 1}, OutcomeClass.LSB_TIE),
        ({40: 3}, OutcomeClass.WRONG),
        ({1: 2, 2: 1}, OutcomeClass.WRONG),
        ({1: 100}, OutcomeClass.WRONG),
        ({1: 40}, OutcomeClass.WRONG),
        ({-1: 1}, OutcomeClass.LSB_TIE),
    ],
)
def test_ties_and_wrong_values(differences: dict[int, int], problem: OutcomeClass) -> None:
    """Of 100 elements: a few are off by one at ties; most of them off by one is another zero point."""
    got = np.zeros(100, np.int8)
    got[: sum(differences.values())] = np.repeat(list(differences), list(differences.values()))
    result = compare(got, np.zeros(100), "int8")
    assert result.problem is problem
    assert {k: v for k, v in result.histogram.items() if k} == differences
    if problem is OutcomeClass.WRONG and 40 in differences:
        assert "+40: 3 %" in result.message


def test_an_index_that_is_off_by_one_is_wrong() -> None:
    assert compare([3], [4], "int64").problem is OutcomeClass.WRONG


def test_one_element_off_by_one_is_a_tie() -> None:
    assert compare([3], [4], "int8").problem is OutcomeClass.LSB_TIE


def test_empty_tensor_says_so() -> None:
    result = compare(np.zeros((0, 3)), np.zeros((0, 3)), "float32")
    assert result.ok
    assert "0 elements compared" in result.message


def test_scalar() -> None:
    assert compare(3.5, 3.5, "float32").ok
    assert compare(3.5, 4.5, "float32").worst_index == ()


def test_message_names_place_values_limit_and_pattern() -> None:
    expected = np.zeros((2, 3, 4), np.int8)
    got = expected.copy()
    got[:, 1, :] = 7
    got[1, 1, 2] = -40
    message = compare(got, expected, "int8", Tolerance(qtol=1)).message
    assert "8 of 24 elements beyond the limit (33.3 %)" in message
    assert "worst error 40 (40 LSB); at [1, 1, 2]: got -40, expected 0, limit 1" in message
    assert "index 1 on axis 1" in message
    assert len(message.splitlines()) <= 4


def test_vector_tail_is_named() -> None:
    got = np.zeros(19, np.int8)
    got[16:] = 9
    assert "from flat index 16 on" in compare(got, np.zeros(19), "int8").message


def test_histogram_stays_small() -> None:
    rng = np.random.default_rng(0)
    result = compare(rng.integers(-(2**31), 2**31, 10_000), np.zeros(10_000), "int32")
    assert len(result.histogram) <= 32
    assert len(result.message) < 1000


def test_megabytes_take_no_time() -> None:
    rng = np.random.default_rng(0)
    expected = rng.standard_normal(1 << 20).astype(np.float32)
    started = time.process_time()
    compare_arrays(
        0, expected + np.float32(1e-4), expected, tensor_spec(expected, 0.01), Tolerance(atol=1e-3)
    )
    assert time.process_time() - started < 2.0


# Files


def stored(tmp_path: Path, name: str, data: bytes) -> str:
    (tmp_path / name).write_bytes(data)
    return name


@given(st.permutations(range(4)), st.tuples(*[st.integers(1, 4)] * 4))
def test_storage_order_round_trip(order: list[int], shape: tuple[int, int, int, int]) -> None:
    array = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    spec = TensorSpec("int16", shape, tuple(order))
    assert (decode_tensor(to_storage(array, tuple(order)), spec) == array).all()


def test_channels_last_file() -> None:
    """Two channels of a 1x2 image: in storage the channel is innermost."""
    got = decode_tensor(bytes([1, 2, 3, 4]), TensorSpec("int8", (1, 2, 1, 2), NHWC))
    assert got[0, :, 0, :].tolist() == [[1, 3], [2, 4]]


def test_bfloat16() -> None:
    got = decode_tensor(bytes.fromhex("803f00c0"), TensorSpec("bfloat16", (2,), (0,)))
    assert got.tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (0, OutcomeClass.SHAPE),
        (23, OutcomeClass.SHAPE),
        (6, OutcomeClass.DTYPE),
        (48, OutcomeClass.DTYPE),
        (28, OutcomeClass.SHAPE),
    ],
)
def test_wrong_file_size(tmp_path: Path, size: int, problem: OutcomeClass) -> None:
    stored(tmp_path, "out-0.bin", bytes(size))
    stored(tmp_path, "ref.bin", bytes(24))
    spec = TensorSpec("float32", (2, 3), (0, 1))
    (result,) = compare_outputs(tmp_path, ["out-0.bin"], ["ref.bin"], [spec], EXACT)
    assert (result.ok, result.problem) == (False, problem)
    assert f"{size} bytes, 24 expected" in result.message


@pytest.mark.parametrize(("dtype", "order"), [("complex", (0, 1)), ("float32", (0, 0)), ("float32", (0,))])
def test_specifications_that_make_no_sense(tmp_path: Path, dtype: str, order: tuple[int, ...]) -> None:
    path = tmp_path / stored(tmp_path, "x.bin", bytes(24))
    with pytest.raises(TensorError):
        load_tensor(path, TensorSpec(dtype, (2, 3), order))


def test_right_values_in_another_storage_order(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4)
    spec = TensorSpec("int8", array.shape, (0, 1, 2, 3))
    stored(tmp_path, "ref.bin", to_storage(array, spec.dim_order))
    stored(tmp_path, "out-0.bin", to_storage(array, NHWC))
    (result,) = compare_outputs(tmp_path, ["out-0.bin"], ["ref.bin"], [spec], EXACT)
    assert result.problem is OutcomeClass.DIM_ORDER
    assert str(NHWC) in result.message
    assert str(spec.dim_order) in result.message


def test_each_output_has_its_own_reference(tmp_path: Path) -> None:
    specs = [TensorSpec("int8", (2,), (0,)), TensorSpec("int", (), ()), TensorSpec("float32", (1,), (0,))]
    stored(tmp_path, "out-0.bin", b"\1\2")
    stored(tmp_path, "out-2.bin", np.float32(1).tobytes())
    stored(tmp_path, "r0", b"\1\2")
    stored(tmp_path, "r2", np.float32(2).tobytes())
    names = ["out-0.bin", "out-1.bin", "out-2.bin"]
    results = compare_outputs(tmp_path, names, ["r0", "r1", "r2"], specs, EXACT)
    assert [(result.index, result.ok) for result in results] == [(0, True), (2, False)]


@pytest.mark.parametrize(
    ("data", "untouched", "unwritten"),
    [(b"", 0, False), (b"\xa5" * 8, 8, True), (b"\1\xa5\xa5", 2, False), (b"\xa5\1", 0, False)],
)
def test_state_of_a_file(tmp_path: Path, data: bytes, untouched: int, unwritten: bool) -> None:
    state = inspect_output(tmp_path / stored(tmp_path, "out-0.bin", data))
    assert (state.size, state.untouched, state.unwritten) == (len(data), untouched, unwritten)


def test_state_of_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("none", "folder"):
        assert inspect_output(tmp_path / name).size is None
