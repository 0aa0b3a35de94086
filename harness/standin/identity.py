"""What this stand-in is: version of the harness, of QEMU, and a hash of its own sources."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from harness.standin.errors import QemuError
from harness.standin.qemu import find_qemu, parse_version

DISTRIBUTION = "corstone-harness"
_VERSION_WAIT = 20.0  # seconds


def version_text(fvp: str) -> str:
    """The output of `--version`."""
    return (
        f"{fvp} stand-in ({DISTRIBUTION} {_harness_version()})\n"
        f"not Arm's FVP: QEMU {_qemu_version()}, machine mps3-an547\n"
        f"sources sha256:{source_hash()[:16]}"
    )


def source_hash() -> str:
    """SHA-256 over the names and contents of the stand-in's sources and the board data."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*here.rglob("*.py"), here.parent / "targets.py"]):
        digest.update(os.fsencode(path.relative_to(here.parent)) + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _harness_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"


def _qemu_version() -> str:
    try:
        qemu = find_qemu()
        output = subprocess.run([qemu, "--version"], capture_output=True, text=True, timeout=_VERSION_WAIT)
    except QemuError as error:
        return f"missing ({error})"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unusable ({error})"
    first = output.stdout.partition("\n")[0]
    return f"{'.'.join(map(str, parse_version(first))) or 'unknown'} ({first})"
