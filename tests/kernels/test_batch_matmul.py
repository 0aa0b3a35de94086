"""quantized_batch_matmul against the device formula, on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.driver import INVALID_ARGUMENT, OK, Call, Tensor, run
from tests.kernels.operators import Matmul, int8, output


def check(
    tmp_path: Path, cases: list[tuple[Matmul, npt.NDArray[Any], npt.NDArray[Any]]], scratch: int = 0
) -> None:
    room = Tensor(np.zeros(scratch, np.uint8))
    results = run([op.call(Tensor(lhs), Tensor(rhs), room) for op, lhs, rhs in cases], tmp_path)
    for (op, lhs, rhs), result in zip(cases, results, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, op.expected(lhs, rhs))


@pytest.mark.parametrize("scratch", [0, 12, 132])
def test_sizes(tmp_path: Path, scratch: int) -> None:
    """Depths, columns and rows around the vector length; a scratch tensor may be of any size."""
    rng = np.random.default_rng(61)
    cases = []
    for size in range(1, 34):
        cases += [(Matmul(), int8(rng, 2, 3, size), int8(rng, 2, 5, size))]
        cases += [(Matmul(), int8(rng, 3, 2, 7), int8(rng, 3, size, 7))]
        cases += [(Matmul(), int8(rng, 1, size, 4), int8(rng, 1, 3, 4))]
    check(tmp_path, cases, scratch)


def test_zero_points(tmp_path: Path) -> None:
    rng = np.random.default_rng(62)
    points = (-127, -1, 0, 128)
    lhs, rhs = int8(rng, 2, 3, 20), int8(rng, 2, 4, 20)
    check(tmp_path, [(Matmul((a, b), c), lhs, rhs) for a in points for b in points for c in (-128, 127)])


def test_multipliers_and_shifts(tmp_path: Path) -> None:
    rng = np.random.default_rng(63)
    lhs, rhs = int8(rng, 1, 2, 40), int8(rng, 1, 5, 40)
    check(
        tmp_path,
        [
            (Matmul(rescale=(multiplier, shift)), lhs, rhs)
            for shift in range(-31, 32)
            for multiplier in (-(2**31), -1, 0, 1, 2**30, 2**31 - 1)
        ],
    )


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 3, 0, 4), (2, 3, 4, 0)])
def test_empty(tmp_path: Path, shape: tuple[int, int, int, int]) -> None:
    """Without depth every sum is zero."""
    batches, rows, depth, columns = shape
    lhs, rhs = np.zeros((batches, rows, depth), np.int8), np.zeros((batches, columns, depth), np.int8)
    check(tmp_path, [(Matmul(), lhs, rhs)])


L, R = Tensor(np.zeros((2, 3, 4), np.int8)), Tensor(np.zeros((2, 5, 4), np.int8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Matmul((129, 0)).call(L, R), "lhs_zero_point is 129"),
        (Matmul((0, -128)).call(L, R), "rhs_zero_point is -128"),
        (Matmul(zero_point=128).call(L, R), "output_zero_point is 128"),
        (Matmul(rescale=(2**31, 0)).call(L, R), "output_multiplier"),
        (Matmul(rescale=(1, 32)).call(L, R), "output_shift is 32"),
        (Matmul().call(Tensor(L.array.astype(np.int16)), R), "lhs is Short"),
        (Matmul().call(L, Tensor(R.array.astype(np.float32))), "rhs_transposed is Float"),
        (Matmul().call(Tensor(L.array[0]), R, out=output((3, 5), "int8")), "rank of lhs is 2, expected 3"),
        (Matmul().call(L, Tensor(R.array[0])), "rank of rhs_transposed is 2"),
        (Matmul().call(L, Tensor(R.array[:1])), "batches of rhs_transposed is 1, expected 2"),
        (Matmul().call(L, Tensor(R.array[:, :, 1:].copy())), "depth of rhs_transposed is 3, expected 4"),
        (Matmul().call(replace(L, dim_order=(0, 2, 1)), R), "not in plain dim order"),
        (Matmul().call(L, replace(R, dim_order=(1, 0, 2))), "not in plain dim order"),
        (Matmul().call(L, R, out=output((2, 3, 5), "int8", (0, 2, 1))), "out is not in plain dim order"),
        (Matmul().call(L, R, out=output((2, 5, 3), "int8")), "out cannot take the shape"),
        (Matmul().call(L, R, out=output((2, 3, 5), "uint8")), "out is Byte"),
        (Matmul().call(L, R, Tensor(np.zeros(20, np.uint8), has_data=False)), "scratch has no data"),
    ],
)
def test_refused(tmp_path: Path, call: Call, message: str) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "quantized_batch_matmul: " in result.log
    assert message in result.log
