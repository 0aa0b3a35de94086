"""Operators on Ethos-U55, U65 and U85: computed by the NPU alone, 0 LSB against the TOSA reference model."""

from __future__ import annotations

from functools import partial

import torch

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import Inputs, uniform

NPUS = "u55 u65 u85"


class Binary(torch.nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y if self.name == "add" else x * y


class Sigmoid(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x)


class Softmax(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


def ramp(low: float, high: float, steps: int) -> Inputs:
    def make(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return (torch.linspace(low, high, steps),)

    return make


def conv(**options: int) -> partial[Case]:
    return partial(Case, lambda rng: torch.nn.Conv2d(4, 6, 3, **options))


IMAGE = uniform((1, 4, 9, 11))


@cases(
    NPUS,
    ramp=Case(lambda rng: Sigmoid(), ramp(-8.0, 8.0, 257)),
    narrow=Case(lambda rng: Sigmoid(), uniform((3, 17))),
    int16=Case(lambda rng: Sigmoid(), ramp(-8.0, 8.0, 257), activation_bits=16),
)
def test_sigmoid(case: Case, check: Check) -> None:
    check(case)


@cases(
    NPUS,
    add=Case(lambda rng: Binary("add"), uniform((2, 3, 5), (2, 3, 5))),
    add_broadcast=Case(lambda rng: Binary("add"), uniform((2, 3, 5), (1, 3, 1))),
    mul=Case(lambda rng: Binary("mul"), uniform((2, 3, 5), (2, 3, 5), low=-3.0, high=1.0)),
)
def test_elementwise(case: Case, check: Check) -> None:
    check(case)


@cases(
    NPUS,
    conv=conv(padding=1)(IMAGE),
    conv_stride2=conv(stride=2)(IMAGE),
    depthwise=Case(lambda rng: torch.nn.Conv2d(4, 4, 3, padding=1, groups=4), IMAGE),
    linear=Case(lambda rng: torch.nn.Linear(37, 11), uniform((3, 37))),
    max_pool=Case(lambda rng: torch.nn.MaxPool2d(2), IMAGE),
    avg_pool=Case(lambda rng: torch.nn.AvgPool2d(2), IMAGE),
    softmax=Case(lambda rng: Softmax(), uniform((2, 10), low=-4.0, high=4.0)),
)
def test_networks_parts(case: Case, check: Check) -> None:
    check(case)


@cases(NPUS, bundle=conv(padding=1)(IMAGE))
def test_bundle(case: Case, check: Check) -> None:
    check(case, bundled=True)


@cases(NPUS, conv=conv(padding=1)(IMAGE))
def test_borders_run_on_our_kernels(case: Case, harness: Harness) -> None:
    program = harness.lower(case)
    assert program.operators == ("cortex_m::dequantize_per_tensor.out", "cortex_m::quantize_per_tensor.out")
    assert not any("quantized_decomposed" in name for name in lowered_graph(program).counts)
