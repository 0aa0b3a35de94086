"""What a test's report carries from the process that ran it to the one that reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

import pytest

from harness.flow import Attempt, Comparison
from harness.records import AttemptRecord, ComparisonRecord, Record, VerdictRecord
from harness.reruns.ladder import Conclusion
from harness.reruns.trial import hashes_of, trial_of

_ATTRIBUTE = "corstone"


@dataclass(frozen=True)
class Payload(Record):
    """What the harness knows of one test.

    Attributes:
        boots: the test asks for a boot.
        target: of its case or of its first run.
        attempts: in order.
        verdict: on the last attempts that were not green at first; None if all were.
        flaky: what failed first passed unchanged.
        repro: the line that reproduces the failure.
    """

    boots: bool
    target: str | None
    attempts: tuple[AttemptRecord, ...]
    verdict: VerdictRecord | None
    flaky: bool
    repro: str | None


class _Carrier(Protocol):
    corstone: str


def attach(report: pytest.TestReport, payload: Payload) -> None:
    """Put `payload` on a report: an attribute of plain text travels from xdist's workers."""
    cast(_Carrier, report).corstone = payload.to_json()


def payload_of(report: pytest.TestReport) -> Payload | None:
    """The payload that a report carries."""
    text = getattr(report, _ATTRIBUTE, None)
    return Payload.from_json(text) if isinstance(text, str) else None


def attempt_record(attempt: Attempt) -> AttemptRecord:
    """The flat record of `attempt`."""
    trial, result = trial_of(attempt), attempt.result
    engine = result.engine if result else None
    hashes = hashes_of(attempt)
    environment = dict(result.environment) if result else {}
    if "kernels" in hashes:
        environment["kernels"] = hashes.pop("kernels")
    durations = {**(result.durations if result else {}), **attempt.durations}
    return AttemptRecord(
        number=attempt.number,
        rung=attempt.rung,
        phase=attempt.outcome.phase.value,
        kind=attempt.outcome.kind.value,
        summary=attempt.outcome.summary,
        hint=attempt.outcome.hint,
        signature=trial.signature,
        engine=engine.kind if engine else None,
        engine_name=engine.name if engine else None,
        engine_version=engine.version if engine else None,
        engine_sha256=engine.sha256 if engine else None,
        directory=str(result.directory) if result else None,
        seed=trial.seed,
        hashes={name: digest for name, digest in hashes.items() if digest},
        durations={name: round(seconds, 4) for name, seconds in durations.items()},
        margin=trial.margin,
        comparisons=tuple(map(_comparison, attempt.comparisons)),
        environment=environment,
    )


def verdict_record(conclusion: Conclusion, runs: int) -> VerdictRecord:
    """The flat record of a verdict that took `runs` attempts."""
    return VerdictRecord(conclusion.verdict.value, conclusion.reason, conclusion.evidence, runs)


def _comparison(entry: Comparison) -> ComparisonRecord:
    return ComparisonRecord(
        index=entry.index,
        ok=entry.ok,
        elements=entry.elements,
        mismatches=entry.mismatches,
        worst=float(entry.worst),
        worst_lsb=None if entry.worst_lsb is None else float(entry.worst_lsb),
        margin=float(entry.margin),
        histogram={int(step): int(count) for step, count in entry.histogram.items()},
        message=entry.message,
        worst_index=tuple(int(i) for i in entry.worst_index),
    )
