"""The cortex_m convolutions from torch's, channels-last: bit-exact against the dialect reference.

One program holds many layers side by side, each with an input and an output of its own: a boot for
each shape would take longer than all of its arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import EDGE_SIZES, Inputs, calibrated, channels_last, constant, ranges, uniform

Shape = tuple[int, ...]
Layer = Callable[[], torch.nn.Module]


class Parallel(torch.nn.Module):
    """Layer i takes input i and makes output i."""

    def __init__(self, layers: list[torch.nn.Module]) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(layer(x) for layer, x in zip(self.layers, inputs, strict=True))


class SpreadWeights(torch.nn.Conv2d):
    """Output channels of very different magnitude, so that multipliers and shifts differ as much."""

    def __init__(self, inputs: int, outputs: int, groups: int = 1) -> None:
        super().__init__(inputs, outputs, 3, padding=1, groups=groups)
        with torch.no_grad():
            self.weight.mul_(torch.logspace(-4, 3, outputs).reshape(-1, 1, 1, 1))


def parallel(*layers: tuple[Layer, Shape], inputs: Inputs | None = None, **options: object) -> Case:
    """A case of layers and the shapes of their inputs."""
    make = inputs or uniform(*(shape for _, shape in layers))
    build = [layer for layer, _ in layers]
    return Case(
        lambda rng: Parallel([layer() for layer in build]).to(memory_format=torch.channels_last),
        channels_last(make),
        **options,  # type: ignore[arg-type]
    )


def conv(
    inputs: int, outputs: int, kernel: int | Shape, shape: Shape, **options: object
) -> tuple[Layer, Shape]:
    """A convolution, and the shape [batches, inputs, height, width] of its input."""
    batches, height, width = shape
    made = lambda: torch.nn.Conv2d(inputs, outputs, kernel, **options)  # noqa: E731
    return made, (batches, inputs, height, width)


def transposed(
    inputs: int, outputs: int, kernel: int | Shape, shape: Shape, **options: object
) -> tuple[Layer, Shape]:
    batches, height, width = shape
    made = lambda: torch.nn.ConvTranspose2d(inputs, outputs, kernel, **options)  # noqa: E731
    return made, (batches, inputs, height, width)


def relu(layer: tuple[Layer, Shape]) -> tuple[Layer, Shape]:
    return lambda: torch.nn.Sequential(layer[0](), torch.nn.ReLU()), layer[1]


SMALL = (1, 4, 5)
# No dilation: torch has no integer convolution with it, so there is no reference. tests/kernels has it.
GEOMETRY = (
    {"stride": 2},
    {"stride": (1, 2), "padding": (0, 1)},
    {"padding": 2},
    {"stride": 2, "padding": (2, 1)},
    {"padding": 1, "bias": False},
)


@cases(
    "m55 m85",
    inputs=parallel(*(conv(n, 5, 3, SMALL, padding=1) for n in EDGE_SIZES if n > 1)),
    outputs=parallel(*(conv(16, n, (2, 3), SMALL, padding=1) for n in EDGE_SIZES)),
    geometry=parallel(*(conv(3, 6, (3, 2), (1, 7, 6), **options) for options in GEOMETRY)),
    pointwise=parallel(*(conv(n, 8, 1, SMALL) for n in (2, 15, 16, 33)), conv(8, 4, 1, SMALL, stride=2)),
    groups_and_batches=parallel(
        conv(6, 9, 3, (1, 4, 4), groups=3),
        conv(8, 8, 3, (2, 4, 4), groups=8, padding=1),
        conv(34, 8, 1, (2, 2, 2), groups=2, bias=False),
        conv(5, 7, 3, (3, 4, 4)),
    ),
    spread=parallel(
        (lambda: SpreadWeights(4, 16), (1, 4, 4, 4)), (lambda: SpreadWeights(8, 8, 8), (1, 8, 4, 4))
    ),
)
def test_conv2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    relu=parallel(relu(conv(4, 8, 3, SMALL)), relu(conv(1, 8, 3, SMALL))),
    zero_points=parallel(
        conv(4, 8, 3, SMALL, padding=1),
        conv(4, 8, 3, SMALL, padding=1),
        inputs=ranges(((1, 4, 4, 5), 2.0, 5.0), ((1, 4, 4, 5), -7.0, -1.0)),
    ),
    saturating=parallel(
        conv(4, 8, 3, SMALL),
        inputs=uniform((1, 4, 4, 5), low=-8, high=8),
        calibration=calibrated(channels_last(uniform((1, 4, 4, 5)))),
    ),
    zeros=parallel(conv(4, 8, 3, SMALL), inputs=constant(0.0, (1, 4, 4, 5))),
    wide=parallel(conv(64, 64, 1, (1, 8, 8)), conv(16, 32, 3, (1, 8, 8), padding=1)),
)
def test_conv2d_of_other_values(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55 m85",
    channels=parallel(*(conv(n, n, 3, SMALL, padding=1, groups=n) for n in EDGE_SIZES)),
    multiplier=parallel(
        *(conv(n, n * m, (2, 3), SMALL, padding=1, groups=n) for n, m in ((3, 2), (5, 7), (17, 3))),
        *(conv(1, n, 3, SMALL) for n in (1, 4, 16, 33)),
    ),
    geometry=parallel(*(conv(18, 18, (3, 2), (1, 7, 6), groups=18, **options) for options in GEOMETRY)),
)
def test_depthwise_conv2d(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    counts = lowered_graph(harness.lower(case)).counts
    assert counts["cortex_m::quantized_depthwise_conv2d"] == counts["cortex_m::quantize_per_tensor"]


@cases(
    "m55 m85",
    inputs=parallel(*(transposed(n, 5, 3, (1, 3, 2)) for n in EDGE_SIZES)),
    outputs=parallel(*(transposed(6, n, 2, (1, 2, 3), stride=2) for n in EDGE_SIZES)),
    geometry=parallel(
        transposed(4, 6, (3, 2), (1, 4, 3), stride=(2, 1), padding=(1, 0)),
        transposed(4, 6, 3, (1, 4, 3), stride=3, padding=1),
        transposed(4, 6, 4, (2, 3, 3), stride=2, padding=1, bias=False),
    ),
)
def test_transpose_conv2d(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    counts = lowered_graph(harness.lower(case)).counts
    assert counts["cortex_m::quantized_transpose_conv2d"] == counts["cortex_m::quantize_per_tensor"]


@cases("m55", relu=parallel(relu(conv(4, 8, 3, SMALL))))
def test_activation_is_fused(case: Case, harness: Harness) -> None:
    assert lowered_graph(harness.lower(case)).counts == {
        "cortex_m::quantize_per_tensor": 1,
        "cortex_m::quantized_conv2d": 1,
        "cortex_m::dequantize_per_tensor": 1,
    }
