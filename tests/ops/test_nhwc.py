"""The experimental operators with explicit layout, called as they are: logical NHWC, plain dim order."""

from __future__ import annotations

import torch

from harness import Case, Check, Tolerance, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness

OPERATORS = ("conv2d", "depthwise_conv2d", "transpose_conv2d", "avg_pool2d", "max_pool2d")


class Layers(torch.nn.Module):
    """All five operators on one image of 1 x 6 x 7 x 5, with parameters per channel."""

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()

        def int8(*shape: int) -> torch.Tensor:
            return torch.randint(-128, 128, shape, generator=rng, dtype=torch.int8)

        self.dense = torch.nn.Buffer(int8(10, 3, 2, 5))
        self.single = torch.nn.Buffer(int8(1, 3, 2, 10))
        self.bias = torch.nn.Buffer(torch.randint(-999, 999, (10,), generator=rng, dtype=torch.int32))
        self.multipliers = torch.nn.Buffer(torch.linspace(2**30, 2**31 - 129, 10).to(torch.int32))
        self.shifts = torch.nn.Buffer(torch.arange(-14, -4, dtype=torch.int32))

    def forward(self, x: torch.Tensor, scratch: torch.Tensor) -> tuple[torch.Tensor, ...]:
        dialect = torch.ops.cortex_m
        rescale = (self.multipliers, self.shifts)
        return (
            dialect.quantized_conv2d_nhwc(
                x, self.dense, self.bias, [2, 1], [1, 0], [1, 2], 7, -3, *rescale, -100, 127, scratch
            ),
            dialect.quantized_depthwise_conv2d_nhwc(
                x, self.single, self.bias, [1, 2], [0, 1], [2, 1], 2, 128, 9, *rescale, -128, 127, scratch
            ),
            dialect.quantized_transpose_conv2d_nhwc(
                x,
                self.dense,
                None,
                [2, 1],
                [1, 0],
                [1, 0],
                [1, 1],
                -127,
                0,
                *rescale,
                -128,
                127,
                scratch,
                scratch,
            ),
            dialect.quantized_avg_pool2d_nhwc(x, [2, 3], [2, 2], [1, 1], True, 0, 2**30, 1, scratch),
            dialect.quantized_max_pool2d_nhwc(x, [3, 2], [1, 2], [1, 0], [1, 1], False, -4, -4, -99, 99),
        )


def inputs(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
    image = torch.randint(-128, 128, (1, 6, 7, 5), generator=rng, dtype=torch.int8)
    return image, torch.zeros(1, dtype=torch.uint8)


@cases("m55 m85", layers=Case(Layers, inputs, quantize=False, tolerance=Tolerance(qtol=1)))
def test_nhwc(case: Case, check: Check, harness: Harness) -> None:
    attempt = check(case)
    counts = lowered_graph(harness.lower(case)).counts
    assert {f"cortex_m::quantized_{name}_nhwc" for name in OPERATORS} <= set(counts)
    for index, comparison in enumerate(attempt.comparisons):
        # Only the average may differ: ties.
        assert index == 3 or comparison.mismatches == 0, index
        assert comparison.elements > 0
