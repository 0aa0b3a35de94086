"""The same program gives the same bytes on ours x target, ours x host and wheel x host."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import pytest
import torch

from harness import Case
from harness.engines import prepare
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.flow import Tolerance
from harness.session import Harness, run_spec
from harness.targets import TARGETS
from tests.ops.inputs import channels_last, uniform

M55 = TARGETS["cortex-m55"]


class Mixed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(17, 6)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.linear(torch.maximum(x * y, x - y)), torch.minimum(x + y, y)


class Elementwise(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * x - y


PROGRAMS: dict[str, partial[Case]] = {
    "quantized": partial(Case, lambda rng: Mixed(), uniform((5, 17), (5, 17))),
    "channels_last": partial(
        Case, lambda rng: Elementwise(), channels_last(uniform((1, 9, 4, 5), (1, 9, 4, 5)))
    ),
    "float": partial(Case, lambda rng: Elementwise(), uniform((3, 1, 7), (4, 1)), quantize=False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_three_builds_give_the_same_bytes(name: str, harness: Harness, tmp_path: Path) -> None:
    program = harness.lower(PROGRAMS[name](seed=5))
    attempt = harness.run(program, tmp_path / "target")
    assert attempt.outcome.green, attempt.outcome
    outputs = {"target": _outputs(tmp_path / "target")}
    for runtime in ("ours", "wheel"):
        request = RunnerRequest(M55, known_operators(), runtime, "host")
        runner = build_runner(request, harness.settings.cache)
        place = tmp_path / runtime
        spec = run_spec(program, M55, runner, harness.settings, Tolerance(), bundled=False)
        spec = prepare(spec, place, runner.path, program)
        words = spec.command_line.split()[1:]
        subprocess.run([str(runner.path), *words], cwd=place, check=True, capture_output=True, timeout=60)
        outputs[runtime] = _outputs(place)
    assert outputs["ours"] == outputs["wheel"] == outputs["target"]
    assert all(outputs["target"].values())


def _outputs(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("out-*.bin"))}
