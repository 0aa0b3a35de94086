"""`harness hunt SECONDS`: boots the bytes of many tests again and again, as long as the time lasts.

One pytest session lowers, builds and boots each selected test. Then every test that booted is booted again,
in rounds, so that all of them get the same number of runs, give or take one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import monotonic, time

from harness.flakes import FlakesError, Job, boots, first_session, measured_session, source_of
from harness.ledger.entries import GREEN
from harness.ledger.statistics import Rate, exact_upper, percent
from harness.records import SessionRecord, TestRecord
from harness.repro import repro_command


def hunt(
    selection: Sequence[str], seconds: float, engine: str, directory: Path, workers: int
) -> SessionRecord:
    """Boot the tests that pytest selects with `selection` for `seconds`, the first session included.

    Args:
        selection: arguments for pytest.
        seconds: in all; a boot that has begun is waited for.
        engine: as for `--engine`.
        directory: keeps the evidence of failures.
        workers: boots at the same time.

    Returns:
        A record whose tests have one attempt a run, the first session's included.

    Raises:
        FlakesError: nothing was booted that could be repeated.
    """
    started, deadline = time(), monotonic() + seconds
    first = directory / "first"
    session = first_session(selection, engine, first)
    tests = {test.nodeid: test for test in session.tests if _source(test)}
    if not tests:
        raise FlakesError(f"{' '.join(selection) or 'this suite'}: nothing was booted that could be repeated")
    made = {nodeid: [test.attempts[0]] for nodeid, test in tests.items()}
    for job, attempt in boots(_rounds(list(tests.values()), engine, directory, deadline), workers):
        runs = made[job.nodeid]
        runs.append(replace(attempt, number=len(runs) + 1))
    command = ("hunt", f"{seconds:g}", *selection)
    record = measured_session(
        session, [(tests[nodeid], runs) for nodeid, runs in made.items()], started, command
    )
    if record.exit_status == 0:
        shutil.rmtree(first, ignore_errors=True)
    return record


def _source(test: TestRecord) -> Path | None:
    try:
        return source_of(test)
    except FlakesError:
        return None


def _rounds(tests: Sequence[TestRecord], engine: str, directory: Path, deadline: float) -> Iterator[Job]:
    for number in count(2):
        for place, test in enumerate(tests):
            if monotonic() >= deadline:
                return
            kind = test.attempts[0].engine or engine
            yield Job(test.nodeid, source_of(test), kind, directory / f"test-{place}" / f"run-{number}")


def report_lines(session: SessionRecord) -> list[str]:
    """What people read of a hunt: the tests that failed, and what the others exclude."""
    reds = [[attempt for attempt in test.attempts if attempt.kind not in GREEN] for test in session.tests]
    runs = [len(test.attempts) for test in session.tests]
    failed = sum(map(len, reds))
    lines = [f"{len(runs)} tests, {sum(runs)} boots in {session.seconds:.0f} s: {failed} failed"]
    for test, red in zip(session.tests, reds, strict=True):
        if red:
            lines.append(f"{test.nodeid}: {Rate(len(red), len(test.attempts))}")
            lines.append(f"    {red[0].signature}")
            lines += [f"    reproduce: {repro_command(red[0].directory)}"] if red[0].directory else []
    fewest = min(runs)
    if not failed:
        lines.append(
            f"a rate above {percent(exact_upper(0, fewest))} is excluded for each (95 %, one-sided, exact)"
        )
    return lines
