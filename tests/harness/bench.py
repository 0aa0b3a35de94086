"""What the tests share: a fake FVP on disk, an attempt directory for it, the console of a good run."""

from __future__ import annotations

import json
import stat
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from harness.engines import FvpEngine, run_attempt
from harness.flow import Attempt, Limits, RunSpec

# Shell and Python both read it; a "#!" line cannot name an interpreter with a blank in its path.
LAUNCHER = """\
#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
"""
ARM = "Fast Models [11.99.1 (Nov 30 2026)]"
LIMITS = Limits(launch=5.0, silence=5.0, total=20.0, simulated=7)
REFERENCE = bytes([1, 2, 3, 252])
Step = Sequence[object]


def log(level: str, message: str, file: str = "main.cpp") -> str:
    """One log line of the runner."""
    return f"{level} [executorch:{file}:12 main()] {message}"


BANNER = "FVP banner"
BOOT = (BANNER, log("I", "Running executor with parameter:"), log("I", "PTE @ 0x70000000 [----ET12]"))
LOAD = (
    log("I", "Running method forward"),
    log("I", "Method 'forward' loaded."),
    log("I", "Input prepared."),
)
RUN = (log("I", "Starting running 1 inferences..."), log("I", "1 inferences finished"))
WRITE = (log("I", "Writing output to file: out-0.bin"),)
DONE = (log("I", "Model run: 1"), log("I", "Program complete, exiting."))


def end(status: int = 0, outputs: int = 1) -> str:
    """The end marker."""
    return log("I", f"harness: end status={status} outputs={outputs}")


GOOD = (*BOOT, *LOAD, *RUN, *WRITE, *DONE, end())


def prints(*lines: str) -> list[Step]:
    """Steps that print `lines`."""
    return [["print", line] for line in lines]


def writes(data: bytes = REFERENCE, name: str = "out-0.bin") -> Step:
    """Step that writes an output."""
    return ["write", name, data.hex()]


@dataclass(frozen=True)
class Fake:
    """One fake FVP: an executable and the file that says what it does."""

    executable: Path

    def does(self, *steps: Step, version: str = ARM, version_status: int = 0) -> Fake:
        """Set its behaviour."""
        text = json.dumps({"version": version, "version_status": version_status, "steps": steps})
        (self.executable.parent / "behaviour.json").write_text(text)
        return self

    def does_in_turn(self, *runs: Sequence[Step], version: str = ARM) -> Fake:
        """Set what it does in its first run, in its second, and so on; the last holds for all later ones."""
        text = json.dumps({"version": version, "steps": [], "runs": runs})
        (self.executable.parent / "behaviour.json").write_text(text)
        return self

    @property
    def runs(self) -> int:
        """Number of runs so far that were set by `does_in_turn`."""
        counter = self.executable.parent / "runs.count"
        return counter.stat().st_size if counter.exists() else 0


def install_fake(executable: Path) -> Fake:
    """Write a fake FVP; it does nothing yet."""
    executable.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("fake_fvp.py").read_text()
    executable.write_text(LAUNCHER.format(python=sys.executable) + source)
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return Fake(executable).does()


@dataclass(frozen=True)
class Bench:
    """An attempt directory with a program of one int8 input and output, and a fake FVP that runs it."""

    fake: Fake
    directory: Path
    spec: RunSpec

    def attempt(self, *steps: Step, **changes: Any) -> Attempt:
        """Run the fake with `steps` under the run's specification with `changes`."""
        self.fake.does(*steps)
        return run_attempt(FvpEngine(self.fake.executable), replace(self.spec, **changes), self.directory)

    def console(self) -> str:
        """The console's log file."""
        return (self.directory / "console.log").read_text(errors="replace")


MakeFake = Callable[[str, str], Fake]


T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], limit: float = 10.0) -> T:
    """The first true value of `condition`; looks at it every few milliseconds.

    Raises:
        AssertionError: it stays false for `limit` seconds.
    """
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.005)
    raise AssertionError("condition stays false")
