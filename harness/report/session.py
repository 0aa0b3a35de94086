"""The reports of one pytest session, as the plugin drives them: start, add, finish.

reporter = start(settings, session, collected)     # controller only
reporter.add(test)                                 # as each test ends
written = reporter.finish(session, flakes)         # lines for the terminal
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.records import SessionRecord, TestRecord
from harness.report.github import write_step_summary
from harness.report.history import FlakeRow
from harness.report.html import html_report
from harness.report.jsonl import PREFIX, SUFFIX, JournalWriter
from harness.report.junit import junit_report
from harness.report.testplan import plan_block
from harness.settings import Settings

# Journals that stay below the cache, for `harness report` without a file.
_KEPT = 50


class Reporter:
    """Writes one session's journal as it runs, and all other reports at its end."""

    def __init__(self, settings: Settings, session: SessionRecord, collected: Sequence[str] = ()) -> None:
        self._settings = settings
        directory = settings.report_dir or journals(settings)
        self._writer = JournalWriter(_new(directory, session.id), session, collected)
        if settings.report_dir is None:
            _forget_old(directory)

    @property
    def journal(self) -> Path:
        """The append-only file; valid at any moment."""
        return self._writer.path

    def add(self, test: TestRecord) -> None:
        """Take one test that ended."""
        self._writer.add(test)

    def finish(
        self,
        session: SessionRecord,
        flakes: Sequence[FlakeRow] = (),
        environment: Mapping[str, str] = os.environ,
    ) -> tuple[str, ...]:
        """Close the journal, write the reports.

        Args:
            session: with all its tests, histories included.
            flakes: from the ledger, for the HTML report.
            environment: names the file of a GitHub job's summary, if this is one.

        Returns:
            Lines for the terminal: where each report is.
        """
        self._writer.finish(session)
        lines = []
        directory = self._settings.report_dir
        if directory is None:
            lines.append(f"journal: {self.journal}; `harness report html|junit|summary|testplan` reads it")
        else:
            write_reports(session, directory, flakes, plain=self._settings.junit_plain)
            lines.append(f"reports: {directory} (report.html, junit.xml, testplan.md, {self.journal.name})")
        summary = write_step_summary(session, environment)
        if summary is not None:
            lines.append(f"job summary: {summary}")
        return tuple(lines)


def start(settings: Settings, session: SessionRecord, collected: Sequence[str] = ()) -> Reporter:
    """Begin the journal of `session`; its directory is `--report-dir`, or below the cache.

    Raises:
        OSError: the directory cannot be written.
    """
    return Reporter(settings, session, collected)


def write_reports(
    session: SessionRecord,
    directory: Path,
    flakes: Sequence[FlakeRow] = (),
    plain: bool = False,
    notes: Sequence[str] = (),
) -> None:
    """Write report.html, junit.xml and testplan.md."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "junit.xml").write_text(junit_report(session, plain=plain), encoding="utf-8")
    (directory / "testplan.md").write_text(plan_block(session), encoding="utf-8")
    (directory / "report.html").write_text(html_report(session, flakes, notes), encoding="utf-8")


def journals(settings: Settings) -> Path:
    """Directory of the journals of sessions without `--report-dir`."""
    return settings.cache / "sessions"


def latest_journal(settings: Settings) -> Path | None:
    """The journal of the last session below the cache."""
    found = sorted(journals(settings).glob(f"*{SUFFIX}"), key=_age)
    return found[-1] if found else None


def _new(directory: Path, identity: str) -> Path:
    """A path that does not exist yet: a session id that occurs twice must not end the second session."""
    path, number = directory / f"{PREFIX}{identity}{SUFFIX}", 2
    while path.exists():
        path = directory / f"{PREFIX}{identity}-{number}{SUFFIX}"
        number += 1
    return path


def _forget_old(directory: Path) -> None:
    for path in sorted(directory.glob(f"*{SUFFIX}"), key=_age)[:-_KEPT]:
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
