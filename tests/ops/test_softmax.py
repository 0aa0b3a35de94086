"""cortex_m::softmax: fixed point, at most one step from the softmax of real numbers."""

from __future__ import annotations

import torch

from harness import Case, Check, Tolerance, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import Inputs, constant, uniform

# The reference rounds the probability half to even, the device a fixed-point product half up.
ONE_STEP = Tolerance(qtol=1)


def softmax(dim: int, inputs: Inputs) -> Case:
    return Case(lambda rng: torch.nn.Softmax(dim), inputs, tolerance=ONE_STEP)


@cases(
    "m55 m85",
    n1=softmax(0, uniform((1,))),
    n17=softmax(-1, uniform((17,), low=-8, high=8)),
    rows=softmax(1, uniform((4, 33), low=-2, high=9)),
    flat=softmax(-1, constant(0.5, (2, 300))),
    steep=softmax(-1, uniform((2, 3, 40), low=-90, high=90)),
    one_pixel=softmax(1, uniform((2, 10, 1, 1), low=-4, high=4)),
)
def test_softmax(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    assert lowered_graph(harness.lower(case)).counts["cortex_m::softmax"] == 1
