"""What the cache directory holds, how large it is, and what of it nobody has used for a while.

Entries are made by the stage that needs them and found again by their key. `mark_used` at each hit is what
`delete_unused` goes by. The ledger, the journals and ccache's directory have limits of their own.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time

_DAY = 86400.0
_PROGRAM = re.compile(r"[0-9a-f]{32}")
# Directories whose entries can be made again, or are evidence that ages, and what they are.
_KINDS = {
    "firmware": "built runners",
    "upstream": "runners and references of upstream's suites",
    "vela": "versions of Vela",
    "failures": "lowerings that failed",
    "evidence": "red attempts, by session",
    "flakes": "evidence of `harness flakes` and `harness hunt`",
    "fuzz": "fuzzers",
    "runner-tests": "builds of this project's tests",
}


@dataclass(frozen=True)
class Entry:
    """One thing in the cache.

    Attributes:
        kind: what it is, in words.
        path: directory or file.
        size: bytes.
        used: seconds since the epoch; of the last hit, or when it was made.
        limited: has a limit of its own and is never deleted here.
    """

    kind: str
    path: Path
    size: int
    used: float
    limited: bool = False


def mark_used(directory: Path) -> None:
    """Note that an entry is in use. A cache that cannot be written is used all the same."""
    with suppress(OSError):
        os.utime(directory)


def entries(cache: Path) -> Iterator[Entry]:
    """All that is in `cache`; nothing if there is none."""
    for path in sorted(cache.iterdir()) if cache.is_dir() else ():
        if _PROGRAM.fullmatch(path.name):
            yield _entry("lowered programs", path)
        elif path.name in _KINDS and path.is_dir():
            yield from (_entry(_KINDS[path.name], part) for part in sorted(path.iterdir()))
        else:
            yield _entry("ledger, journals, ccache and other small things", path, limited=True)


def delete_unused(cache: Path, days: float) -> Iterator[Entry]:
    """Delete what was not used for `days`, one entry after the other; yields what is gone.

    Raises:
        ValueError: `days` is less than 1: a running session may still need what it has found.
    """
    if not days >= 1:
        raise ValueError(f"--unused {days:g}: at least 1 day, a running session may need what is younger")
    oldest = time() - days * _DAY
    for entry in entries(cache):
        if entry.limited or entry.used >= oldest:
            continue
        # Renamed first: what is half deleted must not look like an entry.
        doomed = entry.path.with_name(f".deleted-{entry.path.name}")
        with suppress(OSError):
            entry.path.rename(doomed)
            yield entry
        shutil.rmtree(doomed, ignore_errors=True)
        doomed.unlink(missing_ok=True)


def _entry(kind: str, path: Path, limited: bool = False) -> Entry:
    files = [path, *path.rglob("*")] if path.is_dir() and not path.is_symlink() else [path]
    size = 0
    for file in files:
        with suppress(OSError):  # a session may delete what is being counted
            status = file.lstat()
            size += status.st_blocks * 512
    with suppress(OSError):
        return Entry(kind, path, size, path.lstat().st_mtime, limited)
    return Entry(kind, path, size, time(), limited)
