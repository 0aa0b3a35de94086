"""The driver, built with either runtime, and the programs it is given; made once per session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


def executorch_root() -> Path:
    """The directory of the executorch package."""
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def call(*command: object, cwd: Path | None = None, timeout: float = 600) -> str:
    """Run a command that has to succeed; returns its standard output."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, check=False, cwd=cwd
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def build(source: Path, directory: Path, **options: object) -> None:
    """Configure and build a CMake project."""
    settings = {"EXECUTORCH_ROOT": executorch_root(), **options}
    words = [f"-D{name}={value}" for name, value in settings.items()]
    call("cmake", "-G", "Ninja", "-S", source, "-B", directory, *words)
    call("cmake", "--build", directory, "--parallel", "2")


@dataclass(frozen=True)
class Run:
    """What a driver did: its output, its log, its exit status."""

    stdout: str
    log: str
    returncode: int

    @property
    def status(self) -> int:
        """The error code that loading and running ended with."""
        return int(self.stdout.rpartition("status ")[2], 16)


@dataclass(frozen=True)
class Driver:
    """A driver executable and the operators and backends of each program."""

    executable: Path
    registry: dict[str, dict[str, list[str]]]

    def run(self, program: Path, *options: object, known: str | None = None, timeout: float = 300) -> Run:
        """Run a program with the operators and backends of program `known`, by default its own."""
        entry = self.registry[known or program.stem]
        words = [word for name in entry["operators"] for word in ("--op", name)]
        words += [word for name in entry["backends"] for word in ("--backend", name)]
        done = subprocess.run(
            [str(self.executable), str(program), *words, *map(str, options)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Run(done.stdout, done.stderr, done.returncode)


Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Fills a directory once per session, whichever xdist worker comes first."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "runtime-tests"
    shared.mkdir(exist_ok=True)

    def get(name: str, fill: Callable[[Path], None]) -> Path:
        directory = shared / name
        with FileLock(shared / f"{name}.lock"):
            if not (directory / "done").exists():
                directory.mkdir(exist_ok=True)
                fill(directory)
                (directory / "done").touch()
        return directory

    return get


@pytest.fixture(scope="session")
def programs(once: Once) -> Path:
    """The directory of the programs."""

    def make(directory: Path) -> None:
        command = (sys.executable, "-W", "ignore", "-m", "tests.runtime.programs", directory)
        call(*command, cwd=REPOSITORY)

    return once("programs", make)


@pytest.fixture(scope="session")
def registry(programs: Path) -> dict[str, dict[str, list[str]]]:
    """Operators and backends of each program."""
    loaded: dict[str, dict[str, list[str]]] = json.loads((programs / "programs.json").read_text())
    return loaded


@pytest.fixture(scope="session")
def ours(once: Once, registry: dict[str, dict[str, list[str]]]) -> Driver:
    """The driver with our runtime and the sanitizers."""
    directory = once("ours", lambda path: build(HERE, path, RUNTIME="ours", SANITIZE="ON"))
    return Driver(directory / "driver", registry)


@pytest.fixture(scope="session")
def wheel(once: Once, registry: dict[str, dict[str, list[str]]]) -> Driver:
    """The driver with the wheel's libexecutorch."""
    return Driver(once("wheel", lambda path: build(HERE, path, RUNTIME="wheel")) / "driver", registry)
