"""Inner pytest sessions on a fake FVP: real plugin, real processes, a program made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.records import SessionRecord, TestRecord
from harness.report.jsonl import read_journal
from tests.harness.bench import GOOD, Fake, MakeFake, Step, log, prints, writes

HANDMADE = '''
"""A program of one int8 input and output, made by hand: no lowering, no build."""
from hashlib import sha256
from pathlib import Path
from harness.flow import Program, RunnerElf, TensorSpec

def program(directory):
    files = {
        "program.pte": b"\\0\\0\\0\\0ET12" + bytes(8),
        "i0.bin": bytes(4),
        "ref-0.bin": bytes([1, 2, 3, 252]),
        "runner.elf": b"\\x7fELF",
    }
    for name, content in files.items():
        (directory / name).write_bytes(content)
    spec = TensorSpec("int8", (2, 2), (0, 1))
    return Program(directory, directory / "program.pte", None, (directory / "i0.bin",),
                   (directory / "ref-0.bin",), (spec,), (spec,), (), "cortex-m55", 0)

def elf(directory):
    path = directory / "runner.elf"
    digest = sha256(path.read_bytes()).hexdigest()
    return RunnerElf(path, "cortex-m55", "corstone-300", (), "sources", digest, {})
'''

ONE_TEST = """
from handmade import elf, program

def test_one(run, assert_matches, tmp_path):
    made = program(tmp_path)
    assert_matches(run(made, runner=elf(tmp_path)))
"""

PASSES: list[Step] = [*prints(*GOOD), writes()]
WRONG: list[Step] = [*prints(*GOOD), writes(bytes([1, 2, 3, 200]))]
OTHERWISE_WRONG: list[Step] = [*prints(*GOOD), writes(bytes([1, 2, 99, 252]))]
FAULT: list[Step] = [*prints(*GOOD[:7], log("F", "Hard fault: CFSR=0x0 PC=0x1 LR=0x2")), ["exit", 1]]
HANGS: list[Step] = [*prints(*GOOD[:7]), ["hang"]]


@dataclass(frozen=True)
class Session:
    """A finished inner session: what pytest printed, and the records that it left."""

    result: pytest.RunResult
    record: SessionRecord

    @property
    def tests(self) -> dict[str, TestRecord]:
        """Records by the name of the test."""
        return {test.nodeid.rpartition("::")[2]: test for test in self.record.tests}

    @property
    def one(self) -> TestRecord:
        """The record of the only test."""
        (test,) = self.record.tests
        return test

    def shows(self, *patterns: str) -> None:
        """Demand lines of the terminal, in order."""
        self.result.stdout.fnmatch_lines(list(patterns))


Run = Callable[..., Session]


@pytest.fixture
def simulator(make_fake: MakeFake, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A fake of Arm's FVP, the only one on PATH."""
    fake = make_fake("simulator", "FVP_Corstone_SSE-300_Ethos-U55")
    monkeypatch.setenv("PATH", f"{fake.executable.parent}:/usr/bin:/bin")
    return fake


@pytest.fixture
def session(pytester: pytest.Pytester, simulator: Fake, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `test_it.py` of the given source in an inner session of its own process, or in this one."""
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    pytester.makepyfile(handmade=HANDMADE)

    def run(source: str, *arguments: str, own_process: bool = False, name: str = "test_it") -> Session:
        pytester.makepyfile(**{name: source})
        common = ("--engine", "fvp", "--ledger", "off", "--report-dir", "reports", "--cache", "cache")
        start = pytester.runpytest_subprocess if own_process else pytester.runpytest_inprocess
        result = start(*common, "-p", "no:cacheprovider", *arguments)
        return Session(result, journal(pytester.path / "reports"))

    return run


def journal(directory: Path) -> SessionRecord:
    """The record of the session that wrote its reports into `directory`; its journal is used up."""
    (path,) = directory.glob("*.jsonl")
    record = read_journal(path).session
    path.unlink()
    return record


def kinds(test: TestRecord) -> Sequence[str]:
    """`rung CLASS` of each attempt."""
    return [f"{attempt.rung} {attempt.kind}" for attempt in test.attempts]


def dumped(value: object) -> str:
    """JSON, to put values into the source of an inner test."""
    return json.dumps(value)
