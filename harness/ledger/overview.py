"""The tests that fail now and then, for reports. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from harness.ledger.entries import Entry, total
from harness.ledger.trends import Seen, flip_rate

# Outcomes of a sparkline.
SHOWN = 60


@dataclass(frozen=True)
class FlakeSummary:
    """The history of one test on one engine.

    Attributes:
        nodeid: of the test.
        target: name, "" without one.
        outcomes: of the latest runs, oldest first: P passed, F failed, K flaky, E expected failure.
        failures: in runs that nobody chose for their outcome.
        runs: number of those.
        low: lower bound of the rate (Wilson, 95 %).
        high: upper bound.
        flip_rate: share of neighbouring runs that differ, weighted by age.
        since: revision and day of the first failure.
    """

    nodeid: str
    target: str
    outcomes: str
    failures: int
    runs: int
    low: float
    high: float
    flip_rate: float
    since: str


def flake_summaries(
    histories: Mapping[str, Sequence[Entry]], targets: Mapping[str, str], now: float
) -> tuple[FlakeSummary, ...]:
    """Tests with both outcomes on the engine of their latest run, the worst rate first."""
    found = []
    for nodeid, entries in histories.items():
        engine = next((e.engine for e in reversed(entries) if e.engine), None)
        same = [e for e in entries if e.engine == engine]
        reds = [e for e in same if e.red or e.both]
        if not reds or (len(reds) == len(same) and not any(e.both for e in reds)):
            continue
        rate = total(same)
        day = datetime.fromtimestamp(reds[0].started, timezone.utc).date().isoformat()
        found.append(
            FlakeSummary(
                nodeid=nodeid,
                target=targets.get(nodeid, ""),
                outcomes="".join(map(_letter, same[-SHOWN:])),
                failures=rate.failures,
                runs=rate.runs,
                low=rate.interval.low,
                high=rate.interval.high,
                flip_rate=flip_rate([Seen(e.started, e.red) for e in same], now),
                since=f"{(reds[0].revision or 'unknown')[:12]} ({day})",
            )
        )
    return tuple(sorted(found, key=lambda row: (-row.low, row.nodeid)))


def _letter(entry: Entry) -> str:
    if entry.both:
        return "K"
    if entry.result == "xfailed":
        return "E"
    return "F" if entry.red else "P"
