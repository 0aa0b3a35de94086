from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import JUnitXml
from typer.testing import CliRunner, Result

from harness.cli import app
from harness.report.jsonl import JournalWriter, read_journal
from tests.harness.report.records import a_session, a_test, failed, flaky


def report(*words: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, words)])


def journal(path: Path, *tests: object, **changes: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    session = a_session(*tests, **changes)  # type: ignore[arg-type]
    writer = JournalWriter(path, session)
    for test in session.tests:
        writer.add(test)
    writer.finish(session)
    return path


def test_shards_merge_into_one_report_that_exits_like_one_session(tmp_path: Path) -> None:
    journal(tmp_path / "one" / "session-a.jsonl", a_test("t.py::a"), id="a")
    journal(tmp_path / "two" / "session-b.jsonl", flaky("t.py::b"), id="b", exit_status=10)
    result = report("merge", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "out")
    assert result.exit_code == 10
    assert "1 flaky, 1 passed" in result.output
    assert JUnitXml.fromfile(str(tmp_path / "out" / "junit.xml")).tests == 2
    merged = read_journal(tmp_path / "out" / "merged.jsonl")
    assert [test.nodeid for test in merged.session.tests] == ["t.py::a", "t.py::b"]
    again = report("merge", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "out")
    assert again.exit_code == 10


def test_durations_are_those_of_the_longer_tests(tmp_path: Path) -> None:
    path = journal(
        tmp_path / "a.jsonl",
        replace(a_test("t.py::a"), seconds=2.34),
        replace(a_test("t.py::b"), seconds=0.5),
    )
    assert json.loads(report("durations", path).output) == {"t.py::a": 2.3}


def test_every_document_comes_from_a_journal(tmp_path: Path) -> None:
    path = journal(tmp_path / "a.jsonl", a_test("t.py::a"), failed("t.py::b"))
    assert "## Test plan" in report("testplan", path).output
    assert "| ❌ failed | 1 |" in report("summary", path).output
    assert "rerunFailure" in report("junit", path).output
    assert "rerunFailure" not in report("junit", path, "--plain").output
    assert report("html", path, "-o", tmp_path / "new" / "r.html").exit_code == 0
    assert "<title>corstone-harness: 1 failed, 1 passed</title>" in (tmp_path / "new" / "r.html").read_text()


def test_without_a_file_it_is_the_last_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path))
    journal(tmp_path / "sessions" / "session-x.jsonl", a_test("t.py::only"))
    assert "**1 passed**" in report("testplan").output


def test_a_torn_journal_is_reported_with_a_note(tmp_path: Path) -> None:
    path = journal(tmp_path / "a.jsonl", a_test("t.py::a"))
    path.write_bytes(path.read_bytes()[:-20])
    result = report("testplan", path)
    assert result.exit_code == 0
    assert "cut short" in result.output
    assert "torn" in result.stderr


@pytest.mark.parametrize("content", [None, "", "nonsense\n"])
def test_what_is_no_journal_is_an_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_text(content)
    result = report("html", path, "-o", tmp_path / "r.html")
    assert isinstance(result.exception, ValueError)
    assert not (tmp_path / "r.html").exists()


def test_other_files_beside_a_journal_are_named_and_left_out(tmp_path: Path) -> None:
    journal(tmp_path / "session-a.jsonl", a_test("t.py::a"))
    (tmp_path / "attempt-1").mkdir()
    (tmp_path / "attempt-1" / "results.jsonl").write_text('{"$report_type": "TestReport"}\n')
    (tmp_path / "npu-trace.jsonl").write_text("")
    result = report("merge", tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "1 passed" in result.output
    [note] = result.stderr.splitlines()
    assert note.endswith("no journals of sessions, left out: attempt-1/results.jsonl, npu-trace.jsonl")


def test_a_directory_without_a_journal_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "npu-trace.jsonl").write_text('{"op": "conv"}\n')
    result = report("merge", tmp_path, "-o", tmp_path / "out")
    assert isinstance(result.exception, ValueError)
    assert "holds no journal of a session" in str(result.exception)


@pytest.mark.parametrize("size", [0, 40])
def test_a_damaged_journal_in_a_directory_is_not_left_out(tmp_path: Path, size: int) -> None:
    path = journal(tmp_path / "session-a.jsonl", a_test("t.py::a"))
    path.write_bytes(path.read_bytes()[:size])
    journal(tmp_path / "session-b.jsonl", a_test("t.py::b"), id="b")
    result = report("merge", tmp_path, "-o", tmp_path / "out")
    assert isinstance(result.exception, ValueError)
    assert "session-a.jsonl is no journal" in str(result.exception)
