"""The directory that all processes of one session share: budget, turns, and a log of each worker."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import Any

import psutil
import pytest

from harness.records import AttemptRecord
from harness.reruns.budget import Budget
from harness.settings import Settings

_INPUT = "corstone_session"
MAIN = "main"


@dataclass(frozen=True)
class Workspace:
    """The shared directory, as the process `worker` sees it; `attempts` of its one test were made before."""

    directory: Path
    worker: str
    attempts: int = 0

    def budget(self, settings: Settings) -> Budget:
        """The session's budget for reruns."""
        file = self.directory / "budget.json"
        return Budget(file, settings.reruns_budget, settings.reruns_failures, settings.reruns)

    def note(self, **entry: Any) -> None:
        """Append to this worker's log: one write a line, so that a dying worker leaves it whole."""
        line = json.dumps({"time": time(), **entry}) + "\n"
        descriptor = os.open(self._log(self.worker), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def starts(self, nodeid: str, path: Path) -> None:
        """Note that a test starts, with its file and the memory of the process."""
        self.note(test=nodeid, path=str(path), memory=psutil.Process().memory_info().rss)

    def last(self, worker: str) -> LastTest | None:
        """What the log of `worker` says of the last test that it started."""
        try:
            lines = self._log(worker).read_text().splitlines()
        except OSError:
            return None
        found: LastTest | None = None
        for entry in map(json.loads, lines):
            if "test" in entry:
                found = LastTest(entry["test"], Path(entry["path"]), entry["time"], entry["memory"])
            elif found and "directory" in entry:
                found = replace(found, directory=Path(entry["directory"]))
            elif found and "attempt" in entry:
                record = AttemptRecord.from_json(entry["attempt"])
                found = replace(found, directory=None, attempts=(*found.attempts, record))
        return found

    def remove(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _log(self, worker: str) -> Path:
        return self.directory / f"{worker}.jsonl"


@dataclass(frozen=True)
class LastTest:
    """The last test of a worker.

    Attributes:
        nodeid: as pytest prints it.
        path: of its file.
        started: seconds since the epoch.
        memory: resident bytes of the process at its start.
        directory: of an attempt that had not ended.
        attempts: that had.
    """

    nodeid: str
    path: Path
    started: float
    memory: int
    directory: Path | None = None
    attempts: tuple[AttemptRecord, ...] = ()


WORKSPACE = pytest.StashKey[Workspace]()


def enter(config: pytest.Config) -> Workspace:
    """The workspace of this session: a new one in the controller, the controller's in a worker."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    if _INPUT in given:
        return Workspace(Path(given[_INPUT]), str(given["workerid"]), int(given.get("corstone_attempts", 0)))
    return Workspace(Path(tempfile.mkdtemp(prefix="corstone-session-")), MAIN)


def is_alone(config: pytest.Config) -> bool:
    """True in the process of one test that is run again (`isolated`)."""
    return "corstone_attempts" in getattr(config, "workerinput", {})


def hand_over(config: pytest.Config, given: dict[str, Any]) -> None:
    """Tell a new worker where the workspace is."""
    given[_INPUT] = str(config.stash[WORKSPACE].directory)
