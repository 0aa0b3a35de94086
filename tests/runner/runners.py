"""Runners with the tests' own operators: how they are configured, built and run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

HERE = Path(__file__).parent
RUNNER_APP = HERE.parents[1] / "runner_app"
TIME_LIMIT = 60.0

TARGET_OPTIONS = {
    "RUNTIME": "ours",
    "PLATFORM": "target",
    "TARGET": "cortex-m55",
    "BOARD": "corstone-300",
    "CMAKE_TOOLCHAIN_FILE": str(RUNNER_APP / "cmake" / "arm-none-eabi.cmake"),
}
VARIANTS: Mapping[str, Mapping[str, str]] = {
    "host-wheel": {"RUNTIME": "wheel", "PLATFORM": "host"},
    "host-ours": {"RUNTIME": "ours", "PLATFORM": "host", "SANITIZE": "ON"},
    "target": TARGET_OPTIONS,
    # Linked with an install that `make_prefix` makes.
    "target-prefix": {**TARGET_OPTIONS, "RUNTIME": "prefix"},
}


@dataclass(frozen=True)
class Finished:
    """Exit status and console of one run."""

    status: int
    console: str

    @property
    def lines(self) -> list[str]:
        """Messages without the bracket, level first: `E Unknown option …`."""
        return [line[0] + line.partition(")]")[2] for line in self.console.splitlines()]

    @property
    def errors(self) -> list[str]:
        """Messages of level E and F."""
        return [line[2:] for line in self.lines if line[0] in "EF"]


@dataclass(frozen=True)
class Runner:
    """A built runner: a process of this machine, or an image that QEMU boots."""

    path: Path
    emulated: bool
    machine: tuple[str, ...] = ()  # more arguments for QEMU

    def run(self, directory: Path, *words: str, semihosting: bool = True) -> Finished:
        """Run in `directory` with the command line `words`."""
        argv = [str(self.path), *words]
        if self.emulated:
            arguments = "".join(f",arg={word.replace(',', ',,')}" for word in ("executor_runner", *words))
            argv = [
                "qemu-system-arm",
                "-M",
                "mps3-an547",
                "-nographic",
                "-kernel",
                str(self.path),
                *self.machine,
            ]
            if semihosting:
                argv += ["-semihosting-config", f"enable=on,target=native{arguments}"]
        done = subprocess.run(
            argv,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIME_LIMIT,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(errors="replace"))


def make_prefix(directory: Path) -> None:
    """Cross-build and install an ExecuTorch in upstream's shape into `directory`."""
    options = {
        "RUNNER_DIR": str(RUNNER_APP),
        "EXECUTORCH_ROOT": executorch_package(),
        "CMAKE_INSTALL_PREFIX": str(directory),
        "CMAKE_TOOLCHAIN_FILE": TARGET_OPTIONS["CMAKE_TOOLCHAIN_FILE"],
    }
    build = directory / "build"
    configured = ["cmake", "-G", "Ninja", "-S", str(HERE / "prefix"), "-B", str(build)]
    configured += [f"-D{name}={value}" for name, value in options.items()]
    for argv in (configured, ["ninja", "-C", str(build), "install"]):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    # Only what was installed is left to be found.
    shutil.rmtree(build)


def executorch_package() -> str:
    """Directory of the installed package."""
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations
    return spec.submodule_search_locations[0]


def configure(build: Path, options: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Configure the runner with the tests' operators; `options` come on top."""
    every = {
        "EXECUTORCH_ROOT": executorch_package(),
        "REGISTRATION": str(HERE / "registration.cpp"),
        **options,
    }
    argv = ["cmake", "-G", "Ninja", "-S", str(RUNNER_APP), "-B", str(build)]
    argv += [f"-D{name}={value}" for name, value in every.items()]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def once(shared: Path, name: str, make: Callable[[Path], None]) -> Path:
    """The directory `name`, filled by the first process that asks for it."""
    directory = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not (directory / "done").exists():
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            make(directory)
            (directory / "done").touch()
    return directory
