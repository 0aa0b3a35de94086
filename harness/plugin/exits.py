"""Exit status of a session, beyond pytest's own."""

from __future__ import annotations

from collections.abc import Iterable

from harness.plugin.gather import STRICT
from harness.records import TestRecord

PASSED, FAILED = 0, 1  # pytest's own
ONLY_FLAKY = 10
NOTHING_RAN = 11

BROKEN = ("failed", "error", "crashed", "xpassed")


def exit_status(
    status: int, tests: Iterable[TestRecord], asked: frozenset[str], flaky_fails: bool, lost: int = 0
) -> int:
    """The session's exit status. Pure.

    Args:
        status: pytest's; everything but "passed" and "tests failed" keeps its meaning.
        tests: all records; those of a quarantined test do not fail the session.
        asked: ids of tests that ask for a boot.
        flaky_fails: `--flaky=fail`.
        lost: number of selected tests that were never run.

    Returns:
        0 all proven green, 1 broken, 10 only flaky tests are red, 11 tests asked for a boot and none came
        about; else `status`.
    """
    if status not in (PASSED, FAILED):
        return status
    records = list(tests)
    broken = [test.nodeid for test in records if _broken(test, status)]
    booted = any(attempt.engine for test in records for attempt in test.attempts)
    if asked and not booted and all(nodeid in asked for nodeid in broken) and not lost:
        return NOTHING_RAN
    if broken or lost:
        return FAILED
    if flaky_fails and any(test.result == "flaky" for test in records):
        return ONLY_FLAKY
    # Something else has failed the session: another plugin, or a report that is no test's.
    return PASSED if any(test.result in ("quarantined", "flaky") for test in records) else status


def is_red(test: TestRecord, flaky_fails: bool) -> bool:
    """True for a test that alone makes a session red."""
    return _broken(test, FAILED) or (flaky_fails and test.result == "flaky")


def _broken(test: TestRecord, status: int) -> bool:
    """An xfail that passes is red only where it is strict, which pytest has decided."""
    if test.result == "xpassed":
        return status == FAILED and STRICT in test.message
    return test.result in BROKEN
