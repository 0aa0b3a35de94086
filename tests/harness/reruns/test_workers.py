"""Workers that die, in every distribution mode of xdist (failure-catalogue.md §9)."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.records import TestRecord
from tests.harness.bench import Fake
from tests.harness.reruns.conftest import HANGS, Run

SUITE = """
import os, signal
from pathlib import Path

MARKER = Path(__file__).with_name("crashed")

def crash():
    os.kill(os.getpid(), signal.SIGKILL)

class TestScope:
    def test_before(self):
        pass

    def test_dies(self):
        if ALWAYS or not MARKER.exists():
            MARKER.touch()
            crash()

    def test_after(self):
        pass

def test_other():
    pass
"""
ONCE, ALWAYS = SUITE.replace("ALWAYS", "False"), SUITE.replace("ALWAYS", "True")
NAMES = {"test_before", "test_dies", "test_after", "test_other"}


@pytest.mark.parametrize("mode", ["load", "loadscope", "loadfile", "worksteal"])
def test_catalogue_P5_no_test_is_lost_and_none_counts_twice(session: Run, mode: str) -> None:
    done = session(ONCE, "-n", "2", "--dist", mode, own_process=True)
    ids = Counter(test.nodeid for test in done.record.tests)
    assert set(ids.values()) == {1}
    assert {name.rpartition("::")[2] for name in ids} == NAMES
    dead = done.tests["test_dies"]
    assert dead.result == "flaky"
    assert dead.attempts[0].kind == "WORKER_CRASH"
    assert dead.verdict is not None
    assert dead.verdict.runs == 2
    assert done.result.ret == 10
    done.shows("*1 flaky*")
    assert "3 passed" in done.result.stdout.str()


LAST = """
def test_before():
    pass

def test_dies():
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("source", "passed"), [(ALWAYS, 6), (LAST, 2)], ids=["amid", "last"])
def test_catalogue_P5_each_worker_has_its_own_tests(session: Run, source: str, passed: int) -> None:
    done = session(source, "-n", "2", "--dist", "each", own_process=True)
    results = Counter(test.result for test in done.record.tests)
    assert results == {"crashed": 2, "passed": passed}


def test_catalogue_P2_a_test_that_ends_its_worker_each_time_ends_no_other(session: Run) -> None:
    done = session(ALWAYS, "-n", "1", "--dist", "loadscope", own_process=True)
    assert {name: test.result for name, test in done.tests.items()} == {
        name: "crashed" if name == "test_dies" else "passed" for name in NAMES
    }
    assert done.result.ret == 1
    dead = done.tests["test_dies"]
    assert dead.verdict is not None
    assert (dead.verdict.verdict, dead.verdict.runs) == ("DETERMINISTIC", 2)
    done.shows(
        "CRASHED * WORKER_CRASH in phase *", "*verdict: DETERMINISTIC after 2 runs: WORKER_CRASH in all*"
    )


def test_catalogue_P2_restarts_are_bounded_and_what_is_lost_is_said(session: Run) -> None:
    done = session(ALWAYS, "-n", "1", "--max-worker-restart", "0", "--no-reruns", own_process=True)
    assert done.result.ret == 1
    assert done.record.partial
    done.shows("*2 selected tests were never run:*")


CRASH_IN_A_RUN = """
import os, signal, threading, time
from pathlib import Path
from handmade import elf, program

def test_one(run, tmp_path, attempt_directory):
    def end():
        log = next(iter(Path(os.environ["ATTEMPTS"]).rglob("console.log")), None)
        while log is None or "Starting running" not in log.read_text():
            time.sleep(0.01)
            log = next(iter(Path(os.environ["ATTEMPTS"]).rglob("console.log")), None)
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Thread(target=end).start()
    run(program(tmp_path), runner=elf(tmp_path))
"""


def test_catalogue_P3_a_dead_worker_has_test_phase_and_memory(
    session: Run, simulator: Fake, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = pytester.path / "kept"
    monkeypatch.setenv("ATTEMPTS", str(kept))
    simulator.does(*HANGS)
    done = session(CRASH_IN_A_RUN, "-n", "1", "--artifacts", str(kept), "--no-reruns", own_process=True)
    (attempt,) = done.one.attempts
    assert (attempt.kind, attempt.phase) == ("WORKER_CRASH", "run")
    assert attempt.directory is not None
    assert "test_it.py::test_one" in attempt.summary
    assert "MB" in attempt.summary


def test_a_crash_in_a_shard_is_run_again(session: Run, pytester: pytest.Pytester) -> None:
    records: dict[str, TestRecord] = {}
    for number in (1, 2):
        done = session(ONCE, "-n", "1", "--shard", f"{number}/2", own_process=True)
        records |= done.tests
    assert records.keys() == NAMES
    assert records["test_dies"].result == "flaky"


HANGING = {
    "worker": "import os, signal\ndef hang():\n    os.kill(os.getpid(), signal.SIGSTOP)",
    "no worker": "import threading\ndef hang():\n    threading.Event().wait()",
}


@pytest.mark.parametrize(("kind", "arguments"), [("worker", ("-n", "1")), ("no worker", ())])
def test_catalogue_D7_a_session_that_never_ends_is_ended_and_reported(
    session: Run, pytester: pytest.Pytester, kind: str, arguments: tuple[str, ...]
) -> None:
    source = f"{HANGING[kind]}\ndef test_before(): pass\ndef test_hangs(): hang()\ndef test_after(): pass\n"
    # Long enough for the session to come to the test on a busy machine.
    done = session(source, *arguments, "--session-limit", "20", own_process=True)
    assert done.result.ret == pytest.ExitCode.INTERRUPTED
    assert done.record.partial
    assert {name: test.result for name, test in done.tests.items()} == {
        "test_before": "passed",
        "test_hangs": "error",
    }
    (attempt,) = done.tests["test_hangs"].attempts
    assert attempt.kind == "PARTIAL"
    assert "ended by the session limit of 20 s [--session-limit]" in attempt.summary
    assert (pytester.path / "reports" / "report.html").is_file()
    assert (pytester.path / "reports" / "junit.xml").is_file()
