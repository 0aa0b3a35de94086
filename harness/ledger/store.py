"""The ledger: every attempt of every session, written once, read as histories."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Engine, Subquery, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from harness.ledger import rows
from harness.ledger.database import connect, parse_url, reading, shown, writing
from harness.ledger.entries import Entry, PastAttempt
from harness.ledger.schema import attempts, environment_values, environments, sessions, tests
from harness.records import SessionRecord, TestRecord

# Tests a transaction: what a writer that is killed may lose, and what another one waits for.
BATCH = 100
# Runs of each test that a history reaches back.
DEPTH = 400
# Number of parameters that every database takes in one statement.
_CHUNK = 500
# Results of other tests that a failure is compared with.
_ALIKE = 2000
# Columns that a history is read from; the rest is for people and reports.
_TEST = ("session", "nodeid", "started", "result", "verdict", "signature", "history")
_SESSION = ("branch", "revision", "purpose", "environment")
_ATTEMPT = (
    *("session", "nodeid", "number"),
    *("rung", "phase", "kind", "signature", "engine", "seed", "same_bytes", "outputs", "margin"),
    "environment",
)


@dataclass(frozen=True)
class Added:
    """What was new to the ledger."""

    tests: int
    attempts: int


class Ledger:
    """One database. Several processes may write at the same time; storing a session again adds nothing."""

    def __init__(self, url: str) -> None:
        """Open, and create or migrate the tables.

        Raises:
            LedgerError: the database cannot be used; says why.
        """
        self._engine: Engine = connect(parse_url(url))
        self._insert: Any = sqlite.insert if self._engine.dialect.name == "sqlite" else postgresql.insert

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return shown(self._engine.url)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def add(self, session: SessionRecord, purpose: str = "suite", batch: int = BATCH) -> Added:
        """Store a session; tests of it that are there already stay as they are.

        Each batch is one transaction: after a kill, adding the session again completes it.

        Args:
            session: with all its tests, or with those that have ended so far.
            purpose: "suite"; "flakes" for runs whose number was fixed before; "until-fail" for runs that
                ended with the first failure, which no rate may count.
            batch: tests a transaction.

        Raises:
            LedgerError: what was not stored is not there; what was committed is.
        """
        new_tests = new_attempts = 0
        with writing(self._engine) as connection:
            self._add_session(connection, session, purpose)
        for start in range(0, len(session.tests), batch):
            with writing(self._engine) as connection:
                new = self._add_tests(connection, session, session.tests[start : start + batch])
            new_tests += len(new)
            new_attempts += sum(len(test.attempts) for test in new)
        return Added(new_tests, new_attempts)

    def history(
        self,
        nodeids: Iterable[str] | None = None,
        *,
        exclude: str | None = None,
        since: float = 0.0,
        depth: int = DEPTH,
    ) -> dict[str, tuple[Entry, ...]]:
        """What is known of tests, oldest first; sessions of a broken infrastructure are left out.

        Args:
            nodeids: of these tests; None for all.
            exclude: id of the session that asks.
            since: seconds since the epoch.
            depth: at most so many of the latest sessions a test.
        """
        found: dict[str, list[Entry]] = defaultdict(list)
        names = None if nodeids is None else sorted(set(nodeids))
        chunks: list[Sequence[str] | None] = [None]
        if names is not None:
            chunks = [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]
        with reading(self._engine) as connection:
            for chunk in chunks:
                wanted = _latest(chunk, exclude, since, depth)
                for entry in _entries(connection, wanted):
                    found[entry.nodeid].append(entry)
        return {name: tuple(entries) for name, entries in found.items()}

    def alike(self, signatures: Iterable[str], exclude: str | None = None) -> tuple[Entry, ...]:
        """Past results of any test with one of these signatures: the latest ones, oldest first."""
        wanted = (
            select(tests.c.session, tests.c.nodeid)
            .join(sessions, sessions.c.id == tests.c.session)
            .where(tests.c.signature.in_(sorted(set(signatures) - {""})[:_CHUNK]))
            .where(sessions.c.infrastructure.is_(False), sessions.c.id != (exclude or ""))
            .order_by(tests.c.started.desc())
            .limit(_ALIKE)
            .subquery()
        )
        with reading(self._engine) as connection:
            return tuple(_entries(connection, wanted))

    def once_red(self, since: float) -> tuple[str, ...]:
        """Node ids of tests that were red at least once since then, sorted."""
        query = select(tests.c.nodeid).where(tests.c.signature != "", tests.c.started >= since).distinct()
        with reading(self._engine) as connection:
            return tuple(sorted(connection.execute(query).scalars()))

    def names(self, part: str = "") -> tuple[str, ...]:
        """Node ids that contain `part`, sorted."""
        query = select(tests.c.nodeid).where(tests.c.nodeid.contains(part, autoescape=True)).distinct()
        with reading(self._engine) as connection:
            return tuple(sorted(connection.execute(query).scalars()))

    def prune(self, days: float, now: float | None = None) -> int:
        """Delete sessions older than `days`, and environments that nothing names any more.

        Returns:
            the number of sessions.
        """
        before = (time.time() if now is None else now) - days * 86400
        with writing(self._engine) as connection:
            old = connection.execute(delete(sessions).where(sessions.c.started < before)).rowcount
            if old:
                used = select(sessions.c.environment).union(select(attempts.c.environment))
                connection.execute(delete(environments).where(environments.c.id.not_in(used)))
        return int(old)

    def _add_session(self, connection: Connection, session: SessionRecord, purpose: str) -> None:
        row = rows.session_row(session, purpose)
        self._add_environments(connection, {row["environment"]: rows.stable(session.environment)})
        statement = self._insert(sessions).values(row)
        # A later writer of the same session knows how it ended.
        later = {name: row[name] for name in ("seconds", "exit_status", "partial", "infrastructure")}
        connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=later))

    def _add_tests(
        self, connection: Connection, session: SessionRecord, batch: Sequence[TestRecord]
    ) -> list[TestRecord]:
        known = set(
            connection.execute(
                select(tests.c.nodeid).where(
                    tests.c.session == session.id, tests.c.nodeid.in_([rows.clean(t.nodeid) for t in batch])
                )
            ).scalars()
        )
        new = list({test.nodeid: test for test in batch if rows.clean(test.nodeid) not in known}.values())
        made = [(test, attempt) for test in new for attempt in test.attempts]
        environment = [rows.attempt_environment(session, attempt) for _, attempt in made]
        self._add_environments(connection, {rows.environment_id(values): values for values in environment})
        self._insert_new(connection, tests, [rows.test_row(session, test) for test in new])
        self._insert_new(connection, attempts, [rows.attempt_row(session, *pair) for pair in made])
        return new

    def _add_environments(self, connection: Connection, named: dict[str, dict[str, str]]) -> None:
        ordered = sorted(named)  # one order for all writers: no deadlock
        self._insert_new(connection, environments, [{"id": name} for name in ordered])
        values = [
            {"environment": name, "name": key, "value": value}
            for name in ordered
            for key, value in sorted(named[name].items())
        ]
        self._insert_new(connection, environment_values, values)

    def _insert_new(self, connection: Connection, table: Table, new: list[rows.Row]) -> None:
        if new:
            connection.execute(self._insert(table).on_conflict_do_nothing(), new)


def _latest(nodeids: Sequence[str] | None, exclude: str | None, since: float, depth: int) -> Subquery:
    """Keys (session, nodeid) of the latest `depth` results of each test."""
    order = func.row_number().over(partition_by=tests.c.nodeid, order_by=tests.c.started.desc())
    query = (
        select(tests.c.session, tests.c.nodeid, order.label("age"))
        .join(sessions, sessions.c.id == tests.c.session)
        .where(sessions.c.infrastructure.is_(False), tests.c.result != "skipped")
        .where(tests.c.started >= since, sessions.c.id != (exclude or ""))
    )
    if nodeids is not None:
        query = query.where(tests.c.nodeid.in_(nodeids))
    ranked = query.subquery()
    return select(ranked.c.session, ranked.c.nodeid).where(ranked.c.age <= depth).subquery()


def _entries(connection: Connection, wanted: Subquery) -> list[Entry]:
    """Entries of the tests whose keys `wanted` holds, oldest first."""
    of_test = (tests.c.session == wanted.c.session) & (tests.c.nodeid == wanted.c.nodeid)
    of_attempt = (attempts.c.session == wanted.c.session) & (attempts.c.nodeid == wanted.c.nodeid)
    columns = [tests.c[name] for name in _TEST] + [sessions.c[name] for name in _SESSION]
    found = connection.execute(
        select(*columns)
        .select_from(tests)
        .join(wanted, of_test)
        .join(sessions, sessions.c.id == tests.c.session)
        .order_by(tests.c.started, tests.c.session)
    ).all()
    made = connection.execute(
        select(*[attempts.c[name] for name in _ATTEMPT])
        .select_from(attempts)
        .join(wanted, of_attempt)
        .order_by(attempts.c.session, attempts.c.number)
    ).all()
    environment = _environments(connection, {row.environment for row in (*found, *made)})
    by_test: dict[tuple[str, str], list[PastAttempt]] = defaultdict(list)
    for row in made:
        by_test[row.session, row.nodeid].append(_past_attempt(row, environment[row.environment]))
    return [_entry(row, tuple(by_test[row.session, row.nodeid]), environment) for row in found]


def _environments(connection: Connection, ids: set[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {name: {} for name in ids}
    ordered = sorted(ids)
    for start in range(0, len(ordered), _CHUNK):
        query = select(environment_values).where(
            environment_values.c.environment.in_(ordered[start : start + _CHUNK])
        )
        for row in connection.execute(query):
            found[row.environment][row.name] = row.value
    return found


def _past_attempt(row: Any, environment: dict[str, str]) -> PastAttempt:
    values = {name: getattr(row, name) for name in _ATTEMPT[3:-1]}
    return PastAttempt(environment=environment, **values)


def _entry(row: Any, made: tuple[PastAttempt, ...], environment: dict[str, dict[str, str]]) -> Entry:
    return Entry(
        session=row.session,
        nodeid=row.nodeid,
        started=row.started,
        branch=row.branch,
        revision=row.revision,
        purpose=row.purpose,
        result=row.result,
        verdict=row.verdict,
        signature=row.signature,
        label=row.history,
        environment=made[0].environment if made else environment[row.environment],
        attempts=made,
    )
