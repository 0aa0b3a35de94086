"""Which revision of a checkout is tested."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.settings import SettingsError

_LIMIT = 10.0  # [s]


@dataclass(frozen=True)
class Revision:
    """Commit, its merge base with the base revision, branch; None for what is not known."""

    commit: str | None = None
    merge_base: str | None = None
    branch: str | None = None


def revision_of(directory: Path, base: str, asked: bool = False) -> Revision:
    """The revision checked out in `directory`; nothing but None outside a checkout or without git.

    Args:
        directory: anywhere in the checkout.
        base: revision that the branch will be merged into, e.g. "origin/main".
        asked: somebody has named `base`; else it may be absent.

    Raises:
        SettingsError: `base` was named, and does not exist.
    """
    commit = _git(directory, "rev-parse", "HEAD")
    if commit is None:
        return Revision()
    if asked and _git(directory, "rev-parse", "--verify", "-q", f"{base}^{{commit}}") is None:
        raise SettingsError(f"--base-revision {base}: git knows no such revision in {directory}")
    branch = _git(directory, "symbolic-ref", "--short", "-q", "HEAD")
    return Revision(commit, _git(directory, "merge-base", "HEAD", base), branch)


def _git(directory: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
