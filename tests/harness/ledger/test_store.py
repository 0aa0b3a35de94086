"""The ledger's store, on SQLite and on PostgreSQL."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from harness.ledger.database import LedgerError, connect, parse_url
from harness.ledger.schema import VERSION, metadata, migrate
from harness.ledger.store import Added, Ledger
from harness.records import ComparisonRecord, SessionRecord
from tests.harness.ledger.records import (
    DAY,
    FAULT,
    NO_LICENCE,
    NODE,
    START,
    WRONG,
    attempt,
    case,
    session,
)


def test_a_session_is_stored_once(ledger: Ledger) -> None:
    attempts = attempt(program="p"), attempt(FAULT, 2, "same-bytes", program="p")
    record = session("a", case(*attempts), case(nodeid="t.py::plain"))
    assert ledger.add(record) == Added(2, 2)
    assert ledger.add(record) == Added(0, 0)
    (entry,) = ledger.history([NODE])[NODE]
    assert [(a.rung, a.kind, a.red) for a in entry.attempts] == [
        ("first", "PASS", False),
        ("same-bytes", "FAULT", True),
    ]
    assert entry.environment["ethos-u-vela"] == "5.0.0"
    assert entry.environment["engine_version"] == "stand-in 0.1"
    assert (entry.branch, entry.revision, entry.both) == ("main", "commit-a", True)


def test_a_partial_session_is_completed(ledger: Ledger) -> None:
    whole = session("a", *(case(attempt(), nodeid=f"t.py::t{i}") for i in range(5)))
    part = replace(whole, tests=whole.tests[:2], partial=True)
    assert ledger.add(part) == Added(2, 2)
    assert ledger.add(whole) == Added(3, 3)
    assert len(ledger.history()) == 5


def test_histories_are_ordered_and_bounded(ledger: Ledger) -> None:
    for day in (2, 0, 1, 3):
        ledger.add(session(f"s{day}", case(attempt()), day=day))
    assert [entry.session for entry in ledger.history([NODE])[NODE]] == ["s0", "s1", "s2", "s3"]
    assert [entry.session for entry in ledger.history([NODE], depth=2)[NODE]] == ["s2", "s3"]
    assert [e.session for e in ledger.history([NODE], exclude="s3", since=START + DAY)[NODE]] == ["s1", "s2"]
    assert ledger.history(["other"]) == {}


def test_many_tests_are_asked_for_at_once(ledger: Ledger) -> None:
    names = [f"tests/t.py::test[{i}]" for i in range(1200)]
    ledger.add(session("a", *(case(nodeid=name) for name in names)))
    assert set(ledger.history(names)) == set(names)
    ten = [f"tests/t.py::test[119{i}]" for i in range(10)]
    assert ledger.names("test[119") == (*ten, "tests/t.py::test[119]")


def test_names_are_matched_literally(ledger: Ledger) -> None:
    ledger.add(session("a", case(nodeid="t.py::a_b"), case(nodeid="t.py::axb"), case(nodeid="t.py::100%")))
    assert ledger.names("a_b") == ("t.py::a_b",)
    assert ledger.names("%") == ("t.py::100%",)


def test_awkward_values_survive(ledger: Ledger) -> None:
    comparison = ComparisonRecord(0, False, 4, 1, inf, None, inf, {-3: 1}, "worst error inf", (0, 1))
    awkward = replace(
        attempt(WRONG, margin=inf), comparisons=(comparison,), seed=2**40, summary="nul \0 half \ud800 end"
    )
    ledger.add(
        session(
            "a", case(awkward, message="\0\ud800"), argv=("pytest", "--ledger", "postgresql://u:geheim@h/d")
        )
    )
    (entry,) = ledger.history([NODE])[NODE]
    assert entry.attempts[0].margin == inf
    assert entry.seed == 2**40
    with connect(parse_url(str_url(ledger))).connect() as connection:
        argv = str(connection.execute(text("SELECT argv FROM sessions")).scalar_one())
        stored = str(connection.execute(text("SELECT comparisons FROM attempts")).scalar_one())
    assert "geheim" not in argv
    assert "***" in argv
    assert "worst error inf" in stored


def str_url(ledger: Ledger) -> str:
    return ledger._engine.url.render_as_string(hide_password=False)


def test_environments_are_stored_once(ledger: Ledger) -> None:
    for day in range(3):
        loaded = attempt(environment={"load": f"{day}.5"})
        ledger.add(session(f"s{day}", case(loaded), day=day))
    with connect(parse_url(str_url(ledger))).connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM environments")).scalar_one() == 2
        loads = connection.execute(text("SELECT load FROM attempts ORDER BY session")).scalars().all()
    assert loads == [0.5, 1.5, 2.5]


def test_pruning_keeps_what_is_young(ledger: Ledger) -> None:
    ledger.add(session("old", case(attempt()), day=0, ethos_u_vela="4.0.0"))
    ledger.add(session("young", case(attempt()), day=100))
    assert ledger.prune(50, now=START + 101 * DAY) == 1
    assert [entry.session for entry in ledger.history()[NODE]] == ["young"]
    with connect(parse_url(str_url(ledger))).connect() as connection:
        left = connection.execute(
            text("SELECT DISTINCT value FROM environment_values WHERE name = 'ethos-u-vela'")
        )
        assert left.scalars().all() == ["5.0.0"]
        assert connection.execute(text("SELECT count(*) FROM attempts")).scalar_one() == 1


def test_a_session_of_broken_infrastructure_is_no_history(ledger: Ledger) -> None:
    ledger.add(
        session("bad", *(case(attempt(NO_LICENCE, engine=None), nodeid=f"t.py::t{i}") for i in range(10)))
    )
    ledger.add(session("few", case(attempt(NO_LICENCE, engine=None), nodeid="t.py::t0"), day=1))
    assert {name: [e.session for e in found] for name, found in ledger.history().items()} == {
        "t.py::t0": ["few"]
    }


def test_an_old_database_is_migrated(url: str) -> None:
    parsed = parse_url(url)
    old = create_engine(parsed)
    with old.begin() as connection:
        migrate(connection, version=1)
        connection.execute(text("INSERT INTO environments VALUES ('e')"))
        connection.execute(text("INSERT INTO environment_values VALUES ('e', 'torch', '2.0')"))
        connection.execute(
            text(
                "INSERT INTO sessions VALUES ('s', 1.0, 2.0, '[]', 'auto', 'r', NULL, 'main', 'h', 'e', 0, "
                "false, false)"
            )
        )
        connection.execute(
            text(
                "INSERT INTO tests VALUES ('s', 't.py::t', NULL, 'failed', 'test: boom', NULL, NULL, '[]', "
                "NULL, NULL, 1.0, 1.0, 'main', 'boom', NULL)"
            )
        )
    old.dispose()
    with Ledger(url) as ledger:
        (entry,) = ledger.history()["t.py::t"]
    assert (entry.purpose, entry.signature, entry.environment) == ("suite", "test: boom", {"torch": "2.0"})
    assert entry.red


def test_migrated_tables_are_those_that_the_code_uses(url: str) -> None:
    engine = connect(parse_url(url))
    looked = inspect(engine)
    assert set(looked.get_table_names()) == set(metadata.tables)
    for name, table in metadata.tables.items():
        found = {column["name"]: column["nullable"] for column in looked.get_columns(name)}
        key = set(looked.get_pk_constraint(name)["constrained_columns"])
        # SQLite calls a column of a primary key nullable.
        wanted = {column.name: bool(column.nullable) for column in table.columns}
        assert {n: v for n, v in found.items() if n not in key} == {
            n: v for n, v in wanted.items() if n not in key
        }
        assert key == {column.name for column in table.primary_key}
        assert {index["name"] for index in looked.get_indexes(name)} >= {
            index.name for index in table.indexes
        }


def test_a_newer_database_is_refused(url: str) -> None:
    with Ledger(url) as ledger, ledger._engine.begin() as connection:
        connection.execute(text(f"INSERT INTO schema_version VALUES ({VERSION + 1})"))
    with pytest.raises(LedgerError, match=f"version {VERSION + 1}.*update the harness"):
        Ledger(url)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("mysql://h/d", "SQLite file or a PostgreSQL"),
        ("postgresql://u:geheim@/x?host=/nowhere", "nowhere"),
        ("://", "cannot be read"),
        ("/proc/none/ledger.sqlite", "/proc/none"),
    ],
)
def test_a_ledger_that_cannot_be_used_is_one_line(bad: str, message: str) -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger(bad)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database " * 100)
    with pytest.raises(LedgerError, match=r"notes\.txt.*not a database"):
        Ledger(str(file))


def _write(url: str, name: str) -> None:
    with Ledger(url) as ledger:
        tests = [case(attempt(), attempt(FAULT, 2, "same-bytes"), nodeid=f"t.py::t{i}") for i in range(40)]
        ledger.add(session(name, *tests), batch=7)


def test_concurrent_writers_lose_nothing(url: str) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(url, name)) for name in ("a", "b", "c", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    with Ledger(url) as ledger:
        found = ledger.history()
    assert {len(entries) for entries in found.values()} == {3}
    assert sum(len(entry.attempts) for entries in found.values() for entry in entries) == 240


WRITER = """
import sys
from harness.ledger.store import Ledger
from tests.harness.ledger.test_store import thousand
record = thousand()
with Ledger(sys.argv[1]) as ledger:
    for end in range(20, 501, 20):
        import dataclasses
        ledger.add(dataclasses.replace(record, tests=record.tests[end - 20 : end]), batch=5)
        print(end, flush=True)
"""


def thousand() -> SessionRecord:
    """A session of 500 tests with two attempts each."""
    return session(
        "k", *(case(attempt(), attempt(FAULT, 2, "same-bytes"), nodeid=f"t.py::t{i:03}") for i in range(500))
    )


@pytest.mark.parametrize("after", [20, 260])
def test_a_killed_writer_loses_nothing_that_was_committed(url: str, after: int) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert writer.stdout is not None
    committed = 0
    for line in writer.stdout:
        committed = int(line)
        if committed >= after:
            break
    # The writer is in the middle of a later batch by now.
    os.killpg(writer.pid, signal.SIGKILL)
    committed = max([committed, *map(int, writer.stdout.read().split())])
    writer.wait()
    writer.stdout.close()
    with Ledger(url) as ledger:
        found = ledger.history()
        assert all(f"t.py::t{i:03}" in found for i in range(committed))
        assert all(len(e.attempts) == 2 for entries in found.values() for e in entries)
        record = thousand()
        added = ledger.add(record)
        assert added == Added(500 - len(found), 1000 - 2 * len(found))
        complete = ledger.history()
    assert len(complete) == 500
    assert sum(len(e.attempts) for entries in complete.values() for e in entries) == 1000
