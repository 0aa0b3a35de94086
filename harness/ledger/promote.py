"""Expected failures that pass: when to remove the marker. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.ledger.entries import Entry
from harness.ledger.fingerprint import DEPENDENCIES, changes, in_words
from harness.ledger.statistics import Rate, clean_runs, exact_upper, percent

# A failure rate above this must be excluded before a marker is removed.
ACCEPTED_RATE = 0.05


@dataclass(frozen=True)
class Promotion:
    """An expected failure that passed.

    Attributes:
        nodeid: the test.
        rate: failures and runs since the last change of versions.
        since: that change in words; "" if there is none.
        ready: the runs exclude a failure rate of 5 % (95 %, one-sided).
        reason: one line.
    """

    nodeid: str
    rate: Rate
    since: str
    ready: bool
    reason: str


def promotion(
    nodeid: str, entries: Sequence[Entry], now: Mapping[str, str], *, now_passes: bool
) -> Promotion:
    """What speaks for removing the marker of an expected failure.

    Args:
        nodeid: the test.
        entries: its runs, oldest first, of one engine and branch.
        now: the environment of now; runs under other versions of dependencies do not count.
        now_passes: it has passed once more, in a session that is not among `entries`.
    """
    current = [e for e in entries if not changes(e.environment, now, DEPENDENCIES)]
    older = [e for e in entries if changes(e.environment, now, DEPENDENCIES)]
    since = in_words(changes(older[-1].environment, now, DEPENDENCIES)) if older else ""
    failures = sum(entry.red for entry in current)
    rate = Rate(failures, len(current) + int(now_passes))
    bound = exact_upper(rate.failures, rate.runs) if rate.runs else 1.0
    ready = bound <= ACCEPTED_RATE
    passes = rate.runs - rate.failures
    step = f" since {since}" if since else ""
    reason = f"passes although expected to fail: {passes} of {rate.runs} runs{step}; "
    if ready:
        reason += f"promote: the failure rate is below {percent(bound)}"
    else:
        need = clean_runs(ACCEPTED_RATE)
        reason += f"a failure rate up to {percent(bound)} is possible ({need} clean runs exclude 5 %)"
    return Promotion(nodeid, rate, since, ready, reason)


def promotions(histories: Mapping[str, Sequence[Entry]], now: Mapping[str, str]) -> tuple[Promotion, ...]:
    """Every test with an unexpected pass under the versions of now; the ready ones first."""
    found = []
    for nodeid, entries in histories.items():
        current = [e for e in entries if not changes(e.environment, now, DEPENDENCIES)]
        if any(entry.result == "xpassed" for entry in current):
            found.append(promotion(nodeid, entries, now, now_passes=False))
    return tuple(sorted(found, key=lambda entry: (not entry.ready, entry.nodeid)))
