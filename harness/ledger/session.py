"""The ledger's face for the plugin: classify a session's failures, store the session.

A ledger that cannot be reached is no reason to fail a session: both say so in one line.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from harness.ledger.clusters import cluster
from harness.ledger.entries import Entry, needs_history, test_signature
from harness.ledger.fingerprint import CHECKOUT, MODIFIED
from harness.ledger.groups import unite
from harness.ledger.history import classify_test, infrastructure_of, version_step
from harness.ledger.overview import FlakeSummary, flake_summaries
from harness.ledger.quarantine import DEFAULT_FILE, Quarantine, QuarantineError, load
from harness.ledger.question import Situation, ask
from harness.ledger.rows import attempt_environment, broken_infrastructure, stable
from harness.records import HistoryRecord, SessionRecord, TestRecord
from harness.settings import Settings

if TYPE_CHECKING:
    from harness.ledger.store import Ledger

OFF = "off"
# [days] What a local ledger keeps; a shared database is pruned by `harness ledger prune` only.
KEPT_DAYS = 400.0
# [days] and runs a test of the table of flaky tests.
TABLE_DAYS, TABLE_DEPTH = 180.0, 100


def ledger_url(settings: Settings) -> str | None:
    """URL or path of the ledger; None if it is off."""
    if settings.ledger == OFF:
        return None
    return settings.ledger or str(settings.cache / "ledger.sqlite")


def quarantine_of(settings: Settings) -> Quarantine:
    """The quarantine: of `--quarantine`, else of quarantine.yaml in the working directory, if there is one.

    Raises:
        QuarantineError: the file cannot be used.
    """
    default = Path(DEFAULT_FILE)
    return load(settings.quarantine or (default.absolute() if default.is_file() else None))


def classify(
    session: SessionRecord, settings: Settings, today: date | None = None
) -> dict[str, HistoryRecord]:
    """What the history says of each test of a session that is not green as expected.

    Without a ledger only what needs none is said: quarantine and infrastructure.
    """
    asked = [test for test in session.tests if needs_history(test)]
    if not asked:
        return {}
    try:
        quarantine = quarantine_of(settings)
    except QuarantineError as error:
        _warn(f"quarantine: {error}")
        quarantine = Quarantine()
    found = _quarantined(asked, quarantine, session, today or date.today())
    rest = [test for test in asked if test.nodeid not in found]
    situation = _situation(session, settings)
    url = ledger_url(settings)
    histories: Mapping[str, tuple[Entry, ...]] | None = None
    relatives: tuple[Entry, ...] = ()
    if url is not None and rest:
        from harness.ledger.database import LedgerError

        try:
            with _open(url) as ledger:
                histories = ledger.history([test.nodeid for test in rest], exclude=session.id)
                signatures = {test_signature(test) for test in rest}
                relatives = ledger.alike(signatures, exclude=session.id)
        except LedgerError as error:
            _warn(f"ledger: no history, {error}")
    if histories is None:
        return found | _without_history(rest, situation)
    return found | classify_all(session, rest, situation, histories, relatives)


def store(session: SessionRecord, settings: Settings, purpose: str = "suite") -> str:
    """Store a session; returns one line for people: how much, where, or why not."""
    url = ledger_url(settings)
    if url is None:
        return "ledger: off"
    from harness.ledger.database import LedgerError

    try:
        with _open(url) as ledger:
            added = ledger.add(session, purpose)
            if not settings.ledger:
                ledger.prune(KEPT_DAYS)
            return f"ledger: {added.tests} tests, {added.attempts} attempts stored in {ledger}"
    except LedgerError as error:
        _warn(f"ledger: not stored, {error}")
        return f"ledger: not stored, {error}"


def flake_table(session: SessionRecord, settings: Settings) -> tuple[FlakeSummary, ...]:
    """The session's tests that fail now and then, this session included if it is stored already."""
    url = ledger_url(settings)
    if url is None:
        return ()
    from harness.ledger.database import LedgerError

    targets = {test.nodeid: test.target or "" for test in session.tests}
    since = session.started - TABLE_DAYS * 86400
    try:
        with _open(url) as ledger:
            names = [name for name in ledger.once_red(since) if name in targets]
            histories = ledger.history(names, since=since, depth=TABLE_DEPTH) if names else {}
    except LedgerError:
        return ()  # `store` has said it
    return flake_summaries(histories, targets, session.started + session.seconds)


def classify_all(
    session: SessionRecord,
    tests: Iterable[TestRecord],
    situation: Situation,
    histories: Mapping[str, tuple[Entry, ...]],
    relatives: Iterable[Entry] = (),
) -> dict[str, HistoryRecord]:
    """Classify tests one by one, then in groups of equal failures. Pure.

    Args:
        session: for its fingerprint.
        tests: the failing ones.
        situation: where the session stands.
        histories: past results by node id, oldest first.
        relatives: past results of any test with the signature of one of `tests`.
    """
    questions = [
        ask(test, environment_of(session, test), situation, histories.get(test.nodeid, ())) for test in tests
    ]
    skewed = Counter(step for question in questions if (step := version_step(question)))
    labels = {q.test.nodeid: classify_test(q, skewed) for q in questions}
    by_name = {q.test.nodeid: q for q in questions}
    others = list(relatives)
    for group in cluster((q.test.nodeid, q.signature) for q in questions):
        if not group.scope:
            labels |= unite([by_name[nodeid] for nodeid in group.nodeids], labels, others)
    return labels


def environment_of(session: SessionRecord, test: TestRecord) -> dict[str, str]:
    """Environment of a test: of its first attempt, or of the session."""
    if test.attempts:
        return attempt_environment(session, test.attempts[0])
    return stable(session.environment)


def _quarantined(
    tests: Iterable[TestRecord], quarantine: Quarantine, session: SessionRecord, today: date
) -> dict[str, HistoryRecord]:
    found = {}
    for test in tests:
        if test.result == "xpassed":
            continue
        versions = environment_of(session, test)
        entry = quarantine.holding(test.nodeid, test.target, test_signature(test), today, versions)
        if entry is not None:
            found[test.nodeid] = HistoryRecord("QUARANTINED", str(entry), None, None)
    return found


def _without_history(tests: Iterable[TestRecord], situation: Situation) -> dict[str, HistoryRecord]:
    found = {test.nodeid: infrastructure_of(test, situation) for test in tests}
    return {nodeid: record for nodeid, record in found.items() if record is not None}


def _situation(session: SessionRecord, settings: Settings) -> Situation:
    base = session.merge_base if session.merge_base != session.commit else None
    return Situation(
        revision=session.commit,
        base=base,
        branch=session.branch,
        clean=session.environment.get(CHECKOUT) != MODIFIED,
        base_branches=_branches(settings.base_revision),
        infrastructure=broken_infrastructure(session),
    )


def _branches(base_revision: str) -> tuple[str, ...]:
    """Branch names that `origin/main` may have in records."""
    from harness.ledger.question import BASE_BRANCHES

    name = base_revision.rpartition("/")[2]
    return tuple(dict.fromkeys((name, *BASE_BRANCHES))) if name else BASE_BRANCHES


def _open(url: str) -> Ledger:
    from harness.ledger.store import Ledger

    return Ledger(url)


def _warn(line: str) -> None:
    print(line, file=sys.stderr)
