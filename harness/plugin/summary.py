"""What the session tells a person: header, how many cases ran on which engine, what failed and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pytest

from harness.ledger.entries import GREEN, TWO_OUTCOMES
from harness.ledger.statistics import Rate
from harness.plugin.deadline import reached
from harness.plugin.gather import CRASH, says_flaky
from harness.plugin.options import SETTINGS
from harness.plugin.payload import payload_of
from harness.plugin.workspace import WORKSPACE
from harness.records import TestRecord
from harness.settings import unknown_variables

if TYPE_CHECKING:
    from harness.plugin.controller import Finished

_ENGINES = {"fvp": "Arm's FVP", "standin": "the stand-in", "host": "the host"}
_SHOWN_LOST = 10


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Which engine was asked for, the effective seed, and variables that look like options and are none."""
    settings = config.stash[SETTINGS]
    seed = "as each case declares" if settings.case_seed is None else settings.case_seed
    head = f"corstone: engine {settings.engine}, runner {settings.runner}, seed {seed}"
    return [head, *(f"warning: {line}" for line in unknown_variables())]


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Flaky and crashed tests have a letter and a word of their own."""
    if not isinstance(report, pytest.TestReport):
        return None
    if report.when == CRASH:
        return "crashed", "C", "CRASHED"
    payload = payload_of(report) if report.when == "call" and not hasattr(report, "wasxfail") else None
    if payload is not None and payload.flaky and says_flaky(report):
        return "flaky", "f", "FLAKY"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Count the cases by engine; of every red test: class, verdict, history, how to reproduce it."""
    from harness.plugin.controller import controller_of

    controller = controller_of(config)
    finished = controller.finished if controller is not None else None
    if finished is None:
        return
    tests = finished.session.tests
    asked = [test for test in tests if test.nodeid in finished.asked]
    told = [line for test in tests for line in test_lines(test)]
    limit = reached(config)
    if not (asked or finished.lost or told or limit):
        return
    terminalreporter.section("corstone")
    if limit:
        terminalreporter.line(f"the session was {limit}", red=True)
    if asked:
        terminalreporter.line(engine_line(asked))
    for line in _reruns(config):
        terminalreporter.line(line)
    for line in told:
        terminalreporter.line(line)
    for line in _lost(finished):
        terminalreporter.line(line, red=True)
    for line in finished.written:
        terminalreporter.line(line)


def engine_line(tests: Sequence[TestRecord]) -> str:
    """`14 cases: 0 of 14 on Arm's FVP, 12 on the stand-in, 0 on the host, 2 not run`. Pure.

    A case counts for the engine of its first attempt that started one.
    """
    total = len(tests)
    ran = Counter(_engine(test) for test in tests)
    parts = [f"{ran['fvp']} of {total} on Arm's FVP"]
    parts += [f"{ran[kind]} on {_ENGINES[kind]}" for kind in ("standin", "host")]
    if ran[None]:
        parts.append(f"{ran[None]} not run")
    return f"{total} cases: " + ", ".join(parts)


def test_lines(test: TestRecord) -> Iterable[str]:
    """What the summary says of one test; nothing of a green one. Pure."""
    if test.history is None and (test.verdict is None or test.result in ("passed", "skipped")):
        return
    first = next((attempt for attempt in test.attempts if attempt.kind not in ("PASS", "XFAIL")), None)
    what = f"{first.kind} in phase {first.phase}" if first is not None else test.result
    yield f"{test.result.upper()}  {test.nodeid}  {what}"
    if test.verdict is not None:
        verdict, runs = test.verdict, test.verdict.runs
        yield f"    verdict: {verdict.verdict} after {runs} run{'s' * (runs != 1)}: {verdict.reason}"
        if test.result != "failed":  # whose message has these lines
            yield from (f"      {line}" for line in test.verdict.evidence)
        if test.result == "flaky" or test.verdict.verdict in TWO_OUTCOMES:
            yield f"    rate: {rate_here(test)} in this session"
    if test.history is not None:
        yield f"    history: {test.history.kind}: {test.history.reason}"
    if test.repro is not None:
        yield f"    reproduce: {test.repro}"


def rate_here(test: TestRecord) -> Rate:
    """Failed attempts of all attempts with the first one's seed. Pure.

    Upstream's ladder cannot judge other outputs; those that a green attempt has too are right.
    """
    attempts = [attempt for attempt in test.attempts if attempt.seed == test.attempts[0].seed]
    right = {attempt.hashes.get("outputs") for attempt in attempts if attempt.kind in GREEN} - {None, ""}
    red = [a for a in attempts if a.kind not in GREEN and a.hashes.get("outputs") not in right]
    return Rate(len(red), len(attempts))


test_lines.__test__ = False  # type: ignore[attr-defined]


def _engine(test: TestRecord) -> str | None:
    return next((attempt.engine for attempt in test.attempts if attempt.engine is not None), None)


def _reruns(config: pytest.Config) -> Iterable[str]:
    settings = config.stash[SETTINGS]
    spent = config.stash[WORKSPACE].budget(settings).spent()
    if spent.failures:
        yield (
            f"reruns: {spent.runs} attempts for {spent.failures} failures took {spent.seconds:.1f} s "
            f"of {settings.reruns_budget:g} s"
        )


def _lost(finished: Finished) -> Iterable[str]:
    if finished.lost:
        yield f"{len(finished.lost)} selected tests were never run:"
        yield from (f"    {nodeid}" for nodeid in finished.lost[:_SHOWN_LOST])
