"""One attempt: run, compare, judge."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter

from harness.console.classify import classify
from harness.console.events import read_events
from harness.console.evidence import Evidence
from harness.console.symbols import locator, misaligned_buffers
from harness.engines.base import Engine
from harness.engines.directory import output_states
from harness.flow import Attempt, RunResult, RunSpec
from harness.outcomes import HarnessError


def run_attempt(engine: Engine, spec: RunSpec, directory: Path, number: int = 1) -> Attempt:
    """Run `spec` once in `directory`, compare its outputs and judge it.

    A run that cannot be started is a red attempt without a result, not an exception.
    """
    started = perf_counter()
    try:
        result = engine.run(spec, directory)
    except HarnessError as error:
        return Attempt(number, error.outcome, durations={"run": perf_counter() - started})
    ran = perf_counter()
    attempt = judge(result, number)
    durations = {"run": ran - started, "compare": perf_counter() - ran}
    return Attempt(number, attempt.outcome, result, attempt.comparisons, durations)


def judge(result: RunResult, number: int = 1) -> Attempt:
    """Compare and classify what a run left in its directory; runs nothing."""
    # Imports numpy, for which no boot should wait.
    from harness.compare.compare import compare_outputs

    spec, directory = result.spec, result.directory
    comparisons = compare_outputs(
        directory, spec.output_names, spec.references, spec.output_specs, spec.tolerance
    )
    evidence = Evidence(
        spec=spec,
        engine=result.engine.kind,
        spoke=bool(result.lines),
        events=read_events(result.lines),
        stopped_by=result.stopped_by,
        exit_status=result.exit_status,
        outputs=output_states(spec, directory),
        comparisons=comparisons,
        locate=locator(directory / spec.elf),
        misaligned=partial(misaligned_buffers, directory / spec.elf),
        tests=_test_cases(spec, directory),
    )
    return Attempt(number, classify(evidence), result, comparisons)


def _test_cases(spec: RunSpec, directory: Path) -> int:
    """Number of test cases in the bundle; 1 for a plain program and for a bundle that cannot be read."""
    if not spec.program.endswith(".bpte"):
        return 1
    from harness.pte import read_bundle

    try:
        return len(read_bundle((directory / spec.program).read_bytes()).cases)
    except (HarnessError, OSError):
        return 1
