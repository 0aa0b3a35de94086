"""cortex_m::softmax against the device formula and against real numbers, on the host."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels import oracle
from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Call, Tensor, run
from tests.kernels.operators import int8, output, softmax, softmax_parameters


def check(tmp_path: Path, calls: list[Call]) -> list[npt.NDArray[Any]]:
    results = run(calls, tmp_path)
    for call, result in zip(calls, results, strict=True):
        x, dim, _, _, multiplier, shift, diff_min = call.values[:-1]
        want = oracle.softmax(x.array, dim, (multiplier, shift), diff_min)  # type: ignore[union-attr,arg-type]
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)
    return [result.out for result in results]


def test_sizes_and_scales(tmp_path: Path) -> None:
    rng = np.random.default_rng(51)
    scales = (1e-9, 1e-3, 0.02, 0.1, 1 / 3, 1.0, 9.0, 40.0)
    check(
        tmp_path,
        [
            softmax(Tensor(int8(rng, 3, n)), -1, softmax_parameters(scale))
            for n in range(1, 34)
            for scale in scales
        ],
    )


def test_extreme_multipliers_shifts_and_bounds(tmp_path: Path) -> None:
    rng = np.random.default_rng(52)
    calls = [
        softmax(Tensor(int8(rng, 2, 9)), 1, (multiplier, shift, diff_min))
        for shift in range(-31, 32)
        for multiplier in (0, 1, 2**30, 2**31 - 1)
        for diff_min in (-(2**63), -(2**31), -31, 0)
    ]
    check(tmp_path, calls)


@pytest.mark.parametrize("count", [127, 128, 255, 256, 257, 511, 512, 513, 1024, 4095, 4096, 9000])
def test_flat_rows(tmp_path: Path, count: int) -> None:
    """The longer the row, the nearer a probability comes to nothing: the largest shifts."""
    flat = np.full(count, -20, np.int8)
    step = flat.copy()
    step[: count // 3] -= 1
    made = check(tmp_path, [softmax(Tensor(x), 0, softmax_parameters(0.1)) for x in (flat, step)])
    assert set(made[0].tolist()) == {min(127, math.ceil(256 / count - 0.5) - 128)}


@pytest.mark.parametrize("dim", [-4, -3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("order", [None, CHANNELS_LAST, (3, 1, 0, 2)])
def test_any_dimension(tmp_path: Path, dim: int, order: tuple[int, ...] | None) -> None:
    rng = np.random.default_rng(53)
    check(tmp_path, [softmax(Tensor(int8(rng, 2, 5, 3, 17), order), dim, softmax_parameters(0.05))])


def test_one_unit_from_real_numbers(tmp_path: Path) -> None:
    """Round half to even of the probability: equal but for a few values in a million."""
    rng = np.random.default_rng(54)
    different, count = 0, 0
    for scale in (0.004, 0.03, 0.11, 0.5):
        x = int8(rng, 4000, 10)
        (made,) = check(tmp_path, [softmax(Tensor(x), 1, softmax_parameters(scale))])
        e = np.exp((x.astype(float) - x.max(axis=1, keepdims=True)) * scale)
        want = np.clip(np.rint(e / e.sum(axis=1, keepdims=True) * 256) - 128, -128, 127)
        error = np.abs(made - want)
        assert error.max() <= 1
        different, count = different + int((error > 0).sum()), count + error.size
    assert different <= 1e-4 * count


@pytest.mark.parametrize("shape", [(0, 5), (2, 0, 3)])
def test_no_rows(tmp_path: Path, shape: tuple[int, ...]) -> None:
    (result,) = run([softmax(Tensor(np.empty(shape, np.int8)), -1, softmax_parameters(0.1))], tmp_path)
    assert result.status == OK, result.log


def test_a_scalar_is_certain(tmp_path: Path) -> None:
    made = run(
        [softmax(Tensor(np.array(5, np.int8)), dim, softmax_parameters(0.1)) for dim in (0, -1)], tmp_path
    )
    assert [(result.status, int(result.out)) for result in made] == [(OK, 127), (OK, 127)]


X = Tensor(np.zeros((2, 3), np.int8))
BY = softmax_parameters(0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (softmax(X, 2, BY), "dim is 2, expected -2...1"),
        (softmax(X, -3, BY), "dim is -3"),
        (softmax(X, 1, BY, zero_points=(128, -128)), "input_zero_point is 128"),
        (softmax(X, 1, BY, zero_points=(0, 0)), "output_zero_point is 0, expected -128"),
        (softmax(X, 1, (-1, 0, 0)), "input_multiplier is -1"),
        (softmax(X, 1, (2**31, 0, 0)), "input_multiplier is 2147483648"),
        (softmax(X, 1, (1, 32, 0)), "input_shift is 32"),
        (softmax(X, 1, (1, 0, 1)), "diff_min is 1"),
        (softmax(Tensor(np.zeros(3, np.int16)), 0, BY, output((3,), "int8")), "input is Short"),
        (softmax(Tensor(np.empty((3, 0), np.int8)), 1, BY), "there is no element along dim"),
        (softmax(X, 1, BY, output((3, 2), "int8")), "out cannot take the shape"),
        (softmax(X, 1, BY, output((2, 3), "int16")), "out is Short"),
        (softmax(X, 1, BY, output((2, 3), "int8", (1, 0))), "differ in dim order"),
        (softmax(replace(X, has_data=False), 1, BY), "input has no data"),
    ],
)
def test_refused(tmp_path: Path, call: Call, message: str) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "softmax: " in result.log
    assert message in result.log
