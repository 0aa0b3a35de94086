"""The rungs of an upstream test that run in processes of their own: each keeps what it leaves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.flow import Attempt
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.plugin.isolated import Ended
from harness.plugin.options import SETTINGS
from harness.plugin.workspace import WORKSPACE, Workspace
from harness.reruns.steps import SEEDS
from harness.settings import resolve
from harness.upstream import climb
from harness.upstream.plugin import UpstreamPlugin

WRONG = Outcome(Phase.VERIFY, OutcomeClass.WRONG, "another output")


def test_each_process_keeps_its_directory_also_one_that_booted_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[Path] = []

    def ended(config: object, nodeid: str, path: Path, directory: Path, limit: float, **more: Any) -> Ended:
        places.append(directory)
        # What the process boots lies with its log, whatever other processes boot.
        assert more["artifacts"] == directory
        (directory / "isolated.log").write_text(str(len(places)))
        return Ended(1, (), directory / "isolated.log")

    monkeypatch.setattr(climb, "run_isolated", ended)
    given = {"artifacts": str(tmp_path / "kept")}
    settings = resolve(lambda option: given.get(option.name), environment={})
    stash = {SETTINGS: settings, WORKSPACE: Workspace(tmp_path, "main")}
    config = SimpleNamespace(stash=stash)
    item = cast(
        pytest.Item,
        SimpleNamespace(config=config, stash=pytest.Stash(), nodeid="t.py::t", path=tmp_path / "t.py"),
    )
    plugin = UpstreamPlugin(cast(pytest.Config, config))
    first = Attempt(1, WRONG, hashes={"inputs": "1", "program": "2"})
    climb.climb(item, first, lambda name: plugin._directory(item, name))
    assert len(places) == 1 + SEEDS
    assert [(place / "isolated.log").read_text() for place in places] == ["1", "2", "3", "4"]
