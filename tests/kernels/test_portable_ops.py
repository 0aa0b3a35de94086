"""Portable operators against ATen, on the host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed

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

aten: Any = torch.ops.aten
Array = npt.NDArray[Any]
RNG = np.random.default_rng(33)


def floats(*shape: int) -> Array:
    return RNG.normal(0, 3, shape).astype(np.float32)


def ints(dtype: str, *shape: int) -> Array:
    return RNG.integers(-20, 20, shape).astype(dtype)


def bools(*shape: int) -> Array:
    return RNG.random(shape) < 0.5


def to_torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.from_numpy(np.array(value.array, order="C"))
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value, order="C"))
    if isinstance(value, Tensors):
        return [to_torch(element) for element in value.elements]
    return value


def to_value(value: Any) -> Value:
    return Tensor(value) if isinstance(value, np.ndarray) else value


def out_of(result: torch.Tensor, dim_order: tuple[int, ...] | None = None) -> Tensor:
    return output(tuple(result.shape), str(result.dtype).removeprefix("torch."), dim_order)


def _mean(x: torch.Tensor, dim: list[int] | None, keepdim: bool, _: None) -> Any:
    return aten.mean.dim(x, dim, keepdim)


def _sum(x: torch.Tensor, dim: list[int] | None, keepdim: bool, _: None) -> Any:
    return aten.sum.dim_IntList(x, dim, keepdim)


def _gather(x: torch.Tensor, dim: int, index: torch.Tensor, _: bool) -> Any:
    return aten.gather(x, dim, index)


def _addmm(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, beta: float, alpha: float) -> Any:
    return aten.addmm(x, a, b, beta=beta, alpha=alpha)


# Operator, ATen's function, arguments before the output.
Row = tuple[str, Any, tuple[Any, ...]]
X4 = floats(2, 3, 4, 5)
NHWC = Tensor(X4, CHANNELS_LAST)

VIEWS: list[Row] = [
    ("permute_copy.out", aten.permute, (X4, [0, 2, 3, 1])),
    ("permute_copy.out", aten.permute, (NHWC, [3, -3, 0, 2])),
    ("permute_copy.out", aten.permute, (ints("int8", 3, 4), [1, 0])),
    ("permute_copy.out", aten.permute, (floats(), [])),
    ("transpose_copy.int_out", aten.transpose.int, (X4, 1, -1)),
    ("t_copy.out", aten.t, (ints("int16", 3, 4),)),
    ("t_copy.out", aten.t, (floats(3),)),
    ("unsqueeze_copy.out", aten.unsqueeze, (X4, 0)),
    ("unsqueeze_copy.out", aten.unsqueeze, (ints("int64", 3), -1)),
    ("squeeze_copy.dims_out", aten.squeeze.dims, (floats(1, 3, 1, 4), [0, 1, -2])),
    ("squeeze_copy.dim_out", aten.squeeze.dim, (floats(1, 3, 1), 0)),
    ("select_copy.int_out", aten.select.int, (NHWC, 1, -1)),
    ("select_copy.int_out", aten.select.int, (bools(4), 0, 2)),
    ("slice_copy.Tensor_out", aten.slice.Tensor, (X4, 3, 1, None, 2)),
    ("slice_copy.Tensor_out", aten.slice.Tensor, (X4, -2, -3, 100, 1)),
    ("slice_copy.Tensor_out", aten.slice.Tensor, (X4, 0, 2, 1, 1)),
    ("as_strided_copy.out", aten.as_strided, (floats(24), [2, 3, 2], [1, 4, 0], 5)),
    ("view_copy.out", aten.view, (X4, [6, -1])),
    ("view_copy.out", aten.view, (floats(1), [])),
    ("view_copy.out", aten.view, (floats(0, 3), [3, 0])),
]
COMPARISONS: list[Row] = [
    (f"{name}.{kind}_out", getattr(getattr(aten, name), kind), (a, b))
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for kind, a, b in (
        ("Tensor", ints("int8", 4, 5), ints("int8", 5)),
        ("Tensor", np.array([np.nan, 1, -np.inf, 0.0], np.float32), np.array([[1.0], [-0.0]], np.float32)),
        ("Tensor", bools(7), bools(7)),
        ("Scalar", ints("int32", 9), 3),
        ("Scalar", ints("int64", 9), 2.5),
        ("Scalar", np.array([0.1, 0.2], np.float32), 0.1),
    )
]
NONZERO = np.where(ints("int32", 6, 7) == 0, 5, ints("int32", 6, 7)).astype(np.int32)
NONZERO[NONZERO == 0] = 7
ELEMENTWISE: list[Row] = [
    ("where.self_out", aten.where.self, (bools(3, 1, 2), floats(4, 1), floats(1, 4, 2))),
    ("where.self_out", aten.where.self, (bools(2, 3, 3), ints("int16", 3), ints("int16", 1))),
    ("relu.out", aten.relu, (ints("int8", 30),)),
    ("relu.out", aten.relu, (np.array([np.nan, -1, 2], np.float32),)),
    ("neg.out", aten.neg, (ints("int8", 30),)),
    ("abs.out", aten.abs, (np.array([-128, 127, -3], np.int8),)),
    ("logical_not.out", aten.logical_not, (bools(9),)),
    ("clamp.out", aten.clamp, (np.array([np.nan, -9, 9, 1], np.float32), -2, 2.5)),
    ("clamp.out", aten.clamp, (ints("int8", 30), None, 4)),
    ("hardtanh.out", aten.hardtanh, (floats(30), -1.0, 1.0)),
    ("div.out", aten.div.Tensor, (floats(4, 3), floats(3))),
    (
        "minimum.out",
        aten.minimum,
        (np.array([np.nan, 1, 2], np.float32), np.array([0, np.nan, 1], np.float32)),
    ),
    ("maximum.out", aten.maximum, (ints("int8", 3, 4), ints("int8", 4))),
    ("logical_and.out", aten.logical_and, (bools(9), bools(9))),
    ("logical_or.out", aten.logical_or, (bools(9), bools(9))),
    *(
        (f"{name}.out", getattr(aten, name), (np.abs(floats(50)) + 0.1,))
        for name in ("exp", "log", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid")
    ),
    *((f"{name}.out", getattr(aten, name), (floats(50),)) for name in ("floor", "ceil", "trunc", "round")),
]
SUMS: list[Row] = [
    ("mean.out", _mean, (X4, [2, 3], True, None)),
    ("mean.out", _mean, (NHWC, [-1], False, None)),
    ("mean.out", _mean, (X4, None, False, None)),
    ("sum.IntList_out", _sum, (X4, [0, 2], True, None)),
    ("amax.out", aten.amax, (ints("int8", 3, 4), [1], False)),
    ("amin.out", aten.amin, (np.array([[1, np.nan], [-np.inf, 3]], np.float32), [-1], True)),
    ("amax.out", aten.amax, (X4, [], False)),
    ("mm.out", aten.mm, (floats(3, 4), floats(4, 5))),
    ("mm.out", aten.mm, (ints("int32", 3, 4), ints("int32", 4, 5))),
    ("mm.out", aten.mm, (floats(3, 0), floats(0, 2))),
    ("bmm.out", aten.bmm, (floats(2, 3, 4), floats(2, 4, 5))),
    ("addmm.out", _addmm, (floats(5), floats(3, 4), floats(4, 5), 2, 0.5)),
    ("addmm.out", _addmm, (np.full(5, np.nan, np.float32), floats(3, 4), floats(4, 5), 0, 1)),
    ("_softmax.out", aten._softmax, (X4, 1, False)),
    ("_softmax.out", aten._softmax, (NHWC, 1, False)),
    ("_softmax.out", aten._softmax, (floats(), 0, False)),
    ("_softmax.out", aten._softmax, (floats(3, 4) * 30, -1, False)),
    (
        "convolution.out",
        aten.convolution,
        (X4, floats(6, 3, 3, 2), floats(6), [1, 2], [1, 0], [1, 2], False, [0, 0], 1),
    ),
    (
        "convolution.out",
        aten.convolution,
        (NHWC, floats(6, 1, 2, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 3),
    ),
    (
        "convolution.out",
        aten.convolution,
        (floats(1, 4, 9), floats(2, 4, 3), None, [2], [1], [1], False, [0], 1),
    ),
    (
        "convolution.out",
        aten.convolution,
        (X4, floats(3, 2, 3, 2), floats(6), [2, 3], [1, 0], [1, 2], True, [1, 0], 3),
    ),
]
CHOICES: list[Row] = [
    ("full.out", lambda size, value: torch.full(size, value), ([2, 3], 1.5)),
    ("full_like.out", lambda x, value, _: torch.full_like(x, value), (ints("int8", 3), -4, None)),
    ("full_like.out", lambda x, value, _: torch.full_like(x, value), (bools(3), True, None)),
    ("scalar_tensor.out", lambda value: torch.tensor(value, dtype=torch.float32), (2.5,)),
    ("cat.out", aten.cat, (Tensors((NHWC, Tensor(floats(2, 1, 4, 5)), Tensor(floats(0)))), 1)),
    ("cat.out", aten.cat, (Tensors((Tensor(ints("int8", 2)), Tensor(ints("int8", 3)))), -1)),
    ("gather.out", _gather, (floats(3, 4), 1, RNG.integers(0, 4, (2, 6)), False)),
    ("gather.out", _gather, (ints("int8", 3, 4), 0, RNG.integers(0, 3, (3, 2)), False)),
    ("constant_pad_nd.out", aten.constant_pad_nd, (ints("int8", 2, 3), [1, 2, 0, 1], -3)),
    ("constant_pad_nd.out", aten.constant_pad_nd, (X4, [1, 0], 0.5)),
    # ExecuTorch writes the default value as a float, whatever the type of the tensor is.
    ("constant_pad_nd.out", aten.constant_pad_nd, (ints("int32", 2, 3), [1, 1], 0.0)),
    ("constant_pad_nd.out", aten.constant_pad_nd, (bools(2, 3), [1, 1], 0.0)),
    ("full.out", lambda size, value: torch.full(size, value, dtype=torch.int64), ([2], 1.0)),
]
I0, I1, I2 = (Tensor(RNG.integers(-2, 2, shape)) for shape in ((3,), (2, 1), (3,)))
INDEXED: list[tuple[Tensor | None, ...]] = [
    (I0,),
    (None, I1),
    (I1, None, I2),
    (None, I0, I1),
    (I0, I1, None, I2),
    (Tensor(np.array(1)), None, None, I1),
]


def compare(rows: Sequence[Row], directory: Path, rtol: float = 0.0, atol: float = 0.0) -> None:
    wanted = [function(*map(to_torch, arguments)) for _, function, arguments in rows]
    calls = [
        Call(f"aten::{name}", (*map(to_value, arguments), out_of(want)))
        for (name, _, arguments), want in zip(rows, wanted, strict=True)
    ]
    for call, result, want in zip(calls, run(calls, directory), wanted, strict=True):
        assert result.status == OK, (call.op, result.log)
        assert result.out.shape == tuple(want.shape), call.op
        np.testing.assert_allclose(result.out, want.numpy(), rtol, atol, err_msg=call.op)


def test_views(tmp_path: Path) -> None:
    compare(VIEWS, tmp_path)


def test_comparisons(tmp_path: Path) -> None:
    compare(COMPARISONS, tmp_path)


def test_elementwise(tmp_path: Path) -> None:
    compare(ELEMENTWISE, tmp_path, rtol=1e-6)


def test_reductions_products_convolutions(tmp_path: Path) -> None:
    compare(SUMS, tmp_path, rtol=1e-4, atol=1e-5)


def test_choices(tmp_path: Path) -> None:
    compare(CHOICES, tmp_path)


def test_expand(tmp_path: Path) -> None:
    x = floats(3, 1)
    want = np.broadcast_to(x, (2, 3, 4))
    (result,) = run(
        [Call("aten::expand_copy.out", (Tensor(x), [2, -1, 4], False, output((2, 3, 4), "float32")))],
        tmp_path,
    )
    np.testing.assert_array_equal(result.out, want)


@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_division_with_rounding(tmp_path: Path, mode: str, dtype: str) -> None:
    a = ints("int32", 6, 7).astype(dtype)
    b = NONZERO.astype(dtype)
    want = torch.div(torch.from_numpy(a), torch.from_numpy(b), rounding_mode=mode).numpy()
    (result,) = run(
        [Call("aten::div.out_mode", (Tensor(a), Tensor(b), mode, output(a.shape, dtype)))], tmp_path
    )
    assert result.status == OK
    np.testing.assert_array_equal(result.out, want)


@pytest.mark.parametrize("indices", INDEXED, ids=["first", "second", "apart", "inner", "three", "scalar"])
def test_index(tmp_path: Path, indices: tuple[Tensor | None, ...]) -> None:
    self = RNG.integers(-99, 99, (3, 4, 2, 5)).astype(np.int8)
    want = aten.index.Tensor(torch.from_numpy(self), [None if i is None else to_torch(i) for i in indices])
    (result,) = run(
        [Call("aten::index.Tensor_out", (Tensor(self), Tensors(indices, optional=True), out_of(want)))],
        tmp_path,
    )
    assert result.status == OK, result.log
    np.testing.assert_array_equal(result.out, want.numpy())


def test_batch_norm(tmp_path: Path) -> None:
    x, mean, weight, bias = X4, floats(3), floats(3), floats(3)
    variance = np.abs(floats(3)) + 0.1
    want = torch.nn.functional.batch_norm(
        *(torch.from_numpy(a) for a in (x, mean, variance, weight, bias)), eps=1e-5
    )
    none = output((0,), "float32")
    vectors = map(Tensor, (weight, bias, mean, variance))
    values: tuple[Value, ...] = (
        NHWC,
        *vectors,
        0.1,
        1e-5,
        output(x.shape, "float32", CHANNELS_LAST),
        none,
        none,
    )
    (result,) = run([Call("aten::_native_batch_norm_legit_no_training.out", values, output=7)], tmp_path)
    assert result.status == OK, result.log
    np.testing.assert_allclose(result.out, want.numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("x", "parameters"),
    [
        (NHWC, ([2, 3], [1, 2], [1, 0], [1, 1], False)),
        (Tensor(ints("int8", 2, 3, 7, 9)), ([3], [2], [1], [2], True)),
        (Tensor(ints("int8", 3, 6, 5)), ([2, 2], [], [0, 0], [1, 1], True)),
        (Tensor(ints("int8", 2, 3, 2, 2)), ([3], [2], [0], [1], True)),
        (Tensor(ints("int8", 1, 3, 1, 1)), ([2], [2], [0], [1], True)),
        (Tensor(np.where(bools(1, 2, 5, 5), np.nan, 1).astype(np.float32)), ([2, 2], [2, 2], [0], [1], True)),
    ],
)
def test_max_pool(tmp_path: Path, x: Tensor, parameters: tuple[Value, ...]) -> None:
    numbers = to_torch(x)  # ATen's int8 is not everywhere: floats hold it exactly
    values, places = aten.max_pool2d_with_indices(numbers.float(), *parameters)
    outs = (output(tuple(values.shape), str(x.array.dtype)), output(tuple(values.shape), "int64"))
    calls = [
        Call("aten::max_pool2d_with_indices.out", (x, *parameters, *outs), output=number) for number in (6, 7)
    ]
    maxima, found = run(calls, tmp_path)
    assert maxima.status == OK, maxima.log
    np.testing.assert_array_equal(maxima.out, values.numpy().astype(x.array.dtype))
    np.testing.assert_array_equal(found.out, places.numpy())


QUANTIZED = [("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767), ("int32", -(2**31), 2**31 - 1)]


@pytest.mark.parametrize(("dtype", "low", "high"), QUANTIZED)
def test_quantize_and_dequantize(tmp_path: Path, dtype: str, low: int, high: int) -> None:
    x = floats(2, 3, 4, 5)
    scale, zero_point = 0.0372, 0 if dtype == "int16" else 3
    code = DTYPES[dtype]
    torch_type = getattr(torch, dtype)
    decomposed = torch.ops.quantized_decomposed
    want = decomposed.quantize_per_tensor.default(
        torch.from_numpy(x), scale, zero_point, low, high, torch_type
    )
    back = decomposed.dequantize_per_tensor.default(want, scale, zero_point, low, high, torch_type)
    parameters = (scale, zero_point, low, high, code)
    first = Call(
        "quantized_decomposed::quantize_per_tensor.out",
        (Tensor(x, CHANNELS_LAST), *parameters, output(x.shape, dtype, CHANNELS_LAST)),
    )
    calls = [
        Call(
            "quantized_decomposed::dequantize_per_tensor.out",
            (Tensor(want.numpy()), *parameters, out_dtype, output(x.shape, "float32")),
        )
        for out_dtype in (None, DTYPES["float32"])
    ]
    quantized, *floating = run([first, *calls], tmp_path)
    assert quantized.status == OK, quantized.log
    np.testing.assert_array_equal(quantized.out, want.numpy())
    for result in floating:
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, back.numpy())


def test_change_of_type_and_dim_order(tmp_path: Path) -> None:
    calls, wanted = [], []
    for source in ("float32", "int8", "int32", "int64", "bool", "uint8"):
        for target in ("float32", "int8", "int32", "int64", "bool"):
            x = bools(2, 3, 4, 5) if source == "bool" else np.abs(ints("int8", 2, 3, 4, 5)).astype(source)
            wanted.append(x.astype(target))
            out = output(x.shape, target, CHANNELS_LAST)
            calls.append(
                Call("dim_order_ops::_to_dim_order_copy.out", (Tensor(x), False, list(CHANNELS_LAST), out))
            )
    for call, result, want in zip(calls, run(calls, tmp_path), wanted, strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, want, err_msg=str(call.values[0]))


def test_floats_to_integers_saturate(tmp_path: Path) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 2.9, -2.9, 127.5, -128.9], np.float32)
    call = Call("dim_order_ops::_to_dim_order_copy.out", (Tensor(x), False, None, output(x.shape, "int8")))
    (result,) = run([call], tmp_path)
    assert result.out.tolist() == [0, 127, -128, 127, -128, 2, -2, 127, -128]


OUT = output((2, 3), "float32")
F = Tensor(np.zeros((2, 3), np.float32))
WHOLE = Tensor(np.zeros((2, 3), np.int32))


@pytest.mark.parametrize(
    ("op", "arguments", "message"),
    [
        ("permute_copy.out", (F, [0, 0]), "no permutation"),
        ("permute_copy.out", (F, [0, 2]), "dim is 2"),
        ("select_copy.int_out", (F, 0, 2), "index is 2"),
        ("slice_copy.Tensor_out", (F, 0, 0, 1, 0), "step is 0"),
        ("as_strided_copy.out", (F, [2, 3], [3, 2], 0), "reaches out of self"),
        ("as_strided_copy.out", (F, [2, 3], [3, 1], -1), "storage_offset is -1"),
        ("expand_copy.out", (F, [3, 3], False), "sizes do not match"),
        ("view_copy.out", (F, [4, -1]), "sizes do not match"),
        ("view_copy.out", (Tensor(np.zeros((1, 2, 3, 1), np.float32), CHANNELS_LAST), [2, 3]), "row-major"),
        ("gt.Tensor_out", (F, WHOLE), "other is Int"),
        ("where.self_out", (F, F, F), "condition is Float"),
        ("div.out", (WHOLE, WHOLE), "out is Float"),
        ("div.out_mode", (F, F, "up"), "rounding_mode is not"),
        ("mm.out", (F, F), "rows of the second factor"),
        ("mean.out", (F, [2], False, None), "dim is 2"),
        ("exp.out", (WHOLE,), "self is Int"),
        ("full.out", ([2, 4], 1.0), "cannot take the shape"),
        ("cat.out", (Tensors((F, F)), 0), "cannot take the shape"),
        ("gather.out", (F, 1, Tensor(np.full((2, 3), 3)), False), "index is 3"),
        ("index.Tensor_out", (F, Tensors((Tensor(np.array([-3, 0])),), optional=True)), "index is -3"),
        ("convolution.out", (F, F, None, [1], [0], [1], False, [0], 1), "rank of input is 2"),
    ],
)
def test_refused(tmp_path: Path, op: str, arguments: tuple[Value, ...], message: str) -> None:
    (result,) = run([Call(f"aten::{op}", (*arguments, OUT))], tmp_path)
    assert result.status == INVALID_ARGUMENT, result.log
    assert message in result.log


@pytest.mark.parametrize(
    ("sizes", "parts", "message"),
    [
        ([1, 2], 1, "another number of parts"),
        ([4], 1, "size of a part is 4"),
        ([-1, 4], 2, "size of a part is -1"),
        ([1], 1, "do not make up self"),
    ],
)
def test_refused_splits(tmp_path: Path, sizes: list[int], parts: int, message: str) -> None:
    outs = Tensors(tuple(Tensor(np.zeros((2, max(size, 1)), np.float32)) for size in sizes[:parts]))
    (result,) = run([Call("aten::split_with_sizes_copy.out", (F, sizes, 1, outs), output=0)], tmp_path)
    assert result.status == INVALID_ARGUMENT, result.log
    assert message in result.log


def test_division_by_zero_of_integers(tmp_path: Path) -> None:
    one = Tensor(np.ones((2, 3), np.int32))
    (result,) = run([Call("aten::div.out_mode", (one, WHOLE, "trunc", output((2, 3), "int32")))], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "division by zero" in result.log


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_quantized_types(tmp_path: Path, dtype: str) -> None:
    values = (F, 0.5, 0, 0, 1, DTYPES[dtype], output((2, 3), dtype))
    (result,) = run([Call("quantized_decomposed::quantize_per_tensor.out", values)], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert "no type of quantized values" in result.log
