"""Where the C++ sources and the ExecuTorch headers are, and the hash of what a runner is built from."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

_SOURCE_SUFFIXES = {".c", ".cpp", ".h", ".S", ".ld", ".cmake", ".txt", ".yaml", ".in"}


def source_root() -> Path:
    """The directory that holds `kernels/` and `runner_app/`: the checkout, or the wheel's copy."""
    package = Path(__file__).resolve().parent.parent
    for candidate in (package / "_sources", package.parent):
        if (candidate / "runner_app" / "CMakeLists.txt").is_file():
            return candidate
    raise HarnessError(
        Outcome(
            Phase.BUILD,
            OutcomeClass.BUILD_COMPILE,
            f"no runner_app/CMakeLists.txt beside {package}",
            "the installation is incomplete: install the package again",
        )
    )


def executorch_root() -> Path:
    """The installed `executorch` package: `include/`, `lib/` and `schema/` are below it."""
    spec = find_spec("executorch")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(location) / "include" / "executorch" / "runtime").is_dir():
            return Path(location)
    raise HarnessError(
        Outcome(
            Phase.BUILD,
            OutcomeClass.ENV_TOOLCHAIN,
            "the executorch package with its C++ headers is not installed",
            "pip install executorch==1.5.1, then `harness doctor`",
        )
    )


def executorch_version() -> str:
    """Version of the installed executorch distribution, or "absent"."""
    try:
        return version("executorch")
    except PackageNotFoundError:
        return "absent"


@lru_cache(maxsize=4)
def source_hash(root: Path) -> str:
    """SHA-256 over names and contents of all sources of kernels and runner under `root`."""
    digest = hashlib.sha256()
    for top in ("kernels", "runner_app"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in _SOURCE_SUFFIXES and path.is_file():
                digest.update(path.relative_to(root).as_posix().encode() + b"\0")
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
