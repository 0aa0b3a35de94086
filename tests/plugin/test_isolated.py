"""What is read of a test's process that died, and what is concluded from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from harness.plugin import crashes, isolated
from harness.plugin.isolated import Ended
from tests.harness.report.records import a_test


def test_a_line_in_which_the_process_died_is_left_out(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    assert isolated._read(results) == ()
    whole = {"when": "setup"}
    results.write_text(json.dumps(whole) + "\n" + json.dumps({"when": "call"})[:9])
    assert isolated._read(results) == (whole,)


def test_a_test_that_fails_behind_a_green_boot_is_no_pass_after_a_crash(tmp_path: Path) -> None:
    again = replace(a_test("t.py::a"), result="failed", message="assert 1 == 2")
    trial = crashes._trial(again, Ended(1, (), tmp_path / "log"))
    assert not trial.green
    assert "assert 1 == 2" in trial.outcome.summary
