"""Exit status and results, pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.plugin.exits import NOTHING_RAN, ONLY_FLAKY, exit_status
from harness.plugin.gather import LONGEST_MESSAGE, STRICT, bounded
from harness.plugin.summary import test_lines as lines_of
from harness.records import HistoryRecord, TestRecord, VerdictRecord
from tests.plugin.records import booted, record

NODE = "test_a.py::test_a"
ASKED = frozenset({NODE})


@pytest.mark.parametrize(
    ("status", "results", "flaky_fails", "lost", "expected"),
    [
        (0, ["passed"], True, 0, 0),
        (1, ["failed"], True, 0, 1),
        (1, ["flaky"], True, 0, ONLY_FLAKY),
        (1, ["flaky", "failed"], True, 0, 1),
        (0, ["flaky"], False, 0, 0),
        (1, ["quarantined"], True, 0, 0),
        (1, ["quarantined", "flaky"], True, 0, ONLY_FLAKY),
        (1, ["crashed"], True, 0, 1),
        (1, ["passed"], True, 0, 1),
        (0, ["passed"], True, 1, 1),
        (1, ["flaky"], True, 1, 1),
        (2, ["flaky"], True, 0, 2),
        (5, [], True, 0, 5),
    ],
)
def test_exit_status(status: int, results: list[str], flaky_fails: bool, lost: int, expected: int) -> None:
    tests = [booted("standin", result) for result in results]
    assert exit_status(status, tests, ASKED, flaky_fails, lost) == expected


def test_catalogue_B10_nothing_booted() -> None:
    assert exit_status(0, [record("skipped")], ASKED, True) == NOTHING_RAN
    assert exit_status(1, [booted(None, "failed")], ASKED, True) == NOTHING_RAN
    assert exit_status(1, [record("failed", "other"), record("skipped")], ASKED, True) == 1
    assert exit_status(0, [record()], frozenset(), True) == 0, "nothing asked for a boot"


def test_a_strict_xfail_that_passes_is_broken_and_a_lax_one_is_not() -> None:
    strict = replace(booted("standin", "xpassed"), message=f"{STRICT} known")
    assert exit_status(1, [strict], ASKED, True) == 1
    assert exit_status(0, [booted("standin", "xpassed")], ASKED, True) == 0


def test_messages_are_bounded() -> None:
    text = bounded("x" * 100_000 + "the end")
    assert len(text) <= LONGEST_MESSAGE
    assert text.endswith("the end")


def test_catalogue_C3_the_summary_of_a_test_is_a_few_lines() -> None:
    verdict = VerdictRecord("DETERMINISTIC", "the same bytes fail in the same way", ("a", "b"), 2)
    history = HistoryRecord("NEW", "passed on the base", None, None)
    test: TestRecord = replace(
        booted("fvp", "failed"), verdict=verdict, history=history, repro="harness repro 'x'"
    )
    assert list(lines_of(test)) == [
        f"FAILED  {NODE}  failed",
        "    verdict: DETERMINISTIC after 2 runs: the same bytes fail in the same way",
        "    history: NEW: passed on the base",
        "    reproduce: harness repro 'x'",
    ]
    assert not list(lines_of(booted("fvp")))


def test_the_rate_of_a_flaky_test_counts_outputs_that_a_green_attempt_has_as_right() -> None:
    green = booted("standin").attempts[0]
    first, again, other = (
        replace(green, number=number, kind=kind, hashes={"outputs": outputs}, seed=seed)
        for number, kind, outputs, seed in (
            (1, "WRONG", "a", None),
            (2, "WRONG", "b", None),
            (4, "WRONG", "c", 7),
        )
    )
    last = replace(green, number=3, hashes={"outputs": "b"})
    verdict = VerdictRecord("ENGINE_NONDETERMINISTIC", "two results", (), 4)
    test = replace(record("flaky"), attempts=(first, again, last, other), verdict=verdict)
    assert [line for line in lines_of(test) if "rate" in line] == [
        "    rate: 1 of 3 failed: 33 % (6.1 % to 79 %) in this session"
    ]
