"""What is read of a test's process that died, and what is concluded from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from time import time
from types import SimpleNamespace
from typing import cast

import pytest

from harness.plugin import crashes, isolated
from harness.plugin.isolated import Ended
from harness.plugin.options import SETTINGS
from harness.plugin.workspace import MAIN, WORKSPACE, Workspace
from harness.settings import resolve
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


def test_a_test_that_died_in_its_setup_started_when_the_log_says(tmp_path: Path) -> None:
    """A test that began in 1970 is in no history."""
    given = {"no-reruns": "yes"}
    settings = resolve(lambda option: given.get(option.name), environment={})
    workspace = Workspace(tmp_path, MAIN)
    config = cast(pytest.Config, SimpleNamespace(stash={SETTINGS: settings, WORKSPACE: workspace}))
    before = time()
    workspace.starts("t.py::a", tmp_path / "t.py")
    dead = replace(a_test("t.py::a"), started=0.0, attempts=())
    assert before <= crashes.resolve(config, dead, "t.py::a").started <= time()
    assert before <= crashes.cut_short(config, dead, "t.py::a", "ended").started <= time()
