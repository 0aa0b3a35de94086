"""What the recorder of upstream's sessions writes down of tests that leave no result."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.upstream.expectations import Expectations, changes
from harness.upstream.recorder import RECORDS, read_records


@pytest.mark.parametrize("arguments", [("-x",), ("-x", "-n", "1")], ids=["one process", "xdist"])
def test_what_was_selected_and_not_run_is_a_change(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    records = pytester.path / "records.jsonl"
    monkeypatch.setenv(RECORDS, str(records))
    pytester.makepyfile(
        test_it="def test_a(): assert False\ndef test_b(): pass\ndef test_c(): pass\ndef test_d(): pass\n"
    )
    options = ("-p", "harness.upstream.recorder", "-p", "no:harness.plugin", "-p", "no:cacheprovider")
    assert pytester.runpytest_subprocess(*options, *arguments).ret != 0
    found = {record.id: record.result for record in read_records(records)}
    assert found.keys() == {f"test_it.py::test_{letter}" for letter in "abcd"}
    assert found["test_it.py::test_a"] == "failed"
    assert found["test_it.py::test_d"] == "not run"
    assert any("test_d: not run" in line for line in changes(read_records(records), Expectations()))


def test_a_file_that_cannot_be_collected_is_a_change(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    records = tmp_path / "records.jsonl"
    monkeypatch.setenv(RECORDS, str(records))
    pytester.makepyfile(test_broken="import nowhere", test_good="def test_good(): pass\n")
    options = ("-p", "harness.upstream.recorder", "-p", "no:harness.plugin", "-p", "no:cacheprovider")
    pytester.runpytest_subprocess(*options, "-n", "1")
    found = {record.id: record.result for record in read_records(records)}
    assert found["test_broken.py"] == "error"
