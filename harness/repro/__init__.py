"""Reproduction bundles: what a failing attempt leaves, replayed anywhere with one command."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

# Set by ci/env: how it was called.
ENTRY = "CORSTONE_STARTED_BY"


def repro_command(bundle: Path | str) -> str:
    """The command that replays a bundle: a directory of an attempt, or a zip file, for a shell.

    Where this process was started by `ci/env`, so is that one.
    """
    return f"{_entry()}harness repro {shlex.quote(str(bundle))}"


def pytest_command(nodeid: str) -> str:
    """The command that runs a test once more, for a shell in the directory of its session."""
    return f"{_entry()}pytest {shlex.quote(nodeid)}"


def _entry() -> str:
    started_by = os.environ.get(ENTRY, "")
    return f"{shlex.quote(started_by)} " if started_by else ""
