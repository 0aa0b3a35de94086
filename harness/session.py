"""One session: lowers, builds, boots and judges with fixed settings. The only place that joins the stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from harness.engines import Engine, HostEngine, find_fvp, prepare, run_attempt, select_engine
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.flow import Attempt, Case, Limits, Program, RunnerElf, RunSpec, Tolerance
from harness.outcomes import HarnessError
from harness.reruns.host import LoadMeter
from harness.reruns.steps import OtherEngine
from harness.settings import Settings
from harness.targets import TARGETS, Isa, Target

Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """Progress that nobody wants to see."""


@dataclass(frozen=True)
class Harness:
    """The stages of the flow under one set of options; `progress` hears of long steps."""

    settings: Settings
    progress: Progress = quiet

    def seeded(self, case: Case) -> Case:
        """`case` with the seed that this session gives it: `--case-seed`, or its own."""
        seed = self.settings.case_seed
        return case if seed is None else replace(case, seed=seed)

    def lower(self, case: Case) -> Program:
        """Lower `case` with this session's seed, or fetch the same program from the cache. Imports torch.

        Raises:
            HarnessError: phase lower, or REF_ERROR.
        """
        return self.lower_into(self.seeded(case))

    def lower_into(self, case: Case, cache: Path | None = None) -> Program:
        """Lower `case` as it stands, into `cache` in place of the session's.

        Raises:
            HarnessError: phase lower, or REF_ERROR.
        """
        from harness import aot

        return aot.lower(case, cache or self.settings.cache)

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
            meter = LoadMeter()
            attempt = run_attempt(engine, spec, directory, number)
            durations = {"build": built - started, **attempt.durations}
            return replace(attempt, durations=durations, load=meter.share())
        except HarnessError as error:
            return Attempt(number, error.outcome)

    def check(self, case: Case, directory: Path, bundled: bool = False, number: int = 1) -> Attempt:
        """Lower, build, boot and judge `case`. A failure of any stage is an Attempt."""
        return self.check_case(self.seeded(case), directory, bundled)[0].with_number(number)

    def check_case(
        self, case: Case, directory: Path, bundled: bool = False
    ) -> tuple[Attempt, Program | None]:
        """As `check`, with the case's own seed; also returns the program, None if lowering failed."""
        started = perf_counter()
        try:
            self.engine(case.target)  # where there is none, there is no need to lower
            program = self.lower_into(case)
        except HarnessError as error:
            return Attempt(1, error.outcome, durations={"lower": perf_counter() - started}), None
        lowered = perf_counter() - started
        attempt = self.run(program, directory, case.tolerance, bundled=bundled)
        return replace(attempt, durations={"lower": lowered, **attempt.durations}), program

    def engine_of(self, attempt: Attempt) -> Engine:
        """The engine that made `attempt`.

        Raises:
            HarnessError: it is gone.
        """
        assert attempt.result is not None
        return self.engine(TARGETS[attempt.result.spec.target])

    def other_engines(self, program: Program, attempt: Attempt) -> tuple[OtherEngine, ...]:
        """What else executes the program of `attempt`, the cheapest first; nothing is built yet."""
        assert attempt.result is not None
        target, kind = program_target(program), attempt.result.engine.kind
        found: list[OtherEngine] = []

        def add(name: str, engine: Callable[[], Engine], **build: Any) -> None:
            request = RunnerRequest(target, program.operators, **build)
            found.append(OtherEngine(name, lambda: (engine(), build_runner(request, self.settings.cache))))

        if target.npu is None and program.operators:
            if kind != "host" and target.isa is not Isa.SCALAR:
                add("scalar kernels", lambda: self.engine(target), variant="scalar")
            if kind != "host":
                add("the host", HostEngine, platform="host")
            add("the host with sanitizers", HostEngine, platform="host", sanitize=True)
        if kind != "fvp" and find_fvp(target) is not None:
            add("Arm's FVP", lambda: select_engine("fvp", target))
        if kind != "standin" and program.operators:
            add("the stand-in", lambda: select_engine("standin", target))
        return tuple(found)


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
        limits=Limits.around(settings.timelimit, settings.silence_limit),
        extra_args=settings.fvp_args,
        npu_trace=settings.npu_trace,
        seed=program.seed,
        hashes={**program.hashes, "elf": elf.sha256, "kernels": elf.source_hash},
    )
