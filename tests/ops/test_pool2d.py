"""The cortex_m pools from torch's, channels-last. Maximum: bit-exact against the dialect reference;
average: within one step, since the reference rounds ties to even and the device away from zero.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.nn import functional

from harness import Case, Check, Tolerance, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import EDGE_SIZES, channels_last, ranges, uniform


class Pool(torch.nn.Module):
    """One pool after the other over the same input; each has an output."""

    def __init__(self, function: Any, parameters: list[dict[str, Any]]) -> None:
        super().__init__()
        self.function, self.parameters_of_pools = function, parameters

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(self.function(x, **parameters) for parameters in self.parameters_of_pools)


class PoolEach(torch.nn.Module):
    """The same pool of every input."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(self.function(x, kernel_size=(2, 3), stride=(2, 1), padding=(1, 0)) for x in inputs)


AVERAGE = partial(functional.avg_pool2d, count_include_pad=False)
SHAPES = [(1, n, 4, 5) for n in EDGE_SIZES]
# With a stride each: the partitioner does not take the default of none.
GEOMETRY: list[dict[str, Any]] = [
    {"kernel_size": 1, "stride": 1},
    {"kernel_size": 2, "stride": 2},
    {"kernel_size": 3, "stride": 1, "padding": 1},
    {"kernel_size": (1, 5), "stride": (2, 3), "padding": (0, 2)},
    {"kernel_size": (7, 6), "stride": (7, 6)},
]
CEIL = [dict(parameters, ceil_mode=True) for parameters in GEOMETRY]
BATCHED = channels_last(uniform((2, 18, 7, 6)))
TIES = Tolerance(qtol=1)


@cases(
    "m55 m85",
    channels=Case(lambda rng: PoolEach(AVERAGE), channels_last(uniform(*SHAPES)), tolerance=TIES),
    geometry=Case(lambda rng: Pool(AVERAGE, GEOMETRY + CEIL[1:4]), BATCHED, tolerance=TIES),
)
def test_avg_pool2d(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    counts = lowered_graph(harness.lower(case)).counts
    assert counts["cortex_m::quantized_avg_pool2d"] == counts["cortex_m::dequantize_per_tensor"]


@cases(
    "m55 m85",
    channels=Case(lambda rng: PoolEach(functional.max_pool2d), channels_last(uniform(*SHAPES))),
    geometry=Case(lambda rng: Pool(functional.max_pool2d, GEOMETRY), BATCHED),
)
def test_max_pool2d(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    counts = lowered_graph(harness.lower(case)).counts
    assert counts["cortex_m::quantized_max_pool2d"] == counts["cortex_m::dequantize_per_tensor"]


@cases(
    "m55",
    padded=Case(lambda rng: Pool(functional.avg_pool2d, GEOMETRY[2:4]), BATCHED, tolerance=TIES),
    zero_points=Case(
        lambda rng: PoolEach(AVERAGE),
        channels_last(ranges(((1, 9, 4, 5), 3.0, 4.0), ((1, 9, 4, 5), -50.0, -7.0))),
        tolerance=TIES,
    ),
    whole=Case(
        lambda rng: torch.nn.AdaptiveAvgPool2d(1), channels_last(uniform((1, 40, 9, 11))), tolerance=TIES
    ),
)
def test_avg_pool2d_of_other_values(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    negative=Case(
        lambda rng: PoolEach(functional.max_pool2d),
        channels_last(ranges(((1, 9, 4, 5), -4.0, -3.0), ((1, 17, 4, 5), -50.0, 7.0))),
    ),
    relu=Case(
        lambda rng: torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.ReLU()),
        channels_last(uniform((1, 20, 6, 6))),
    ),
)
def test_max_pool2d_of_other_values(case: Case, check: Check) -> None:
    check(case)
