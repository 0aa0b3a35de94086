"""Convolutions and pools against the dialect's Python reference that comes with the executorch wheel.

Equal, but for the average of windows whose sum ends on a half: the reference rounds it to even.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernels.driver import Call, run
from tests.kernels.images import KINDS, Pool, draw
from tests.kernels.operators import int8
from tests.kernels.test_reference import Reference, reference  # noqa: F401  (a fixture)


def check(calls: list[Call], directory: Path, compute: Reference) -> list[NDArray[np.int64]]:
    """Differences from the reference, of each call."""
    results = run(calls, directory)
    assert [result.status for result in results] == [0] * len(calls), [result.log for result in results]
    return [
        result.out.astype(int) - compute(call).astype(int)
        for call, result in zip(calls, results, strict=True)
    ]


@pytest.mark.filterwarnings("ignore:.*experimental:FutureWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_convolutions_are_equal(tmp_path: Path, request: pytest.FixtureRequest, kind: str) -> None:
    rng = np.random.default_rng(51)
    calls = []
    for channels in range(1, 34):
        outputs = (
            channels * int(rng.integers(1, 3)) if kind == "depthwise_conv2d" else int(rng.integers(1, 34))
        )
        convolution = draw(rng, kind, channels, outputs)
        if kind != "transpose_conv2d":
            # Torch dilates no convolution of integers.
            convolution = replace(convolution, dilation=(1, 1))
        # The reference adds the bias of a transposed convolution in float32.
        calls.append(convolution.call(nhwc=bool(channels % 2)))
    for difference in check(calls, tmp_path, request.getfixturevalue("reference")):
        assert not difference.any()


@pytest.mark.filterwarnings("ignore:.*experimental:FutureWarning")
def test_pools(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rng = np.random.default_rng(52)
    pools = [
        Pool(kind, int8(rng, 2, 5, 6, channels), (2, 3), (2, 1), (1, 1), zero_point=int(rng.integers(-9, 9)))
        for kind in ("max_pool2d", "avg_pool2d")
        for channels in range(1, 34)
    ]
    calls = [pool.call(nhwc=bool(i % 2)) for i, pool in enumerate(pools)]
    differences = check(calls, tmp_path, request.getfixturevalue("reference"))
    for pool, difference in zip(pools, differences, strict=True):
        # No window of 3 elements ends on a half, those of 2, 4 and 6 may.
        assert np.abs(difference).max() <= (pool.kind == "avg_pool2d")
        assert np.count_nonzero(difference) <= 0.3 * difference.size
