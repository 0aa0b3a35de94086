"""`--shard K/N` splits a session evenly, loses nothing, and depends on nothing but ids and durations."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plugin.shards import read_durations, shards
from harness.report.jsonl import read_journal
from harness.settings import SettingsError, resolve


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.floats(0.01, 100), max_size=60),
    st.integers(1, 7),
)
def test_every_test_is_in_exactly_one_shard(seconds: dict[str, float], count: int) -> None:
    parts = shards(list(seconds), seconds, count)
    assert len(parts) == count
    assert sorted(name for part in parts for name in part) == sorted(seconds)


def test_the_order_of_collection_does_not_matter() -> None:
    seconds = {f"t{i}": float(i % 7) for i in range(50)}
    assert shards(list(seconds), seconds, 3) == shards(list(reversed(seconds)), seconds, 3)


def test_long_tests_are_spread() -> None:
    seconds = {"long-a": 60.0, "long-b": 60.0, **{f"short{i}": 1.0 for i in range(60)}}
    loads = [sum(seconds[name] for name in part) for part in shards(list(seconds), seconds, 2)]
    assert loads == [90.0, 90.0]


def test_tests_without_a_duration_count_as_the_shortest_ones_with_one() -> None:
    parts = shards(["a", "b", "c", "d"], {"a": 10.0, "b": 2.0}, 2)
    assert sorted(map(sorted, parts)) == [["a"], ["b", "c", "d"]]


def test_the_recorded_durations_of_this_project_split_it_evenly() -> None:
    seconds = read_durations(Path(__file__).parents[2] / "ci" / "durations.json")
    loads = [sum(seconds[name] for name in part) for part in shards(list(seconds), seconds, 2)]
    assert max(loads) < 1.05 * min(loads)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="expected K/N"):
        resolve(lambda option: text if option.name == "shard" else None, environment={})


def test_a_file_that_holds_no_durations_is_refused(tmp_path: Path) -> None:
    (tmp_path / "durations.json").write_text("[1]")
    with pytest.raises(SettingsError, match="--shard-durations"):
        read_durations(tmp_path / "durations.json")
    with pytest.raises(SettingsError, match="--shard-durations"):
        read_durations(tmp_path / "absent.json")


def test_the_shards_of_a_session_together_run_each_test_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("pytest_plugins = ['harness.plugin']")
    pytester.makepyfile("import pytest\n@pytest.mark.parametrize('i', range(9))\ndef test_it(i): pass")
    counts = []
    for number in (1, 2):
        result = pytester.runpytest_inprocess(
            "--shard", f"{number}/2", "-k", "not 8", "-p", "no:cacheprovider"
        )
        counts.append(result.parseoutcomes()["passed"])
    assert counts == [4, 4]


@pytest.mark.parametrize("place", ["command line", "environment", "ini"])
def test_a_session_records_its_shard_even_without_a_test_in_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    pytester.makeconftest("pytest_plugins = ['harness.plugin']")
    pytester.makepyfile("def test_it(): pass")
    pytester.makeini("[pytest]\ncorstone_shard = 2/2\n" if place == "ini" else "[pytest]\n")
    if place == "environment":
        monkeypatch.setenv("CORSTONE_SHARD", "2/2")
    words = ("--shard", "2/2") if place == "command line" else ()
    options = ("--report-dir", "reports", "--ledger", "off", "-p", "no:cacheprovider")
    pytester.runpytest_inprocess(*words, *options)
    (journal,) = (pytester.path / "reports").glob("session-*.jsonl")
    session = read_journal(journal).session
    assert session.shard == "2/2"
    assert session.tests == ()
