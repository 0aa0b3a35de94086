"""quantized_div against the device formula, on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Call, Tensor, run
from tests.kernels.operators import div, integers, output


def check(tmp_path: Path, calls: list[Call]) -> None:
    for call, result in zip(calls, run(calls, tmp_path), strict=True):
        a, za, b, zb, zo, factor = call.values[:-1]
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, oracle.div(a.array, b.array, (za, zb, zo), factor))  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_sizes_zero_points_and_factors(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(41)
    info = np.iinfo(dtype)
    calls = []
    for size in range(1, 34):
        for factor in (1.0, 0.37, 25.0, 1e-30, 3e38, -2.5):
            a, b = integers(rng, dtype, size), integers(rng, dtype, size)
            points = [int(z) for z in rng.choice([info.min, -1, 0, 77, info.max], 3)]
            near = rng.random(size) < 0.4
            b[near] = np.clip(points[1] + rng.integers(-2, 3, size), info.min, info.max)[near]
            calls.append(div(Tensor(a), Tensor(b), (points[0], points[1], points[2]), factor))
    check(tmp_path, calls)


def test_ties_and_zero_divisors(tmp_path: Path) -> None:
    a = np.array([1, -1, 3, -3, 5, -5, 0, 7, -128], np.int8)
    two, zero = np.full_like(a, 2), np.zeros_like(a)
    made = run([div(Tensor(a), Tensor(b), (0, 0, 1), 1.0) for b in (two, zero)], tmp_path)
    assert made[0].out.tolist() == [2, 0, 3, -1, 4, -2, 1, 5, -63]
    assert made[1].out.tolist() == [1] * 9


def test_every_pair_of_int8(tmp_path: Path) -> None:
    values = np.arange(-128, 128, dtype=np.int8)
    a, b = (np.ascontiguousarray(v) for v in np.meshgrid(values, values))
    check(tmp_path, [div(Tensor(a), Tensor(b), (-7, 12, 3), factor) for factor in (1.0, 19.6, 0.013)])


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3, 4, 5)])
def test_shapes_and_dim_orders(tmp_path: Path, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(42)
    a, b = integers(rng, "int8", *shape), integers(rng, "int8", *shape)
    orders = (None, CHANNELS_LAST) if len(shape) == 4 else (None,)
    calls = [
        div(Tensor(a, i), Tensor(b, j), (1, -2, 3), 7.5, output(shape, "int8", k))
        for i in orders
        for j in orders
        for k in orders
    ]
    check(tmp_path, calls)


A = np.ones((2, 3), np.int8)
T = Tensor(A)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (div(T, T, (128, 0, 0), 1.0), "self_zero_point is 128"),
        (div(T, T, (0, -129, 0), 1.0), "other_zero_point is -129"),
        (div(T, T, (0, 0, 2**40), 1.0), "output_zero_point"),
        (div(Tensor(A.astype(np.int16)), Tensor(A.astype(np.int16)), (32768, 0, 0), 1.0), "32767"),
        (div(T, T, (0, 0, 0), float("inf")), "output_scale is no finite float"),
        (div(T, T, (0, 0, 0), 1e39), "output_scale is no finite float"),
        (div(T, T, (0, 0, 0), float("nan")), "output_scale is no finite float"),
        (div(Tensor(A.astype(np.int32)), T, (0, 0, 0), 1.0), "self is neither int8 nor int16"),
        (div(T, Tensor(A.astype(np.int16)), (0, 0, 0), 1.0), "other is Short"),
        (div(T, Tensor(A[:1]), (0, 0, 0), 1.0), "shapes of self and other differ"),
        (div(T, Tensor(A[0, :1]), (0, 0, 0), 1.0), "shapes of self and other differ"),
        (div(T, T, (0, 0, 0), 1.0, output((2, 3), "int16")), "out is Short"),
        (div(T, T, (0, 0, 0), 1.0, output((3, 2), "int8")), "out cannot take the shape"),
        (div(replace(T, has_data=False), T, (0, 0, 0), 1.0), "self has no data"),
    ],
)
def test_refused(tmp_path: Path, call: Call, message: str) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "quantized_div: " in result.log
    assert message in result.log
