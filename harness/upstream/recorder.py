"""Pytest plugin inside upstream's test process: counts boots, and writes down what became of each test.

Loaded by `run_suite` with `-p`; upstream's files stay untouched. The environment variable
CORSTONE_UPSTREAM_RECORDS names the file of JSON lines, one `Record` a test, written as the test ends;
CORSTONE_UPSTREAM_SLICE=K/N runs every N-th of the selected tests, from the K-th on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

RECORDS = "CORSTONE_UPSTREAM_RECORDS"
SLICE = "CORSTONE_UPSTREAM_SLICE"


@dataclass(frozen=True)
class Record:
    """One upstream test.

    Attributes:
        id: file, function and parameters, as pytest prints them.
        result: passed, failed, xfailed, xpassed or skipped; "error" for a file that cannot be collected, and
            "not run" for a test that was selected and left nothing.
        boots: runs that the simulator finished for it.
        seconds: duration of its set-up, call and teardown.
        reason: of a skip or xfail, or the last line of a failure.
    """

    id: str
    result: str
    boots: int
    seconds: float
    reason: str = ""


def read_records(path: Path) -> list[Record]:
    """The records of a session, one a test id, in order of their ids."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = {record.id: record for record in (Record(**json.loads(line)) for line in lines)}
    return [found[name] for name in sorted(found)]


class Recorder:
    """Boots are counted where the test runs; the records are written by the process that reports."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._reports: dict[str, list[pytest.TestReport]] = {}
        self._selected: dict[str, None] = {}
        self._boots = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the slice, after pytest's own selection."""
        first, _, count = os.environ.get(SLICE, "").partition("/")
        if count:
            chosen = slice(int(first), None, int(count))
            kept = items[chosen]
            del items[chosen]
            config.hook.pytest_deselected(items=items[:])
            items[:] = kept

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Prepare torch, which upstream's conftest has imported by now."""
        from harness.aot.tuning import tune_export

        tune_export()
        self._select(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The selection of a worker; xdist's controller collects nothing itself."""
        self._select(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected has tests that nobody misses: it is a record of its own."""
        if report.failed and self._path is not None:
            text = str(report.longrepr).strip().splitlines()
            self._put(Record(_short(report.nodeid), "error", 0, 0.0, text[-1][:300] if text else ""))

    def pytest_sessionstart(self) -> None:
        """Count upstream's own runs of the simulator."""
        from executorch.backends.arm.test.tester import serialize

        run_target = serialize.run_target

        def counted(*arguments: Any, **named: Any) -> Any:
            outputs = run_target(*arguments, **named)
            self._boots += 1
            return outputs

        serialize.run_target = counted

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Attach the boots of one test to its report."""
        self._boots = 0
        try:
            return (yield)
        finally:
            item.user_properties.append(("boots", self._boots))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather the reports of a test; in xdist's controller those of all workers arrive here."""
        if self._path is None:
            return
        self._reports.setdefault(report.nodeid, []).append(report)
        if report.when == "teardown":
            self._write(self._reports.pop(report.nodeid))

    def pytest_sessionfinish(self) -> None:
        """Write tests whose worker died before their teardown."""
        for reports in self._reports.values():
            self._write(reports)
        self._reports.clear()
        for nodeid in self._selected:
            self._put(Record(_short(nodeid), "not run", 0, 0.0, "selected, and left no result"))

    def _select(self, ids: Iterable[str]) -> None:
        if self._path is not None:
            self._selected |= dict.fromkeys(ids)

    def _write(self, reports: list[pytest.TestReport]) -> None:
        self._selected.pop(reports[0].nodeid, None)
        self._put(summarise(reports))

    def _put(self, record: Record) -> None:
        assert self._path is not None
        # One line a write: a killed session leaves whole records.
        with self._path.open("a") as stream:
            stream.write(json.dumps(asdict(record)) + "\n")


def summarise(reports: list[pytest.TestReport]) -> Record:
    """The record of one test from the reports of its phases."""
    worst = next((report for report in reports if report.outcome == "failed"), None)
    worst = worst or next((report for report in reports if report.outcome == "skipped"), None)
    decisive = worst or next((report for report in reports if report.when == "call"), reports[0])
    properties = {name: value for report in reports for name, value in report.user_properties}
    return Record(
        id=_short(decisive.nodeid),
        result=_result(decisive),
        boots=int(str(properties.get("boots", 0))),
        seconds=round(sum(report.duration for report in reports), 3),
        reason=_reason(decisive),
    )


def _short(nodeid: str) -> str:
    """File, function and parameters."""
    path, separator, rest = nodeid.partition("::")
    return path.rpartition("/")[2] + separator + rest


def _result(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    # A strict xfail that passes has no `wasxfail`.
    if report.failed and str(report.longrepr).startswith("[XPASS(strict)]"):
        return "xpassed"
    return str(report.outcome)


def _reason(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail)
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash else report.longrepr).strip()
    return text.splitlines()[0][:300] if text else ""


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder; only the controller of an xdist session has the file."""
    worker = hasattr(config, "workerinput")
    path = os.environ.get(RECORDS)
    config.pluginmanager.register(Recorder(Path(path) if path and not worker else None), "corstone-recorder")
