"""quantize_per_tensor and dequantize_per_tensor against the device formula, on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels import oracle
from tests.kernels.driver import CHANNELS_LAST, OK, Tensor, run
from tests.kernels.operators import dequantize, output, quantize

SCALES = (0.1, 0.02, 1 / 3, 0.003921569, 1.0, 2.0**-20, 1e-30, 1e30, 2.0**-125, 2.0**126)
BOUNDS = {"int8": (-128, 127), "int16": (-32767, 32767)}


def test_oracle_knows_the_documented_numbers() -> None:
    x = np.array([0.5, 1.5, -0.5, np.nan, np.inf, -np.inf, 3e38], np.float32)
    assert oracle.quantize(x, 1.0, 1, -128, 127).tolist() == [1, 3, 1, 1, 127, -128, 127]
    assert oracle.requantize(np.array([1, -1, -3]), 2**30, 0).tolist() == [1, 0, -1]
    assert oracle.requantize(np.array([1, -1, -3]), 2**31 - 1, -1).tolist() == [1, -1, -2]
    assert oracle.requantize(np.array([-19998]), 1518500250, -1).tolist() == [-7071]


def samples(rng: np.random.Generator, scale: float, size: int) -> npt.NDArray[Any]:
    """Values around the range of int8, half of them on ties."""
    steps = rng.integers(-300, 300, size) + np.where(rng.random(size) < 0.5, 0.5, rng.random(size))
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(steps * scale, np.float32)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_quantize_every_size_scale_and_zero_point(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(1)
    calls, expected = [], []
    for size in range(1, 34):
        for scale in SCALES:
            zero_point = int(rng.choice([-128, -7, 0, 1, 127]))
            x = samples(rng, scale, size)
            calls.append(quantize(x, scale, zero_point, BOUNDS[dtype], dtype))
            expected.append(oracle.quantize(x, scale, zero_point, *BOUNDS[dtype]))
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)


@pytest.mark.parametrize("zero_point", [-128, -1, 0, 5, 127])
def test_quantize_special_values(tmp_path: Path, zero_point: int) -> None:
    tiny = np.finfo(np.float32).smallest_subnormal
    x = np.array([np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 0.0, -0.0, tiny, -tiny, 2.0**31], np.float32)
    bounds = (-100, 90)
    (result,) = run([quantize(x, 0.5, zero_point, bounds)], tmp_path)
    assert result.status == OK
    np.testing.assert_array_equal(result.out, oracle.quantize(x, 0.5, zero_point, *bounds))
    assert result.out[0] == np.clip(zero_point, *bounds)


def test_all_ties_round_half_to_even_before_the_zero_point(tmp_path: Path) -> None:
    x = (np.arange(-128, 127) + 0.5).astype(np.float32)
    (result,) = run([quantize(x, 1.0, 1, (-128, 127))], tmp_path)
    np.testing.assert_array_equal(result.out, np.clip(np.rint(x) + 1, -128, 127))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_dequantize_every_size(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(2)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    calls, expected = [], []
    for size in range(1, 34):
        for scale in SCALES:
            zero_point = int(rng.choice([low, -7, 0, 1, high]))
            q = rng.integers(low, high + 1, size).astype(dtype)
            calls.append(dequantize(q, scale, zero_point, (low, high)))
            expected.append(oracle.dequantize(q, scale, zero_point))
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        assert result.out.tobytes() == want.tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 2, 3, 4), (1,) * 16])
def test_any_rank_and_no_elements(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 2.6, np.float32)
    q = np.full(shape, 9, np.int8)
    made = run([quantize(x, 0.5, 0, (-128, 127)), dequantize(q, 0.5, 1, (-128, 127))], tmp_path)
    assert [result.status for result in made] == [OK, OK]
    np.testing.assert_array_equal(made[0].out, np.full(shape, 5))
    np.testing.assert_array_equal(made[1].out, np.full(shape, 4.0))


def test_no_elements_and_no_data_pointer(tmp_path: Path) -> None:
    empty = Tensor(np.empty((0,), np.float32), has_data=False)
    out = Tensor(np.empty((0,), np.int8), has_data=False)
    (result,) = run([quantize(empty.array, 1.0, 0, (-128, 127), input=empty, out=out)], tmp_path)
    assert result.status == OK


def test_channels_last_keeps_logical_positions(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    out = output(x.shape, "int8", CHANNELS_LAST)
    (result,) = run([quantize(x, 1.0, 0, (-128, 127), input=Tensor(x, CHANNELS_LAST), out=out)], tmp_path)
    assert result.status == OK
    np.testing.assert_array_equal(result.out, x)


def test_one_channel_has_one_layout(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    out = output(x.shape, "int8", CHANNELS_LAST)
    (result,) = run([quantize(x, 1.0, 0, (-128, 127), out=out)], tmp_path)
    assert result.status == OK
    np.testing.assert_array_equal(result.out, x)


def test_dynamic_output_shrinks(tmp_path: Path) -> None:
    x = np.arange(3, dtype=np.float32)
    bounded = Tensor(np.zeros(8, np.int8), dynamism=1)
    (result,) = run([quantize(x, 1.0, 0, (-128, 127), out=bounded)], tmp_path)
    assert (result.status, result.out.tolist()) == (OK, [0, 1, 2])


X = np.zeros(4, np.float32)
Q = np.zeros(4, np.int8)
FULL = (-128, 127)
NCHW = np.zeros((1, 2, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (quantize(X, 0.0, 0, FULL), "scale"),
        (quantize(X, -0.1, 0, FULL), "scale"),
        (quantize(X, float("nan"), 0, FULL), "scale"),
        (quantize(X, float("inf"), 0, FULL), "scale"),
        (quantize(X, 1e-40, 0, FULL), "scale"),
        (quantize(X, 1.0, 128, FULL), "zero_point is 128"),
        (quantize(X, 1.0, -(2**62), FULL), "zero_point"),
        (quantize(X, 1.0, 0, (-129, 127)), "quant_min"),
        (quantize(X, 1.0, 0, (-128, 2**40)), "quant_max"),
        (quantize(X, 1.0, 0, (5, 4)), "quant_max"),
        (quantize(X, 1.0, 0, FULL, "int32"), "neither int8 nor int16"),
        (quantize(X, 1.0, 0, FULL, code=2), "out is Char"),
        (quantize(X, 1.0, 0, FULL, input=Tensor(X.astype(np.float64))), "input is Double"),
        (quantize(X, 1.0, 0, FULL, input=Tensor(X, has_data=False)), "input has no data"),
        (quantize(X, 1.0, 0, FULL, out=Tensor(Q, has_data=False)), "out has no data"),
        (quantize(X, 1.0, 0, FULL, out=output((5,), "int8")), "out cannot take the shape"),
        (quantize(X, 1.0, 0, FULL, out=output((4, 1), "int8")), "out cannot take the shape"),
        (quantize(NCHW, 1.0, 0, FULL, out=output(NCHW.shape, "int8", CHANNELS_LAST)), "dim order"),
        (dequantize(Q, 1.0, 0, (1, 127)), "zero_point is 0"),
        (dequantize(Q, 1.0, 0, (-129, 127)), "quant_min"),
        (dequantize(Q, 0.0, 0, FULL), "scale"),
        (dequantize(Q, 1.0, 0, FULL, code=2), "input is Char"),
        (dequantize(Q, 1.0, 0, FULL, out=output((4,), "int8")), "out is Char"),
        (dequantize(Q, 1.0, 0, FULL, input=Tensor(Q, has_data=False)), "input has no data"),
    ],
)
def test_refused(tmp_path: Path, call: Any, message: str) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == 0x12
    assert message in result.log
