"""quantized_avg_pool2d, quantized_max_pool2d and their nhwc forms against the device formula, on the
host."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels.driver import INVALID_ARGUMENT, Tensor, run
from tests.kernels.images import Pool, check, image_output
from tests.kernels.operators import int8

KINDS = ("avg_pool2d", "max_pool2d")


@pytest.mark.parametrize("kind", KINDS)
def test_channels(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(41)
    made = [
        Pool(kind, int8(rng, 2, 4, 5, channels), (2, 3), (2, 1), (1, 1), zero_point=channels - 17)
        for channels in range(1, 34)
    ]
    check(made, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_geometry(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(42)
    made = []
    for kernel, stride in product([(1, 1), (2, 2), (3, 2), (1, 4), (5, 5)], [(1, 1), (2, 3)]):
        for pad in product(*({0, k // 2} for k in kernel)):
            for ceil in (False, True) if kind == "avg_pool2d" else (False,):
                top, left = pad
                made.append(Pool(kind, int8(rng, 1, 6, 7, 3), kernel, stride, (top, left), ceil))
    check(made, tmp_path)


def test_a_window_larger_than_the_image_in_ceil_mode(tmp_path: Path) -> None:
    rng = np.random.default_rng(45)
    sizes = [((1, 1), (2, 2)), ((2, 2), (3, 3)), ((1, 5), (2, 3)), ((2, 1), (3, 2))]
    check(
        [Pool("avg_pool2d", int8(rng, 1, *size, 3), kernel, ceil_mode=True) for size, kernel in sizes],
        tmp_path,
    )


def test_halves_round_away_from_zero(tmp_path: Path) -> None:
    pairs = np.array([(a, b) for a in range(-128, 128, 3) for b in (a + 1, a - 1, -a) if -128 <= b <= 127])
    made = Pool("avg_pool2d", pairs.astype(np.int8).reshape(1, -1, 2, 1), (1, 2), (1, 2))
    check([made], tmp_path)
    halves = pairs.sum(axis=1) % 2 != 0
    want = made.expected().reshape(-1)[halves]
    np.testing.assert_array_equal(2 * np.abs(want) - np.abs(pairs.sum(axis=1)[halves]), 1)


@pytest.mark.parametrize("value", [-128, 127])
def test_large_windows_of_extremes(tmp_path: Path, value: int) -> None:
    """Sums beyond 16 bits."""
    x = np.full((1, 40, 50, 2), value, np.int8)
    check([Pool("avg_pool2d", x, (40, 50), (1, 1)), Pool("avg_pool2d", x, (7, 43), (9, 1))], tmp_path)


def test_bounds_of_the_maximum(tmp_path: Path) -> None:
    x = int8(np.random.default_rng(43), 1, 6, 6, 5)
    bounds = [(-128, -100), (-3, 4), (0, 0), (127, 127), (-128, 127)]
    check([Pool("max_pool2d", x, (2, 2), (2, 2), bounds=b) for b in bounds], tmp_path)


def test_padding_never_wins(tmp_path: Path) -> None:
    x = np.full((1, 3, 3, 17), -128, np.int8)
    pool = Pool("max_pool2d", x, (3, 3), (1, 1), (1, 1))
    check([pool, replace(pool, kind="avg_pool2d")], tmp_path)
    assert (pool.expected() == -128).all()


@pytest.mark.parametrize("kind", KINDS)
def test_empty(tmp_path: Path, kind: str) -> None:
    """No batch; no channels."""
    check(
        [Pool(kind, np.empty((0, 4, 4, 3), np.int8)), Pool(kind, np.empty((1, 4, 4, 0), np.int8))], tmp_path
    )


X = np.zeros((1, 4, 4, 3), np.int8)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kernel_size": [2]}, "kernel_size is 1, expected 2"),
    ({"kernel_size": [0, 2]}, "kernel_size is 0"),
    ({"kernel_size": [2**20, 2**20]}, "elements of a window"),
    ({"kernel_size": [5, 5]}, "the window is larger than the padded input"),
    ({"stride": [2, 0]}, "stride is 0"),
    ({"stride": []}, "stride is 0, expected 2"),
    ({"padding": [2, 0]}, "padding is 2, expected 0...1"),
    ({"padding": [0, -1]}, "padding is -1"),
    ({"input": Tensor(X)}, "input or out is not channels-last"),
    ({"input": Tensor(X.astype(np.float32))}, "input is Float"),
    ({"input": Tensor(X[0])}, "four dimensions"),
    ({"input": Tensor(np.empty((1, 3, 0, 4), np.int8), (0, 2, 3, 1))}, "input has no pixels"),
    ({"out": image_output((1, 2, 2, 4), False)}, "out cannot take the shape"),
]
OWN_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("avg_pool2d", {"zero_point": 128}, "zero_point is 128"),
    ("max_pool2d", {"dilation": [1, 2]}, "dilation is not 1"),
    ("max_pool2d", {"ceil_mode": True}, "ceil_mode is not supported"),
    ("max_pool2d", {"input_zero_point": -129}, "input_zero_point is -129"),
    ("max_pool2d", {"output_zero_point": 1}, "output_zero_point is 1, expected 0"),
    ("max_pool2d", {"activation_min": 3, "activation_max": 2}, "activation_max is 2"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_refused(tmp_path: Path, kind: str) -> None:
    listed = REFUSED + [(changes, message) for owner, changes, message in OWN_REFUSED if owner == kind]
    calls = [Pool(kind, X, changes=changes).call() for changes, _ in listed]
    for (changes, message), result in zip(listed, run(calls, tmp_path), strict=True):
        assert result.status == INVALID_ARGUMENT, (changes, message)
        assert f"quantized_{kind}: " in result.log
        assert message in result.log
        assert (result.out == 0x55).all()


@pytest.mark.parametrize("kind", KINDS)
def test_nhwc_needs_plain_dim_order(tmp_path: Path, kind: str) -> None:
    refused = Pool(kind, X, changes={"input": Tensor(X, (0, 2, 3, 1))}).call(nhwc=True)
    (result,) = run([refused], tmp_path)
    assert result.status == INVALID_ARGUMENT
    assert f"quantized_{kind}_nhwc: input or out is not in plain dim order" in result.log
