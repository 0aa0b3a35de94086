"""The portable operators of upstream's Cortex-M runner, for every element type: ATen's numbers for
those that a kernel accepts, a clear error for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tests.kernels.driver import (
    CHANNELS_LAST,
    DTYPES,
    INVALID_ARGUMENT,
    OK,
    Call,
    Tensor,
    Tensors,
    Value,
    run,
)
from tests.kernels.operators import output

Array = npt.NDArray[Any]
aten: Any = torch.ops.aten
NUMBERS = {"float32", "int8", "uint8", "int16", "int32", "int64"}
COMPARED = NUMBERS | {"float64", "bool"}
SHAPE = (2, 3, 4, 5)


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...] = SHAPE) -> Array:
    """Numbers over the whole range of an integer type, a few NaN among the floats."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        return np.where(rng.random(shape) < 0.1, np.nan, rng.normal(0, 3, shape)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


@dataclass(frozen=True)
class Operator:
    """`arguments(x, y)` are those before the output, `expected(x, y)` is ATen's result."""

    name: str
    accepts: set[str]
    arguments: Callable[[Array, Array], tuple[Value, ...]]
    expected: Callable[[torch.Tensor, torch.Tensor], Any]
    out_type: str | None = None

    def call(self, x: Array, y: Array) -> Call:
        dtype = self.out_type or x.dtype.name
        shape = tuple(self.expected(torch.zeros(x.shape), torch.zeros(y.shape)).shape)
        return Call(f"{self.name}", (*self.arguments(x, y), output(shape, dtype)))


OPERATORS = [
    Operator("aten::add.out", NUMBERS, lambda x, y: (Tensor(x), Tensor(y), 3), lambda x, y: x + 3 * y),
    Operator("aten::mul.out", NUMBERS, lambda x, y: (Tensor(x), Tensor(y)), lambda x, y: x * y),
    Operator("aten::clamp.out", NUMBERS, lambda x, y: (Tensor(x), 2, 9), lambda x, y: x.clamp(2, 9)),
    Operator("aten::clamp.out", NUMBERS, lambda x, y: (Tensor(x), 100, 9), lambda x, y: x.clamp(100, 9)),
    Operator(
        "aten::convolution.out",
        {"float32"},
        lambda x, y: (Tensor(x), Tensor(x[:1]), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
        lambda x, y: aten.convolution(x, x[:1], None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    Operator(
        "dim_order_ops::_clone_dim_order.out",
        set(DTYPES),
        lambda x, y: (Tensor(x, CHANNELS_LAST), False, [0, 1, 2, 3]),
        lambda x, y: x,
    ),
    Operator(
        "aten::cat.out",
        set(DTYPES),
        lambda x, y: (Tensors((Tensor(x), Tensor(y), Tensor(x, CHANNELS_LAST))), -2),
        lambda x, y: torch.cat([x, y.expand_as(x), x], -2),
    ),
    Operator(
        "aten::ge.Tensor_out", COMPARED, lambda x, y: (Tensor(x), Tensor(y)), lambda x, y: x >= y, "bool"
    ),
    Operator(
        "aten::unsqueeze_copy.out", set(DTYPES), lambda x, y: (Tensor(x), -3), lambda x, y: x.unsqueeze(-3)
    ),
    Operator(
        "aten::select_copy.int_out",
        set(DTYPES),
        lambda x, y: (Tensor(x, CHANNELS_LAST), 1, -1),
        lambda x, y: x.select(1, -1),
    ),
    Operator(
        "aten::amax.out", NUMBERS, lambda x, y: (Tensor(x), [0, -1], True), lambda x, y: x.amax([0, -1], True)
    ),
    Operator(
        "aten::full.out",
        COMPARED,
        lambda x, y: ([3, 2], 7),
        lambda x, y: torch.full((3, 2), 7, dtype=x.dtype),
    ),
]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_type(tmp_path: Path, operator: Operator) -> None:
    rng = np.random.default_rng(81)
    pairs = [(values(rng, dtype), values(rng, dtype)) for dtype in DTYPES]
    calls = [operator.call(x, y) for x, y in pairs]
    for dtype, (x, y), result in zip(DTYPES, pairs, run(calls, tmp_path), strict=True):
        if dtype in operator.accepts:
            want = operator.expected(torch.from_numpy(x), torch.from_numpy(y)).numpy()
            assert result.status == OK, (dtype, result.log)
            np.testing.assert_allclose(result.out, want, 1e-6 if dtype == "float32" else 0, err_msg=dtype)
        else:
            assert result.status == INVALID_ARGUMENT, dtype
            assert "has no kernel" in result.log or "expected Float" in result.log, (dtype, result.log)


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_pool_of_every_type(tmp_path: Path, dtype: str) -> None:
    x = values(np.random.default_rng(82), dtype)
    pool = ([3, 2], [1, 2], [1, 0], [1, 2], False)
    numbers = torch.from_numpy(x.astype(np.float64))
    want, places = aten.max_pool2d_with_indices(numbers, *pool)
    outs = (output(tuple(want.shape), dtype), output(tuple(want.shape), "int64"))
    calls = [
        Call("aten::max_pool2d_with_indices.out", (Tensor(x), *pool, *outs), output=number)
        for number in (6, 7)
    ]
    maxima, found = run(calls, tmp_path)
    if dtype not in NUMBERS:
        assert maxima.status == INVALID_ARGUMENT
        assert "the type of self has no kernel" in maxima.log
        return
    assert maxima.status == OK, maxima.log
    np.testing.assert_array_equal(maxima.out, _picked(x, places))
    if dtype != "int64":  # float64 does not tell large neighbours apart
        np.testing.assert_array_equal(found.out, places.numpy())


def _picked(x: Array, places: torch.Tensor) -> Array:
    """The elements of the planes of `x` at the positions that ATen found."""
    flat = torch.from_numpy(x.reshape(*x.shape[:2], -1))
    return np.asarray(flat.gather(2, places.flatten(2)).reshape(places.shape).numpy())


@pytest.mark.parametrize(
    ("op", "arguments", "dtype", "message"),
    [
        ("full.out", ([3], 300), "int8", "the value does not fit the type of out"),
        ("full.out", ([3], -1), "uint8", "the value does not fit the type of out"),
        ("full.out", ([3], 1.5), "int32", "the value does not fit the type of out"),
        ("clamp.out", (Tensor(np.zeros(3, np.int8)), None, 128), "int8", "a bound does not fit"),
        ("clamp.out", (Tensor(np.zeros(3, np.int16)), -(2**15) - 1, None), "int16", "a bound does not fit"),
        ("clamp.out", (Tensor(np.zeros(3, np.int8)), 0.5, None), "int8", "a bound does not fit"),
    ],
)
def test_values_out_of_range(
    tmp_path: Path, op: str, arguments: tuple[Value, ...], dtype: str, message: str
) -> None:
    """ATen refuses them, too, or changes them."""
    (result,) = run([Call(f"aten::{op}", (*arguments, output((3,), dtype)))], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert message in result.log


def test_clamp_with_nan(tmp_path: Path) -> None:
    x = np.array([1, np.nan, 5], np.float32)
    bounds = [(float("nan"), 2.0), (0.0, float("nan")), (4.0, 2.0), (None, 2.0)]
    calls = [Call("aten::clamp.out", (Tensor(x), *pair, output((3,), "float32"))) for pair in bounds]
    for (low, high), result in zip(bounds, run(calls, tmp_path), strict=True):
        np.testing.assert_array_equal(result.out, torch.from_numpy(x).clamp(low, high).numpy())


def test_a_huge_window_costs_no_more_than_its_input(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    big = 2**20
    outs = (output((1, 1, 4, 5), "float32"), output((1, 1, 4, 5), "int64"))
    pool = ([big, big], [1, 1], [big // 2, big // 2], [1, 1], False)
    (result,) = run(
        [Call("aten::max_pool2d_with_indices.out", (Tensor(x), *pool, *outs), output=6)], tmp_path
    )
    assert result.status == OK, result.log
    assert (result.out == 11).all()


def test_any_byte_but_zero_is_true(tmp_path: Path) -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    plain = np.array([False, True, True, True])
    out, number = output((4,), "bool"), output((4,), "int32")
    calls = {
        "eq": Call("aten::eq.Tensor_out", (Tensor(odd), Tensor(plain), out)),
        "eq scalar": Call("aten::eq.Scalar_out", (Tensor(odd), 1, out)),
        "not": Call("aten::logical_not.out", (Tensor(odd), out)),
        "and": Call("aten::logical_and.out", (Tensor(odd), Tensor(odd), out)),
        "or": Call("aten::logical_or.out", (Tensor(odd), Tensor(odd), out)),
        "to": Call("dim_order_ops::_to_dim_order_copy.out", (Tensor(odd), False, [0], number)),
        "pad": Call("aten::constant_pad_nd.out", (Tensor(odd), [1, 0], True, output((5,), "bool"))),
    }
    results = dict(zip(calls, run(list(calls.values()), tmp_path), strict=True))
    assert [result.log for result in results.values() if result.status != OK] == []
    assert results["eq"].out.all()
    assert results["not"].out.tolist() == [True, False, False, False]
    assert results["to"].out.tolist() == [0, 1, 1, 1]
    assert (results["pad"].out.view(np.uint8) != 0).tolist() == [True, False, True, True, True]
    for name in ("eq scalar", "and", "or"):
        assert results[name].out.view(np.uint8).tolist() == [0, 1, 1, 1], name


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool"])
def test_a_whole_scalar_wraps_in_comparisons(tmp_path: Path, dtype: str) -> None:
    x = values(np.random.default_rng(83), dtype, (64,))
    scalars = (0, 1, 44, 300, -1, -300, 70_000, 2**31 + 44, True)
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    pairs = [(name, scalar) for name in names for scalar in scalars]
    calls = [Call(f"aten::{name}.Scalar_out", (Tensor(x), s, output((64,), "bool"))) for name, s in pairs]
    for (name, scalar), result in zip(pairs, run(calls, tmp_path), strict=True):
        want = getattr(torch, name)(torch.from_numpy(x), scalar).numpy()
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want, f"{name} {scalar}")


def test_a_window_in_the_padding_is_refused_once(tmp_path: Path) -> None:
    x = Tensor(np.zeros((1, 3, 1, 1), np.float32))
    outs = output((1, 3, 1, 1), "float32"), output((1, 3, 1, 1), "int64")
    pool = ([2, 2], [1, 1], [1, 1], [2, 2], False)
    (result,) = run([Call("aten::max_pool2d_with_indices.out", (x, *pool, *outs), 6)], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert result.log.count("a window has no element of self") == 1, result.log
