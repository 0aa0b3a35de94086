"""Runners built from this tree with the tests' own operators, and the programs they are given.

Everything is made once and kept in the harness's cache, by whichever xdist worker comes first.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.firmware.sources import source_hash, source_root
from harness.firmware.toolchain import arm_toolchain, host_toolchain
from harness.session import Harness
from tests.runner.runners import HERE, VARIANTS, Runner, configure, make_prefix, once


@pytest.fixture(scope="session")
def shared(harness: Harness) -> Path:
    """A directory that all sessions and xdist workers with equal sources and tools share."""
    digest = hashlib.sha256(source_hash(source_root()).encode())
    for path in sorted(HERE.rglob("*")):
        if path.suffix in (".cpp", ".h", ".txt", ".py", ".cmake") and not path.name.startswith("test_"):
            digest.update(path.read_bytes())
    for tool in (arm_toolchain(), host_toolchain()):
        digest.update(tool.identity.encode())
    directory = harness.settings.cache / "runner-tests" / digest.hexdigest()[:24]
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@pytest.fixture(scope="session")
def build(shared: Path) -> Callable[[str], Runner]:
    """Builds a variant of the runner, in a path with a blank in it."""

    def make(directory: Path, variant: str) -> None:
        manifest = directory / "manifest.json"
        manifest.write_text('{"version": 1, "target": "cortex-m55"}')
        options = {**VARIANTS[variant], "MANIFEST": str(manifest)}
        if options["RUNTIME"] == "prefix":
            # The package of the wheel must not be missed.
            options |= {"EXECUTORCH_PREFIX": str(once(shared, "prefix", make_prefix)), "EXECUTORCH_ROOT": ""}
        configured = configure(directory, options)
        assert configured.returncode == 0, configured.stdout + configured.stderr
        built = subprocess.run(["ninja", "-C", str(directory)], capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr

    def get(variant: str) -> Runner:
        directory = once(shared, f"build {variant}", lambda path: make(path, variant))
        return Runner(directory / "executor_runner", emulated=variant.startswith("target"))

    return get


@pytest.fixture(scope="session")
def programs(shared: Path) -> Path:
    """The directory of the test programs."""

    def make(directory: Path) -> None:
        subprocess.run(
            [sys.executable, "-W", "ignore", str(HERE / "programs.py"), str(directory)],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    return once(shared, "programs", make)


@pytest.fixture
def files(programs: Path, tmp_path: Path) -> Path:
    """A fresh directory with all programs and inputs."""
    for file in programs.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.fixture(params=sorted(VARIANTS))
def runner(request: pytest.FixtureRequest, build: Callable[[str], Runner]) -> Runner:
    """The runner in every variant."""
    return build(str(request.param))


@pytest.fixture
def target_runner(build: Callable[[str], Runner]) -> Runner:
    """The runner for the board."""
    return build("target")
