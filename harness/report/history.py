"""What the ledger knows of a test, as plain data for reports; reports do not read the ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FlakeRow:
    """The history of one test.

    Attributes:
        nodeid: of the test.
        target: name, "" without one.
        outcomes: of the last runs, oldest first; one letter a run: P passed, F failed, K flaky,
            anything else is shown as neither.
        failures: number of failed runs in the whole history that is looked at.
        runs: number of runs in it.
        low: lower bound of the failure rate, 95 %.
        high: upper bound.
        flip_rate: share of successive runs whose outcomes differ.
        since: revision or time of the first failure, "" if unknown.
    """

    nodeid: str
    target: str
    outcomes: str
    failures: int
    runs: int
    low: float
    high: float
    flip_rate: float = 0.0
    since: str = ""
