"""What a program is made of: one delegate between our kernels, several of them, the CPU between them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import uniform
from tests.ops.modules import of

QUANTIZE, DEQUANTIZE = "cortex_m::quantize_per_tensor", "cortex_m::dequantize_per_tensor"
CALL = "executorch_call_delegate"
IMAGE = uniform((1, 4, 9, 11))
CONV = Case(lambda rng: nn.Conv2d(4, 6, 3, padding=1), IMAGE)


def one_sum_on_the_cpu(x: torch.Tensor, n: torch.Tensor) -> Any:
    """int64 is a type that no NPU has."""
    return torch.sigmoid(x), n + n


def numbered(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
    return torch.randn(3, 5, generator=rng), torch.randint(-9, 9, (3, 5), generator=rng)


def interrupted(x: torch.Tensor) -> torch.Tensor:
    """The NPU, the CPU for truncation, the NPU again."""
    return torch.sigmoid(torch.trunc(x * 3.0)) * 2.0


def interrupted_twice(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(torch.trunc(torch.sigmoid(torch.trunc(x * 3.0)) * 5.0)) + 1.0


def compared(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """U55 can neither compare nor select."""
    return torch.where(x * 2.0 > y, torch.sigmoid(x), y) * 3.0


@cases("u55 u65 u85", conv=CONV)
def test_bundle(case: Case, check: Check) -> None:
    check(case, bundled=True)


PARTS = {
    "beside": Case(of(one_sum_on_the_cpu), numbered, delegated=False),
    "between": Case(of(interrupted), uniform((3, 7)), delegated=False),
    "thrice": Case(of(interrupted_twice), uniform((3, 7)), delegated=False),
}


@cases("u55 u65 u85", between=PARTS["between"])
def test_partly_delegated(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u85", beside=PARTS["beside"], thrice=PARTS["thrice"])
def test_partly_delegated_in_other_ways(case: Case, check: Check) -> None:
    check(case)


@cases("u55", compared=Case(of(compared), uniform((3, 7), (3, 7)), delegated=False))
def test_what_u55_lacks_runs_on_the_cpu(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u85", conv=CONV, **PARTS)
def test_borders_run_on_our_kernels(case: Case, harness: Harness) -> None:
    program = harness.lower(case)
    graph = lowered_graph(program)
    assert not any("quantized_decomposed" in name for name in (*graph.counts, *program.operators))
    assert graph.counts[QUANTIZE] > 0
    assert graph.counts[DEQUANTIZE] > 0
    expected = {"conv": 1, "beside": 1, "between": 2, "thrice": 3}[case.name]
    assert len(graph.named(CALL)) == expected
