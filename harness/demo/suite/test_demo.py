"""The suite of the demonstration: an ordinary one. Faults are planted by conftest.py and the simulator."""

import os
from typing import Any

import torch

from harness import Case, Check, Tolerance, cases

SEED = int(os.environ.get("CORSTONE_DEMO_SEED", "0"))


def linear(rng: Any) -> Any:
    """One layer."""
    return torch.nn.Linear(32, 16)


def layers(rng: Any) -> Any:
    """Enough work that a slow host shows."""
    return torch.nn.Sequential(*(torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(6)))


def vector(rng: Any) -> Any:
    """Input of `linear`."""
    return (torch.randn(1, 32, generator=rng),)


def image(rng: Any) -> Any:
    """Input of `layers`."""
    return (torch.randn(1, 16, 64, 64, generator=rng),)


ONE_STEP = Tolerance(qtol=1)


@cases(
    "m55",
    small=Case(linear, vector, seed=SEED, tolerance=ONE_STEP),
    large=Case(layers, image, seed=SEED, tolerance=ONE_STEP),
)
def test_layers(case: Case, check: Check) -> None:
    """Lower, build, boot, compare."""
    check(case)
