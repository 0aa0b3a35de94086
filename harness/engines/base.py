"""What an engine is: something that executes a runner with a program and tells what it left behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.flow import EngineIdentity, RunResult, RunSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import Target


@dataclass(frozen=True)
class Capabilities:
    """What an engine can do for one target.

    `board`: executes the target's own instructions. `npu`: simulates its Ethos-U. `cycles`: its counters
    mean something. `reason` says in one line why a target cannot run, empty if it can.
    """

    board: bool
    npu: bool = False
    cycles: bool = False
    reason: str = ""

    @property
    def runs(self) -> bool:
        """True if the engine can run a program of the target."""
        return not self.reason


class Engine(Protocol):
    """Executes runs; results of engines with different identities never mix."""

    def identity(self) -> EngineIdentity:
        """Which executable this is, by its version text and its hash."""
        ...

    def capabilities(self, target: Target) -> Capabilities:
        """What the engine can do for `target`."""
        ...

    def run(self, spec: RunSpec, directory: Path) -> RunResult:
        """Run once in the attempt directory that `spec`'s paths are relative to.

        Raises:
            HarnessError: the run could not be started; the outcome says why.
        """
        ...


def no_npu_trace(engine: str) -> HarnessError:
    """CONFIG/OPTIONS: `--npu-trace` for an engine that cannot write one."""
    summary = f"--npu-trace: {engine} writes no record of the NPU's operations"
    hint = "leave it out, or use --engine standin"
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, summary, hint))
