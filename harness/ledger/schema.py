"""Tables of the ledger, and the steps from every older version to this one.

The tables of `metadata` are what this code reads and writes; `MIGRATIONS` are frozen statements that lead
there. A new version appends a step and never edits one that was released.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    inspect,
    text,
)

metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

# One row a distinct environment; its names and values are rows of their own.
environments = Table("environments", metadata, Column("id", String, primary_key=True))
environment_values = Table(
    "environment_values",
    metadata,
    Column("environment", String, ForeignKey("environments.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)
sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("started", Double, nullable=False),  # [s] since the epoch
    Column("seconds", Double, nullable=False),
    Column("argv", JSON, nullable=False),
    Column("engine", String, nullable=False),
    Column("revision", String),
    Column("merge_base", String),
    Column("branch", String),
    Column("host", String, nullable=False),
    Column("environment", String, ForeignKey("environments.id"), nullable=False),
    Column("exit_status", Integer, nullable=False),
    Column("partial", Boolean, nullable=False),
    Column("infrastructure", Boolean, nullable=False),  # the guard keeps it out of the history
    Column("purpose", String, nullable=False),  # since version 2: suite, flakes or until-fail
    Index("sessions_started", "started"),
    Index("sessions_revision", "revision"),
)
tests = Table(
    "tests",
    metadata,
    Column("session", String, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("nodeid", String, primary_key=True),
    Column("target", String),
    Column("result", String, nullable=False),
    Column("signature", String, nullable=False),  # of its first red attempt, else of the message
    Column("verdict", String),
    Column("verdict_reason", String),
    Column("evidence", JSON, nullable=False),
    Column("history", String),
    Column("history_reason", String),
    Column("started", Double, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("worker", String, nullable=False),
    Column("message", String, nullable=False),
    Column("repro", String),
    Index("tests_nodeid", "nodeid", "started"),
    Index("tests_signature", "signature"),
)
attempts = Table(
    "attempts",
    metadata,
    Column("session", String, primary_key=True),
    Column("nodeid", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("rung", String, nullable=False),
    Column("phase", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("summary", String, nullable=False),
    Column("hint", String, nullable=False),
    Column("signature", String, nullable=False),
    Column("engine", String),
    Column("engine_name", String),
    Column("engine_version", String),
    Column("engine_sha256", String),
    Column("directory", String),
    Column("seed", BigInteger),
    Column("same_bytes", String),  # hash over inputs, program, ELF and engine; NULL if one is unknown
    Column("hashes", JSON, nullable=False),
    Column("durations", JSON, nullable=False),
    Column("margin", Double),
    Column("comparisons", JSON, nullable=False),
    Column("environment", String, ForeignKey("environments.id"), nullable=False),
    Column("load", Double),  # of the host, 1 minute
    Column("outputs", String),  # since version 2: hash over all outputs; NULL if it wrote none
    ForeignKeyConstraint(["session", "nodeid"], ["tests.session", "tests.nodeid"], ondelete="CASCADE"),
)

_VERSION_1 = """
CREATE TABLE environments (id VARCHAR PRIMARY KEY);
CREATE TABLE environment_values (
  environment VARCHAR NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
  name VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY (environment, name));
CREATE TABLE sessions (
  id VARCHAR PRIMARY KEY, started DOUBLE PRECISION NOT NULL, seconds DOUBLE PRECISION NOT NULL,
  argv JSON NOT NULL, engine VARCHAR NOT NULL, revision VARCHAR, merge_base VARCHAR, branch VARCHAR,
  host VARCHAR NOT NULL, environment VARCHAR NOT NULL REFERENCES environments (id),
  exit_status INTEGER NOT NULL, partial BOOLEAN NOT NULL, infrastructure BOOLEAN NOT NULL);
CREATE INDEX sessions_started ON sessions (started);
CREATE TABLE tests (
  session VARCHAR NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, nodeid VARCHAR NOT NULL,
  target VARCHAR, result VARCHAR NOT NULL, signature VARCHAR NOT NULL, verdict VARCHAR,
  verdict_reason VARCHAR, evidence JSON NOT NULL, history VARCHAR, history_reason VARCHAR,
  started DOUBLE PRECISION NOT NULL, seconds DOUBLE PRECISION NOT NULL, worker VARCHAR NOT NULL,
  message VARCHAR NOT NULL, repro VARCHAR, PRIMARY KEY (session, nodeid));
CREATE INDEX tests_nodeid ON tests (nodeid, started);
CREATE TABLE attempts (
  session VARCHAR NOT NULL, nodeid VARCHAR NOT NULL, number INTEGER NOT NULL, rung VARCHAR NOT NULL,
  phase VARCHAR NOT NULL, kind VARCHAR NOT NULL, summary VARCHAR NOT NULL, hint VARCHAR NOT NULL,
  signature VARCHAR NOT NULL, engine VARCHAR, engine_name VARCHAR, engine_version VARCHAR,
  engine_sha256 VARCHAR, directory VARCHAR, seed BIGINT, same_bytes VARCHAR, hashes JSON NOT NULL,
  durations JSON NOT NULL, margin DOUBLE PRECISION, comparisons JSON NOT NULL,
  environment VARCHAR NOT NULL REFERENCES environments (id), load DOUBLE PRECISION,
  PRIMARY KEY (session, nodeid, number),
  FOREIGN KEY (session, nodeid) REFERENCES tests (session, nodeid) ON DELETE CASCADE)
"""
_VERSION_2 = """
ALTER TABLE sessions ADD COLUMN purpose VARCHAR NOT NULL DEFAULT 'suite';
ALTER TABLE attempts ADD COLUMN outputs VARCHAR;
CREATE INDEX sessions_revision ON sessions (revision);
CREATE INDEX tests_signature ON tests (signature)
"""
# Statements of each step; step i leads from version i to version i + 1.
MIGRATIONS: tuple[Sequence[str], ...] = tuple(step.split(";") for step in (_VERSION_1, _VERSION_2))
VERSION = len(MIGRATIONS)


def stored_version(connection: Connection) -> int:
    """Version of the tables that are there; 0 for an empty database."""
    if not inspect(connection).has_table("schema_version"):
        return 0
    return int(connection.execute(text("SELECT max(version) FROM schema_version")).scalar_one() or 0)


def migrate(connection: Connection, version: int = VERSION) -> None:
    """Take the steps that lead to `version`; the caller holds a lock and commits."""
    found = stored_version(connection)
    if found == 0:
        connection.execute(text("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"))
    for step in range(found, version):
        for statement in MIGRATIONS[step]:
            connection.execute(text(statement))
        connection.execute(
            text("INSERT INTO schema_version (version) VALUES (:version)"), {"version": step + 1}
        )
