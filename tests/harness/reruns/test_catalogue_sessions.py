"""Rows of the catalogue that only a whole session shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from tests.harness.bench import Fake, Step
from tests.harness.reruns.conftest import FAULT, HANGS, ONE_TEST, PASSES, Run

TWO_TESTS = ONE_TEST + ONE_TEST.replace("test_one", "test_two")
NO_LICENCE: list[Step] = [
    ["print", "Failed to check out licence FM_Simulation: no valid licence"],
    ["exit", 1],
]
KILLS_ITSELF = """
import os, signal

def test_dies():
    os.kill(os.getpid(), signal.SIGSEGV)

def test_fails():
    assert False
"""


def test_catalogue_B6_tests_without_a_licence_have_not_run(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(NO_LICENCE)
    done = session(ONE_TEST)
    assert simulator.runs == 1
    assert done.one.attempts[0].kind == "ENV/LICENCE"
    assert done.one.result == "failed"
    assert done.one.verdict is not None
    assert done.one.verdict.verdict == "UNRESOLVED"
    assert "has not run to its end" in done.one.verdict.reason


def test_catalogue_B11_arguments_that_are_passed_on_are_in_the_bundle(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(FAULT)
    done = session(ONE_TEST, "--no-reruns", "--fvp-arg=--stat", "--fvp-arg=--quiet")
    directory = done.one.attempts[0].directory
    assert directory is not None
    bundle = json.loads((Path(directory) / "bundle.json").read_text())
    assert bundle["argv"][-2:] == ["--stat", "--quiet"]


def test_catalogue_D6_a_hang_does_not_end_the_session(
    session: Run, simulator: Fake, pytester: pytest.Pytester
) -> None:
    simulator.does_in_turn(HANGS, PASSES)
    done = session(TWO_TESTS, "--silence-limit", "1", "--no-reruns")
    assert done.tests["test_one"].attempts[0].kind == "TIMEOUT"
    assert done.tests["test_two"].result == "passed"
    cases = [c for suite in JUnitXml.fromfile(str(pytester.path / "reports" / "junit.xml")) for c in suite]
    assert {c.name: bool(c.result) for c in cases} == {"test_one": True, "test_two": False}


def test_catalogue_P6_a_signal_in_a_worker_is_no_failure_of_a_test(session: Run) -> None:
    done = session(KILLS_ITSELF, "-n", "1", "--no-reruns", own_process=True)
    assert {name: test.result for name, test in done.tests.items()} == {
        "test_dies": "crashed",
        "test_fails": "failed",
    }
    (attempt,) = done.tests["test_dies"].attempts
    assert attempt.kind == "WORKER_CRASH"
