"""Runs ExecuTorch's own suites, as the installed wheel ships them, against our runner and engine.

Upstream looks up one fixed ELF per target below EXECUTORCH_ROOT and the FVP by name on PATH; both are
laid out for it, and its test files stay untouched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.engines import select_engine
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.settings import Settings
from harness.targets import TARGETS, Target, target_named


@dataclass(frozen=True)
class Suite:
    """An upstream suite: importable package, and the option by which it takes targets."""

    package: str
    target_option: str
    default_target: str


SUITES = {"cortex_m": Suite("executorch.backends.cortex_m.test.ops", "--cortex-m-target", "cortex-m55")}


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
    targets = [_target(word) for word in _selected(suite, arguments)]
    root = settings.cache / "upstream" / name
    fvps = {}
    for target in targets:
        fvps[target.fvp] = Path(select_engine(settings.engine, target).identity().path).parent
        elf = build_runner(RunnerRequest(target, known_operators()), settings.cache, progress)
        _place(elf.path, root, target)
    # An own root directory and configuration: upstream's tests must not see those of this project.
    (root / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "--rootdir", str(root), "-c", str(root / "pytest.ini")]
    command += ["-p", "no:cacheprovider", "-p", "no:harness.plugin", "--pyargs", suite.package, *arguments]
    return subprocess.run(
        command, cwd=root, env=_environment(root, list(fvps.values())), check=False
    ).returncode


def elf_location(root: Path, target: Target) -> Path:
    """Where upstream looks for the runner of a Cortex-M target."""
    directory = f"arm_semihosting_executor_runner_{target.board.name}_{target.name}"
    return root / "arm_test" / directory / "arm_executor_runner"


def _place(elf: Path, root: Path, target: Target) -> None:
    place = elf_location(root, target)
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(f".{os.getpid()}")
    shutil.copyfile(elf, fresh)
    fresh.replace(place)


def _environment(root: Path, directories: list[Path]) -> dict[str, str]:
    path = os.pathsep.join([*map(str, dict.fromkeys(directories)), os.environ.get("PATH", "")])
    return {**os.environ, "EXECUTORCH_ROOT": str(root), "PATH": path}


def _selected(suite: Suite, arguments: Sequence[str]) -> list[str]:
    words, chosen = list(arguments), []
    for index, word in enumerate(words):
        if word == suite.target_option and index + 1 < len(words):
            chosen.append(words[index + 1])
        elif word.startswith(suite.target_option + "="):
            chosen.append(word.split("=", 1)[1])
    return chosen or [suite.default_target]


def _target(name: str) -> Target:
    try:
        return target_named(name)
    except KeyError as error:
        raise _options(f"no runner for target '{name}'", f"one of: {', '.join(TARGETS)}") from error


def _options(summary: str, hint: str) -> HarnessError:
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, summary, hint))
