"""cortex_m::transpose, pad and quantized_activation: exact copies and look-ups."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import Inputs, calibrated, channels_last, uniform


class Permute(torch.nn.Module):
    def __init__(self, *dims: int) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(self.dims)


@cases(
    "m55 m85",
    rank1=Case(lambda rng: Permute(0), uniform((19,))),
    matrix=Case(lambda rng: Permute(1, 0), uniform((33, 17))),
    rank3=Case(lambda rng: Permute(2, 0, 1), uniform((3, 5, 18))),
    to_nchw=Case(lambda rng: Permute(0, 3, 1, 2), uniform((2, 7, 5, 3))),
    to_nhwc=Case(lambda rng: Permute(0, -2, -1, -3), uniform((2, 16, 4, 5))),
)
def test_transpose(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    assert lowered_graph(harness.lower(case)).counts["cortex_m::transpose"] == 1


class Pad(torch.nn.Module):
    def __init__(self, amounts: Sequence[int], value: float) -> None:
        super().__init__()
        self.amounts, self.value = list(amounts), value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x, self.amounts, value=self.value)


def pad(inputs: Inputs, *amounts: int, value: float = 0.0) -> Case:
    """`amounts` in torch's order: from the last dimension to the first."""
    return Case(lambda rng: Pad(amounts, value), inputs)


@cases(
    "m55 m85",
    rank1=pad(uniform((6,)), 2, 30),
    rank3=pad(uniform((2, 3, 17)), 1, 0, 2, 1, value=0.5),
    every_dim=pad(uniform((1, 2, 3, 4)), 1, 1, 2, 2, 1, 0, 0, 1),
    channels_last=pad(channels_last(uniform((2, 5, 4, 3))), 1, 2, 3, 0, 0, 1, value=-0.7),
    one_channel=pad(uniform((1, 1, 5, 4)), 1, 1, 2, 0),
)
def test_pad(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    assert lowered_graph(harness.lower(case)).counts["cortex_m::pad"] == 1


class Function(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


@cases(
    "m55 m85",
    sigmoid=Case(lambda rng: Function(torch.sigmoid), uniform((33,), low=-6, high=6)),
    tanh=Case(lambda rng: Function(torch.tanh), channels_last(uniform((1, 8, 4, 5), low=-3, high=3))),
    silu=Case(lambda rng: torch.nn.SiLU(), uniform((3, 16), low=-1, high=9)),
    gelu=Case(
        lambda rng: torch.nn.GELU(),
        uniform((17,), low=-50, high=50),
        calibration=calibrated(uniform((17,), low=-5, high=5)),
    ),
    log=Case(lambda rng: Function(torch.log), uniform((2, 15), low=0.5, high=8)),
)
def test_activation(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    assert lowered_graph(harness.lower(case)).counts["cortex_m::quantized_activation"] == 1
