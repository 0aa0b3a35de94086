"""Reproduction bundles: what a failing attempt leaves, replayed anywhere with one command."""

from __future__ import annotations

import shlex
from pathlib import Path


def repro_command(bundle: Path | str) -> str:
    """The command that replays a bundle: a directory of an attempt, or a zip file, for a shell."""
    return f"harness repro {shlex.quote(str(bundle))}"
