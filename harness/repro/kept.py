"""Where the evidence of red attempts stays when pytest deletes its temporary directories."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from harness.flow import Attempt

PLACE = "evidence"  # below the cache
# Sessions whose evidence stays; pytest's own temporary directories live for three.
_SESSIONS = 20


def directory_name(nodeid: str) -> str:
    """A name for a directory of a test: readable, and no other test's."""
    readable = re.sub(r"[^\w.-]+", "_", nodeid).strip("_")[-100:]
    return f"{readable}-{sha256(nodeid.encode()).hexdigest()[:8]}"


def keep(attempt: Attempt, cache: Path, session: str, nodeid: str) -> Attempt:
    """The same attempt with its directory below the cache, where later sessions leave it alone.

    Files are linked where the file system allows it: that takes no time and no space.

    Args:
        attempt: with a result.
        cache: of the session.
        session: a name that no other session has.
        nodeid: of the test.

    Raises:
        OSError: the cache is full or cannot be written.
    """
    result = attempt.result
    assert result is not None
    place = cache / PLACE / session
    if place in result.directory.parents:
        return attempt
    if not place.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        _forget_old(place.parent)
    directory = _unused(place, f"{directory_name(nodeid)}-{attempt.number}")
    shutil.copytree(result.directory, directory, symlinks=True, copy_function=_link, dirs_exist_ok=True)
    return replace(attempt, result=replace(result, directory=directory))


def _unused(place: Path, name: str) -> Path:
    """A new directory: with `--dist each` the workers of a session have the same tests."""
    number = 0
    while True:
        path = place / (f"{name}-{number}" if number else name)
        with suppress(FileExistsError):
            path.mkdir()
            return path
        number += 1


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _forget_old(place: Path) -> None:
    """Delete the evidence of all but the newest sessions."""
    found = []
    for path in place.iterdir():
        with suppress(OSError):  # another session deletes too
            found.append((path.stat().st_mtime, path))
    for _, path in sorted(found)[:-_SESSIONS]:
        shutil.rmtree(path, ignore_errors=True)
