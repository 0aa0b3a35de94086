"""quantized_add, quantized_mul, minimum and maximum against the device formula, on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Call, Tensor, run
from tests.kernels.operators import Add, Mul, int8, output

EXTREMES = (-(2**31), -(2**31) + 1, -1, 0, 1, 2**30, 1518500250, 2**31 - 1)


def random_rescale(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.choice(EXTREMES)), int(rng.integers(-31, 32))


def check(tmp_path: Path, calls: list[Call], expected: list[npt.NDArray[Any]]) -> None:
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)


def test_add_documented_example(tmp_path: Path) -> None:
    a, b = np.array([10, -20], np.int8), np.array([5, 60], np.int8)
    (result,) = run([Add().call(Tensor(a), Tensor(b), output((2,), "int8"))], tmp_path)
    assert result.out.tolist() == [11, 45]


@pytest.mark.parametrize("op", [Add(), Mul()], ids=["add", "mul"])
def test_every_size(tmp_path: Path, op: Add | Mul) -> None:
    rng = np.random.default_rng(3)
    calls, expected = [], []
    for size in range(1, 34):
        a, b = int8(rng, size), int8(rng, size)
        calls.append(op.call(Tensor(a), Tensor(b), output((size,), "int8")))
        expected.append(op.expected(a, b))
    check(tmp_path, calls, expected)


def test_add_extreme_parameters(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    calls, expected = [], []
    for _ in range(600):
        zero_points = [int(z) for z in rng.choice([-128, -1, 0, 77, 127], 3)]
        low, high = sorted(int(v) for v in rng.integers(-128, 128, 2))
        op = Add(
            (zero_points[0], zero_points[1], zero_points[2]),
            (random_rescale(rng), random_rescale(rng), random_rescale(rng)),
            (low, high),
        )
        a, b = int8(rng, 37), int8(rng, 37)
        calls.append(op.call(Tensor(a), Tensor(b), output((37,), "int8")))
        expected.append(op.expected(a, b))
    check(tmp_path, calls, expected)


def test_mul_extreme_parameters(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    calls, expected = [], []
    for _ in range(600):
        zero_points = [int(z) for z in rng.choice([-(2**15), -473, -1, 0, 127, 2**15 - 1], 2)]
        op = Mul((zero_points[0], zero_points[1], int(rng.choice([-128, 0, 77, 127]))), random_rescale(rng))
        a, b = int8(rng, 37), int8(rng, 37)
        calls.append(op.call(Tensor(a), Tensor(b), output((37,), "int8")))
        expected.append(op.expected(a, b))
    check(tmp_path, calls, expected)


def test_add_negative_multiplier_subtracts(tmp_path: Path) -> None:
    plain = Add((0, 0, 0), ((2**30, 0), (2**30, 0), (2**30, -18)))
    negated = Add((0, 0, 0), ((2**30, 0), (-(2**30), 0), (2**30, -18)))
    a = np.arange(-64, 64, dtype=np.int8)
    b = np.full_like(a, 10)
    made = run([op.call(Tensor(a), Tensor(b), output(a.shape, "int8")) for op in (plain, negated)], tmp_path)
    np.testing.assert_array_equal(made[0].out, a + 10)
    np.testing.assert_array_equal(made[1].out, a - 10)


@pytest.mark.parametrize("op", [Add(), Mul()], ids=["add", "mul"])
@pytest.mark.parametrize("shape", [(1, 5, 3, 2), (2, 1, 4, 3), (2, 19, 2, 3), (3, 4, 1, 1)])
@pytest.mark.parametrize("swapped", [False, True])
def test_channel_broadcast(tmp_path: Path, op: Add | Mul, shape: tuple[int, ...], swapped: bool) -> None:
    rng = np.random.default_rng(6)
    whole, channels = int8(rng, *shape), int8(rng, 1, shape[1], 1, 1)
    calls, expected = [], []
    for order in (None, CHANNELS_LAST):
        operands = [Tensor(whole, CHANNELS_LAST), Tensor(channels, order)]
        a, b = operands[::-1] if swapped else operands
        calls.append(op.call(a, b, output(shape, "int8", CHANNELS_LAST)))
        expected.append(op.expected(a.array, b.array))
    check(tmp_path, calls, expected)


@pytest.mark.parametrize("op", [Add(), Mul()], ids=["add", "mul"])
def test_operands_of_different_dim_order(tmp_path: Path, op: Add | Mul) -> None:
    rng = np.random.default_rng(7)
    a, b = int8(rng, 2, 3, 4, 5), int8(rng, 2, 3, 4, 5)
    call = op.call(Tensor(a, CHANNELS_LAST), Tensor(b), output(a.shape, "int8", CHANNELS_LAST))
    check(tmp_path, [call], [op.expected(a, b)])


@pytest.mark.parametrize("op", [Add(), Mul()], ids=["add", "mul"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,) * 16])
def test_any_rank_and_no_elements(tmp_path: Path, op: Add | Mul, shape: tuple[int, ...]) -> None:
    a = np.full(shape, 40, np.int8)
    check(tmp_path, [op.call(Tensor(a), Tensor(a), output(shape, "int8"))], [op.expected(a, a)])


A = np.zeros((1, 2, 3, 4), np.int8)
CHANNELS = np.zeros((1, 2, 1, 1), np.int8)
OUT = output(A.shape, "int8")
GOOD = (2**30, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Add(zero_points=(128, 0, 0)).call(Tensor(A), Tensor(A), OUT), "self_zero_point is 128"),
        (Add(zero_points=(0, -129, 0)).call(Tensor(A), Tensor(A), OUT), "other_zero_point"),
        (Add(zero_points=(0, 0, 2**40)).call(Tensor(A), Tensor(A), OUT), "output_zero_point"),
        (Add(rescales=((2**31, 0), GOOD, GOOD)).call(Tensor(A), Tensor(A), OUT), "self_multiplier"),
        (Add(rescales=(GOOD, (2**30, 32), GOOD)).call(Tensor(A), Tensor(A), OUT), "other_shift is 32"),
        (Add(rescales=(GOOD, GOOD, (2**30, -32))).call(Tensor(A), Tensor(A), OUT), "output_shift is -32"),
        (Add(bounds=(-129, 0)).call(Tensor(A), Tensor(A), OUT), "activation_min"),
        (Add(bounds=(1, 0)).call(Tensor(A), Tensor(A), OUT), "activation_max is 0"),
        (Add().call(Tensor(A.astype(np.int16)), Tensor(A), OUT), "self is Short"),
        (Add().call(Tensor(A), Tensor(A.astype(np.float32)), OUT), "other is Float"),
        (Add().call(Tensor(A), Tensor(A), output(A.shape, "int32")), "out is Int"),
        (Add().call(Tensor(A), Tensor(A[:, :1]), OUT), "shapes"),
        (Add().call(Tensor(A), Tensor(A[0]), OUT), "shapes"),
        (Add().call(Tensor(A), Tensor(CHANNELS), OUT), "shapes"),
        (Add().call(Tensor(A), Tensor(A), output((1, 2, 3, 5), "int8")), "out cannot take the shape"),
        (Add().call(Tensor(A, has_data=False), Tensor(A), OUT), "self has no data"),
        (Add().call(Tensor(A), Tensor(A), Tensor(A, has_data=False)), "out has no data"),
        (Mul(zero_points=(0, 2**15, 0)).call(Tensor(A), Tensor(A), OUT), "other_zero_point"),
        (Mul(rescale=(-(2**31) - 1, 0)).call(Tensor(A), Tensor(A), OUT), "output_multiplier"),
        (Mul(rescale=(1, 99)).call(Tensor(A), Tensor(A), OUT), "output_shift"),
        (Mul().call(Tensor(A), Tensor(A[..., :1]), OUT), "shapes"),
        (Mul().call(Tensor(A), Tensor(A, has_data=False), OUT), "other has no data"),
    ],
)
def test_refused(tmp_path: Path, call: Call, message: str) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert message in result.log
    assert call.op.split("::")[1].removesuffix(".out") in result.log


EXTREMA = [("minimum", np.minimum), ("maximum", np.maximum)]


def extremum(name: str, a: Tensor, b: Tensor, out: Tensor) -> Call:
    return Call(f"cortex_m::{name}.out", (a, b, out))


@pytest.mark.parametrize(("name", "function"), EXTREMA)
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_extremum_every_size(tmp_path: Path, name: str, function: Any, dtype: str) -> None:
    rng = np.random.default_rng(8)
    info = np.iinfo(dtype)
    calls, expected = [], []
    for size in range(1, 34):
        a, b = (rng.integers(info.min, info.max, size, endpoint=True).astype(dtype) for _ in range(2))
        calls.append(extremum(name, Tensor(a), Tensor(b), output((size,), dtype)))
        expected.append(function(a, b))
    check(tmp_path, calls, expected)


@pytest.mark.parametrize(("name", "function"), EXTREMA)
@pytest.mark.parametrize("orders", [(None, None), (None, CHANNELS_LAST), (CHANNELS_LAST, CHANNELS_LAST)])
def test_extremum_broadcast(
    tmp_path: Path, name: str, function: Any, orders: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
) -> None:
    rng = np.random.default_rng(9)
    shapes = [
        (2, 3, 4, 17),
        (1, 3, 1, 1),
        (2, 1, 4, 17),
        (2, 3, 4, 1),
        (1, 1, 1, 17),
        (1, 1, 1, 1),
        (2, 3, 1, 17),
    ]
    calls, expected = [], []
    for shape_a in shapes:
        for shape_b in shapes:
            a, b = int8(rng, *shape_a), int8(rng, *shape_b)
            want = function(a, b)
            for out_order in (None, CHANNELS_LAST):
                out = output(want.shape, "int8", out_order)
                calls.append(extremum(name, Tensor(a, orders[0]), Tensor(b, orders[1]), out))
                expected.append(want)
    check(tmp_path, calls, expected)


@pytest.mark.parametrize(("name", "function"), EXTREMA)
@pytest.mark.parametrize(
    "shapes",
    [((), ()), ((5,), ()), ((3, 5), (5,)), ((1,), (2, 3, 4)), ((4, 1), (3,)), ((0, 3), (3,)), ((0,), (1,))],
)
def test_extremum_ranks(
    tmp_path: Path, name: str, function: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(10)
    a, b = int8(rng, *shapes[0]), int8(rng, *shapes[1])
    want = function(a, b)
    check(tmp_path, [extremum(name, Tensor(a), Tensor(b), output(want.shape, "int8"))], [want])


FIVE = np.zeros((1, 1, 1, 1, 1), np.int8)


@pytest.mark.parametrize("name", ["minimum", "maximum"])
@pytest.mark.parametrize(
    ("a", "b", "out", "message"),
    [
        (FIVE, FIVE, output(FIVE.shape, "int8"), "rank of self is 5"),
        (A, FIVE, OUT, "rank of other is 5"),
        (A.astype(np.float32), A, OUT, "neither int8 nor int32"),
        (A, A.astype(np.int32), OUT, "other is Int"),
        (A, A, output(A.shape, "int32"), "out is Int"),
        (A, A[..., :3], OUT, "broadcast"),
        (A, A, output((2, 2, 3, 4), "int8"), "out cannot take"),
    ],
)
def test_extremum_refused(
    tmp_path: Path, name: str, a: npt.NDArray[Any], b: npt.NDArray[Any], out: Tensor, message: str
) -> None:
    (result,) = run([extremum(name, Tensor(a), Tensor(b), out)], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert f"{name}: " in result.log
    assert message in result.log
