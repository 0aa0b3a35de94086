"""The FVP's command line: the words that upstream's own `run_corstone` would run, and what is refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.engines.command import LONGEST_COMMAND_LINE, FvpCommand, command_for
from harness.flow import Limits, RunSpec, TensorSpec, Tolerance
from harness.outcomes import HarnessError, OutcomeClass, Phase
from harness.targets import (
    CORSTONE_300,
    CORSTONE_320,
    FVP_SSE300_U55,
    FVP_SSE300_U65,
    FVP_SSE320,
    TARGETS,
    Board,
)

M55 = TARGETS["cortex-m55"]


def spec(count: int = 1, **changes: Any) -> RunSpec:
    made = RunSpec(
        target="cortex-m55",
        board="corstone-300",
        elf="runner.elf",
        program="program.pte",
        inputs=tuple(f"i{i}.bin" for i in range(count)),
        references=(),
        output_specs=(TensorSpec("int8", (4,), (0,)),),
        tolerance=Tolerance(),
        limits=Limits(simulated=120),
    )
    return replace(made, **changes)


class _Manager:
    """As much of an ExecutorchProgramManager as `run_corstone` touches: named inputs and no outputs."""

    buffer = b"\0\0\0\0ET12"

    def __init__(self, inputs: int) -> None:
        names = [SimpleNamespace(arg=SimpleNamespace(name=f"arg_{i}")) for i in range(inputs)]
        node = SimpleNamespace(args=[[]])
        self._program = SimpleNamespace(
            graph_signature=SimpleNamespace(input_specs=names),
            graph_module=SimpleNamespace(graph=SimpleNamespace(output_node=lambda: node)),
        )

    def exported_program(self) -> Any:
        return self._program


@pytest.fixture(scope="module")
def upstream() -> Any:
    """Upstream's module; its import takes seconds."""
    import executorch.backends.arm.test.runner_utils as runner_utils

    return runner_utils


def upstream_words(
    upstream: Any, monkeypatch: pytest.MonkeyPatch, board: str, inputs: int, directory: Path, elf: Path
) -> list[str]:
    """What upstream's `run_corstone` would execute."""
    import torch

    seen: list[list[str]] = []

    def intercept(command: list[str], *_: Any, **__: Any) -> subprocess.CompletedProcess[bytes]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(upstream, "_run_cmd", intercept)
    tensors = tuple(torch.zeros(2) for _ in range(inputs))
    upstream.run_corstone(_Manager(inputs), tensors, directory, board, elf)
    (words,) = seen
    return words


@pytest.mark.parametrize("inputs", [1, 2, 20])
@pytest.mark.parametrize(
    ("upstream_board", "board", "executable", "macs"),
    [
        ("corstone-300", CORSTONE_300, FVP_SSE300_U55, 128),
        ("corstone-300-u65", CORSTONE_300, FVP_SSE300_U65, 256),
        ("corstone-320", CORSTONE_320, FVP_SSE320, 128),
    ],
)
def test_same_words_as_upstream(
    upstream: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    upstream_board: str,
    board: Board,
    executable: str,
    macs: int,
    inputs: int,
) -> None:
    elf = tmp_path / "a runner.elf"
    elf.write_bytes(b"")
    expected = upstream_words(upstream, monkeypatch, upstream_board, inputs, tmp_path, elf)
    command = FvpCommand(executable, board, macs, elf, tmp_path, spec(inputs).command_line, 120)
    assert list(command.argv()) == expected


def test_target_and_limits_reach_the_command(tmp_path: Path) -> None:
    asked = spec(limits=Limits(simulated=17), extra_args=("--stat", "-C", "cpu0.x=1"))
    words = command_for(Path("/opt/fvp"), M55, asked, tmp_path).argv()
    assert words[0] == "/opt/fvp"
    assert words[-5:] == ("--timelimit", "17", "--stat", "-C", "cpu0.x=1")
    assert f"ethosu.num_macs={M55.npu_macs}" in words
    assert words[words.index("-a") + 1] == str(tmp_path / "runner.elf")
    assert f"cpu0.semihosting-cwd={tmp_path}" in words


def test_cycle_accurate_npu_leaves_fast_out(tmp_path: Path) -> None:
    command = FvpCommand("fvp", CORSTONE_300, 128, tmp_path / "a", tmp_path, "executor_runner", 1, fast=False)
    assert not any("--fast" in word for word in command.argv())


def test_longest_line_that_fits(tmp_path: Path) -> None:
    """Twenty short inputs fit, twenty-one do not."""
    assert len(spec(20).command_line) <= LONGEST_COMMAND_LINE
    command_for(Path("/fvp"), M55, spec(20), tmp_path)
    with pytest.raises(HarnessError) as caught:
        command_for(Path("/fvp"), M55, spec(21), tmp_path)
    outcome = caught.value.outcome
    assert (outcome.kind, outcome.phase) == (OutcomeClass.CONFIG_CMDLINE, Phase.LAUNCH)
    assert f"{len(spec(21).command_line)} > 256" in outcome.summary


@pytest.mark.parametrize(
    "name",
    [
        "my program.pte",
        "a'b.pte",
        'a"b.pte',
        "/abs.pte",
        "../up.pte",
        "sub/../../up.pte",
        "-m",
        "",
        "ü.pte",
        "a\nb.pte",
    ],
)
@pytest.mark.parametrize("part", ["program", "inputs", "output_base"])
def test_names_that_would_arrive_as_something_else(tmp_path: Path, name: str, part: str) -> None:
    changes: dict[str, Any] = {part: (name,) if part == "inputs" else name}
    with pytest.raises(HarnessError) as caught:
        command_for(Path("/fvp"), M55, spec(**changes), tmp_path)
    assert caught.value.outcome.kind is OutcomeClass.CONFIG_CMDLINE
