"""aten add, sub and mul against numpy, on the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Call, Tensor, Value, run
from tests.kernels.operators import output

TYPES = ["float32", "int8", "uint8", "int16", "int32", "int64"]
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()),
    ((7,), (7,)),
    ((7,), ()),
    ((), (2, 3)),
    ((3, 1), (1, 4)),
    ((2, 3, 4), (3, 1)),
    ((1, 3, 1, 5), (2, 1, 4, 1)),
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((0, 3), (1, 3)),
    ((2,) * 10, (2, 1) * 5),
    ((1,) * 15 + (3,), (2,) + (1,) * 15),
]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def call(name: str, a: Tensor, b: Tensor, out: Tensor, alpha: float = 1) -> Call:
    scalar: tuple[Value, ...] = () if name == "mul" else (alpha,)
    return Call(f"aten::{name}.out", (a, b, *scalar, out))


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if dtype == "float32":
        return np.asarray(rng.normal(0, 100, shape), np.float32)
    info = np.iinfo(dtype)  # every bit pattern is a value
    return np.frombuffer(rng.bytes(int(np.prod(shape)) * info.bits // 8), dtype).reshape(shape)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", TYPES)
def test_broadcasting(tmp_path: Path, name: str, dtype: str) -> None:
    rng = np.random.default_rng(16)
    calls, expected = [], []
    for shape_a, shape_b in SHAPES:
        a, b = values(rng, dtype, shape_a), values(rng, dtype, shape_b)
        with np.errstate(over="ignore"):
            want = OPERATORS[name](a, b)
        calls.append(call(name, Tensor(a), Tensor(b), output(want.shape, dtype)))
        expected.append(want)
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)


@pytest.mark.parametrize("name", OPERATORS)
def test_dim_orders_mix(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(17)
    a, b = values(rng, "float32", (2, 3, 4, 5)), values(rng, "float32", (3, 1, 5))
    orders = (None, CHANNELS_LAST)
    calls = [
        call(name, Tensor(a, order_a), Tensor(b), output(a.shape, "float32", order_out))
        for order_a in orders
        for order_out in orders
    ]
    for result in run(calls, tmp_path):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, OPERATORS[name](a, b))


@pytest.mark.parametrize(("name", "sign"), [("add", 1), ("sub", -1)])
@pytest.mark.parametrize("alpha", [0, 2, -3, True, 0.5, -1.25, 1e30])
def test_float_alpha(tmp_path: Path, name: str, sign: int, alpha: float) -> None:
    rng = np.random.default_rng(18)
    a, b = values(rng, "float32", (33,)), values(rng, "float32", (33,))
    (result,) = run([call(name, Tensor(a), Tensor(b), output((33,), "float32"), alpha)], tmp_path)
    assert result.status == OK, result.log
    # One rounding: the exact sum of float32 values, rounded once.
    exact = a.astype(np.longdouble) + sign * np.longdouble(np.float32(alpha)) * b
    np.testing.assert_array_equal(result.out, exact.astype(np.float32))


@pytest.mark.parametrize(("name", "sign"), [("add", 1), ("sub", -1)])
@pytest.mark.parametrize("alpha", [0, 3, -7, -(2**63), True])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integer_alpha_wraps(tmp_path: Path, name: str, sign: int, alpha: int, dtype: str) -> None:
    rng = np.random.default_rng(19)
    a, b = values(rng, dtype, (33,)), values(rng, dtype, (33,))
    (result,) = run([call(name, Tensor(a), Tensor(b), output((33,), dtype), alpha)], tmp_path)
    assert result.status == OK, result.log
    exact = [int(x) + sign * alpha * int(y) for x, y in zip(a, b, strict=True)]
    bits = np.iinfo(dtype).bits
    assert [int(v) for v in result.out] == [(e + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for e in exact]


def test_special_values(tmp_path: Path) -> None:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, 1e-45], np.float32)
    a, b = np.meshgrid(special, special)
    calls = [call(name, Tensor(a), Tensor(b), output(a.shape, "float32")) for name in OPERATORS]
    with np.errstate(all="ignore"):
        for result, function in zip(run(calls, tmp_path), OPERATORS.values(), strict=True):
            want = function(a, b)
            np.testing.assert_array_equal(result.out, want)
            finite = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(result.out)[finite], np.signbit(want)[finite])


F = np.zeros((2, 3), np.float32)
OUT = output((2, 3), "float32")


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(
    ("a", "b", "out", "message"),
    [
        (F, F.astype(np.int32), OUT, "other is Int"),
        (F, F, output((2, 3), "int32"), "out is Int"),
        (F.astype(np.float64), F.astype(np.float64), output((2, 3), "float64"), "type of self has no kernel"),
        (F.astype(bool), F.astype(bool), output((2, 3), "bool"), "type of self has no kernel"),
        (F, F[:, :2], OUT, "broadcast"),
        (F, F, output((3, 2), "float32"), "out cannot take"),
        (F, F, output((1, 2, 3), "float32"), "out cannot take"),
    ],
)
def test_refused(
    tmp_path: Path, name: str, a: npt.NDArray[Any], b: npt.NDArray[Any], out: Tensor, message: str
) -> None:
    (result,) = run([call(name, Tensor(a), Tensor(b), out)], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert f"{name}: " in result.log
    assert message in result.log


@pytest.mark.parametrize("name", ["add", "sub"])
def test_float_alpha_needs_float_tensors(tmp_path: Path, name: str) -> None:
    i = np.zeros(3, np.int32)
    (result,) = run([call(name, Tensor(i), Tensor(i), output((3,), "int32"), 0.5)], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "a float alpha needs float tensors" in result.log
