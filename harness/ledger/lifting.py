"""What the ledger says for and against quarantine: entries to add, on probation, to remove. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

import yaml

from harness.ledger.entries import Entry, total
from harness.ledger.fingerprint import DEPENDENCIES, changes
from harness.ledger.history import two_outcomes_of
from harness.ledger.promote import ACCEPTED_RATE
from harness.ledger.quarantine import Quarantine, Quarantined, State
from harness.ledger.statistics import clean_runs, exact_upper, percent

Histories = Mapping[str, Sequence[Entry]]
# Tells of a revision whether it contains another one: contains(revision, fix).
Contains = Callable[[str, str], bool]

# [days] How long a proposed entry lasts.
PROPOSED_TIME = 30


@dataclass(frozen=True)
class Evidence:
    """What speaks for lifting one entry.

    Attributes:
        entry: of the quarantine.
        state: on this day.
        tests: tests that it covers and the ledger knows.
        clean: runs without a failure since the last one, of the test that has the fewest.
        last_red: when the last failure was; "" without one.
    """

    entry: Quarantined
    state: State
    tests: int
    clean: int
    last_red: str = ""

    @property
    def ready(self) -> bool:
        """True if the clean runs exclude a failure rate of 5 %."""
        return self.clean >= clean_runs(ACCEPTED_RATE)

    def __str__(self) -> str:
        need = clean_runs(ACCEPTED_RATE)
        if not self.tests:
            return f"{self.entry}: no run in the ledger under these versions"
        bound = percent(exact_upper(0, self.clean)) if self.clean else "100 %"
        text = f"{self.clean} clean runs since the last failure"
        text += f" ({self.last_red})" if self.last_red else ", none failed"
        verdict = "remove it" if self.ready else f"{need - self.clean} more exclude 5 %"
        return f"{self.entry}: {text}: rate below {bound}; {verdict}"


def evidence(
    entry: Quarantined,
    histories: Histories,
    versions: Mapping[str, str],
    today: date,
    contains: Contains,
) -> Evidence:
    """Count the clean runs that lift `entry`.

    Only runs under the versions of now count, and, if the entry names its fix, only those of revisions that
    contain it: an old revision that still fails says nothing about the repair.
    """
    streaks, last_red = [], 0.0
    for nodeid, entries in histories.items():
        if not entry.matches(nodeid):
            continue
        counted = [e for e in entries if _counts(e, entry, versions, contains)]
        if not counted:
            continue
        reds = [i for i, e in enumerate(counted) if e.red or e.both]
        streaks.append(total(counted[reds[-1] + 1 :] if reds else counted).runs)
        last_red = max(last_red, counted[reds[-1]].started if reds else 0.0)
    when = _day(last_red) if last_red else ""
    return Evidence(entry, entry.state(today, versions), len(streaks), min(streaks, default=0), when)


@dataclass(frozen=True)
class Proposal:
    """A test to quarantine: its failure, and the statistics behind the proposal."""

    nodeid: str
    signature: str
    reason: str
    expires: date

    def to_yaml(self) -> str:
        """The entry as YAML; until a person fills in ticket and owner, the file is refused."""
        fields = {
            "pattern": self.nodeid,
            "signature": self.signature,
            "reason": self.reason,
            "ticket": "",
            "owner": "",
            "expires": self.expires,
        }
        return str(yaml.safe_dump([fields], sort_keys=False, allow_unicode=True, width=1000))


def proposals(
    quarantine: Quarantine, histories: Histories, versions: Mapping[str, str], today: date
) -> tuple[Proposal, ...]:
    """Tests that fail now and then under the versions of now, and are in no entry."""
    found = []
    for nodeid, entries in sorted(histories.items()):
        current = [e for e in entries if not changes(e.environment, versions, DEPENDENCIES)]
        reds = [e for e in current if e.red and e.result != "xfailed"]
        how = two_outcomes_of(current)
        # One red run may be chance once more; a rate needs two.
        if quarantine.selects(nodeid) or len(reds) < 2 or not how:
            continue
        signatures = [e.signature for e in reds]
        usual = max(sorted(set(signatures)), key=signatures.count)
        reason = f"flaky since {_day(reds[0].started)}: {total(current)}; {how}"
        found.append(Proposal(nodeid, usual, reason, today + timedelta(days=PROPOSED_TIME)))
    return tuple(found)


def _counts(entry: Entry, quarantined: Quarantined, versions: Mapping[str, str], contains: Contains) -> bool:
    if changes(entry.environment, versions, DEPENDENCIES):
        return False
    if quarantined.fix is None:
        return True
    return entry.revision is not None and contains(entry.revision, quarantined.fix)


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, timezone.utc).date().isoformat()
