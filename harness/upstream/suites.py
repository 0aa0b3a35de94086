"""ExecuTorch's own suites in the installed wheel, and where their tests look for runners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import TARGETS, Target, on_corstone_300, target_named


@dataclass(frozen=True)
class Placement:
    """A runner, and the directories below `arm_test` in which upstream looks for it."""

    target: Target
    directories: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """An upstream suite.

    Attributes:
        folder: in the package.
        parts: words of test ids by which results are counted.
        placements: the runners it needs, given pytest's arguments.
        files: names of the files that belong to it; empty for all.
    """

    folder: str
    parts: tuple[str, ...]
    placements: Callable[[Sequence[str]], tuple[Placement, ...]]
    files: tuple[str, ...] = ()

    def arguments(self, package: Path) -> tuple[str, ...]:
        """The suite as arguments of pytest, given the package's directory.

        Ids begin with a file's name only below a folder; pytest leaves it out of a file that it is given.
        """
        folder = package / self.folder
        others = [path for path in sorted(folder.rglob("test_*.py")) if path.name not in self.files]
        return (str(folder), *(f"--ignore={path}" for path in others if self.files))


_DIRECTORY = "arm_semihosting_executor_runner_"


def suite_named(name: str) -> Suite:
    """The suite called `name`.

    Raises:
        HarnessError: CONFIG/OPTIONS, there is none.
    """
    suite = SUITES.get(name)
    if suite is None:
        raise options_error(f"unknown suite '{name}'", f"one of: {', '.join(SUITES)}")
    return suite


def options_error(summary: str, hint: str) -> HarnessError:
    """A contradictory request, found before anything is built."""
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, summary, hint))


def _cortex_m(arguments: Sequence[str]) -> tuple[Placement, ...]:
    names = _selected("--cortex-m-target", arguments) or ["cortex-m55"]
    # Upstream's Cortex-M tests all boot a Corstone-300, whatever the core.
    targets = (on_corstone_300(_target(name)) for name in names)
    return tuple(Placement(t, (f"{_DIRECTORY}corstone-300_{t.name}",)) for t in targets)


def _arm(arguments: Sequence[str]) -> tuple[Placement, ...]:
    boards = {"u55": "corstone-300", "u65": "corstone-300-u65", "u85": "corstone-320"}
    return tuple(
        Placement(_target(npu), (f"{_DIRECTORY}{board}", f"{_DIRECTORY}portable-ops_{board}"))
        for npu, board in boards.items()
    )


# The models of upstream's suite that need no package beyond executorch's own.
_MODELS = ("deep_autoencoder", "ds_cnn", "lstm_arm", "mobilenet_v1_025", "residual_conv_block", "resnet8")
_MODEL_FILES = tuple(f"test_{name}.py" for name in _MODELS)

SUITES = {
    "cortex_m": Suite("backends/cortex_m/test/ops", ("dialect", "implementation"), _cortex_m),
    "arm": Suite("backends/arm/test/ops", ("u55", "u65", "u85"), _arm),
    "arm_models": Suite("backends/arm/test/models", ("u55", "u65", "u85"), _arm, _MODEL_FILES),
}


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
        raise options_error(f"no runner for target '{name}'", f"one of: {', '.join(TARGETS)}") from error
