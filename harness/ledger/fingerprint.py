"""The environment of an attempt: what may explain a difference, and which of it splits the history."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from harness.outcomes import HarnessError

# Attempts that differ in one of these belong to different strata; their statistics never mix.
FACTORS = (
    "engine",
    "engine_version",
    "engine_build",
    "executorch",
    "torch",
    "ethos-u-vela",
    "compiler",
    "kernels",
)
# Of these, what is no part of a checkout: a change of one can break a test that nobody touched.
DEPENDENCIES = ("engine_version", "executorch", "torch", "torchao", "ethos-u-vela", "compiler")
# Differs from run to run without telling anything about versions.
VOLATILE = ("load",)
# Whether the revision says exactly what was tested.
CHECKOUT, CLEAN, MODIFIED = "checkout", "clean", "modified"
_ABSENT = "none"


def fingerprint(checkout: Path | None = None) -> dict[str, str]:
    """Versions of what makes a program and a runner, and the machine: the same all through a session.

    Args:
        checkout: anywhere in the checkout that is tested; None for the working directory.
    """
    # Here, since reading a history needs no engine.
    from harness.engines.environment import fingerprint as environment

    found = {name: value for name, value in environment().items() if name not in VOLATILE}
    return {**found, **_built_with(), **_checkout(checkout or Path.cwd()), "host": platform.node()}


@lru_cache(maxsize=1)
def _built_with() -> dict[str, str]:
    from harness.firmware.sources import source_hash, source_root
    from harness.firmware.toolchain import find_tool

    found = {}
    try:
        found["kernels"] = source_hash(source_root())
    except HarnessError:
        found["kernels"] = _ABSENT
    try:
        compiler = find_tool("arm-none-eabi-g++")
        found["compiler"] = f"{compiler.name} {compiler.version}"
    except HarnessError:
        found["compiler"] = _ABSENT
    return found


def _checkout(directory: Path) -> dict[str, str]:
    """Whether files differ from the revision or are new; nothing outside a checkout or without git."""
    # A test or a kernel that git does not know yet changes results as much as one that was edited.
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), "status", "--porcelain", "--untracked-files=normal"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {CHECKOUT: MODIFIED}  # not known to be clean
    except (OSError, subprocess.SubprocessError):
        return {}
    return {CHECKOUT: MODIFIED if done.stdout.strip() else CLEAN}


def stratum(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The factors of an environment, in fixed order; a factor that is not known is left out."""
    return tuple((name, values[name]) for name in FACTORS if name in values)


def changes(
    before: Mapping[str, str], after: Mapping[str, str], names: tuple[str, ...] = FACTORS
) -> dict[str, tuple[str, str]]:
    """Which of `names` have another value: name to (before, after); unknown ones are no change."""
    return {
        name: (before[name], after[name])
        for name in names
        if name in before and name in after and before[name] != after[name]
    }


def in_words(changed: Mapping[str, tuple[str, str]]) -> str:
    """`ethos-u-vela 5.0.0 -> 5.1.0, kernels 0123456789ab -> …`; hashes are shortened."""
    return ", ".join(f"{name} {_short(old)} -> {_short(new)}" for name, (old, new) in changed.items())


def _short(value: str) -> str:
    return value[:12] if len(value) == 64 and not value.strip("0123456789abcdef") else value
