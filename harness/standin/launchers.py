"""Small shell scripts named like Arm's FVPs that start the stand-in."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import tempfile
from pathlib import Path

import platformdirs

from harness.targets import FVP_BOARDS

_MAIN = Path(__file__).with_name("__main__.py")
_TEMPLATE = """\
#!/bin/sh
# corstone-harness stand-in for {fvp}; not Arm's FVP. Written by harness.standin.launchers.
exec {python} -I {main} --fvp-name {fvp} "$@"
"""


def launcher_directory() -> Path:
    """Directory to put on PATH: one launcher for each FVP name.

    It is created in the user's cache on the first call, one directory for each pair of interpreter
    and package location, so that two checkouts never mix. Safe to call from several processes.

    Raises:
        OSError: the cache is not writable.
    """
    key = hashlib.sha256(f"{sys.executable}\0{_MAIN}".encode()).hexdigest()[:16]
    directory = Path(platformdirs.user_cache_dir("corstone-harness", appauthor=False)) / "standin" / key
    directory.mkdir(parents=True, exist_ok=True)
    for fvp in FVP_BOARDS:
        _provide(directory / fvp, _script(fvp))
    return directory


def _script(fvp: str) -> str:
    return _TEMPLATE.format(fvp=fvp, python=shlex.quote(sys.executable), main=shlex.quote(str(_MAIN)))


def _provide(path: Path, text: str) -> None:
    """Make `path` an executable script with `text`; a reader sees the whole script or none."""
    if path.is_file() and os.access(path, os.X_OK) and path.read_text() == text:
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        os.fchmod(file.fileno(), 0o755)
    Path(name).replace(path)
