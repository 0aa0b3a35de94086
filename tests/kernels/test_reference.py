"""Kernels and oracle against the dialect's Python reference that comes with the executorch wheel.

Equal for most operators. One step apart on ties: quantize, where the reference takes the reciprocal in
double; div, where it rounds half to even; softmax, which it computes in float (numeric conventions,
section 1).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.kernels.driver import CHANNELS_LAST, OK, Call, Tensor, run
from tests.kernels.operators import (
    Add,
    Linear,
    Matmul,
    Mul,
    activation,
    dequantize,
    div,
    int8,
    integers,
    output,
    pad,
    quantize,
    softmax,
    softmax_parameters,
    transpose,
)

Reference = Callable[[Call], npt.NDArray[Any]]


def as_torch(value: Any) -> Any:
    """What the reference takes for an argument of a call."""
    import torch

    if isinstance(value, Tensor):
        tensor = torch.from_numpy(value.array.copy())
        return tensor.to(memory_format=torch.channels_last) if value.dim_order == CHANNELS_LAST else tensor
    return value


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Computes a call with the dialect; imported here, so that collecting tests stays fast."""
    import torch

    # The two modules of the dialect import each other; this order works.
    for module in ("passes", "ops.operators"):
        importlib.import_module(f"executorch.backends.cortex_m.{module}")
    dtypes = {1: torch.int8, 2: torch.int16}

    def compute(call: Call) -> npt.NDArray[Any]:
        name = call.op.removeprefix("cortex_m::").removesuffix(".out")
        arguments = [as_torch(value) for value in call.values[:-1]]
        if name.endswith("quantize_per_tensor"):
            arguments[-1] = dtypes[arguments[-1]]
        return np.asarray(getattr(torch.ops.cortex_m, name)(*arguments).contiguous().numpy())

    return compute


def realistic(rng: np.random.Generator, shifts: tuple[int, int]) -> tuple[int, int]:
    return int(rng.integers(2**30, 2**31)), int(rng.integers(shifts[0], shifts[1] + 1))


def zero_points(rng: np.random.Generator) -> tuple[int, int, int]:
    a, b, c = (int(z) for z in rng.integers(-128, 128, 3))
    return a, b, c


def adds(rng: np.random.Generator) -> list[Call]:
    calls = []
    for size in range(1, 34):
        rescales = tuple(realistic(rng, shifts) for shifts in ((-8, 0), (-8, 0), (-22, -16)))
        if size % 2:
            rescales = (rescales[0], (-rescales[1][0], rescales[1][1]), rescales[2])
        op = Add(zero_points(rng), (rescales[0], rescales[1], rescales[2]), (-128 + size, 127 - size))
        a, b = int8(rng, size), int8(rng, size)
        calls.append(op.call(Tensor(a), Tensor(b), output((size,), "int8")))
    return calls


def muls(rng: np.random.Generator) -> list[Call]:
    calls = []
    for size in range(1, 34):
        op = Mul(zero_points(rng), realistic(rng, (-12, 1)))
        a, b = int8(rng, size), int8(rng, size)
        calls.append(op.call(Tensor(a), Tensor(b), output((size,), "int8")))
    return calls


def channel_broadcasts(rng: np.random.Generator) -> list[Call]:
    calls = []
    for channels in (1, 3, 8, 17):
        whole = Tensor(int8(rng, 2, channels, 3, 5), CHANNELS_LAST)
        one = Tensor(int8(rng, 1, channels, 1, 1), CHANNELS_LAST)
        out = output((2, channels, 3, 5), "int8", CHANNELS_LAST)
        calls += [Add().call(whole, one, out), Add().call(one, whole, out)]
        calls += [Mul().call(whole, one, out), Mul().call(one, whole, out)]
    return calls


def linears(rng: np.random.Generator) -> list[Call]:
    calls = []
    for depth in range(1, 34):
        op = Linear(
            (int(rng.integers(-127, 129)), 0, int(rng.integers(-128, 128))), realistic(rng, (-12, -5))
        )
        x, w = int8(rng, 2, 3, depth), int8(rng, 7, depth)
        bias = rng.integers(-3000, 3000, 7).astype(np.int32)
        out = output((2, 3, 7), "int8")
        calls.append(op.call(Tensor(x), Tensor(w), Tensor(bias), None, out))
        calls.append(op.call(Tensor(x), Tensor(w), None, Tensor(op.kernel_sum(w, bias)), out))
    return calls


def extrema(rng: np.random.Generator) -> list[Call]:
    calls = []
    for shape in ((7,), (1,), (3, 1, 1), (1, 4, 7), (2, 3, 4, 7)):
        for name in ("minimum", "maximum"):
            a, b = Tensor(int8(rng, 2, 3, 4, 7)), Tensor(int8(rng, *shape))
            calls.append(Call(f"cortex_m::{name}.out", (a, b, output((2, 3, 4, 7), "int8"))))
    return calls


def dequantizations(rng: np.random.Generator) -> list[Call]:
    calls = []
    for dtype in ("int8", "int16"):
        info = np.iinfo(dtype)
        for size in range(1, 34):
            q = rng.integers(info.min, info.max, size, endpoint=True).astype(dtype)
            zero_point = int(rng.integers(-128, 128))
            calls.append(dequantize(q, float(rng.uniform(1e-3, 1)), zero_point, (info.min, info.max)))
    return calls


def batch_matmuls(rng: np.random.Generator) -> list[Call]:
    calls = []
    for depth in range(1, 34):
        offsets = int(rng.integers(-127, 129)), int(rng.integers(-127, 129))
        op = Matmul(offsets, int(rng.integers(-128, 128)), realistic(rng, (-14, -5)))
        calls.append(op.call(Tensor(int8(rng, 2, 3, depth)), Tensor(int8(rng, 2, 5, depth))))
    return calls


def transposes(rng: np.random.Generator) -> list[Call]:
    orders = [order for rank in range(1, 5) for order in permutations(range(rank))]
    return [transpose(Tensor(int8(rng, *(2, 3, 4, 5)[: len(order)])), order) for order in orders]


def pads(rng: np.random.Generator) -> list[Call]:
    amounts = [(1, 0), (2, 3), (0, 4), (1, 1)]
    plain = [pad(Tensor(int8(rng, *(2, 3, 4, 5)[:rank])), amounts[:rank], 9) for rank in range(1, 5)]
    shapes = [(2, 3, 4, 5), (2, 1, 4, 5), (2, 7, 1, 1)]
    return plain + [pad(Tensor(int8(rng, *shape), CHANNELS_LAST), amounts, -5, True) for shape in shapes]


def activations(rng: np.random.Generator) -> list[Call]:
    return [activation(Tensor(int8(rng, 3, size)), int8(rng, 256)) for size in range(1, 34)]


def divs(rng: np.random.Generator) -> list[Call]:
    return [
        div(Tensor(integers(rng, t, 3, n)), Tensor(integers(rng, t, 3, n)), (3, -7, 5), factor)
        for t in ("int8", "int16")
        for n in range(1, 34)
        for factor in (1.0, 27.3)
    ]


def softmaxes(rng: np.random.Generator) -> list[Call]:
    scales = (0.01, 0.1, 0.7)
    return [softmax(Tensor(int8(rng, 4, n)), -1, softmax_parameters(s)) for n in range(1, 34) for s in scales]


@pytest.mark.parametrize(
    "make",
    [
        adds,
        muls,
        channel_broadcasts,
        linears,
        extrema,
        dequantizations,
        batch_matmuls,
        transposes,
        pads,
        activations,
    ],
    ids=lambda make: make.__name__,
)
def test_equal_to_the_reference(tmp_path: Path, reference: Reference, make: Any) -> None:
    calls = make(np.random.default_rng(20))
    for call, result in zip(calls, run(calls, tmp_path), strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(result.out, reference(call), err_msg=call.op)


@pytest.mark.parametrize("make", [divs, softmaxes], ids=lambda make: make.__name__)
def test_seldom_one_step_from_the_reference(tmp_path: Path, reference: Reference, make: Any) -> None:
    calls = make(np.random.default_rng(22))
    errors = []
    for call, result in zip(calls, run(calls, tmp_path), strict=True):
        assert result.status == OK, result.log
        errors.append(np.abs(result.out.astype(int) - reference(call).astype(int)).reshape(-1))
    error = np.concatenate(errors)
    assert error.max() <= 1
    assert (error > 0).mean() <= 0.02


@pytest.mark.parametrize("scale", [0.1, 0.02, 1 / 3, 0.003921569, 0.5])
def test_quantize_differs_from_the_reference_on_ties_only(
    tmp_path: Path, reference: Reference, scale: float
) -> None:
    rng = np.random.default_rng(21)
    x = np.asarray(rng.uniform(-140, 140, 4000) * scale, np.float32)
    ties = np.asarray((np.arange(-128, 128) + 0.5) * scale, np.float32)
    calls = [quantize(np.concatenate([x, ties]), scale, zero_point, (-128, 127)) for zero_point in (-9, 0, 8)]
    for call, result in zip(calls, run(calls, tmp_path), strict=True):
        assert result.status == OK, result.log
        difference = np.abs(result.out.astype(int) - reference(call).astype(int))
        assert difference.max() <= 1
        steps = np.concatenate([x, ties]).astype(float) / scale
        off_tie = np.abs(np.abs(steps - np.rint(steps)) - 0.5)
        assert (off_tie[difference == 1] < 3e-5).all()
