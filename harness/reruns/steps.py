"""The executor of the ladder: makes each step's attempt, repeating the smallest stage that differs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from harness.engines import Engine, run_attempt
from harness.engines.directory import write_spec
from harness.flow import Attempt, Case, Program, RunnerElf, RunSpec, Tolerance
from harness.outcomes import HarnessError
from harness.reruns.budget import Budget
from harness.reruns.host import LoadMeter, Turns
from harness.reruns.ladder import Conclusion, Means, Step, decide
from harness.reruns.policy import Kind, policy_of
from harness.reruns.trial import Rung, trial_of

# How many other seeds the ladder tries at most.
SEEDS = 3


@dataclass(frozen=True)
class Judged:
    """One thing to run, and what its first attempt came from.

    Attributes:
        program: None if lowering failed.
        case: it was lowered from; None for a program made by hand.
        tolerance: of the comparison.
        bundled: boots with a bundle.
        runner: given by the test; None for the session's.
    """

    program: Program | None
    case: Case | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    bundled: bool = False
    runner: RunnerElf | None = None


@dataclass(frozen=True)
class OtherEngine:
    """Another way to execute a program; `make` builds what it needs."""

    name: str
    make: Callable[[], tuple[Engine, RunnerElf]]


class Stages(Protocol):
    """The stages of the flow, as the session joins them."""

    def lower_into(self, case: Case, cache: Path | None = None) -> Program:
        """Lower with the case's own seed, into the session's cache or into another one."""
        ...

    def run(
        self,
        program: Program,
        directory: Path,
        tolerance: Tolerance | None = None,
        runner: RunnerElf | None = None,
        bundled: bool = False,
        number: int = 1,
    ) -> Attempt:
        """Boot once."""
        ...

    def engine_of(self, attempt: Attempt) -> Engine:
        """The engine that made `attempt`."""
        ...

    def other_engines(self, program: Program, attempt: Attempt) -> tuple[OtherEngine, ...]:
        """What else executes `program`."""
        ...


# Lowers the case of a test again, bypassing caches, into a directory; and says where ("new process").
ReLower = Callable[[Path], tuple[Program, str]]


@dataclass(frozen=True)
class Ladder:
    """Everything that rerunning needs.

    Attributes:
        stages: of the flow.
        directory: makes a new directory for each attempt.
        budget: of the session.
        turns: of its workers.
        relower: lowers the judged case again in a new process; None: in this one.
    """

    stages: Stages
    directory: Callable[[], Path]
    budget: Budget
    turns: Turns
    relower: ReLower | None = None

    def climb(
        self, judged: Judged, first: Attempt, record: Callable[[Attempt], Attempt]
    ) -> tuple[list[Attempt], Conclusion]:
        """Rerun what `first` failed at until the verdict is proven or the budget is used up.

        Args:
            judged: what was run.
            first: its attempt, not green.
            record: hears of each further attempt and gives it its number.

        Returns:
            All attempts, and what they prove.
        """
        attempts = [first]
        trials = [trial_of(first)]
        others = {} if judged.program is None else self._others(judged.program, first)
        means = Means(
            re_lower=judged.case is not None and judged.program is not None,
            seeds=_seeds(judged.case),
            engines=tuple(others),
        )
        spent = self.budget.claim() if policy_of(first.outcome).kind is not Kind.NONE else ""
        while isinstance(step := decide(trials, means, spent or self.budget.exhausted()), Step):
            with self.budget.counted(), self._turn(step):
                attempt = record(self._make(step, judged, first, others))
            attempts.append(attempt)
            trials.append(trial_of(attempt))
        return attempts, step

    def _turn(self, step: Step) -> AbstractContextManager[None]:
        return self.turns.alone() if step.alone else self.turns.shared()

    def _others(self, program: Program, first: Attempt) -> dict[str, OtherEngine]:
        if first.result is None:
            return {}
        return {other.name: other for other in self.stages.other_engines(program, first)}

    def _make(self, step: Step, judged: Judged, first: Attempt, others: Mapping[str, OtherEngine]) -> Attempt:
        directory = self.directory()
        try:
            if step.rung is Rung.OTHER_ENGINE:
                attempt = self._elsewhere(others[step.engine], judged, first, directory)
                changed = step.engine
            elif step.rung is Rung.OTHER_SEED:
                attempt, changed = self._other_seed(step, judged, directory), f"seed {step.seed}"
            elif step.rung is Rung.RE_LOWER:
                attempt, changed = self._relowered(judged, first, directory)
            else:
                attempt, changed = self._again(judged, first, directory), "time only"
        except HarnessError as error:
            attempt, changed = Attempt(0, error.outcome), str(step)
        return replace(attempt, rung=step.rung.value, changed=changed)

    def _again(self, judged: Judged, first: Attempt, directory: Path) -> Attempt:
        """The very files of the first attempt; without a run there, the stage that failed."""
        if first.result is not None:
            return rerun(self.stages.engine_of(first), first.result.spec, first.result.directory, directory)
        program = judged.program
        if program is None:
            assert judged.case is not None
            program = self.stages.lower_into(judged.case, directory / "lowered")
        return self._run(judged, program, directory)

    def _relowered(self, judged: Judged, first: Attempt, directory: Path) -> tuple[Attempt, str]:
        into = directory / "lowered"
        if self.relower is not None:
            program, changed = self.relower(into)
        else:
            assert judged.case is not None
            program, changed = self.stages.lower_into(judged.case, into), "same process"
        return self._run(judged, program, directory), changed

    def _other_seed(self, step: Step, judged: Judged, directory: Path) -> Attempt:
        assert judged.case is not None
        assert step.seed is not None
        case = replace(judged.case, seed=step.seed)
        return self._run(judged, self.stages.lower_into(case), directory)

    def _run(self, judged: Judged, program: Program, directory: Path) -> Attempt:
        attempt = self.stages.run(program, directory, judged.tolerance, judged.runner, judged.bundled)
        return replace(attempt, hashes={**program.hashes, **attempt.hashes})

    def _elsewhere(self, other: OtherEngine, judged: Judged, first: Attempt, directory: Path) -> Attempt:
        assert first.result is not None
        engine, runner = other.make()
        spec = replace(first.result.spec, extra_args=())
        return rerun(engine, spec, first.result.directory, directory, runner)


def rerun(
    engine: Engine, spec: RunSpec, source: Path, directory: Path, runner: RunnerElf | None = None
) -> Attempt:
    """Run `spec` with the files of the attempt directory `source` in a new one; `runner` replaces its ELF."""
    directory.mkdir(parents=True, exist_ok=True)
    names = (spec.elf, spec.program, *spec.inputs, *spec.references)
    for name in names:
        if (source / name).is_file():
            shutil.copy(source / name, directory / name)
    if runner is not None:
        shutil.copy(runner.path, directory / spec.elf)
        spec = replace(spec, hashes={**spec.hashes, "elf": runner.sha256, f"file:{spec.elf}": runner.sha256})
    write_spec(spec, directory)
    meter = LoadMeter()
    attempt = run_attempt(engine, spec, directory)
    return replace(attempt, load=meter.share())


def _seeds(case: Case | None) -> tuple[int, ...]:
    """Seeds other than the case's own, the same for each session."""
    if case is None:
        return ()
    return tuple(case.seed + offset for offset in range(1, SEEDS + 1))
