"""Connections to the ledger's database: SQLite by default, PostgreSQL by URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from harness.ledger.schema import VERSION, migrate, stored_version

# [s] How long a writer waits for another one.
BUSY_LIMIT = 60.0
# Any number will do, so long as only this program uses it for its migrations.
_MIGRATION_LOCK = 0x636F7273
_WRITES = "corstone_writes"


class LedgerError(ValueError):
    """The ledger cannot be read or written; the message says which and why, without a password."""


def parse_url(text_: str) -> URL:
    """The database behind a URL, or behind the path of an SQLite file.

    Raises:
        LedgerError: neither of them, or a kind of database that is not supported.
    """
    if "://" not in text_:
        return URL.create("sqlite", database=str(Path(text_).expanduser().absolute()))
    try:
        url = make_url(text_)
    except ArgumentError as error:
        raise LedgerError(
            "the ledger's URL cannot be read; sqlite:///FILE or postgresql://HOST/NAME"
        ) from error
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind == "sqlite" and url.database:
        return url.set(drivername="sqlite")
    raise LedgerError(f"{shown(url)}: the ledger is an SQLite file or a PostgreSQL database")


def shown(url: URL) -> str:
    """The URL for people: no password."""
    return url.render_as_string(hide_password=True)


def connect(url: URL) -> Engine:
    """An engine whose tables have this version; older ones are migrated, under a lock.

    Raises:
        LedgerError: no database there, not ours, or of a newer version.
    """
    with explained(url):
        if url.get_backend_name() == "sqlite":
            return _connect_sqlite(url)
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
            _bring_up_to_date(connection, url)
        return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; committed at the end, rolled back by an exception."""
    writer = engine.execution_options(**{_WRITES: True})
    with explained(engine.url), writer.begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the database."""
    with explained(engine.url), engine.connect() as connection:
        yield connection


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Errors of the database as one line for people.

    Raises:
        LedgerError: instead of SQLAlchemy's errors.
    """
    try:
        yield
    except NoSuchModuleError as error:
        raise LedgerError(f"{shown(url)}: {error}") from error
    except (SQLAlchemyError, OSError) as error:
        cause = getattr(error, "orig", None) or error
        first = next((line for line in str(cause).splitlines() if line.strip()), type(cause).__name__)
        raise LedgerError(f"{shown(url)}: {first.strip()}") from error


def _connect_sqlite(url: URL) -> Engine:
    path = Path(str(url.database))
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": BUSY_LIMIT})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    # Turning WAL on and creating the tables does not wait for other writers by itself.
    with FileLock(f"{path}.lock"):
        with engine.connect() as probe:
            found = stored_version(probe)
        if found != VERSION:
            with engine.execution_options(**{_WRITES: True}).begin() as connection:
                _bring_up_to_date(connection, url)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transactions begin too late: reads before the first write would not belong to them.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")
    # With WAL, NORMAL loses nothing committed when a process dies; a power cut may cost the last commits.
    connection.execute("PRAGMA synchronous=NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock at once: turning a read into a write fails when another one came between.
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _bring_up_to_date(connection: Connection, url: URL) -> None:
    found = stored_version(connection)
    if found > VERSION:
        raise LedgerError(
            f"{shown(url)} has tables of version {found}, this harness knows {VERSION}: update the harness"
        )
    migrate(connection)
