"""An ExecuTorch that the user cross-built and installed: where its CMake package is, and its identity."""

from __future__ import annotations

import hashlib
from pathlib import Path

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

CONFIG = "executorch-config.cmake"
_LIBRARIES = (".a", ".cmake")


def prefix_hash(prefix: Path) -> str:
    """SHA-256 over the libraries and CMake files below `prefix`: changes when it is installed again.

    Raises:
        HarnessError: CONFIG/OPTIONS, `prefix` holds no CMake package of ExecuTorch.
    """
    files = sorted(path for path in prefix.rglob("*") if path.suffix in _LIBRARIES and path.is_file())
    if not any(path.name == CONFIG for path in files):
        hint = "give the CMAKE_INSTALL_PREFIX of an ExecuTorch build for Cortex-M; docs/runtime.md says how"
        summary = f"{prefix} holds no {CONFIG}"
        raise HarnessError(Outcome(Phase.BUILD, OutcomeClass.CONFIG_OPTIONS, summary, hint))
    digest = hashlib.sha256(str(prefix).encode())
    for path in files:
        digest.update(path.relative_to(prefix).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
