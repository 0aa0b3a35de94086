"""quantized_linear against the device formula, on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Call, Tensor, run
from tests.kernels.operators import Linear, int8, output

DEPTHS = [*range(1, 34), 64, 100]


def int32(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.int32]:
    return rng.integers(-20000, 20000, shape, dtype=np.int32)


@pytest.mark.parametrize("outputs", [1, 3, 4, 7, 17])
def test_bias_and_kernel_sum_give_the_same_numbers(tmp_path: Path, outputs: int) -> None:
    rng = np.random.default_rng(11)
    calls, expected = [], []
    for depth in DEPTHS:
        op = Linear(offsets=(int(rng.choice([-127, 0, 5, 128])), int(rng.choice([-127, 0, 128])), 9))
        x, w, bias = int8(rng, 3, depth), int8(rng, outputs, depth), int32(rng, outputs)
        want = op.expected(x, w, bias)
        kernel_sum = op.kernel_sum(w, bias)
        np.testing.assert_array_equal(op.expected_with_sum(x, w, kernel_sum), want)
        for with_sum in (False, True):
            bias_operand = None if with_sum else Tensor(bias)
            sum_operand = Tensor(kernel_sum) if with_sum else None
            calls.append(
                op.call(Tensor(x), Tensor(w), bias_operand, sum_operand, output((3, outputs), "int8"))
            )
            expected.append(want)
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)


def test_kernel_sum_wins_over_bias(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    op = Linear()
    x, w = int8(rng, 2, 20), int8(rng, 5, 20)
    kernel_sum = int32(rng, 1, 5)
    call = op.call(Tensor(x), Tensor(w), Tensor(int32(rng, 5)), Tensor(kernel_sum), output((2, 5), "int8"))
    (result,) = run([call], tmp_path)
    np.testing.assert_array_equal(result.out, op.expected_with_sum(x, w, kernel_sum))


def test_neither_bias_nor_kernel_sum(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    op = Linear(offsets=(128, 0, 0))
    x, w = int8(rng, 2, 20), int8(rng, 5, 20)
    (result,) = run([op.call(Tensor(x), Tensor(w), None, None, output((2, 5), "int8"))], tmp_path)
    np.testing.assert_array_equal(result.out, op.expected(x, w, 0))


def test_extreme_parameters(tmp_path: Path) -> None:
    rng = np.random.default_rng(14)
    calls, expected = [], []
    x, w = int8(rng, 2, 40), int8(rng, 6, 40)
    bias = rng.choice([-(2**31), -1, 0, 2**31 - 1], 6).astype(np.int32)
    for shift in range(-31, 32):
        for multiplier in (-(2**31), -(2**30), 0, 1, 2**30, 2**31 - 1):
            op = Linear((128, 0, -128), (multiplier, shift), (-100, 99))
            calls.append(op.call(Tensor(x), Tensor(w), Tensor(bias), None, output((2, 6), "int8")))
            expected.append(op.expected(x, w, bias))
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)


@pytest.mark.parametrize("leading", [(), (0,), (5,), (2, 3), (1, 1, 4), (2, 1, 2, 1)])
def test_leading_dimensions_are_rows(tmp_path: Path, leading: tuple[int, ...]) -> None:
    rng = np.random.default_rng(15)
    op = Linear()
    x, w, bias = int8(rng, *leading, 9), int8(rng, 4, 9), int32(rng, 4)
    (result,) = run(
        [op.call(Tensor(x), Tensor(w), Tensor(bias), None, output((*leading, 4), "int8"))], tmp_path
    )
    assert result.status == OK, result.log
    np.testing.assert_array_equal(result.out, op.expected(x, w, bias))


def test_no_depth_and_no_outputs(tmp_path: Path) -> None:
    op = Linear()
    bias = np.array([3, -500], np.int32)
    no_depth = op.call(
        Tensor(np.empty((2, 0), np.int8)),
        Tensor(np.empty((2, 0), np.int8)),
        Tensor(bias),
        None,
        output((2, 2), "int8"),
    )
    no_outputs = op.call(
        Tensor(np.zeros((2, 3), np.int8)),
        Tensor(np.empty((0, 3), np.int8)),
        None,
        None,
        output((2, 0), "int8"),
    )
    made = run([no_depth, no_outputs], tmp_path)
    assert [result.status for result in made] == [OK, OK]
    np.testing.assert_array_equal(made[0].out, op.expected(np.empty((2, 0)), np.empty((2, 0)), bias))


X = np.zeros((2, 8), np.int8)
W = np.zeros((3, 8), np.int8)
BIAS = np.zeros(3, np.int32)
OUT = output((2, 3), "int8")


def call(
    op: Linear | None = None,
    x: Tensor | None = None,
    w: Tensor | None = None,
    bias: Tensor | None = None,
    kernel_sum: Tensor | None = None,
    out: Tensor = OUT,
) -> Call:
    return (op or Linear()).call(x or Tensor(X), w or Tensor(W), bias, kernel_sum, out)


def lists(multipliers: list[int], shifts: list[int]) -> Call:
    values = list(call().values)
    values[7:9] = multipliers, shifts
    return Call("cortex_m::quantized_linear.out", tuple(values))


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (call(Linear(offsets=(129, 0, 0))), "input_offset is 129"),
        (call(Linear(offsets=(0, -128, 0))), "filter_offset is -128"),
        (call(Linear(offsets=(0, 0, 128))), "output_offset is 128"),
        (call(Linear(rescale=(2**31, 0))), "requantize_multipliers"),
        (call(Linear(rescale=(1, 32))), "requantize_shifts"),
        (call(Linear(bounds=(3, 2))), "activation_max"),
        (call(Linear(bounds=(-128, 128))), "activation_max"),
        (lists([], []), "one element each"),
        (lists([1, 1], [0, 0]), "one element each"),
        (lists([1], []), "one element each"),
        (call(x=Tensor(np.zeros((), np.int8))), "input has no dimension"),
        (call(x=Tensor(np.zeros((2, 7), np.int8))), "depth of weights is 8, expected 7"),
        (call(x=Tensor(X.astype(np.int16))), "input is Short"),
        (call(x=Tensor(X, has_data=False)), "input has no data"),
        (call(x=Tensor(np.zeros((1, 2, 3, 8), np.int8), CHANNELS_LAST)), "dim order"),
        (call(w=Tensor(np.zeros((3, 8, 1), np.int8))), "weights are not"),
        (call(w=Tensor(W.astype(np.float32))), "weights is Float"),
        (call(w=Tensor(W, (1, 0))), "dim order"),
        (call(bias=Tensor(np.zeros(4, np.int32))), "length of bias is 4, expected 3"),
        (call(bias=Tensor(np.zeros(3, np.int64))), "bias is Long"),
        (call(bias=Tensor(BIAS, has_data=False)), "bias has no data"),
        (call(kernel_sum=Tensor(np.zeros((1, 2), np.int32))), "length of kernel_sum is 2, expected 3"),
        (call(out=output((2, 4), "int8")), "out cannot take the shape"),
        (call(out=output((6,), "int8")), "out cannot take the shape"),
        (call(out=output((2, 3), "int16")), "out is Short"),
        (call(out=replace(OUT, has_data=False)), "out has no data"),
        (call(out=replace(OUT, dim_order=(1, 0))), "out is not in plain dim order"),
    ],
)
def test_refused(tmp_path: Path, refused: Call, message: str) -> None:
    (result,) = run([refused], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "quantized_linear: " in result.log
    assert message in result.log


def test_the_poison_is_visible(tmp_path: Path) -> None:
    """A refused call leaves the output alone, so equality above is the kernel's work."""
    poisoned: Any = call(out=output((2, 3), "int8"), x=Tensor(X, has_data=False))
    (result,) = run([poisoned], tmp_path)
    assert (result.out == 0x55).all()
