"""What all engines do around their process: check, boot, collect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from harness.console import etdump
from harness.console.events import significant
from harness.console.evidence import LOG_NAME
from harness.console.process import LaunchError, ProcessRecord, run_process
from harness.engines.directory import check_files, clear_outputs, output_states, write_spec
from harness.engines.environment import fingerprint
from harness.flow import EngineIdentity, RunResult, RunSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

ETDUMP_NAME = "etdump.bin"


def execute(
    identity: EngineIdentity, argv: Sequence[str], env: Mapping[str, str], spec: RunSpec, directory: Path
) -> RunResult:
    """Boot `argv` in `directory` and collect what it leaves behind.

    Raises:
        HarnessError: the directory is not what `spec` describes, or the process cannot be started.
    """
    started = perf_counter()
    check_files(spec, directory)
    clear_outputs(spec, directory)
    write_spec(spec, directory)
    prepared = perf_counter()
    try:
        record = run_process(
            argv,
            env=env,
            log=directory / LOG_NAME,
            limits=spec.limits,
            significant=significant,
        )
    except LaunchError as error:
        outcome = Outcome(
            Phase.LAUNCH,
            OutcomeClass.ENV_LOADER,
            f"{argv[0]} cannot be started: {error}",
            "is the file an executable for this machine? `harness doctor` shows which one was chosen",
        )
        raise HarnessError(outcome) from error
    ended = perf_counter()
    _keep_etdump(record, directory)
    outputs = {state.name: state.sha256 for state in output_states(spec, directory) if state.size is not None}
    durations = {
        "prepare": prepared - started,
        "simulate": record.durations["total"],
        "collect": perf_counter() - ended,
    }
    if "first_byte" in record.durations:
        durations["first_byte"] = record.durations["first_byte"]
    return RunResult(
        spec=spec,
        directory=directory,
        engine=identity,
        argv=record.argv,
        lines=record.lines,
        stopped_by=record.stopped_by,
        exit_status=record.exit_status,
        outputs=outputs,
        durations=durations,
        environment=fingerprint(),
    )


def _keep_etdump(record: ProcessRecord, directory: Path) -> None:
    """Write `etdump.bin` if the console has a profile."""
    (directory / ETDUMP_NAME).unlink(missing_ok=True)
    if any(etdump.BEGIN.decode() in line.text for line in record.lines):
        with (directory / LOG_NAME).open("rb") as stream:
            profile = etdump.decode(stream)
        if profile is not None:
            (directory / ETDUMP_NAME).write_bytes(profile)
