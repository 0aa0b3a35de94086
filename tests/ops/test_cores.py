"""Cores without vector unit: their own code, and programs with their operands, on Corstone-300's Cortex-M55.

Only what differs by core; every operator runs on them in upstream's suite (`--cortex-m-target`).
One small runner for each core, so that this stays cheap.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from elftools.elf.elffile import ELFFile

from harness import Case, RunnerElf, cases
from harness.aot.graph import lowered_graph
from harness.plugin.fixtures import Run
from harness.session import Harness
from harness.targets import TARGETS, Target
from tests.ops.inputs import uniform

CORES = "m0plus m4 m7"
OPERATORS = (
    "cortex_m::dequantize_per_tensor.out",
    "cortex_m::minimum.out",
    "cortex_m::quantize_per_tensor.out",
    "cortex_m::quantized_add.out",
    "cortex_m::quantized_linear.out",
    "cortex_m::quantized_mul.out",
)


class Elementwise(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.minimum(x * y - x, y)


def linear(bias: bool) -> Case:
    return Case(lambda rng: torch.nn.Linear(19, 7, bias=bias), uniform((3, 19)))


def core_runner(harness: Harness, target: Target) -> RunnerElf:
    small = Harness(replace(harness.settings, runner="program"), harness.progress)
    return small.runner(target, OPERATORS)


@cases(
    CORES,
    elementwise=Case(lambda rng: Elementwise(), uniform((3, 17), (3, 17))),
    bias=linear(bias=True),
    no_bias=linear(bias=False),
)
def test_core(case: Case, harness: Harness, run: Run) -> None:
    attempt = run(harness.lower(case), runner=core_runner(harness, case.target))
    assert attempt.outcome.green, attempt.outcome


@cases(CORES, linear=linear(bias=True))
def test_program_carries_bias_and_no_kernel_sum(case: Case, harness: Harness) -> None:
    (node,) = lowered_graph(harness.lower(case)).named("cortex_m::quantized_linear")
    assert node.has("bias")
    assert not node.has("kernel_sum")


# Values of Tag_CPU_arch in Arm's build attributes.
@pytest.mark.parametrize(("core", "architecture"), [("m0plus", 12), ("m4", 13), ("m7", 13)])
def test_kernels_are_compiled_for_the_core(
    core: str, architecture: int, harness: Harness, tmp_path: Path
) -> None:
    settings = replace(harness.settings, engine="standin")
    runner = core_runner(Harness(settings, harness.progress), TARGETS[f"cortex-{core}"])
    entries = json.loads((runner.path.parent / "compile_commands.json").read_text())
    commands = [shlex.split(entry["command"]) for entry in entries]
    kernels = [words for words in commands if _output(words).startswith("CMakeFiles/kernels.dir")]
    assert len(kernels) > len(OPERATORS)
    assert {_core(words) for words in kernels} == {f"-mcpu=cortex-{core}"}
    (linear,) = (words for words in kernels if words[-1].endswith("/op_quantized_linear.cpp"))
    assert _architecture(_compiled_again(linear, tmp_path / "linear.o")) == architecture


def _output(command: list[str]) -> str:
    return command[command.index("-o") + 1]


def _core(command: list[str]) -> str:
    return [word for word in command if word.startswith("-mcpu=")][-1]


def _compiled_again(command: list[str], output: Path) -> Path:
    """The object of a recorded command: a finished build keeps none."""
    words = [str(output) if word == _output(command) else word for word in command]
    subprocess.run(words, cwd=output.parent, check=True)
    return output


def _architecture(path: Path) -> int:
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".ARM.attributes")
        attributes = section.subsections[0].subsubsections[0].iter_attributes("TAG_CPU_ARCH")
        return int(next(attributes).value)
