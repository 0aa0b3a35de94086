"""cortex_m::quantized_linear: bit-exact, kernel_sum on a core with MVE, activation fused."""

from __future__ import annotations

import torch

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import calibrated, constant, uniform


class LinearRelu(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def linear(inputs: int, outputs: int, *rows: int, bias: bool = True) -> Case:
    return Case(
        lambda rng: torch.nn.Linear(inputs, outputs, bias=bias),
        uniform((*(rows or (1,)), inputs)),
    )


@cases(
    "m55 m85",
    k17=linear(17, 8),
    rank3=linear(12, 6, 2, 3),
    relu=Case(lambda rng: LinearRelu(24, 10), uniform((3, 24))),
)
def test_linear(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    **{f"k{k}": linear(k, 8) for k in (1, 3, 15, 16, 31, 33)},
    **{f"n{n}": linear(16, n) for n in (1, 2, 3, 5, 17)},
    no_bias=linear(19, 7, bias=False),
    batch5=linear(13, 9, 5),
    wide=linear(256, 64),
    positive=Case(lambda rng: torch.nn.Linear(20, 6), uniform((2, 20), low=2.0, high=5.0)),
    saturating=Case(
        lambda rng: torch.nn.Linear(20, 6),
        uniform((2, 20), low=-8, high=8),
        calibration=calibrated(uniform((2, 20))),
    ),
    zeros=Case(lambda rng: torch.nn.Linear(20, 6), constant(0.0, (2, 20))),
)
def test_linear_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("m55", relu=Case(lambda rng: LinearRelu(24, 10), uniform((3, 24))))
def test_linear_is_fused_and_carries_kernel_sum(case: Case, harness: Harness) -> None:
    graph = lowered_graph(harness.lower(case))
    assert graph.counts == {
        "cortex_m::quantize_per_tensor": 1,
        "cortex_m::quantized_linear": 1,
        "cortex_m::dequantize_per_tensor": 1,
    }
    (node,) = graph.named("cortex_m::quantized_linear")
    assert node.has("kernel_sum")
    assert not node.has("bias")
