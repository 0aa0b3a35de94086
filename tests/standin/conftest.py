"""Firmware built here, and the stand-in run as users run it: through its launcher."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from harness.standin.launchers import launcher_directory
from harness.targets import CORSTONE_300, CORSTONE_320, FVP_SSE300_U55, FVP_SSE320, Board

# A shell's background job ignores Ctrl-C, and so would every process that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

FIRMWARE = Path(__file__).parent / "firmware"
CFLAGS = ["-mcpu=cortex-m55", "-mthumb", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib"]
LIMIT = 60  # seconds for one run, far beyond what a loaded machine needs
SEMIHOSTING = ("-C", "cpu0.semihosting-enable=1")
SEMIHOSTING_320 = ("-C", "mps4_board.subsystem.cpu0.semihosting-enable=1")
_BUILDS = {CORSTONE_300.name: ("board.ld", ()), CORSTONE_320.name: ("board_320.ld", ("-DCORSTONE_320",))}


class Firmware(Protocol):
    """Path of the ELF of a program in firmware/, compiled on first use."""

    def __call__(self, name: str, board: Board = CORSTONE_300) -> Path: ...


class RunStandin(Protocol):
    """Runs the stand-in to its end in `cwd`, the test's directory by default."""

    def __call__(
        self, elf: Path, *arguments: str, cwd: Path | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]: ...


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    """Path of the ELF of a program in firmware/, compiled on first use."""
    directory = tmp_path_factory.mktemp("firmware")

    def build(name: str, board: Board = CORSTONE_300) -> Path:
        elf = directory / f"{name}-{board.name}.elf"
        if not elf.exists():
            script, defines = _BUILDS[board.name]
            files = (FIRMWARE / f"{name}.c", "-T", FIRMWARE / script, "-o", elf)
            subprocess.run(["arm-none-eabi-gcc", *CFLAGS, *defines, *files], check=True)
        return elf

    return build


@pytest.fixture(scope="session")
def launcher() -> Path:
    """The launcher of the Corstone-300 FVP."""
    return launcher_directory() / FVP_SSE300_U55


@pytest.fixture
def run_standin(launcher: Path, tmp_path: Path) -> RunStandin:
    """Runs the stand-in for Corstone-300."""
    return _runner(launcher, tmp_path)


@pytest.fixture
def run_320(tmp_path: Path) -> RunStandin:
    """Runs the stand-in for Corstone-320."""
    return _runner(launcher_directory() / FVP_SSE320, tmp_path)


def _runner(launcher: Path, tmp_path: Path) -> RunStandin:
    def run(
        elf: Path, *arguments: str, cwd: Path | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [launcher, *arguments, "-a", str(elf)],
            cwd=cwd or tmp_path,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
        )

    return run


def children(pid: int) -> list[int]:
    """Processes whose parent is `pid`."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """True unless `pid` is gone or only waits to be collected."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
