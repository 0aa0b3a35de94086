"""cortex_m::transpose, pad and quantized_activation, which copy or look up values, on the host."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Call, Tensor, run
from tests.kernels.operators import activation, int8, output, pad, transpose

Pads = list[tuple[int, int]]


def check(tmp_path: Path, calls: list[Call], expected: list[npt.NDArray[Any]]) -> None:
    for result, want in zip(run(calls, tmp_path), expected, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want)


def refused(tmp_path: Path, call: Call, message: str) -> None:
    (result,) = run([call], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert call.op.split("::")[1].replace(".out", ": ") in result.log
    assert message in result.log


def test_transpose_sizes(tmp_path: Path) -> None:
    """Every order of up to four dimensions, one of them as long as 1 to 33."""
    rng = np.random.default_rng(71)
    calls, expected = [], []
    for rank in range(1, 5):
        for i, perm in enumerate(permutations(range(rank))):
            for size in range(1 + i % 3, 34, 3 if rank == 4 else 1):
                shape = [2, 3, 1, 4][:rank]
                shape[size % rank] = size
                x = int8(rng, *shape)
                calls.append(transpose(Tensor(x), perm))
                expected.append(x.transpose(perm))
    check(tmp_path, calls, expected)


@pytest.mark.parametrize("dtype", ["int8", "bool", "int16", "int32", "float32", "int64"])
def test_transpose_dim_orders_and_types(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(72)
    x = rng.integers(0, 2 if dtype == "bool" else 100, (2, 3, 4, 5)).astype(dtype)
    calls, expected = [], []
    for perm in permutations(range(4)):
        for order in (None, CHANNELS_LAST):
            want = x.transpose(perm)
            for out_order in (None, CHANNELS_LAST):
                calls.append(transpose(Tensor(x, order), perm, output(want.shape, dtype, out_order)))
                expected.append(want)
    check(tmp_path, calls, expected)


@pytest.mark.parametrize("shape", [(3, 0, 2), (0,), ()])
def test_transpose_without_elements_or_dimensions(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = np.full(shape, 7, np.int8)
    perm = tuple(range(len(shape)))[::-1]
    check(tmp_path, [transpose(Tensor(x), perm)], [x.transpose(perm)])


def test_transpose_far_steps(tmp_path: Path) -> None:
    """Steps that do not fit the offsets of a vector."""
    x = int8(np.random.default_rng(73), 20, 9600)
    check(tmp_path, [transpose(Tensor(x), (1, 0)), transpose(Tensor(x.T.copy()), (1, 0))], [x.T, x])


X = Tensor(np.zeros((2, 3, 4), np.int8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (transpose(X, (0, 1), output((2, 3), "int8")), "length of perm is 2, expected 3"),
        (transpose(X, (0, 1, 3)), "entry of perm is 3, expected 0...2"),
        (transpose(X, (0, -1, 1)), "entry of perm is -1"),
        (transpose(X, (0, 1, 1)), "perm is no permutation"),
        (transpose(X, (1, 0, 2), output((2, 3, 4), "int8")), "out cannot take the shape"),
        (transpose(X, (1, 0, 2), output((3, 2, 4), "int16")), "out is Short"),
        (transpose(replace(X, has_data=False), (1, 0, 2)), "input has no data"),
    ],
)
def test_transpose_refused(tmp_path: Path, call: Call, message: str) -> None:
    refused(tmp_path, call, message)


def padded(x: npt.NDArray[Any], amounts: Pads, value: int) -> npt.NDArray[Any]:
    return np.pad(x, amounts, constant_values=value) if amounts else x


def test_pad_sizes(tmp_path: Path) -> None:
    rng = np.random.default_rng(74)
    calls, expected = [], []
    for rank in range(1, 5):
        for size in range(1, 34):
            for _ in range(3):
                shape = [int(n) for n in rng.integers(1, 4, rank)]
                shape[int(rng.integers(rank))] = size
                amounts = [(int(a), int(b)) for a, b in rng.choice([0, 0, 1, 2, 17], (rank, 2))]
                x, value = int8(rng, *shape), int(rng.integers(-128, 128))
                # One channel, or one pixel, counts as channels-last, whatever the dim order says.
                last = rank == 4 and (shape[1] == 1 or shape[2] == shape[3] == 1)
                calls.append(pad(Tensor(x), amounts, value, last))
                expected.append(padded(x, amounts, value))
    check(tmp_path, calls, expected)


def test_pad_channels_last(tmp_path: Path) -> None:
    rng = np.random.default_rng(75)
    calls, expected = [], []
    for shape in ((1, 3, 5, 5), (2, 16, 3, 4), (2, 1, 3, 4), (3, 5, 1, 1), (1, 17, 1, 6)):
        for amounts in (
            [(0, 0), (0, 0), (1, 3), (2, 4)],
            [(1, 0), (2, 3), (0, 1), (4, 0)],
            [(0, 0), (1, 1), (0, 0), (0, 0)],
            [(0, 0)] * 4,
        ):
            x = int8(rng, *shape)
            calls.append(pad(Tensor(x, CHANNELS_LAST), amounts, -77, channels_last=True))
            expected.append(padded(x, amounts, -77))
    check(tmp_path, calls, expected)


@pytest.mark.parametrize(
    ("shape", "amounts"),
    [((0,), [(2, 3)]), ((2, 0, 3), [(0, 1), (1, 1), (2, 0)]), ((0, 3), [(0, 0), (1, 1)])],
)
def test_pad_nothing(tmp_path: Path, shape: tuple[int, ...], amounts: Pads) -> None:
    x = np.empty(shape, np.int8)
    check(tmp_path, [pad(Tensor(x), amounts, 9)], [padded(x, amounts, 9)])


P = Tensor(np.zeros((2, 3), np.int8))
IMAGE = Tensor(np.zeros((1, 2, 3, 4), np.int8))
NONE: Pads = [(0, 0)] * 4


def amounts_of(before: list[int], after: list[int], x: Tensor = P) -> Call:
    return Call("cortex_m::pad.out", (x, before, after, 0, output((2, 3), "int8")))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (pad(P, [(0, 0), (1, 1)], 128), "pad_value is 128"),
        (amounts_of([0, 0], [0, 0]), "four entries each"),
        (amounts_of([0, 0, 0, 0], [0, 0, 0]), "four entries each"),
        (amounts_of([1, 0, 0, 0], [0] * 4), "entry of pre_pad is 1, expected 0...0"),
        (amounts_of([0] * 4, [0, 1, 0, 0]), "entry of post_pad is 1, expected 0...0"),
        (amounts_of([0, 0, -1, 0], [0] * 4), "entry of pre_pad is -1"),
        (amounts_of([0, 0, 2**31 - 1, 0], [0] * 4), "padded size is 2147483649"),
        (amounts_of([0] * 4, [0] * 4, Tensor(np.zeros((1,) * 5, np.int8))), "rank of input is 5"),
        (pad(Tensor(np.zeros((), np.int8)), [], 0), "rank of input is 0"),
        (pad(Tensor(P.array.astype(np.int16)), [(0, 0)] * 2, 0), "input is Short"),
        (pad(P, [(0, 0), (1, 1)], 0, out=output((2, 3), "int8")), "out cannot take the shape"),
        (pad(P, [(0, 0), (1, 1)], 0, out=output((2, 5), "int32")), "out is Int"),
        (pad(IMAGE, NONE, 0, out=output((1, 2, 3, 4), "int8", CHANNELS_LAST)), "neither both plain nor both"),
        (pad(replace(IMAGE, dim_order=CHANNELS_LAST), NONE, 0), "neither both plain nor both"),
        (pad(Tensor(P.array, (1, 0)), [(0, 0)] * 2, 0), "neither both plain nor both"),
    ],
)
def test_pad_refused(tmp_path: Path, call: Call, message: str) -> None:
    refused(tmp_path, call, message)


def test_activation(tmp_path: Path) -> None:
    rng = np.random.default_rng(76)
    shapes = [(), (0,), (256,), (2, 3, 4, 5), *((n,) for n in range(1, 34))]
    calls, expected = [], []
    for shape in shapes:
        x, table = int8(rng, *shape), int8(rng, 256)
        if shape == (256,):
            x = np.arange(-128, 128, dtype=np.int8)
        order = CHANNELS_LAST if len(shape) == 4 else None
        calls.append(activation(Tensor(x, order), table))
        expected.append(table[x.astype(int) + 128])
    check(tmp_path, calls, expected)


TABLE = np.zeros(256, np.int8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (activation(X, TABLE[:255]), "number of entries of lut is 255, expected 256"),
        (activation(X, TABLE.astype(np.uint8)), "lut is Byte"),
        (activation(Tensor(X.array.astype(np.int32)), TABLE), "input is Int"),
        (activation(X, TABLE, output((2, 3, 4), "int16")), "out is Short"),
        (activation(X, TABLE, output((24,), "int8")), "out cannot take the shape"),
        (activation(X, TABLE, output((2, 3, 4), "int8", (2, 1, 0))), "differ in dim order"),
        (activation(replace(X, has_data=False), TABLE), "input has no data"),
    ],
)
def test_activation_refused(tmp_path: Path, call: Call, message: str) -> None:
    refused(tmp_path, call, message)
