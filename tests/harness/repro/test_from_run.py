"""`harness run` leaves a bundle, green or red; and the real versions of Vela, each from the package index."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.repro.bundle import read_bundle
from harness.runfile import run_file
from harness.session import Harness
from harness.settings import Settings, resolve
from harness.targets import target_named
from tests.harness.repro.test_replay import repro

AMIN = """
import torch

class ModelUnderTest(torch.nn.Module):
    def forward(self, x):
        return torch.amin(x, 1, True)

ModelInputs = (torch.arange(4.0).reshape(2, 2),)
"""


@pytest.fixture
def stand_in() -> Settings:
    return resolve(lambda option: "standin" if option.name == "engine" else None, environment={})


def test_bisect_finds_the_first_vela_that_takes_a_graph(stand_in: Settings, tmp_path: Path) -> None:
    """Vela 4.5.0 has no minimum along an axis on an Ethos-U55."""
    file = tmp_path / "amin.py"
    file.write_text(AMIN)
    place = tmp_path / "evidence"
    target = target_named("u55")
    attempt, bundle = run_file(
        Harness(stand_in), file, target, place, bundleio=True, inputs=[], qtol=0, atol=0
    )
    assert attempt.outcome.green
    assert bundle == place
    found = read_bundle(place, stand_in.cache)
    assert found.own
    assert found.vela.graphs
    result = repro("--bisect", "vela=4.5.0..5.0.0", place)
    assert "vela 4.5.0               not testable" in result.output
    assert "(ReduceMin) could not run on NPU" in result.output
    assert "first version that compiles it: vela 5.0.0 (PASS)" in result.output
    assert result.exit_code == 0
