"""One session: lowers, builds, boots and judges with fixed settings. The only place that joins the stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from harness.engines import Engine, prepare, run_attempt, select_engine
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.flow import Attempt, Case, Limits, Program, RunnerElf, RunSpec, Tolerance
from harness.outcomes import HarnessError
from harness.settings import Settings
from harness.targets import TARGETS, Target

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Progress that nobody wants to see."""


@dataclass(frozen=True)
class Harness:
    """The stages of the flow under one set of options; `progress` hears of long steps."""

    settings: Settings
    progress: Progress = quiet

    def lower(self, case: Case) -> Program:
        """Lower `case`, or fetch the same program from the cache. Imports torch.

        Raises:
            HarnessError: phase lower, or REF_ERROR.
        """
        from harness import aot

        seed = self.settings.case_seed
        return aot.lower(case if seed is None else replace(case, seed=seed), self.settings.cache)

    def engine(self, target: Target) -> Engine:
        """The engine for `target` under `--engine`.

        Raises:
            HarnessError: NOT_RUN, the engine that was asked for is absent.
        """
        return select_engine(self.settings.engine, target)

    def runner(self, target: Target, operators: Sequence[str] = (), runtime: str | None = None) -> RunnerElf:
        """The runner for `target` and the chosen engine that has at least `operators`.

        `runtime` overrides what --host-runner or --executorch-prefix say.

        Raises:
            HarnessError: ENV/TOOLCHAIN, CONFIG/MISSING_OP or BUILD/*.
        """
        settings = self.settings
        chosen = tuple(sorted(operators))
        if self.settings.runner == "suite":
            chosen = tuple(sorted({*known_operators(), *operators}))
        if settings.engine == "host":
            sanitize = settings.host_runner == "sanitized"
            kind = runtime or ("wheel" if settings.host_runner == "wheel" else "ours")
            request = RunnerRequest(target, chosen, kind, "host", sanitize=sanitize)
        else:
            prefix = settings.executorch_prefix
            kind = runtime or ("prefix" if prefix else "ours")
            request = RunnerRequest(target, chosen, kind, prefix=prefix if kind == "prefix" else None)
        return build_runner(request, settings.cache, self.progress)

    def run(
        self,
        program: Program,
        directory: Path,
        tolerance: Tolerance | None = None,
        runner: RunnerElf | None = None,
        bundled: bool = False,
        number: int = 1,
    ) -> Attempt:
        """Boot `program` once in `directory` and judge it. A failure is an Attempt, not an exception."""
        started = perf_counter()
        try:
            target = program_target(program)
            engine = self.engine(target)
            elf = runner or self.runner(target, program.operators)
            built = perf_counter()
            spec = run_spec(program, target, elf, self.settings, tolerance or Tolerance(), bundled)
            spec = prepare(spec, directory, elf.path, program)
            attempt = run_attempt(engine, spec, directory, number)
            return replace(attempt, durations={"build": built - started, **attempt.durations})
        except HarnessError as error:
            return Attempt(number, error.outcome)

    def check(self, case: Case, directory: Path, bundled: bool = False, number: int = 1) -> Attempt:
        """Lower, build, boot and judge `case`. A failure of any stage is an Attempt."""
        started = perf_counter()
        try:
            program = self.lower(case)
        except HarnessError as error:
            return Attempt(number, error.outcome)
        lowered = perf_counter() - started
        attempt = self.run(program, directory, case.tolerance, bundled=bundled, number=number)
        return replace(attempt, durations={"lower": lowered, **attempt.durations})


def program_target(program: Program) -> Target:
    """The target that `program` was lowered for."""
    return TARGETS[program.target]


def run_spec(
    program: Program, target: Target, elf: RunnerElf, settings: Settings, tolerance: Tolerance, bundled: bool
) -> RunSpec:
    """Describe one boot of `elf` with `program`; file names are those of the attempt directory. Pure."""
    return RunSpec(
        target=target.name,
        board=target.board.name,
        elf="runner.elf",
        program="program.bpte" if bundled else "program.pte",
        inputs=() if bundled else tuple(f"i{i}.bin" for i in range(len(program.inputs))),
        references=tuple(f"ref-{i}.bin" for i in range(len(program.references))),
        output_specs=program.output_specs,
        input_specs=program.input_specs,
        tolerance=tolerance,
        limits=Limits(
            silence=settings.silence_limit,
            total=settings.timelimit + settings.silence_limit,
            simulated=settings.timelimit,
        ),
        extra_args=settings.fvp_args,
        seed=program.seed,
        hashes={**program.hashes, "elf": elf.sha256},
    )
