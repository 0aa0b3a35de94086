"""Past results as the classification reads them, and what makes a test of a session red. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.ledger.fingerprint import CHECKOUT, MODIFIED
from harness.ledger.signature import signature_of_text
from harness.ledger.statistics import Rate
from harness.outcomes import OutcomeClass, Verdict
from harness.records import AttemptRecord, TestRecord

# Verdicts that one set of conditions gives both outcomes.
TWO_OUTCOMES = (Verdict.ENGINE_NONDETERMINISTIC.value, Verdict.AOT_NONDETERMINISTIC.value)
GREEN = (OutcomeClass.PASS.value, OutcomeClass.XFAIL.value)
_RED_RESULTS = ("failed", "error", "crashed", "flaky", "quarantined", "xfailed")
# Rungs whose outcome did not depend on an earlier one: reruns of a failure are a biased choice.
_UNBIASED = ("first",)


@dataclass(frozen=True)
class PastAttempt:
    """One attempt of the past. `environment` holds the factors of its stratum and further versions."""

    rung: str
    phase: str
    kind: str
    signature: str
    engine: str | None
    seed: int | None
    same_bytes: str | None
    outputs: str | None
    margin: float | None
    environment: Mapping[str, str]

    @property
    def red(self) -> bool:
        """True unless it is a proven pass."""
        return self.kind not in GREEN


@dataclass(frozen=True)
class Entry:
    """One test in one session of the past.

    `signature` is that of the first red attempt, "" for a green test; `label` is what the history said of it
    then. `environment` is that of the first attempt, or of the session.
    """

    session: str
    nodeid: str
    started: float
    branch: str | None
    revision: str | None
    purpose: str
    result: str
    verdict: str | None
    signature: str
    label: str | None
    environment: Mapping[str, str]
    attempts: tuple[PastAttempt, ...]

    @cached_property
    def engine(self) -> str | None:
        """Engine of its attempts; None if it booted nothing."""
        return next((attempt.engine for attempt in self.attempts if attempt.engine), None)

    @property
    def seed(self) -> int | None:
        """Seed of its first attempt."""
        return self.attempts[0].seed if self.attempts else None

    @property
    def clean(self) -> bool:
        """True if nothing in the checkout was modified."""
        return self.environment.get(CHECKOUT) != MODIFIED

    @cached_property
    def red(self) -> bool:
        """True if the first attempt, not the best one, was red."""
        first = [attempt for attempt in self.attempts if attempt.rung in _UNBIASED]
        return any(attempt.red for attempt in first) if first else self.result in _RED_RESULTS

    @cached_property
    def both(self) -> bool:
        """True if the same bytes had two outcomes in this session, or the verdict says flaky."""
        return self.result == "flaky" or self.verdict in TWO_OUTCOMES or two_outcomes(self.attempts)

    @property
    def rate(self) -> Rate:
        """Failures in runs that nobody chose for their outcome."""
        if self.purpose == "flakes":
            return Rate(sum(attempt.red for attempt in self.attempts), len(self.attempts))
        return Rate(0, 0) if self.purpose == "until-fail" else Rate(int(self.red), 1)


def two_outcomes(attempts: Iterable[PastAttempt]) -> bool:
    """True if equal bytes on an equal engine were both red and green, and wrote other outputs.

    With equal outputs it was the judge that changed: a reference or a tolerance.
    """
    red: dict[str, set[str | None]] = {}
    green: dict[str, set[str | None]] = {}
    for attempt in attempts:
        if attempt.same_bytes is not None:
            (red if attempt.red else green).setdefault(attempt.same_bytes, set()).add(attempt.outputs)
    return any(red[key] != green[key] or len(red[key]) > 1 for key in red.keys() & green.keys())


def total(entries: Iterable[Entry]) -> Rate:
    """Failures and runs over all entries."""
    rates = [entry.rate for entry in entries]
    return Rate(sum(rate.failures for rate in rates), sum(rate.runs for rate in rates))


def first_red(test: TestRecord) -> AttemptRecord | None:
    """The first red attempt of a test."""
    return next((attempt for attempt in test.attempts if attempt.kind not in GREEN), None)


def test_signature(test: TestRecord) -> str:
    """Signature of a test: of its first red attempt, else of its message; "" for a green one."""
    attempt = first_red(test)
    if attempt is not None:
        return attempt.signature or f"{attempt.phase}/{attempt.kind}"
    if test.result in ("failed", "error", "crashed", "quarantined", "xfailed", "flaky"):
        return signature_of_text(test.message)
    return ""


def test_engine(test: TestRecord) -> str | None:
    """Engine that the test's attempts ran on."""
    return next((attempt.engine for attempt in test.attempts if attempt.engine), None)


def needs_history(test: TestRecord) -> bool:
    """True for what the history can say something about: not green, or green against expectation."""
    return test.result in ("failed", "error", "crashed", "flaky", "quarantined", "xpassed")
