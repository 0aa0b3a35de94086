from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from harness.records import HistoryRecord, TestRecord
from harness.report.jsonl import Journal, JournalError, JournalWriter, read_journal
from harness.report.merge import merge
from tests.harness.report.records import a_session, a_test, attempt, failed, flaky


def written(path: Path, *tests: object, finish: bool = True, **changes: object) -> Journal:
    session = a_session(*tests, **changes)  # type: ignore[arg-type]
    writer = JournalWriter(path, session, [test.nodeid for test in session.tests])
    for test in session.tests:
        writer.add(test)
    if finish:
        writer.finish(session)
    return read_journal(path)


def test_a_journal_reads_back_what_was_written(tmp_path: Path) -> None:
    session = a_session(a_test(), failed(), flaky(), exit_status=1)
    journal = written(tmp_path / "a.jsonl", *session.tests, exit_status=1)
    assert journal.session == session
    assert journal.notes == ()


def test_what_the_ledger_says_at_the_end_reaches_the_tests(tmp_path: Path) -> None:
    test = failed(history=None)
    writer = JournalWriter(tmp_path / "a.jsonl", a_session())
    writer.add(test)
    history = HistoryRecord("FLAKY", "3 of 40", 0.075, "abc")
    writer.finish(a_session(replace(test, history=history)))
    assert read_journal(tmp_path / "a.jsonl").session.tests[0].history == history


def test_a_later_record_of_a_test_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    journal = written(tmp_path / "a.jsonl", a_test("t.py::a", result="crashed"), a_test("t.py::a"))
    assert [test.result for test in journal.session.tests] == ["passed"]


def test_catalogue_K2_an_unfinished_session_is_partial_and_red(tmp_path: Path) -> None:
    session = a_session(a_test("t.py::a"))
    writer = JournalWriter(tmp_path / "a.jsonl", session, ["t.py::a", "t.py::b", "t.py::c"])
    writer.add(session.tests[0])
    journal = read_journal(tmp_path / "a.jsonl")
    assert journal.session.partial
    assert journal.session.exit_status != 0
    assert [test.nodeid for test in journal.session.tests] == ["t.py::a"]
    assert "2 of 3 collected tests have no result: t.py::b, t.py::c" in journal.notes


def test_catalogue_K6_a_journal_is_valid_at_every_length(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.jsonl", a_test("t.py::a"), failed("t.py::b"))
    data = (tmp_path / "whole.jsonl").read_bytes()
    first = data.index(b"\n") + 1
    cut = tmp_path / "cut.jsonl"
    for length in range(first, len(data), 97):
        cut.write_bytes(data[:length])
        journal = read_journal(cut)
        assert journal.session.partial
        assert journal.session.tests == whole.session.tests[: len(journal.session.tests)]
        assert any("torn" in note for note in journal.notes) == (data[length - 1 : length] != b"\n")
    cut.write_bytes(data[: first - 2])
    with pytest.raises(JournalError, match="no complete line"):
        read_journal(cut)


_CHILD = """
    import sys, time
    from pathlib import Path
    from harness.report.jsonl import JournalWriter
    from tests.harness.report.records import a_session, a_test
    writer = JournalWriter(Path(sys.argv[1]), a_session())
    print("ready", flush=True)
    for number in range(100_000):
        writer.add(a_test(f"t.py::test_{number}"))
"""


def test_catalogue_K6_a_killed_session_merges_with_a_good_one(tmp_path: Path) -> None:
    path = tmp_path / "killed.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_CHILD), str(path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    while path.stat().st_size < 100_000:
        assert child.poll() is None
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    killed = read_journal(path)
    good = written(tmp_path / "good.jsonl", a_test("other.py::a"), id="good")
    merged = merge([killed, good])
    nodeids = [test.nodeid for test in merged.session.tests]
    assert nodeids[: len(killed.session.tests)] == [f"t.py::test_{i}" for i in range(len(nodeids) - 1)]
    assert nodeids[-1] == "other.py::a"
    assert merged.session.partial
    assert merged.session.exit_status == 1


def test_a_damaged_line_is_dropped_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path, a_test("t.py::a"), a_test("t.py::b"))
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2][:-9]
    path.write_bytes(b"\n".join(lines))
    journal = read_journal(path)
    assert [test.nodeid for test in journal.session.tests] == ["t.py::b"]
    assert any("line 3" in note for note in journal.notes)


@pytest.mark.parametrize(
    "text",
    ["", "\n", "{}\n", "[]\n", "no json\n", '{"entry": "test", "record": {}}\n', '{"entry": "session"}\n'],
)
def test_a_file_that_is_no_journal_is_an_error_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(JournalError, match=r"no journal of a session") as caught:
        read_journal(tmp_path / "a.jsonl")
    assert "\n" not in str(caught.value)


def test_a_session_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written(path)
    path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    with pytest.raises(JournalError, match="version 7"):
        read_journal(path)


def test_a_second_writer_of_one_file_is_refused(tmp_path: Path) -> None:
    JournalWriter(tmp_path / "a.jsonl", a_session())
    with pytest.raises(FileExistsError):
        JournalWriter(tmp_path / "a.jsonl", a_session())


def shards(tmp_path: Path, *numbers: int) -> list[Journal]:
    return [
        written(
            tmp_path / f"{number}.jsonl",
            a_test(f"t.py::a{number}"),
            a_test(f"t.py::b{number}"),
            id=f"s{number}",
            argv=("pytest", "--shard", f"{number}/3", "--shard-durations", "d.json", "-x"),
            shard=f"{number}/3",
            started=1000.0 + number,
        )
        for number in numbers
    ]


def test_merge_has_each_test_of_all_shards_once(tmp_path: Path) -> None:
    merged = merge(shards(tmp_path, 3, 1, 2))
    assert [test.nodeid for test in merged.session.tests] == [
        f"t.py::{name}{number}" for number in (1, 2, 3) for name in "ab"
    ]
    assert merged.notes == ()
    assert not merged.session.partial
    assert merged.session.exit_status == 0
    assert merged.session.argv == ("pytest", "-x")


def test_merge_names_a_shard_that_is_missing(tmp_path: Path) -> None:
    merged = merge(shards(tmp_path, 1, 3))
    assert merged.notes == ("shard 2/3 is missing",)
    assert merged.session.partial
    assert merged.session.exit_status == 1


def test_merge_knows_a_shard_that_is_not_on_the_command_line(tmp_path: Path) -> None:
    """As the environment or an ini file gives it."""
    [journal] = shards(tmp_path, 1)
    session = replace(journal.session, argv=("pytest",))
    assert merge([replace(journal, session=session)]).notes == (
        "shard 2/3 is missing",
        "shard 3/3 is missing",
    )


def test_a_journal_of_before_shards_were_recorded_still_reads(tmp_path: Path) -> None:
    written(tmp_path / "1.jsonl", a_test("t.py::a"))
    path = tmp_path / "1.jsonl"
    path.write_text(path.read_text().replace('"shard": null, ', ""))
    assert "shard" not in path.read_text()
    assert read_journal(path).session.shard is None


def test_merge_names_a_missing_shard_of_one_of_two_engines(tmp_path: Path) -> None:
    ours = shards(tmp_path, 1, 2, 3)
    arms = [
        replace(entry, session=replace(entry.session, id=f"f{entry.session.id}", engine="fvp"))
        for entry in ours
    ]
    assert merge([*ours, *arms]).session.exit_status == 0
    merged = merge([*ours, *arms[:2]])
    assert merged.notes == ("shard 3/3 is missing of --engine fvp",)
    assert merged.session.exit_status == 1


@pytest.mark.parametrize("second", [failed("t.py::a", started=2e9), flaky("t.py::a", started=2e9)])
def test_merge_keeps_the_verdict_of_a_test_that_passed_first(tmp_path: Path, second: TestRecord) -> None:
    green = written(tmp_path / "1.jsonl", a_test("t.py::a"), id="one")
    red = written(tmp_path / "2.jsonl", second, id="two", exit_status=1)
    [test] = merge([green, red]).session.tests
    assert test.result == "flaky"
    assert test.verdict == second.verdict


def test_merge_takes_one_file_given_twice_once(tmp_path: Path) -> None:
    [journal] = shards(tmp_path, 1)
    merged = merge([journal, journal])
    assert len(merged.session.tests) == 2
    assert any("twice" in note for note in merged.notes)


def test_merge_joins_the_attempts_of_a_test_that_two_sessions_ran(tmp_path: Path) -> None:
    red = written(tmp_path / "1.jsonl", failed("t.py::a"), id="one", exit_status=1)
    green = written(tmp_path / "2.jsonl", a_test("t.py::a", started=2e9), id="two")
    [test] = merge([green, red]).session.tests
    assert test.result == "flaky"
    assert [entry.number for entry in test.attempts] == [1, 2, 3]
    assert [entry.kind for entry in test.attempts] == ["WRONG", "WRONG", "PASS"]


def test_merge_keeps_engines_apart(tmp_path: Path) -> None:
    ours = written(tmp_path / "1.jsonl", a_test("t.py::a"), id="one", engine="standin")
    arms = written(
        tmp_path / "2.jsonl",
        a_test("t.py::a", attempts=(attempt(kind="PASS", engine="fvp"),)),
        id="two",
        engine="fvp",
    )
    merged = merge([ours, arms]).session
    assert [test.attempts[0].engine for test in merged.tests] == ["standin", "fvp"]
    assert merged.engine == "fvp+standin"


def test_a_second_run_completes_a_shard_that_was_cut_short(tmp_path: Path) -> None:
    session = a_session(a_test("t.py::a"), id="one")
    writer = JournalWriter(tmp_path / "1.jsonl", session, ["t.py::a", "t.py::b"])
    writer.add(session.tests[0])
    again = written(tmp_path / "2.jsonl", a_test("t.py::b"), id="two")
    merged = merge([read_journal(tmp_path / "1.jsonl"), again])
    assert not merged.session.partial
    assert len(merged.session.tests) == 2


@pytest.mark.parametrize(
    ("tests", "statuses", "expected"),
    [
        ((), (5, 5), 11),
        ((a_test("a"), a_test("b")), (0, 0), 0),
        ((a_test("a"), a_test("b")), (0, 5), 0),
        ((a_test("a"), failed("b")), (0, 1), 1),
        ((a_test("a"), flaky("b")), (0, 10), 10),
        ((a_test("a"), flaky("b")), (0, 0), 0),
        ((a_test("a"), a_test("b")), (0, 3), 3),
        ((flaky("a"), a_test("b")), (10, 3), 3),
        ((a_test("a", result="xpassed"), a_test("b")), (0, 0), 0),
        ((a_test("a", result="xpassed"), a_test("b")), (1, 0), 1),
    ],
)
def test_the_merged_status_is_that_of_one_session(
    tmp_path: Path, tests: tuple[object, ...], statuses: tuple[int, int], expected: int
) -> None:
    halves = tests[:1], tests[1:]
    journals = [
        written(tmp_path / f"{i}.jsonl", *half, id=f"s{i}", exit_status=status)
        for i, (half, status) in enumerate(zip(halves, statuses, strict=True))
    ]
    assert merge(journals).session.exit_status == expected


@pytest.mark.parametrize(
    ("statuses", "wanted"),
    [((0, 0), 0), ((1, 0), 1), ((1, 1), 1), ((11, 11), 11), ((11, 5), 11), ((11, 0), 0), ((5, 0), 0)],
)
def test_merge_exits_as_its_sessions_did(tmp_path: Path, statuses: tuple[int, int], wanted: int) -> None:
    """Status 1 without a red test: an expired entry of the quarantine, a module that cannot be collected."""
    journals = [
        written(tmp_path / f"{i}.jsonl", a_test(f"t.py::{i}"), id=f"s{i}", exit_status=status)
        for i, status in enumerate(statuses)
    ]
    assert merge(journals).session.exit_status == wanted


def test_merge_of_a_killed_session_with_one_of_another_engine_is_red(tmp_path: Path) -> None:
    killed = written(tmp_path / "killed.jsonl", a_test("t.py::a"), id="killed", engine="fvp", partial=True)
    killed = replace(killed, collected=("t.py::a", "t.py::b"))
    other = written(
        tmp_path / "other.jsonl", a_test("t.py::a"), a_test("t.py::b"), id="other", engine="standin"
    )
    merged = merge([killed, other])
    assert merged.session.partial
    assert merged.session.exit_status == 1
