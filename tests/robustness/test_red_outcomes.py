"""A passing run, spoiled in every way that could hide: each has its own red outcome. On the real stand-in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness import Attempt, Case, Program, RunnerElf
from harness.engines import prepare, run_attempt
from harness.engines.attempt import judge
from harness.flow import RunSpec
from harness.outcomes import OutcomeClass
from harness.session import Harness, run_spec
from harness.targets import TARGETS
from tests.ops.inputs import uniform

M55 = TARGETS["cortex-m55"]


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.fixture(scope="module")
def program(harness: Harness) -> Program:
    return harness.lower(Case(lambda rng: Add(), uniform((7,), (7,))))


@pytest.fixture(scope="module")
def runner(harness: Harness) -> RunnerElf:
    return harness.runner(M55)


@pytest.fixture
def passing(harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path) -> Attempt:
    attempt = harness.run(program, tmp_path / "passing", runner=runner)
    assert attempt.outcome.kind is OutcomeClass.PASS
    return attempt


def corrupt(output: Path) -> None:
    data = bytearray(output.read_bytes())
    data[3] ^= 0x40
    output.write_bytes(data)


SPOILERS: dict[str, tuple[Callable[[Path], None], OutcomeClass]] = {
    "one byte corrupted": (corrupt, OutcomeClass.WRONG),
    "deleted": (Path.unlink, OutcomeClass.NO_OUTPUT),
    "fill pattern": (lambda output: _write(output, b"\xa5" * 28), OutcomeClass.OUTPUT_NOT_WRITTEN),
    "truncated": (lambda output: _write(output, output.read_bytes()[:-4]), OutcomeClass.SHAPE),
}


def _write(output: Path, data: bytes) -> None:
    output.write_bytes(data)


@pytest.mark.parametrize("what", SPOILERS)
def test_spoiled_output_of_a_passing_run(passing: Attempt, what: str) -> None:
    spoil, kind = SPOILERS[what]
    assert passing.result is not None
    spoil(passing.result.directory / "out-0.bin")
    assert judge(passing.result).outcome.kind is kind


def test_old_output_is_not_taken_for_a_new_one(
    harness: Harness, program: Program, passing: Attempt, runner: RunnerElf, tmp_path: Path
) -> None:
    """The good output of an earlier run lies there; the runner finds no program and writes nothing."""
    assert passing.result is not None
    place = tmp_path / "stale"
    spec = _prepared(harness, program, runner, place)
    shutil.copyfile(passing.result.directory / "out-0.bin", place / "out-0.bin")
    (place / spec.inputs[0]).write_bytes(b"123")
    spec = replace(spec, hashes={})
    attempt = run_attempt(harness.engine(M55), spec, place)
    assert not attempt.outcome.green
    assert not (place / "out-0.bin").exists()


def test_runner_for_another_board_is_refused_by_the_simulator(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path
) -> None:
    """The load address of a segment is moved to where only the other board has memory."""
    place = tmp_path / "board"
    spec = _prepared(harness, program, runner, place)
    moved = bytearray((place / spec.elf).read_bytes())
    header = _first_loaded_segment(moved)
    for field in (8, 12):
        moved[header + field : header + field + 4] = (0x1200_0000).to_bytes(4, "little")
    (place / spec.elf).write_bytes(moved)
    attempt = run_attempt(harness.engine(M55), replace(spec, hashes={}), place)
    assert attempt.outcome.kind is OutcomeClass.CONFIG_TARGET


def test_empty_path_is_red_and_says_what_is_missing(
    harness: Harness, program: Program, runner: RunnerElf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    attempt = harness.run(program, tmp_path / "nothing", runner=runner)
    assert not attempt.outcome.green
    assert "qemu" in str(attempt.outcome).lower()


def _first_loaded_segment(elf: bytearray) -> int:
    table, size, count = (int.from_bytes(elf[at : at + n], "little") for at, n in ((28, 4), (42, 2), (44, 2)))
    headers = range(table, table + size * count, size)
    return next(at for at in headers if elf[at : at + 4] == b"\1\0\0\0")  # PT_LOAD


def _prepared(harness: Harness, program: Program, runner: RunnerElf, place: Path) -> RunSpec:
    spec = run_spec(program, M55, runner, harness.settings, Case.tolerance, bundled=False)
    return prepare(spec, place, runner.path, program)
