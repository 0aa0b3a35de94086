"""Launchers, and what the stand-in says about itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import harness
from harness.standin import identity, launchers
from harness.standin.launchers import launcher_directory
from harness.targets import CORSTONE_300, CORSTONE_320, FVP_BOARDS, FVP_SSE300_U55, FVP_SSE320

from .conftest import LIMIT, Firmware


def test_one_launcher_for_each_fvp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        (directory,) = set(pool.map(lambda _: launcher_directory(), range(32)))
    assert tmp_path in directory.parents
    assert sorted(path.name for path in directory.iterdir()) == sorted(FVP_BOARDS)
    assert all(os.access(path, os.X_OK) for path in directory.iterdir())


def test_damaged_launcher_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = launcher_directory() / FVP_SSE300_U55
    text = path.read_text()
    path.write_text("#!/bin/sh\nexit 0\n")
    assert (launcher_directory() / FVP_SSE300_U55).read_text() == text


def test_checkouts_and_interpreters_do_not_mix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = launcher_directory()
    monkeypatch.setattr(sys, "executable", "/elsewhere/bin/python")
    second = launcher_directory()
    monkeypatch.setattr(launchers, "_MAIN", Path("/elsewhere/harness/standin/__main__.py"))
    third = launcher_directory()
    assert len({first, second, third}) == 3


def test_launcher_runs_its_own_checkout_from_anywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, firmware: Firmware
) -> None:
    """A copy in a path with a blank, started where another `harness` could be picked up."""
    copy = tmp_path / "a copy's place"
    source = Path(harness.__file__).parent
    shutil.copytree(
        source / "standin", copy / "harness" / "standin", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("__init__.py", "targets.py"):
        shutil.copy(source / name, copy / "harness" / name)
    decoy = tmp_path / "cwd" / "harness"
    decoy.mkdir(parents=True)
    (decoy / "__init__.py").write_text("raise SystemExit(99)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(launchers, "_MAIN", copy / "harness" / "standin" / "__main__.py")
    launcher = launcher_directory() / FVP_SSE300_U55

    def version() -> str:
        run = subprocess.run(
            [launcher, "--version"], cwd=decoy.parent, capture_output=True, text=True, timeout=LIMIT
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert identity.source_hash()[:16] in version()
    with (copy / "harness" / "standin" / "main.py").open("a") as file:
        file.write("# another checkout\n")
    assert identity.source_hash()[:16] not in version()
    command: list[str | Path] = [launcher, "-C", "cpu0.semihosting-enable=1", "-a", firmware("hello")]
    assert subprocess.run(command, cwd=decoy.parent, capture_output=True, timeout=LIMIT).returncode == 42


@pytest.mark.parametrize("fvp", FVP_BOARDS)
def test_version_says_what_it_is(fvp: str) -> None:
    run = subprocess.run(
        [launcher_directory() / fvp, "--version"], capture_output=True, text=True, timeout=LIMIT
    )
    first, second, third = run.stdout.splitlines()
    assert first.startswith(f"{fvp} stand-in (corstone-harness ")
    assert second.startswith("not Arm's FVP: QEMU ")
    assert third == f"sources sha256:{identity.source_hash()[:16]}"
    assert run.returncode == 0


def test_help_and_parameters(launcher: Path) -> None:
    text = subprocess.run([launcher, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--timelimit" in text
    assert "stand-in" in text
    text = subprocess.run([launcher, "-l"], capture_output=True, text=True, check=True).stdout
    assert "cpu0.semihosting-cmd_line=" in text


def test_wrong_board_is_refused(firmware: Firmware) -> None:
    for fvp, board, other in (
        (FVP_SSE320, CORSTONE_300, "has no vector table: corstone-320 boots from 0x11000000"),
        (FVP_SSE300_U55, CORSTONE_320, "has no vector table: corstone-300 boots from 0x10000000"),
    ):
        command: list[str | Path] = [launcher_directory() / fvp, "-a", firmware("silent", board)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        assert run.returncode == 2
        assert other in run.stderr or "is outside" in run.stderr
