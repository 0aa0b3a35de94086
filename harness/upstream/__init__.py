"""Runs ExecuTorch's own suites, as the installed wheel ships them, against our runner and engine.

Upstream looks up fixed ELFs below EXECUTORCH_ROOT and the FVP by name on PATH; both are laid out for
it, and its test files stay untouched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from harness.engines import select_engine
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.firmware.sources import executorch_root
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.settings import Settings
from harness.targets import TARGETS, Target, target_named


@dataclass(frozen=True)
class Placement:
    """A runner, and the directories below `arm_test` in which upstream looks for it."""

    target: Target
    directories: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """An upstream suite: its folder in the package, and the runners it needs given pytest's arguments."""

    folder: str
    placements: Callable[[Sequence[str]], tuple[Placement, ...]]


_DIRECTORY = "arm_semihosting_executor_runner_"


def _cortex_m(arguments: Sequence[str]) -> tuple[Placement, ...]:
    names = _selected("--cortex-m-target", arguments) or ["cortex-m55"]
    # Upstream's Cortex-M tests all boot a Corstone-300, whatever the core.
    return tuple(Placement(t, (f"{_DIRECTORY}corstone-300_{t.name}",)) for t in map(_target, names))


def _arm(arguments: Sequence[str]) -> tuple[Placement, ...]:
    boards = {"u55": "corstone-300", "u65": "corstone-300-u65", "u85": "corstone-320"}
    return tuple(
        Placement(_target(npu), (f"{_DIRECTORY}{board}", f"{_DIRECTORY}portable-ops_{board}"))
        for npu, board in boards.items()
    )


SUITES = {
    "cortex_m": Suite("backends/cortex_m/test/ops", _cortex_m),
    "arm": Suite("backends/arm/test/ops", _arm),
}


def run_suite(
    name: str, arguments: Sequence[str], settings: Settings, progress: Callable[[str], None]
) -> int:
    """Run suite `name` with pytest `arguments`; returns pytest's exit status.

    Raises:
        HarnessError: unknown suite or target, a build that fails, an absent engine.
    """
    suite = SUITES.get(name)
    if suite is None:
        raise _options(f"unknown suite '{name}'", f"one of: {', '.join(SUITES)}")
    if settings.engine == "host":
        raise _options("upstream's tests start an FVP; --engine host has none", "use --engine standin")
    placements = suite.placements(arguments)
    simulators = [Path(select_engine(settings.engine, p.target).identity().path) for p in placements]
    elves = [
        build_runner(RunnerRequest(p.target, known_operators()), settings.cache, progress) for p in placements
    ]
    # One folder for each set of runners and simulators: two checkouts never see each other's.
    parts = [*(elf.sha256 for elf in elves), *map(str, simulators)]
    root = settings.cache / "upstream" / f"{name}-{sha256(' '.join(parts).encode()).hexdigest()[:16]}"
    for placement, elf, simulator in zip(placements, elves, simulators, strict=True):
        for directory in placement.directories:
            _place(elf.path, root / "arm_test" / directory / "arm_executor_runner")
        _link(simulator, root / "bin")
    # An own root directory and configuration: upstream's tests must not see those of this project.
    (root / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "--rootdir", str(root), "-c", str(root / "pytest.ini")]
    command += ["-p", "no:cacheprovider", "-p", "no:harness.plugin", str(executorch_root() / suite.folder)]
    command += arguments
    path = f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "EXECUTORCH_ROOT": str(root), "PATH": path}
    return subprocess.run(command, cwd=root, env=environment, check=False).returncode


def _place(elf: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(f".{os.getpid()}")
    shutil.copyfile(elf, fresh)
    fresh.replace(place)


def _link(simulator: Path, folder: Path) -> None:
    """Only the chosen executables are on PATH: a folder of launchers holds the names of all boards."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{simulator.name}.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(simulator)
    fresh.replace(folder / simulator.name)


def _selected(option: str, arguments: Sequence[str]) -> list[str]:
    """Values of a repeatable pytest option."""
    words, chosen = list(arguments), []
    for index, word in enumerate(words):
        if word == option and index + 1 < len(words):
            chosen.append(words[index + 1])
        elif word.startswith(option + "="):
            chosen.append(word.split("=", 1)[1])
    return chosen


def _target(name: str) -> Target:
    try:
        return target_named(name)
    except KeyError as error:
        raise _options(f"no runner for target '{name}'", f"one of: {', '.join(TARGETS)}") from error


def _options(summary: str, hint: str) -> HarnessError:
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, summary, hint))
