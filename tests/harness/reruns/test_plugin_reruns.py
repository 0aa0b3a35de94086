"""Reruns as a session sees them: the real plugin on a scriptable fake FVP (failure-catalogue.md §10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.bench import ARM, GOOD, Fake, Step, prints
from tests.harness.reruns.conftest import (
    FAULT,
    HANGS,
    ONE_TEST,
    OTHERWISE_WRONG,
    PASSES,
    WRONG,
    Run,
    kinds,
)

SEMIHOSTING: list[Step] = [["print", "FVP banner"], ["hang"]]
MISSING_OP: list[Step] = [
    *prints(*GOOD[:3], "E [executorch:method.cpp:9 init()] Missing operator: [0] aten::exp.out"),
    ["exit", 1],
]

FIXTURES = """
import pytest
from handmade import elf, program

@pytest.fixture(scope="session", autouse=True)
def whole_run():
    print("SET-UP")
    yield
    print("TEAR-DOWN")

def test_before():
    pass

def test_last(run, assert_matches, tmp_path):
    assert_matches(run(program(tmp_path), runner=elf(tmp_path)))
"""

ASSERTS = """
from handmade import elf, program

def test_one(run, tmp_path):
    assert run(program(tmp_path), runner=elf(tmp_path)).outcome.green
"""

GOES_ON = """
from handmade import elf, program

def test_one(run, assert_matches, tmp_path):
    assert_matches(run(program(tmp_path), runner=elf(tmp_path)))
    assert False, "a reason of its own"
"""

XFAIL = """
import pytest
from handmade import elf, program

@pytest.mark.xfail(reason="known")
def test_one(run, assert_matches, tmp_path):
    assert_matches(run(program(tmp_path), runner=elf(tmp_path)))
"""


def test_catalogue_R2_the_same_bytes_fail_the_same_way_once_more_and_that_is_all(
    session: Run, simulator: Fake
) -> None:
    simulator.does_in_turn(WRONG)
    done = session(ONE_TEST, own_process=True)
    assert kinds(done.one) == ["first WRONG", "same-bytes WRONG"]
    assert done.one.verdict is not None
    assert done.one.verdict.verdict == "DETERMINISTIC"
    assert done.one.verdict.runs == simulator.runs == 2
    assert (done.one.result, done.result.ret) == ("failed", 1)
    done.shows("*verdict: DETERMINISTIC after 2 runs: the same bytes fail in the same way*")


@pytest.mark.parametrize(
    ("runs", "boots", "kind"),
    [
        ((MISSING_OP,), 1, "CONFIG/MISSING_OP"),
        ((SEMIHOSTING,), 1, "CONFIG/SEMIHOSTING"),
        ((FAULT,), 2, "FAULT"),
        ((HANGS,), 2, "TIMEOUT"),
    ],
)
def test_catalogue_R1_reruns_follow_from_the_class(
    session: Run, simulator: Fake, runs: tuple[list[Step], ...], boots: int, kind: str
) -> None:
    simulator.does_in_turn(*runs)
    done = session(ONE_TEST, "--silence-limit", "1")
    assert simulator.runs == boots
    assert {attempt.kind for attempt in done.one.attempts} == {kind}
    assert done.one.result == "failed"


def test_catalogue_R12_a_pass_on_retry_is_flaky_and_red(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG, PASSES)
    done = session(ONE_TEST)
    assert done.result.ret == 10
    assert done.one.result == "flaky"
    assert done.one.verdict is not None
    assert done.one.verdict.verdict == "ENGINE_NONDETERMINISTIC"
    done.shows(
        "FLAKY * WRONG in phase verify",
        "*verdict: ENGINE_NONDETERMINISTIC after 2 runs: the same bytes fail and pass*",
        "*first * WRONG (verify) * outputs *",
        "*same-bytes * PASS * outputs *",
        "*reproduce: harness repro *test_one-*-1",
        "*1 flaky*",
    )
    assert "1 passed" not in done.result.stdout.str()


def test_catalogue_R12_flaky_warn_is_green_but_no_plain_pass(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG, PASSES)
    done = session(ONE_TEST, "--flaky", "warn")
    assert done.result.ret == 0
    assert done.one.result == "flaky"
    done.shows("*1 flaky*")
    assert "passed" not in done.result.stdout.str().splitlines()[-1]


def test_a_flaky_attempt_does_not_excuse_a_failure_behind_it(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG, PASSES)
    done = session(GOES_ON, "--flaky", "warn")
    assert (done.one.result, done.result.ret) == ("failed", 1)
    done.shows("*a reason of its own*")


def test_an_engine_that_writes_other_bytes_each_time_is_not_flaky_but_broken(
    session: Run, simulator: Fake
) -> None:
    simulator.does_in_turn(WRONG, OTHERWISE_WRONG)
    done = session(ONE_TEST)
    assert (done.one.result, done.result.ret) == ("failed", 1)
    done.shows("*ENGINE_NONDETERMINISTIC after 2 runs: the same bytes fail in two ways: outputs*")


def test_catalogue_R3_each_rerun_names_the_factor_that_it_changed(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG)
    done = session(ONE_TEST)
    assert done.one.verdict is not None
    first, again = done.one.verdict.evidence
    assert "[time only]" in again
    assert [word for word in first.split() if len(word) == 8] == [
        word for word in again.split() if len(word) == 8
    ], "hashes of inputs, program, ELF and outputs"


def test_catalogue_R5_fixtures_are_set_up_once_whatever_is_repeated(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG)
    text = session(FIXTURES, "-s").result.stdout.str()
    assert (text.count("SET-UP"), text.count("TEAR-DOWN")) == (1, 1)
    assert simulator.runs == 2


def test_catalogue_R6_a_bare_flaky_marker_is_named(session: Run, simulator: Fake) -> None:
    marked = "import pytest\n@pytest.mark.flaky\ndef test_marked(): pass\ndef test_other(): pass\n"
    done = session(marked, "-o", "markers=flaky: reruns")
    done.shows("*test_marked carries @pytest.mark.flaky*")
    assert "test_other carries" not in done.result.stdout.str()


def test_catalogue_R9_both_logs_stay_on_disk(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(FAULT, PASSES)
    done = session(ONE_TEST, "--artifacts", "kept")
    logs = [Path(str(attempt.directory), "console.log") for attempt in done.one.attempts]
    assert ["Hard fault" in log.read_text() for log in logs] == [True, False]
    assert len({log.parent for log in logs}) == 2


def test_a_test_that_asserts_by_itself_gets_a_verdict_too(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG)
    done = session(ASSERTS)
    assert done.one.verdict is not None
    assert done.one.verdict.verdict == "DETERMINISTIC"
    assert done.one.result == "failed"


def test_an_expected_failure_is_not_repeated(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG)
    done = session(XFAIL)
    assert (simulator.runs, done.one.result, done.result.ret) == (1, "xfailed", 0)


def test_the_budget_is_one_for_the_session(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG)
    three = ONE_TEST + "".join(ONE_TEST.replace("test_one", f"test_{i}") for i in (2, 3))
    done = session(three, "--reruns-failures", "2")
    assert simulator.runs == 2 + 2 + 1
    assert done.tests["test_3"].verdict is not None
    assert done.tests["test_3"].verdict.verdict == "UNRESOLVED"
    done.shows(
        "reruns: 2 attempts for 2 failures took * s of 120 s", "*2 failures of this session are rerun*"
    )


def test_no_reruns(session: Run, simulator: Fake) -> None:
    simulator.does_in_turn(WRONG)
    done = session(ONE_TEST, "--no-reruns")
    assert simulator.runs == 1
    done.shows("*verdict: UNRESOLVED after 1 run: reruns are off*")


def test_catalogue_B10_a_session_in_which_nothing_booted_has_its_own_exit_status(
    session: Run, simulator: Fake
) -> None:
    simulator.does(version="something else")
    done = session(ONE_TEST)
    assert done.result.ret == 11
    done.shows("1 cases: 0 of 1 on Arm's FVP, *1 not run")
    assert ARM not in done.result.stdout.str()


def test_a_skipped_case_is_no_evidence(session: Run, simulator: Fake) -> None:
    skipped = ONE_TEST.replace("def test_one", "import pytest\n@pytest.mark.skip\ndef test_one")
    assert session(skipped).result.ret == 11
