"""What goes wrong between a program and the NPU, booted on the stand-in: each has a red outcome of its own.

One tiny graph is lowered once; its bytes are damaged, or it meets another NPU than its own.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from harness import Attempt, Case, Program, RunnerElf
from harness.cli import app
from harness.engines import FvpEngine, prepare, run_attempt
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.npu_cli import app as npu_app
from harness.outcomes import OutcomeClass, Phase
from harness.session import Harness, run_spec
from harness.targets import FVP_SSE300_U55, TARGETS
from tests.ops.inputs import uniform
from tests.robustness.npu_programs import (
    damaged,
    instructions,
    stream_position,
    with_shorter_blob,
    with_word,
)

U55 = TARGETS["ethos-u55-128"]


@pytest.fixture(scope="module")
def program(harness: Harness) -> Program:
    make = uniform((1, 3, 5, 6))
    return harness.lower(Case(lambda rng: torch.nn.Conv2d(3, 4, 2), make, target=U55))


@pytest.fixture(scope="module")
def runner(harness: Harness, program: Program) -> RunnerElf:
    return harness.runner(U55, program.operators)


def red(attempt: Attempt, kind: OutcomeClass, phase: Phase) -> str:
    """The summary of an attempt that ended as it should; a person is told what to do next."""
    assert (attempt.outcome.kind, attempt.outcome.phase) == (kind, phase), attempt.outcome
    assert attempt.outcome.hint
    return attempt.outcome.summary


def test_undamaged_program_passes(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    attempt = harness.run(program, tmp_path, runner=runner)
    assert attempt.outcome.kind is OutcomeClass.PASS, attempt.outcome


def other_zero_point(program: Program, directory: Path) -> Program:
    """The last operation adds another zero point: everything runs, and every element is off."""
    original = program.pte.read_bytes()
    *_, zero_point = (i for _, i in instructions(original, "u55") if i.command.name == "OFM_ZERO_POINT")
    word = zero_point.command.key | (zero_point.par + 1 & 0xFFFF) << 16
    data = with_word(original, "u55", "OFM_ZERO_POINT", 0, word)
    return damaged(program, data, directory / "program")


def test_corrupted_output_of_the_npu_is_wrong(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    attempt = harness.run(other_zero_point(program, tmp_path), tmp_path / "run", runner=runner)
    assert "output 0" in red(attempt, OutcomeClass.WRONG, Phase.VERIFY)


def test_records_of_two_runs_name_the_first_operation_that_differs(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    traced = replace(harness, settings=replace(harness.settings, npu_trace="npu.jsonl"))
    good = traced.run(program, tmp_path / "good", runner=runner)
    assert good.outcome.kind is OutcomeClass.PASS, good.outcome
    traced.run(other_zero_point(program, tmp_path), tmp_path / "bad", runner=runner)
    paths = [str(tmp_path / name / "npu.jsonl") for name in ("good", "bad")]
    same = CliRunner().invoke(npu_app, ["diff", paths[0], paths[0]])
    assert (same.exit_code, same.stdout) == (0, "equal\n")
    different = CliRunner().invoke(npu_app, ["diff", *paths])
    assert different.exit_code == 1
    first, *_, last = different.stdout.splitlines()
    records = zip(*(Path(path).read_text().splitlines() for path in paths), strict=True)
    expected = next(json.loads(ours) for ours, theirs in records if ours != theirs)
    assert expected["index"] > 0
    assert first.startswith(
        f"operation {expected['index']} (stream 0, byte 0x{4 * expected['offset']:x}): OP_"
    )
    assert last == "this operation computed something else from equal inputs"
    none = CliRunner().invoke(npu_app, ["diff", paths[0], str(tmp_path / "good" / "console.log")])
    assert (none.exit_code, "no part of an NPU trace" in none.output) == (2, True)


def test_shell_writes_the_record_where_it_is_told(
    harness: Harness, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORSTONE_RUNNER", harness.settings.runner)
    monkeypatch.setenv("CORSTONE_CACHE", str(harness.settings.cache))
    record, evidence = tmp_path / "record.jsonl", tmp_path / "evidence"
    words = ["run", str(program.pte), "--target", U55.name, "--input", str(program.inputs[0])]
    run = CliRunner().invoke(app, [*words, "--directory", str(evidence), "--npu-trace", str(record)])
    assert run.exit_code == 1, run.output  # NO_VERDICT: a program alone has no references
    assert "NO_VERDICT" in run.stdout
    first, *operations = map(json.loads, record.read_text().splitlines())
    assert first == {"run": 0, "npu": U55.name}
    assert operations
    assert [operation["index"] for operation in operations] == list(range(len(operations)))


def test_unknown_opcode_is_a_parse_error(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    original = program.pte.read_bytes()
    start, _ = stream_position(original)
    data = original[:start] + b"\xff\x03\0\0" + original[start + 4 :]
    attempt = harness.run(damaged(program, data, tmp_path / "program"), tmp_path / "run", runner=runner)
    summary = red(attempt, OutcomeClass.NPU_PARSE, Phase.RUN)
    assert "at byte 0x0 of the command stream: word 0x000003ff" in summary
    assert "disasm" in attempt.outcome.hint


@pytest.mark.parametrize("command", ["IFM_BASE0", "OFM_BASE0"])
def test_address_outside_memory_is_a_bus_error(
    command: str, harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    data = with_word(program.pte.read_bytes(), "u55", command, 1, 0xF000_0000)
    attempt = harness.run(damaged(program, data, tmp_path / "program"), tmp_path / "run", runner=runner)
    assert "no memory at" in red(attempt, OutcomeClass.NPU_BUS, Phase.RUN)


def test_what_the_model_lacks_is_not_blamed_on_the_program(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    """Rounding by truncation: legal on this NPU, never emitted for TOSA, and not modelled."""
    original = program.pte.read_bytes()
    *_, precision = (i for _, i in instructions(original, "u55") if i.command.name == "OFM_PRECISION")
    word = precision.command.key | (precision.par & ~0xC000 | 0x4000) << 16
    data = with_word(original, "u55", "OFM_PRECISION", 0, word)
    attempt = harness.run(damaged(program, data, tmp_path / "program"), tmp_path / "run", runner=runner)
    red(attempt, OutcomeClass.NPU_UNIMPLEMENTED, Phase.RUN)


def test_truncated_blob_is_a_malformed_program(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    data = with_shorter_blob(program.pte.read_bytes())
    attempt = harness.run(damaged(program, data, tmp_path / "program"), tmp_path / "run", runner=runner)
    assert "truncated" in red(attempt, OutcomeClass.BUNDLE_INVALID, Phase.LOAD)


def test_other_mac_count_is_a_matter_of_the_target(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    settings = replace(harness.settings, fvp_args=("-C", "ethosu.num_macs=256"))
    attempt = replace(harness, settings=settings).run(program, tmp_path, runner=runner)
    summary = red(attempt, OutcomeClass.CONFIG_TARGET, Phase.LAUNCH)
    assert "ethosu.num_macs=256, but the program is compiled for ethos-u55-128" in summary


def test_other_product_is_a_matter_of_the_target(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    attempt = harness.run(replace(program, target="ethos-u65-256"), tmp_path, runner=runner)
    summary = red(attempt, OutcomeClass.CONFIG_TARGET, Phase.LOAD)
    assert summary == "program is compiled for ethos-u55-128, this NPU is ethos-u65-256"


def test_engine_without_an_npu_is_a_matter_of_the_target(
    harness: Harness, program: Program, tmp_path: Path
) -> None:
    settings = replace(harness.settings, engine="host")
    host = build_runner(
        RunnerRequest(TARGETS["cortex-m55"], known_operators(), platform="host"), settings.cache
    )
    attempt = replace(harness, settings=settings).run(program, tmp_path, runner=host)
    assert "EthosUBackend" in red(attempt, OutcomeClass.CONFIG_TARGET, Phase.LOAD)


# The stand-in with a broken NPU: a launcher like its own.
LAUNCHER = """\
#!{python}
import sys
from harness.standin.ethosu.registers import IRQ_RAISED, STATUS, EthosU
from harness.standin.main import main

{change}
sys.exit(main(["--fvp-name", "{fvp}", *sys.argv[1:]]))
"""
MUTE = "EthosU.interrupt = lambda npu: False"
HANGING = "EthosU._run = lambda npu: npu._words.__setitem__(STATUS, 1)"
# With this clock the guest's time passes as fast as it can while the guest sleeps.
QEMU = '#!/bin/sh\nexec "{qemu}" "$@" -icount shift=5,sleep=off\n'


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(MUTE, "NPU stop without interrupt at byte", id="no interrupt"),
        pytest.param(HANGING, "NPU time-out at byte 0 of", id="never ends"),
    ],
)
def test_npu_that_never_raises_its_interrupt_is_a_time_out(
    change: str,
    line: str,
    harness: Harness,
    program: Program,
    runner: RunnerElf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver waits its 640 million ticks, and then goes on."""
    launcher, clock, place = tmp_path / FVP_SSE300_U55, tmp_path / "qemu", tmp_path / "run"
    launcher.write_text(LAUNCHER.format(python=sys.executable, change=change, fvp=FVP_SSE300_U55))
    clock.write_text(QEMU.format(qemu=shutil.which("qemu-system-arm")))
    for script in (launcher, clock):
        script.chmod(0o755)
    monkeypatch.setenv("HARNESS_QEMU", str(clock))
    spec = run_spec(program, U55, runner, harness.settings, Case.tolerance, bundled=False)
    attempt = run_attempt(FvpEngine(launcher), prepare(spec, place, runner.path, program), place)
    assert red(attempt, OutcomeClass.NPU_TIMEOUT, Phase.RUN).startswith(line)
    assert attempt.result is not None
    assert attempt.result.exit_status == 1  # the runner's own end, not a limit of the simulator
    assert "in vain" in attempt.result.console
