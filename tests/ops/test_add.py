"""cortex_m::quantized_add from torch's add and sub: bit-exact against the dialect reference."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import EDGE_SIZES, calibrated, channels_last, constant, ranges, uniform


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class AddToSelf(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


class AddScaled(torch.nn.Module):
    def __init__(self, alpha: int) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.add(x, y, alpha=self.alpha)


class AddRelu(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)


class Sub(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x - y


add = partial(Case, lambda rng: Add())
sub = partial(Case, lambda rng: Sub())


@cases(
    "m55 m85",
    n17=add(uniform((17,), (17,))),
    rank4=add(uniform((1, 2, 5, 7), (1, 2, 5, 7))),
    channel_broadcast=add(channels_last(uniform((1, 17, 3, 5), (1, 17, 1, 1)))),
    saturating=add(uniform((64,), (64,), low=-4, high=4), calibration=calibrated(uniform((64,), (64,)))),
    relu=Case(lambda rng: AddRelu(), uniform((40,), (40,))),
)
def test_add(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    **{f"n{n}": add(uniform((n,), (n,))) for n in EDGE_SIZES if n != 17},
    rank2=add(uniform((3, 5), (3, 5))),
    rank3=add(uniform((2, 3, 5), (2, 3, 5))),
    channels_last=add(channels_last(uniform((1, 5, 3, 3), (1, 5, 3, 3)))),
    channel_broadcast_left=add(channels_last(uniform((1, 17, 1, 1), (1, 17, 3, 5)))),
    positive=add(uniform((37,), (37,), low=1.0, high=3.0)),
    negative=add(uniform((37,), (37,), low=-9.0, high=-2.0)),
    unequal_scales=add(ranges(((50,), -0.01, 0.01), ((50,), -100.0, 90.0))),
    zeros=add(constant(0.0, (19,), (19,))),
    to_self=Case(lambda rng: AddToSelf(), uniform((33,))),
    alpha3=Case(lambda rng: AddScaled(3), uniform((21,), (21,))),
)
def test_add_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55 m85",
    n17=sub(uniform((17,), (17,))),
)
def test_sub(case: Case, check: Check) -> None:
    check(case)


@cases(
    "m55",
    **{f"n{n}": sub(uniform((n,), (n,))) for n in (1, 15, 16, 33)},
    rank4=sub(uniform((1, 2, 5, 7), (1, 2, 5, 7))),
    channel_broadcast=sub(channels_last(uniform((1, 6, 3, 5), (1, 6, 1, 1)))),
    positive=sub(uniform((37,), (37,), low=1.0, high=3.0)),
    saturating=sub(uniform((64,), (64,), low=-4, high=4), calibration=calibrated(uniform((64,), (64,)))),
)
def test_sub_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("bundled", [False, True], ids=["files", "bundle"])
@cases("m55", rank2=add(uniform((4, 9), (4, 9))))
def test_add_reads_files_and_bundles(case: Case, check: Check, bundled: bool) -> None:
    attempt = check(case, bundled=bundled)
    assert sum(comparison.elements for comparison in attempt.comparisons) == 36


@cases("m55", relu=Case(lambda rng: AddRelu(), uniform((40,), (40,))))
def test_add_and_relu_are_one_operator(case: Case, harness: Harness) -> None:
    graph = lowered_graph(harness.lower(case))
    assert graph.counts["cortex_m::quantized_add"] == 1
    assert graph.counts["cortex_m::quantize_per_tensor"] == 2
    assert graph.counts["cortex_m::dequantize_per_tensor"] == 1
    assert graph.counts["aten::relu"] == 0
