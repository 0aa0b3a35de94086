"""A whole model: an MLP classifier, trained here on synthetic data made here, run on the device."""

from __future__ import annotations

import numpy as np
import torch

from harness import Case, Check, Tolerance, cases
from harness.compare import load_tensor
from harness.session import Harness

FEATURES, CLASSES, SAMPLES = 16, 4, 128


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 32),
            torch.nn.ReLU(),
            torch.nn.Linear(32, 24),
            torch.nn.ReLU(),
            torch.nn.Linear(24, CLASSES),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def blobs(rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Four overlapping Gaussian clusters; labels follow the index, centres are fixed."""
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(11))
    labels = torch.arange(SAMPLES) % CLASSES
    return centres[labels] + 1.1 * torch.randn(SAMPLES, FEATURES, generator=rng), labels


def trained(rng: torch.Generator) -> torch.nn.Module:
    model = Mlp()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        x, labels = blobs(rng)
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def samples(rng: torch.Generator) -> tuple[torch.Tensor]:
    return (blobs(rng)[0],)


@cases("m55", classifier=Case(trained, samples, tolerance=Tolerance()))
def test_mlp_is_as_accurate_on_the_device_as_its_reference(
    case: Case, check: Check, harness: Harness
) -> None:
    attempt = check(case)
    assert attempt.result is not None
    program, labels = harness.lower(case), np.arange(SAMPLES) % CLASSES
    device = load_tensor(attempt.result.directory / "out-0.bin", program.output_specs[0])
    reference = load_tensor(program.references[0], program.output_specs[0])
    device_accuracy = (device.argmax(axis=1) == labels).mean()
    assert device_accuracy == (reference.argmax(axis=1) == labels).mean()
    assert device_accuracy > 0.8  # it has learned something, so equality means something


@cases("m55", classifier=Case(trained, samples))
def test_mlp_from_its_bundle(case: Case, check: Check) -> None:
    check(case, bundled=True)
