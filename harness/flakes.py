"""`harness flakes NODEID`: how often does one test fail? Boots the same bytes many times, on all cores.

The test runs once through pytest, which leaves its program, ELF and inputs in an attempt directory; each
further run boots these. So the rate is that of kernels, runtime, engine and host; lowering is not repeated.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from time import time

from harness.aot.child import end_with
from harness.engines import select_engine
from harness.flow import RunSpec
from harness.ledger.entries import GREEN
from harness.ledger.statistics import Rate, exact_upper, percent
from harness.records import AttemptRecord, SessionRecord, TestRecord
from harness.repro import repro_command
from harness.targets import target_named
from harness.tether import tethered


class FlakesError(ValueError):
    """The test cannot be measured; one line for people."""


@dataclass(frozen=True)
class Measured:
    """The runs of one test, in order of their end.

    `complete` is False if `--until-fail` ended them: no rate may count runs that ended with the one failure
    that was waited for.
    """

    session: SessionRecord
    complete: bool

    @property
    def attempts(self) -> tuple[AttemptRecord, ...]:
        """One a run."""
        return self.session.tests[0].attempts

    @property
    def rate(self) -> Rate:
        """Failures and runs."""
        return Rate(sum(attempt.kind not in GREEN for attempt in self.attempts), len(self.attempts))


@dataclass(frozen=True)
class Job:
    """One boot: of which test, the attempt directory to repeat, on which engine, and where."""

    nodeid: str
    source: Path
    engine: str
    directory: Path


def measure(nodeid: str, runs: int, engine: str, until_fail: bool, directory: Path, workers: int) -> Measured:
    """Run a test once, then boot its bytes `runs` times.

    Args:
        nodeid: of one test.
        runs: how often, at most.
        engine: as for `--engine`.
        until_fail: stop at the first failure.
        directory: keeps the evidence of failures.
        workers: boots at the same time.

    Raises:
        FlakesError: not exactly one test, or it boots nothing.
        HarnessError: the engine is absent.
    """
    with tempfile.TemporaryDirectory(prefix="harness-flakes-") as name:
        session, test = _first(nodeid, engine, Path(name))
        source = source_of(test)
        kind = test.attempts[0].engine or engine
        started = time()
        attempts: list[AttemptRecord] = []
        jobs = (Job(nodeid, source, kind, directory / f"run-{number}") for number in range(1, runs + 1))
        for _, attempt in boots(jobs, min(workers, runs)):
            attempts.append(replace(attempt, number=len(attempts) + 1))
            if until_fail and attempt.kind not in GREEN:
                break
    record = measured_session(session, [(test, attempts)], started, ("flakes", nodeid, "--runs", str(runs)))
    red = record.exit_status != 0
    return Measured(record, complete=not (until_fail and red))


def measured_session(
    session: SessionRecord,
    measured: Iterable[tuple[TestRecord, Sequence[AttemptRecord]]],
    started: float,
    command: Sequence[str],
) -> SessionRecord:
    """The record of a measurement: the tests of `session` with the attempts that were made of their bytes."""
    seconds = time() - started
    tests = tuple(
        replace(
            test,
            result="failed" if any(attempt.kind not in GREEN for attempt in made) else "passed",
            attempts=tuple(made),
            verdict=None,
            history=None,
            started=started,
            seconds=seconds,
            message="",
            repro=None,
        )
        for test, made in measured
    )
    return replace(
        session,
        id=uuid.uuid4().hex,
        started=started,
        seconds=seconds,
        argv=("harness", *command),
        exit_status=int(any(test.result == "failed" for test in tests)),
        partial=False,
        tests=tests,
    )


def _first(nodeid: str, engine: str, directory: Path) -> tuple[SessionRecord, TestRecord]:
    """The session and the test, from one run through pytest."""
    session = first_session([nodeid], engine, directory, "-n0")
    if len(session.tests) != 1:
        names = ", ".join(test.nodeid for test in session.tests[:4])
        raise FlakesError(f"{nodeid} is not one test but {len(session.tests)}: {names or 'none'}; name one")
    return session, session.tests[0]


def first_session(selection: Sequence[str], engine: str, directory: Path, *options: str) -> SessionRecord:
    """One pytest session of `selection`, whose attempt directories below `directory` can be booted again.

    Args:
        selection: as the user gave it.
        engine: that boots.
        directory: for evidence and report.
        options: further ones of pytest.

    Raises:
        FlakesError: nothing ran, or it left no journal.
    """
    from harness.report.jsonl import JournalError, read_journal

    places = {
        "--artifacts": directory / "artifacts",
        "--report-dir": directory / "report",
        "--engine": engine,
    }
    command = [sys.executable, "-m", "pytest", *selection, *options, "-q", "-p", "no:cacheprovider"]
    command += ["--no-reruns", "--ledger", "off", *(str(word) for pair in places.items() for word in pair)]
    done = subprocess.run(
        tethered(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    journals = sorted((directory / "report").glob("*.jsonl"))
    if not journals:
        said = [line for line in done.stdout.splitlines() if line.strip()]
        raise FlakesError(
            f"{' '.join(selection)} was not run: "
            + (said[-1] if said else f"pytest ended with {done.returncode}")
        )
    try:
        return read_journal(journals[-1]).session
    except JournalError as error:
        raise FlakesError(str(error)) from error


def source_of(test: TestRecord) -> Path:
    """The attempt directory of the test's first boot.

    Raises:
        FlakesError: it boots nothing.
    """
    for attempt in test.attempts:
        if attempt.directory and (Path(attempt.directory) / "runspec.json").is_file():
            return Path(attempt.directory)
    last = f"; its attempt: {test.attempts[-1].summary}" if test.attempts else ""
    raise FlakesError(f"{test.nodeid} boots nothing that could be repeated{last}")


def boots(jobs: Iterable[Job], workers: int) -> Iterator[tuple[Job, AttemptRecord]]:
    """Attempts as they end; processes of their own, since a terminal is forked for each boot."""
    pool = ProcessPoolExecutor(
        max_workers=workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_worker,
        initargs=(os.getpid(),),
    )
    with pool:
        try:
            pending: dict[Future[str], Job] = {}
            left = iter(jobs)
            while True:
                # No more at a time than there are workers, so that a stop is a stop.
                for job in left:
                    pending[pool.submit(_boot, job.source, job.engine, job.directory)] = job
                    if len(pending) >= workers:
                        break
                if not pending:
                    return
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(future), AttemptRecord.from_json(future.result())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    end_with(parent)


def _boot(source: Path, engine: str, directory: Path) -> str:
    """One boot, as the JSON of its record; a green one leaves no directory."""
    from harness.plugin.payload import attempt_record
    from harness.reruns.steps import rerun

    spec = RunSpec.from_json((source / "runspec.json").read_text(encoding="utf-8"))
    attempt = rerun(select_engine(engine, target_named(spec.target)), spec, source, directory)
    record = attempt_record(replace(attempt, rung="same-bytes"))
    if record.kind in GREEN:
        shutil.rmtree(directory, ignore_errors=True)
        record = replace(record, directory=None)
    return record.to_json()


def report_lines(measured: Measured) -> list[str]:
    """What people read of a measurement."""
    rate, attempts = measured.rate, measured.attempts
    lines = [f"{measured.session.tests[0].nodeid}: {rate}"]
    if not measured.complete:
        lines = [
            f"{measured.session.tests[0].nodeid}: failed in run {rate.runs}; {rate.runs - 1} passed before"
        ]
        lines.append(f"rate, if the first failure came by chance: {percent(1 / rate.runs)} ({rate.interval})")
    elif rate.failures == 0:
        lines.append(
            f"a rate above {percent(exact_upper(0, rate.runs))} is excluded (95 %, one-sided, exact)"
        )
    red = [attempt for attempt in attempts if attempt.kind not in GREEN]
    lines += [f"{count:>5} times {text}" for text, count in Counter(a.signature for a in red).most_common()]
    outputs = {attempt.hashes.get("outputs", "") for attempt in attempts}
    if len(outputs) > 1:
        lines.append(
            f"the same bytes gave {len(outputs)} different outputs: the engine or the runner is at fault"
        )
    kept = [attempt.directory for attempt in red if attempt.directory]
    lines += (
        [f"evidence: {kept[0]}" + (f" and {len(kept) - 1} more" if len(kept) > 1 else "")] if kept else []
    )
    lines += [f"reproduce: {repro_command(kept[0])}"] if kept else []
    return lines
