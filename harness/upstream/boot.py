"""One boot of a program that upstream's tester holds: files, RunSpec, engine, outputs as tensors."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from harness import pte
from harness.console.events import Kind, read_events
from harness.engines import prepare, run_attempt, select_engine
from harness.engines.directory import file_sha256
from harness.flow import Attempt, Limits, Program, RunSpec, Tolerance
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.reruns.host import LoadMeter
from harness.settings import Settings
from harness.targets import TARGETS, target_named

# What upstream's tests run on which board: (NPU target, name of its FVP's board).
_BOARDS = {"corstone-300": "u55", "corstone-300-u65": "u65", "corstone-320": "u85"}
# The last line of upstream's own runner; ours has an end marker behind it.
_COMPLETE = re.compile(r"Program complete, exiting\.")
_HANDED_OVER = "outputs handed to upstream's comparison"


def boot(
    manager: Any,
    inputs: Sequence[Any],
    intermediate_path: str | Path,
    target_board: str,
    elf_path: str | Path,
    timeout: int,
    directory: Path,
    settings: Settings,
) -> tuple[Attempt, Any | None]:
    """Run the program of `manager` once in `directory`.

    Returns:
        The attempt, and the outputs as upstream reads them; None if the run failed.
    """
    from executorch.backends.arm.test import runner_utils

    started = perf_counter()
    if target_board not in _BOARDS:
        raise ValueError(f"Unsupported target: {target_board}")
    exported = manager.exported_program()
    place = Path(intermediate_path)
    place.mkdir(exist_ok=True)
    (place / "program.pte").write_bytes(manager.buffer)
    files = [Path(name) for name in runner_utils.save_inputs_to_file(exported, inputs, place)]
    try:
        program = describe_program(place / "program.pte", files, target_board)
        spec = run_spec(program, Path(elf_path), timeout, settings)
        spec = prepare(spec, directory, Path(elf_path), program)
        engine = select_engine(settings.engine, TARGETS[program.target])
        prepared = perf_counter()
        meter = LoadMeter()
        attempt = run_attempt(engine, spec, directory)
    except HarnessError as error:
        return Attempt(1, error.outcome, durations={"prepare": perf_counter() - started}), None
    durations = {"prepare": prepared - started, **attempt.durations}
    attempt = judged(replace(attempt, durations=durations, load=meter.share(), hashes=program.hashes))
    if not ended_well(attempt):
        return attempt, None
    for name in spec.output_names:
        shutil.copyfile(directory / name, place / name)
    return attempt, runner_utils.get_output_from_file(exported, place, spec.output_base)


def describe_program(file: Path, inputs: Sequence[Path], target_board: str) -> Program:
    """A program without references, for the board that upstream names.

    Raises:
        HarnessError: BUNDLE_INVALID, the file is no program.
    """
    content = pte.read_file(file)
    described = content.program if isinstance(content, pte.BundleFile) else content
    method = described.method()
    return Program(
        directory=file.parent,
        pte=file,
        bpte=None,
        inputs=tuple(inputs),
        references=(),
        input_specs=method.inputs,
        output_specs=method.outputs,
        operators=described.operators,
        target=target_named(_BOARDS[target_board]).name,
        seed=0,
        hashes={"pte": file_sha256(file)},
    )


def run_spec(program: Program, elf: Path, timeout: int, settings: Settings) -> RunSpec:
    """One boot, as upstream's tester would make it."""
    target = TARGETS[program.target]
    return RunSpec(
        target=target.name,
        board=target.board.name,
        elf="runner.elf",
        program="program.pte",
        inputs=tuple(f"i{i}.bin" for i in range(len(program.inputs))),
        references=(),
        output_specs=program.output_specs,
        input_specs=program.input_specs,
        tolerance=Tolerance(),
        limits=Limits.around(timeout, settings.silence_limit),
        extra_args=settings.fvp_args,
        hashes={"pte": program.hashes["pte"], "elf": file_sha256(elf)},
    )


def judged(attempt: Attempt) -> Attempt:
    """`attempt` without references: a run to the good end is green as far as it goes."""
    result = attempt.result
    if result is None or attempt.outcome.kind is not OutcomeClass.NO_VERDICT or result.exit_status != 0:
        return attempt
    ends = [event for event in read_events(result.lines) if event.kind is Kind.END]
    complete = any(_COMPLETE.search(line.text) for line in result.lines)
    written = set(result.outputs) >= set(result.spec.output_names)
    good = len(ends) == 1 and int(ends[0].values["status"]) == 0 if ends else complete
    if not (good and written):
        return attempt
    return replace(attempt, outcome=Outcome(Phase.EXIT, OutcomeClass.PASS, _HANDED_OVER))


def ended_well(attempt: Attempt) -> bool:
    """True if upstream has outputs to compare."""
    return attempt.outcome.green
