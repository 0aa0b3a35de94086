"""What a pytest session leaves to reproduce its failures, and says of them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.flow import Attempt, EngineIdentity, RunResult, RunSpec, Tolerance
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.plugin.workers import worker_count
from harness.repro import ENTRY, pytest_command, repro_command
from harness.repro.kept import PLACE, keep
from harness.settings import unknown_variables
from tests.harness.bench import Fake
from tests.harness.repro.test_replay import repro
from tests.harness.reruns.conftest import ONE_TEST, WRONG, Run, session, simulator

__all__ = ["session", "simulator"]  # fixtures

GIB = 1 << 30


def test_catalogue_L3_a_failing_test_leaves_a_bundle_that_replays(
    session: Run, simulator: Fake, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator.does(*WRONG)
    test = session(ONE_TEST, "--artifacts", "kept").one
    assert test.repro is not None
    command, _, quoted = test.repro.rpartition(" ")
    assert command == "harness repro"
    directory = Path(quoted.strip("'"))
    record = json.loads((directory / "bundle.json").read_text())
    assert record["nodeid"] == "test_it.py::test_one"
    assert record["modules"] == ["test_it.py"]
    monkeypatch.setenv("CORSTONE_CACHE", str(pytester.path / "cache"))
    result = repro(directory)
    assert "same signature, the same output bytes" in result.output
    assert "not from here" not in result.output
    every = sorted(path.parent.name for path in directory.parent.glob("attempt-*/bundle.json"))
    assert every == [f"attempt-{number}" for number in range(1, len(test.attempts) + 1)]


def test_catalogue_L2_the_command_line_of_a_session_is_in_its_test_plan(
    session: Run, simulator: Fake, pytester: pytest.Pytester
) -> None:
    simulator.does(*WRONG)
    session(ONE_TEST, "-k", "one and not two")
    plan = (pytester.path / "reports" / "testplan.md").read_text()
    assert "--engine fvp" in plan
    assert "-k 'one and not two'" in plan


def test_catalogue_L4_a_variable_without_effect_is_warned_of() -> None:
    [line] = unknown_variables({"CORSTONE_CASES_SEED": "3", "CORSTONE_CASE_SEED": "4", "PATH": "/bin"})
    assert line == "the variable CORSTONE_CASES_SEED has no effect; did you mean CORSTONE_CASE_SEED?"
    assert unknown_variables({"CORSTONE_UPSTREAM_SLICE": "1/2"}) == ()


def test_catalogue_L4_the_header_shows_the_effective_seed_and_the_warning(
    session: Run, simulator: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORSTONE_CASE_SEEDS", "3")
    made = session("def test_nothing(): pass", "--case-seed", "7")
    made.shows("*seed 7*", "*CORSTONE_CASE_SEEDS has no effect; did you mean CORSTONE_CASE_SEED?*")


@pytest.mark.parametrize(
    ("cores", "memory", "need", "workers"),
    [
        (16, 32 * GIB, 8 * GIB, 4),
        (2, 64 * GIB, 8 * GIB, 2),
        (8, 1 * GIB, 8 * GIB, 1),
        (4, 12 * GIB, 3 * GIB, 4),
    ],
)
def test_catalogue_P1_workers_are_limited_by_memory(cores: int, memory: int, need: int, workers: int) -> None:
    assert worker_count(cores, memory, need) == workers


def test_a_replay_boots_within_a_second_of_processor_time(tmp_path: Path) -> None:
    """The imports are what a replay costs; wall time would measure the other load of this machine."""
    script = (
        "import time\n"
        "import harness.cli, harness.repro.bundle, harness.repro.replay\n"
        "print(time.process_time())\n"
    )
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert float(done.stdout) < 1.0


def test_the_evidence_of_a_failure_outlives_pytests_temporary_directories(
    session: Run, simulator: Fake, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator.does(*WRONG)
    test = session(ONE_TEST, "--basetemp", "temporary").one
    shutil.rmtree(pytester.path / "temporary")
    assert test.repro is not None
    directory = Path(test.repro.removeprefix("harness repro ").strip("'"))
    monkeypatch.setenv("CORSTONE_CACHE", str(pytester.path / "cache"))
    assert "same signature, the same output bytes" in repro(directory).output
    kept = [path.name for path in directory.parent.iterdir()]
    assert kept == [directory.name], "attempts of the ladder are pytest's"


def test_only_the_newest_sessions_keep_their_evidence(tmp_path: Path) -> None:
    run = tmp_path / "attempt"
    run.mkdir()
    (run / "console.log").write_text("I")
    spec = RunSpec("cortex-m55", "corstone-300", "r.elf", "p.pte", (), (), (), Tolerance())
    identity = EngineIdentity("fvp", "FVP", "1", "FVP", "0")
    result = RunResult(spec, run, identity, (), (), "", 1, {}, {})
    attempt = Attempt(1, Outcome(Phase.RUN, OutcomeClass.ABORT, "no"), result)
    for number in range(25):
        kept = keep(attempt, tmp_path, f"session-{number:02}", "test_a.py::test[1/2]")
        os.utime(tmp_path / PLACE / f"session-{number:02}", (number, number))
    assert kept.result is not None
    assert (kept.result.directory / "console.log").read_text() == "I"
    left = sorted(path.name for path in (tmp_path / PLACE).iterdir())
    assert left == [f"session-{number:02}" for number in range(5, 25)]
    assert keep(kept, tmp_path, "session-24", "test_a.py::test[1/2]") == kept


def test_the_command_names_a_directory_as_a_shell_reads_it() -> None:
    assert repro_command("kept/attempt-1") == "harness repro kept/attempt-1"
    assert shlex.split(repro_command("it's a place")) == ["harness", "repro", "it's a place"]


def test_what_is_to_be_called_begins_with_how_the_session_was_started(
    session: Run, simulator: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENTRY, "ci/env")
    simulator.does(*WRONG)
    done = session(f"{ONE_TEST}\ndef test_two(run):\n    assert 0\n", "-n", "0")
    assert done.tests["test_one"].repro is not None
    assert done.tests["test_one"].repro.startswith("ci/env harness repro ")
    assert pytest_command("test_a.py::test[x y]") == "ci/env pytest 'test_a.py::test[x y]'"
