"""The environment that a simulator gets, and the fingerprint of the one it runs in."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "corstone-harness",
    "executorch",
    "torch",
    "torchao",
    "numpy",
    "ethos-u-vela",
    "pexpect",
    "pytest",
)
# Arm's FVPs embed a Python of their own; another one's settings break it at its start.
_PYTHON = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP")


def simulator_environment(executable: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment for a simulator: no Python settings of ours, but those of the Python that comes with it.

    Some packages of Arm's have `python/` beside `models/`; their FVPs do not find it by themselves.
    """
    cleaned = {name: value for name, value in environment.items() if name not in _PYTHON}
    cleaned["TERM"] = "dumb"
    for parent in list(executable.resolve().parents)[:4]:
        library = parent / "python" / "lib"
        if any(library.glob("libpython*.so*")):
            cleaned["PYTHONHOME"] = str(parent / "python")
            known = cleaned.get("LD_LIBRARY_PATH")
            cleaned["LD_LIBRARY_PATH"] = f"{library}{os.pathsep}{known}" if known else str(library)
            break
    return cleaned


def fingerprint() -> dict[str, str]:
    """What may explain a difference between two runs: versions, machine, load."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {**_static_fingerprint(), "load": f"{load:.2f}"}


@lru_cache(maxsize=1)
def _static_fingerprint() -> dict[str, str]:
    values = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": str(os.cpu_count()),
    }
    for package in _PACKAGES:
        try:
            values[package] = version(package)
        except PackageNotFoundError:
            continue
    return values
