"""In the process that reports: one TestRecord a test, from the reports of its phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from _pytest.reports import pytest_report_from_serializable

from harness.plugin.payload import Payload, payload_of
from harness.plugin.workspace import MAIN
from harness.records import TestRecord

# Longest message of a record, in characters.
LONGEST_MESSAGE = 4000
CRASH = "???"  # xdist's name of the phase in which a worker died
STRICT = "[XPASS(strict)]"
FLAKY = "FLAKY: "  # begins the message of a test that passed only when repeated


@dataclass
class Open:
    """The reports of a test that has not ended."""

    worker: str
    reports: list[pytest.TestReport] = field(default_factory=list)

    @property
    def crashed(self) -> bool:
        """True if the worker died in it."""
        return any(report.when == CRASH for report in self.reports)


def worker_of(report: pytest.TestReport) -> str:
    """Name of the xdist worker that a report comes from."""
    node = getattr(report, "node", None)
    return str(node.gateway.id) if node is not None else MAIN


def record_of(nodeid: str, worker: str, reports: Iterable[pytest.TestReport]) -> TestRecord:
    """The record of one test from the reports of its phases, without what a crash or the ledger adds."""
    phases = list(reports)
    payload = merged(phases)
    started = min((report.start for report in phases if report.start), default=0.0)
    failed = next((report for report in phases if report.failed), None)
    shown = failed or next((report for report in phases if report.longrepr), None)
    return TestRecord(
        nodeid=nodeid,
        target=payload.target if payload else None,
        result=result_of(phases),
        attempts=payload.attempts if payload else (),
        verdict=payload.verdict if payload else None,
        history=None,
        started=started,
        seconds=round(sum(report.duration for report in phases), 4),
        worker=worker,
        message=bounded(_text(shown)) if shown is not None else "",
        repro=payload.repro if payload else None,
    )


def reports_of(lines: Iterable[Mapping[str, Any]]) -> list[pytest.TestReport]:
    """Reports of tests that another process has written down."""
    found = (pytest_report_from_serializable(dict(line)) for line in lines)
    return [report for report in found if isinstance(report, pytest.TestReport)]


def merged(reports: Iterable[pytest.TestReport]) -> Payload | None:
    """The last payload of a test: each phase carries what is known by then."""
    found = [payload for report in reports if (payload := payload_of(report)) is not None]
    return found[-1] if found else None


def result_of(reports: list[pytest.TestReport]) -> str:
    """Value of `TestRecord.result`."""
    payload = merged(reports)
    if any(report.when == CRASH for report in reports):
        return "crashed"
    if any(report.failed and report.when != "call" for report in reports):
        return "error"
    for report in reports:
        if hasattr(report, "wasxfail"):
            return "xfailed" if report.skipped else "xpassed"
        if report.failed and str(report.longrepr).startswith(STRICT):
            return "xpassed"  # a strict xfail that passes has no `wasxfail`
    if payload is not None and payload.flaky and all(map(says_flaky, reports)):
        return "flaky"
    if any(report.failed for report in reports):
        return "failed"
    return "skipped" if any(report.skipped for report in reports) else "passed"


def says_flaky(report: pytest.TestReport) -> bool:
    """False for a test that fails for a reason of its own behind a flaky attempt."""
    return not report.failed or str(report.longrepr).startswith(FLAKY)


def bounded(text: str) -> str:
    """At most LONGEST_MESSAGE characters: beginning and end of a longer text."""
    if len(text) <= LONGEST_MESSAGE:
        return text
    half = LONGEST_MESSAGE // 2 - 20
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"


def _text(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail)
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr or "")
