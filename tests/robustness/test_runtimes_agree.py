"""The same program gives the same bytes on ours x target, ours x host and wheel x host."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from harness import Case
from harness.flow import Tolerance
from harness.session import Harness
from tests.ops.inputs import channels_last, uniform


class Mixed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(17, 6)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.linear(torch.maximum(x * y, x - y)), torch.minimum(x + y, y)


class Elementwise(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * x - y


class Attention(torch.nn.Module):
    """Matrix products of two activations, softmax, transposition, division."""

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1)
        return torch.bmm(weights, k) / (k * k + 1.0)


class Moves(torch.nn.Module):
    """Tables, padding, permutation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = torch.nn.functional.pad(torch.sigmoid(x), (1, 2, 0, 3))
        return torch.tanh(padded).permute(0, 2, 1)


class Convolutions(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 9, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(9, 9, 3, padding=1, groups=9),
            torch.nn.Conv2d(9, 5, 1),
            torch.nn.ConvTranspose2d(5, 4, 2, stride=2),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


PROGRAMS: dict[str, partial[Case]] = {
    "quantized": partial(Case, lambda rng: Mixed(), uniform((5, 17), (5, 17))),
    "channels_last": partial(
        Case, lambda rng: Elementwise(), channels_last(uniform((1, 9, 4, 5), (1, 9, 4, 5)))
    ),
    "attention": partial(Case, lambda rng: Attention(), uniform((2, 7, 19), (2, 7, 19))),
    "moves": partial(Case, lambda rng: Moves(), uniform((2, 5, 18))),
    "convolutions": partial(Case, lambda rng: Convolutions(), channels_last(uniform((1, 3, 9, 11)))),
    "float": partial(Case, lambda rng: Elementwise(), uniform((3, 1, 7), (4, 1)), quantize=False),
}
ONE_STEP = Tolerance(qtol=1)  # the references' rounding is the subject of other tests
RUNTIMES: dict[str, dict[str, Any]] = {
    "ours x target": {},
    "ours x host": {"engine": "host", "host_runner": "ours"},
    "wheel x host": {"engine": "host", "host_runner": "wheel"},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_three_builds_give_the_same_bytes(name: str, harness: Harness, tmp_path: Path) -> None:
    settings = harness.settings
    if settings.engine == "host":
        settings = replace(settings, engine="standin")
    program = harness.lower(PROGRAMS[name](seed=5))
    outputs = {}
    for runtime, changed in RUNTIMES.items():
        place = tmp_path / runtime.replace(" ", "-")
        attempt = Harness(replace(settings, **changed), harness.progress).run(program, place, ONE_STEP)
        assert attempt.outcome.green, attempt.outcome
        outputs[runtime] = {path.name: path.read_bytes() for path in sorted(place.glob("out-*.bin"))}
    first = outputs["ours x target"]
    assert first
    assert all(first.values())
    assert all(found == first for found in outputs.values())
