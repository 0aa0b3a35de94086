"""A test whose worker died: what is known of it, and one rerun in a process of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.console.events import read_events
from harness.console.evidence import LOG_NAME, phase_after
from harness.flow import Attempt, ConsoleLine
from harness.ledger.entries import GREEN
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.plugin.deadline import seconds_left
from harness.plugin.gather import bounded, record_of, reports_of
from harness.plugin.isolated import Ended, run_isolated
from harness.plugin.options import SETTINGS
from harness.plugin.payload import attempt_record, verdict_record
from harness.plugin.workspace import WORKSPACE, LastTest
from harness.records import AttemptRecord, TestRecord
from harness.repro import pytest_command
from harness.reruns.ladder import Conclusion, Means, decide
from harness.reruns.trial import Rung, Trial

# A rerun may take this long even if the budget holds less, in seconds; and never longer than the second.
_LEAST, _MOST = 30.0, 600.0
# A test by the result of its second run: neither a skip nor an expected failure undoes the crash.
_AFTER_A_CRASH = {"passed": "flaky", "xfailed": "flaky", "skipped": "crashed"}
_LONGEST_LOG = 1 << 21  # [bytes] that are read of a console


def resolve(config: pytest.Config, test: TestRecord, nodeid: str) -> TestRecord:
    """The record of the crashed test `nodeid` with attempts and verdict; runs it once more if it may."""
    workspace, settings = config.stash[WORKSPACE], config.stash[SETTINGS]
    last = workspace.last(test.worker)
    if last is not None and last.nodeid != nodeid:
        last = None
    outcome = _outcome(test, last)
    before = last.attempts if last else ()
    crash = attempt_record(Attempt(len(before) + 1, outcome))
    if last is not None and last.directory is not None:
        crash = replace(crash, directory=str(last.directory))
    attempts = (*before, crash)
    first = Trial(Rung.FIRST, outcome)
    budget = workspace.budget(settings)
    spent = budget.claim()
    again: TestRecord | None = None
    found = decide([first], Means(), spent)
    if not isinstance(found, Conclusion):
        with budget.counted():
            limit = min(max(budget.seconds - budget.spent().seconds, _LEAST), _MOST, seconds_left(config))
            directory = (
                workspace.directory / f"rerun-{crash.number}-{len(list(workspace.directory.iterdir()))}"
            )
            path = last.path if last else config.rootpath / nodeid.partition("::")[0]
            ended = run_isolated(config, nodeid, path, directory, limit, attempts=len(attempts))
        again = _again(test, ended)
        found = decide([first, _trial(again, ended)], Means(), "one rerun is the policy")
    assert isinstance(found, Conclusion)
    return replace(
        test,
        started=_started(test, last),
        result=_AFTER_A_CRASH.get(again.result, again.result) if again else "crashed",
        attempts=(*attempts, *(again.attempts if again else ())),
        verdict=verdict_record(found, len(found.evidence)),
        message=bounded(
            "\n".join([str(outcome), f"verdict: {found.verdict.value}: {found.reason}", *found.evidence])
        ),
        repro=pytest_command(nodeid),
    )


def cut_short(config: pytest.Config, test: TestRecord, nodeid: str, limit: str) -> TestRecord:
    """The record of a test that was running when its session was ended by `limit`; it is not run again."""
    last = config.stash[WORKSPACE].last(test.worker)
    last = last if last is not None and last.nodeid == nodeid else None
    before = last.attempts if last is not None else ()
    outcome = Outcome(Phase.LAUNCH, OutcomeClass.PARTIAL, f"{nodeid} {limit}", "run the test alone")
    attempts = (*before, attempt_record(Attempt(len(before) + 1, outcome)))
    started = _started(test, last)
    return replace(test, started=started, result="error", attempts=attempts, message=bounded(str(outcome)))


def _started(test: TestRecord, last: LastTest | None) -> float:
    """When it started: no report says it of a test that died in its set-up, but the worker's log does."""
    return test.started or (last.started if last is not None else 0.0)


def _outcome(test: TestRecord, last: LastTest | None) -> Outcome:
    where, phase = "", Phase.LAUNCH
    if last is not None:
        where = f"; resident memory at its start {last.memory >> 20} MB"
        phase = Phase.LOWER if not last.attempts else Phase.EXIT
        if last.directory is not None:
            phase = _phase(last.directory)
            where += f"; attempt in phase {phase.value}, evidence: {last.directory}"
    return Outcome(
        phase,
        OutcomeClass.WORKER_CRASH,
        f"worker {test.worker} died while running {test.nodeid}{where}",
        "run the test alone; a crash of a compiler or of an extension module takes the process along",
    )


def _phase(directory: Path) -> Phase:
    """How far the run in an attempt directory had come, from its console."""
    log = directory / LOG_NAME
    if not log.is_file():
        return Phase.LOWER
    with log.open("rb") as stream:
        lines = stream.read(_LONGEST_LOG).decode("utf-8", "replace").splitlines()
    # Each line of the log begins with a time stamp in brackets.
    events = read_events(ConsoleLine(0.0, line.partition("] ")[2]) for line in lines)
    return phase_after(events) if lines else Phase.LAUNCH


def _again(test: TestRecord, ended: Ended) -> TestRecord | None:
    """The record of the second run; None if its process died too, or did not end."""
    reports = reports_of(ended.results)
    if not any(report.when == "teardown" for report in reports):
        return None
    return record_of(test.nodeid, test.worker, reports)


def _trial(again: TestRecord | None, ended: Ended) -> Trial:
    changed = "process of its own"
    if again is None and not ended.results and (ended.status or 0) > 0:
        how = f"pytest ended with status {ended.status} and ran nothing, see {ended.log}"
        return Trial(Rung.SAME_BYTES, Outcome(Phase.LAUNCH, OutcomeClass.PARTIAL, how), changed)
    if again is None:
        how = "did not end" if ended.status is None else f"ended with status {ended.status}"
        outcome = Outcome(Phase.LAUNCH, OutcomeClass.WORKER_CRASH, f"the process {how}, see {ended.log}")
        return Trial(Rung.SAME_BYTES, outcome, changed)
    if again.result == "skipped":
        outcome = Outcome(Phase.LAUNCH, OutcomeClass.PARTIAL, "the test was skipped the second time")
        return Trial(Rung.SAME_BYTES, outcome, changed)
    if again.result in ("passed", "xfailed"):
        return Trial(Rung.SAME_BYTES, Outcome(Phase.EXIT, OutcomeClass.PASS, again.result), changed)
    last: AttemptRecord | None = again.attempts[-1] if again.attempts else None
    # A test may fail by itself behind a boot that was green.
    kind = OutcomeClass(last.kind) if last and last.kind not in GREEN else OutcomeClass.EXIT_STATUS
    return Trial(Rung.SAME_BYTES, Outcome(Phase.EXIT, kind, again.message[:200]), changed)
