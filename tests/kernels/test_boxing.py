"""The generated wrappers: number and types of arguments are checked before the kernel sees them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.driver import INVALID_PROGRAM, INVALID_TYPE, OK, Call, Same, Tensor, Value, run
from tests.kernels.operators import Linear, output, quantize

X = np.zeros(4, np.float32)
QUANTIZE = quantize(X, 1.0, 0, (-128, 127))
LINEAR = Linear().call(
    Tensor(np.zeros((1, 4), np.int8)), Tensor(np.zeros((2, 4), np.int8)), None, None, output((1, 2), "int8")
)
ADD = Call("aten::add.out", (Tensor(X), Tensor(X), 1, output((4,), "float32")))


def changed(call: Call, index: int, value: Value) -> Call:
    values = list(call.values)
    values[index] = value
    return Call(call.op, tuple(values))


@pytest.mark.parametrize("call", [QUANTIZE, LINEAR, ADD])
def test_wrong_number_of_arguments(tmp_path: Path, call: Call) -> None:
    expected = len(call.values) + 1
    fewer = Call(call.op, call.values[1:])
    more = Call(call.op, (call.values[0], *call.values))
    none = Call(call.op, ())
    for result, received in zip(
        run([fewer, more, none], tmp_path), (expected - 1, expected + 1, 0), strict=True
    ):
        assert result.status == INVALID_PROGRAM
        assert f"{call.op}: Expected {expected} args received {received}" in result.log


@pytest.mark.parametrize(
    ("call", "index", "value", "message"),
    [
        (QUANTIZE, 0, 3, "argument 0 'input' is no Tensor"),
        (QUANTIZE, 0, None, "argument 0 'input' is no Tensor"),
        (QUANTIZE, 1, None, "argument 1 'scale' is no float"),
        (QUANTIZE, 1, True, "argument 1 'scale' is no float"),
        (QUANTIZE, 2, 1.0, "argument 2 'zero_point' is no int"),
        (QUANTIZE, 2, Tensor(X), "argument 2 'zero_point' is no int"),
        (QUANTIZE, 5, 1.0, "argument 5 'dtype' is no ScalarType"),
        (QUANTIZE, 5, -1, "argument 5 'dtype' is no ScalarType"),
        (QUANTIZE, 5, 257, "argument 5 'dtype' is no ScalarType"),
        (QUANTIZE, 6, 1, "argument 6 'out' is no Tensor"),
        (LINEAR, 2, 5, "argument 2 'bias' is no Tensor"),
        (LINEAR, 7, None, "argument 7 'requantize_multipliers' is no list"),
        (LINEAR, 7, 5, "argument 7 'requantize_multipliers' is no list"),
        (ADD, 2, None, "argument 2 'alpha' is no Scalar"),
        (ADD, 2, Tensor(X), "argument 2 'alpha' is no Scalar"),
    ],
)
def test_wrong_type_of_argument(tmp_path: Path, call: Call, index: int, value: Value, message: str) -> None:
    (result,) = run([changed(call, index, value)], tmp_path)
    assert result.status == INVALID_TYPE
    assert f"{call.op}: {message}" in result.log


def test_a_whole_number_is_a_float(tmp_path: Path) -> None:
    (result,) = run([changed(QUANTIZE, 1, 1)], tmp_path)
    assert result.status == OK, result.log


@pytest.mark.parametrize("alpha", [2, 2.0, True])
def test_all_kinds_of_scalar(tmp_path: Path, alpha: float) -> None:
    (result,) = run([changed(ADD, 2, alpha)], tmp_path)
    assert result.status == OK, result.log


INDEX = Tensor(np.zeros(4, np.int64))
POOL = Call(
    "cortex_m::quantized_avg_pool2d.out",
    (
        Tensor(np.zeros((1, 1, 2, 2), np.int8), (0, 2, 3, 1)),
        *([2, 2], [2, 2], [0, 0], False, 0, 1 << 30, 1),
        Tensor(np.zeros(16, np.uint8)),
        Tensor(np.zeros((1, 1, 1, 1), np.int8), (0, 2, 3, 1)),
    ),
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (changed(ADD, 3, Same(0)), "'out' shares memory with 'self'"),
        (changed(ADD, 3, Same(1, 12)), "'out' shares memory with 'other'"),
        (Call("aten::gather.out", (INDEX, 0, INDEX, False, Same(2))), "'out' shares memory with 'index'"),
        (changed(POOL, 9, Same(8, 3)), "'out' shares memory with 'scratch'"),
        (changed(POOL, 8, Same(0)), "'scratch' shares memory with 'input'"),
    ],
)
def test_an_output_in_the_memory_of_another_argument_is_refused(
    tmp_path: Path, call: Call, message: str
) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == INVALID_PROGRAM
    assert f"{call.op}: {message}" in result.log
