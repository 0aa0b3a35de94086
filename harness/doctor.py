"""What `harness doctor` looks at: every tool and package that the main job needs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.engines import identify
from harness.firmware.toolchain import MINIMUM_ARM_GCC, find_tool
from harness.outcomes import HarnessError
from harness.targets import FVP_BOARDS

# Versions that this harness was written and tested against.
EXPECTED_PACKAGES = {"executorch": "1.5.1", "torch": "2.13.0", "ethos-u-vela": "5.1.0"}
TESTED_QEMU = ("7.2", "10.")


@dataclass(frozen=True)
class Finding:
    """One line of the report. `needed` findings must be ok for the main job to run."""

    name: str
    ok: bool
    needed: bool
    found: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at tools, simulators and packages; never raises for what is missing."""
    return [*_tools(), *_fvps(), *_packages()]


def _tools() -> list[Finding]:
    checks: list[tuple[str, str, Callable[[str], bool], str]] = [
        ("arm-none-eabi-g++", f">= {MINIMUM_ARM_GCC}", lambda v: int(v.split(".")[0]) >= MINIMUM_ARM_GCC, ""),
        ("cmake", ">= 3.20", lambda v: _numbers(v) >= (3, 20), ""),
        ("ninja", "any", lambda _: True, ""),
        ("qemu-system-arm", "7.2 or 10", lambda _: True, "other versions of QEMU were not tested here"),
    ]
    findings = []
    for name, expected, good, note in checks:
        try:
            tool = find_tool(name)
        except HarnessError as error:
            findings.append(Finding(name, False, True, f"absent; expected {expected}", error.outcome.hint))
            continue
        shown = f"{tool.path}  {tool.version}  (expected {expected})"
        if note and not tool.version.startswith(TESTED_QEMU):
            shown += f"; {note}"
        fits, advice = good(tool.version), f"put a {name} {expected} first on PATH"
        if not fits and (others := _others(name, tool.path)):
            advice += f"; also there: {', '.join(others)}"
        findings.append(Finding(name, fits, True, shown, advice))
    return findings


def _others(name: str, first: str) -> list[str]:
    """Further executables of that name on PATH, in its order."""
    entries = filter(None, os.environ.get("PATH", "").split(os.pathsep))
    found = (shutil.which(name, path=entry) for entry in entries)
    return [path for path in dict.fromkeys(filter(None, found)) if path != first]


def _fvps() -> list[Finding]:
    findings = []
    for name in FVP_BOARDS:
        for directory in dict.fromkeys(os.environ.get("PATH", "").split(os.pathsep)):
            path = Path(directory) / name
            if not (directory and path.is_file() and os.access(path, os.X_OK)):
                continue
            try:
                identity = identify(path)
            except (HarnessError, OSError) as error:
                advice = f"{error}; repair it or take it off PATH"
                findings.append(Finding(name, False, True, f"{path}  cannot be used", advice))
                continue
            whose = "Arm's" if identity.kind == "fvp" else "our stand-in"
            findings.append(Finding(name, True, False, f"{path}  {identity.version}  ({whose})"))
    if not findings:
        note = "none on PATH; the open stand-in is used"
        findings.append(Finding("Arm's FVP", False, False, note, "to use one: put its directory on PATH"))
    return findings


def _packages() -> list[Finding]:
    findings = []
    for name, expected in EXPECTED_PACKAGES.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            advice = f"pip install {name}=={expected}"
            findings.append(
                Finding(name, False, name != "ethos-u-vela", f"absent; expected {expected}", advice)
            )
            continue
        good = found.split("+")[0] == expected
        shown = f"{found}  (expected {expected})"
        # Absent, Vela is only missing for the NPU; another version makes programs that nobody tested.
        findings.append(Finding(name, good, True, shown, f"pip install {name}=={expected}"))
    return findings


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
