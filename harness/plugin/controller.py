"""The session as the reporting process sees it: records, reports, ledger, exit status."""

from __future__ import annotations

import platform
import sys
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from time import time
from typing import Any

import pytest

from harness.ledger import session as ledger
from harness.ledger.fingerprint import fingerprint
from harness.plugin import crashes
from harness.plugin.deadline import reached
from harness.plugin.exits import exit_status, is_red
from harness.plugin.gather import Open, merged, record_of, worker_of
from harness.plugin.options import SETTINGS
from harness.plugin.quarantine import expired_entries
from harness.plugin.revision import revision_of
from harness.plugin.workspace import MAIN, WORKSPACE
from harness.records import SessionRecord, TestRecord
from harness.report import session as report_session
from harness.report.history import FlakeRow
from harness.settings import DEFAULT_BASE, Settings, SettingsError

Key = tuple[str, str]
NAME = "corstone-controller"


@dataclass(frozen=True)
class Finished:
    """What the terminal summary tells.

    Attributes:
        session: with all its tests.
        asked: ids of tests that ask for a boot.
        lost: ids of tests that were selected and never run, though nothing asked for a stop.
        written: where ledger and reports are.
    """

    session: SessionRecord
    asked: frozenset[str]
    lost: tuple[str, ...]
    written: tuple[str, ...]


class Controller:
    """Plugin of the controller, or of the one process of a session without xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._settings: Settings = config.stash[SETTINGS]
        self._each = getattr(config.option, "dist", "no") == "each"
        self._open: dict[Key, Open] = {}
        self._tests: dict[Key, TestRecord] = {}
        self._asked: set[str] = set()
        self._collected: tuple[str, ...] = ()
        self._copies = 1
        self._collection_errors = 0
        self._failed_reports = 0
        self._reporter: report_session.Reporter | None = None
        self._unwritten: tuple[str, ...] = ()
        self._session = self._begin()
        self.finished: Finished | None = None

    def _begin(self) -> SessionRecord:
        checkout = self._settings.checkout or self._config.rootpath
        base = self._settings.base_revision
        try:
            revision = revision_of(checkout, base, asked=base != DEFAULT_BASE)
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error
        shard = self._settings.shard
        return SessionRecord(
            id=uuid.uuid4().hex,
            started=time(),
            seconds=0.0,
            argv=(sys.argv[0].rpartition("/")[2], *self._config.invocation_params.args),
            engine=self._settings.engine,
            commit=revision.commit,
            merge_base=revision.merge_base,
            branch=revision.branch,
            host=platform.node(),
            environment=fingerprint(checkout),
            exit_status=0,
            partial=True,
            tests=(),
            shard=f"{shard[0]}/{shard[1]}" if shard else None,
        )

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin the journal; in xdist's controller there are no items, the workers bring theirs.

        A shard without a test has a journal too: else it would be missing when all are merged.
        """
        if session.items or self._settings.shard is not None:
            self._start([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Begin the journal with the first worker's collection."""
        self._copies = int(node.workerinput["workercount"]) if self._each else 1
        self._start(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be collected keeps the session red."""
        self._collection_errors += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the report of one phase; the teardown's closes the test."""
        worker = worker_of(report)
        self._failed_reports += report.failed and not hasattr(report, "wasxfail")
        key = (report.nodeid, worker if self._each else "")
        entry = self._open.setdefault(key, Open(worker))
        entry.reports.append(report)
        entry.worker = worker
        payload = merged([report])
        if payload is not None and payload.boots:
            self._asked.add(self._name(key))
        if report.when == "teardown" and not entry.crashed:
            self._close(key, record_of(self._name(key), worker, entry.reports))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Rerun what a dead worker left, ask the ledger, write reports, set the exit status."""
        self._open_running()
        for key, entry in sorted(self._open.items()):
            self._close(key, self._incomplete(key[0], entry))
        status, lost = int(session.exitstatus), self._lost()
        record = self._classified(self._complete(status, bool(lost)))
        flaky_fails = self._settings.flaky == "fail"
        if session.shouldstop or session.shouldfail:
            # A stop that was asked for; but where no test is red, those that were not run are not green.
            lost = () if any(is_red(test, flaky_fails) for test in record.tests) else lost
        # Of other plugins, e.g. a coverage that is too low.
        other = session.testsfailed - self._failed_reports - self._collection_errors
        unknown = self._collection_errors + len(lost) + len(expired_entries(self._config)) + max(0, other)
        asked = frozenset(self._asked)
        status = exit_status(status, record.tests, asked, flaky_fails, unknown)
        session.exitstatus = status
        record = replace(record, exit_status=status)
        written = [ledger.store(record, self._settings), *self._unwritten]
        if self._reporter is not None:
            flakes = [FlakeRow(**asdict(row)) for row in ledger.flake_table(record, self._settings)]
            written += self._reporter.finish(record, flakes)
        self.finished = Finished(record, asked, lost, tuple(written))
        self._recount(record)

    def _start(self, ids: Sequence[str]) -> None:
        if self._reporter is None:
            self._collected = tuple(ids)
            try:
                self._reporter = report_session.start(self._settings, self._session, ids)
            except OSError as error:  # of the user's cache, which nobody has asked for
                self._unwritten = (f"no journal: {error}; choose another place with --report-dir or --cache",)

    def _close(self, key: Key, test: TestRecord) -> None:
        self._open.pop(key, None)
        self._tests[key] = test
        if self._reporter is not None:
            self._reporter.add(test)

    def _incomplete(self, nodeid: str, entry: Open) -> TestRecord:
        """The record of a test that did not reach its teardown."""
        test = record_of(self._name((nodeid, entry.worker)), entry.worker, entry.reports)
        if limit := reached(self._config):
            return crashes.cut_short(self._config, test, nodeid, limit)
        if not entry.crashed:
            return replace(test, result="error" if test.result == "passed" else test.result)
        return crashes.resolve(self._config, test, nodeid)

    def _open_running(self) -> None:
        """Without xdist, nothing has been reported of a test that the session limit interrupted."""
        last = self._config.stash[WORKSPACE].last(MAIN) if reached(self._config) else None
        if last is not None and (last.nodeid, "") not in self._tests:
            self._open.setdefault((last.nodeid, ""), Open(MAIN))

    def _name(self, key: Key) -> str:
        """The id of a test's record: with `--dist each` every worker has a test of its own."""
        return f"{key[0]}@{key[1]}" if self._each else key[0]

    def _lost(self) -> tuple[str, ...]:
        """Ids of tests that were selected and have no record."""
        ran = Counter(nodeid for nodeid, _ in self._tests)
        return tuple(nodeid for nodeid in self._collected if ran[nodeid] < self._copies)

    def _recount(self, record: SessionRecord) -> None:
        """Move the reports of tests that a rerun or the ledger has judged to their final category."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        results = {key[0]: test.result for key, test in zip(self._tests, record.tests, strict=True)}
        if terminal is None:
            return
        for before in ("crashed", "failed", "error", "flaky"):
            for report in list(terminal.stats.get(before, ())):
                after = results.get(getattr(report, "nodeid", ""), before)
                if after in ("flaky", "quarantined") and after != before:
                    terminal.stats[before].remove(report)
                    terminal.stats.setdefault(after, []).append(report)

    def _complete(self, status: int, partial: bool) -> SessionRecord:
        return replace(
            self._session,
            seconds=round(time() - self._session.started, 3),
            exit_status=status,
            partial=partial,
            tests=tuple(self._tests.values()),
        )

    def _classified(self, record: SessionRecord) -> SessionRecord:
        histories: Mapping[str, Any] = ledger.classify(record, self._settings)
        tests = []
        for test in record.tests:
            history = histories.get(test.nodeid)
            if history is not None:
                quarantined = history.kind == "QUARANTINED"
                test = replace(test, history=history, result="quarantined" if quarantined else test.result)
            tests.append(test)
        return replace(record, tests=tuple(tests))


def controller_of(config: pytest.Config) -> Controller | None:
    """The session's controller; None in a worker, and where tests are only collected."""
    found = config.pluginmanager.get_plugin(NAME)
    return found if isinstance(found, Controller) else None
