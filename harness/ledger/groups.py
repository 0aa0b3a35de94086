"""Equal failures of several tests: what one says of the others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.ledger.entries import Entry, test_engine
from harness.ledger.question import Question
from harness.records import HistoryRecord

# Labels that hold for all tests with a signature that names a cause, the one that explains most first.
_SHARED = ("BROKEN_BASE", "VERSION_SKEW", "FLAKY", "NEW_SIGNATURE", "NEW", "NEW_TEST")


@dataclass(frozen=True)
class _Known:
    """A label of this failure, and the test that it was found for."""

    label: HistoryRecord
    nodeid: str

    @property
    def rank(self) -> int:
        return _SHARED.index(self.label.kind)


def unite(
    questions: Sequence[Question], labels: Mapping[str, HistoryRecord], relatives: Iterable[Entry]
) -> dict[str, HistoryRecord]:
    """Labels of tests that fail with one signature.

    A test without a history takes the label of the others: of this session, of other jobs of the revision,
    and of the base. One that passed before keeps its own, since its own past speaks against the excuse; its
    reason names the others.

    Args:
        questions: the tests.
        labels: of each, by itself.
        relatives: past results of other tests.
    """
    own = [_Known(labels[q.test.nodeid], q.test.nodeid) for q in questions]
    shared = [known for known in own if known.label.kind in _SHARED]
    known = [*shared, *_elsewhere(questions[0], {entry.nodeid for entry in own}, relatives)]
    if not shared or not known:
        return {}
    best = min(known, key=lambda entry: entry.rank)
    return {entry.nodeid: _with(entry.label, best) for entry in shared if entry.rank > best.rank}


def _elsewhere(question: Question, own: set[str], relatives: Iterable[Entry]) -> list[_Known]:
    """Labels that this failure has in other tests: on the base revision, and in other jobs of this one."""
    situation, engine = question.situation, test_engine(question.test)
    found = []
    for entry in relatives:
        if entry.signature != question.signature or entry.nodeid in own or entry.engine not in (engine, None):
            continue
        if situation.base and entry.revision == situation.base and entry.red and entry.clean:
            reason = "red with this signature on the base revision"
            found.append(_Known(HistoryRecord("BROKEN_BASE", reason, None, entry.revision), entry.nodeid))
            continue
        same_revision = situation.clean and entry.clean and entry.revision == situation.revision
        if same_revision and entry.label in _SHARED:
            label = HistoryRecord(entry.label, "so classified in another job", None, None)
            found.append(_Known(label, entry.nodeid))
    return found


def _with(label: HistoryRecord, best: _Known) -> HistoryRecord:
    if label.kind == "NEW_TEST":
        return replace(best.label, reason=f"same signature as {best.nodeid}: {best.label.reason}", rate=None)
    return replace(label, reason=f"{label.reason}; {best.nodeid} with this signature is {best.label.kind}")
