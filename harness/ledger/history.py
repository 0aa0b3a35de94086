"""What the history says of a failure: one kind and one line of reason for each. Pure.

Strata never mix: results of other engines and other branches do not count, and a rate is that of one set of
versions. The base is the base revision's runs, or the newest runs of the base branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from itertools import groupby

from harness.ledger.entries import TWO_OUTCOMES, Entry, first_red, total, two_outcomes
from harness.ledger.fingerprint import DEPENDENCIES, changes, in_words, stratum
from harness.ledger.promote import promotion
from harness.ledger.question import Question, Situation
from harness.ledger.rows import past_attempt
from harness.ledger.statistics import exact_upper, percent
from harness.outcomes import OutcomeClass, Verdict
from harness.records import HistoryRecord, TestRecord

# So many tests that turn red at one change of versions are not all broken by the change under test.
SKEWED_TESTS = 3
_INFRA = {
    *(kind.value for kind in OutcomeClass if kind.value.startswith(("ENV/", "INFRA/"))),
    OutcomeClass.NOT_RUN.value,
    OutcomeClass.WORKER_CRASH.value,
    OutcomeClass.HOST_SLOW.value,
    OutcomeClass.PARTIAL.value,
}
_EARLY = ("build", "launch", "boot")


Rule = Callable[[Question], "HistoryRecord | None"]


def classify_test(question: Question, skewed: Mapping[str, int] | None = None) -> HistoryRecord:
    """The first rule that applies; the order is that of what excuses most.

    Args:
        question: the test.
        skewed: number of tests that turned red at each change of versions (in words).
    """
    rules: tuple[Rule, ...] = (
        _promote,
        lambda q: infrastructure_of(q.test, q.situation),
        _flaky,
        _new_test,
        _broken_base,
        _new_signature,
        lambda q: _version_skew(q, skewed or {}),
    )
    for rule in rules:
        if record := rule(question):
            return record
    return _new(question)


def version_step(question: Question) -> str:
    """The change of versions since the test was last green, in words; "" if there is none."""
    green = _last(question.before, red=False)
    return in_words(changes(green.environment, question.environment, DEPENDENCIES)) if green else ""


def _promote(q: Question) -> HistoryRecord | None:
    if q.test.result != "xpassed":
        return None
    found = promotion(q.test.nodeid, (*q.before, *q.again), q.environment, now_passes=True)
    rate = found.rate.failures / found.rate.runs
    return HistoryRecord("PROMOTE", found.reason, rate, found.since or None)


def infrastructure_of(test: TestRecord, situation: Situation) -> HistoryRecord | None:
    """INFRA: the machine, the worker or the whole session is to blame; needs no history."""
    attempt = first_red(test)
    if test.result == "crashed":
        return HistoryRecord("INFRA", "the test's worker died; this says nothing of the test", None, None)
    if attempt is None:
        return None
    if attempt.kind in _INFRA or (test.verdict and test.verdict.verdict == Verdict.HOST_SLOW.value):
        return HistoryRecord("INFRA", f"{attempt.kind}: {attempt.summary}", None, None)
    if situation.infrastructure and attempt.phase in _EARLY:
        reason = (
            f"most tests of this session fail before their program runs; this one in phase {attempt.phase}"
        )
        return HistoryRecord("INFRA", reason, None, None)
    return None


def _flaky(q: Question) -> HistoryRecord | None:
    """Both outcomes under equal conditions, now or before, with this signature."""
    for line in (q.own, q.base):
        # The stratum of now first, then the newest ones: the rate is that of one of them.
        for entries in _strata((*line, *q.again), q.environment):
            # A pass beside another failure excuses nothing.
            how = two_outcomes_of([e for e in entries if not e.red or e.signature == q.signature])
            reds = [e for e in entries if e.red and e.signature == q.signature]
            if how and reds:
                rate = total(entries)
                old = changes(entries[-1].environment, q.environment)
                under = f", under other versions ({in_words(old)})" if old else ""
                reason = f"known flaky since {_at(reds[0])}: {rate}{under}; {how}"
                return HistoryRecord("FLAKY", reason, rate.failures / rate.runs, _at(reds[0]))
    if _now_both(q):
        rate = total(q.before)
        seen = f"{rate.failures} of {rate.runs} runs failed before" if rate.runs else "no earlier run"
        reason = f"passes and fails on this revision under equal conditions; {seen}"
        return HistoryRecord("FLAKY", reason, _share(q.before), q.situation.revision)
    return None


def _new_test(q: Question) -> HistoryRecord | None:
    if q.before:
        return None
    others = f"; {q.elsewhere} runs on other engines do not count" if q.elsewhere else ""
    return HistoryRecord("NEW_TEST", f"no earlier run of this test to compare with{others}", None, None)


def _broken_base(q: Question) -> HistoryRecord | None:
    clean = [e for e in q.base if e.clean]
    exact = [e for e in clean if q.situation.base and e.revision == q.situation.base]
    # Without a run on the base revision itself, the newest one of its branch has to do.
    latest = exact or clean[-1:]
    if not latest or not all(e.red and e.signature == q.signature for e in latest):
        return None
    where = "base revision" if exact else "newest recorded revision of the base"
    first = _onset(q.base, q.signature)
    reason = f"same signature on the {where} {_short(latest[-1].revision)}, red since {_at(first)}"
    return HistoryRecord("BROKEN_BASE", reason, _share(q.base), _at(first))


def _new_signature(q: Question) -> HistoryRecord | None:
    last = q.before[-1]
    known = {e.signature for e in q.before if e.red}
    if not last.red or not known or q.signature in known:
        return None
    reason = f"red before too ({_at(last)}), but differently: {last.signature or 'no signature'}"
    return HistoryRecord("NEW_SIGNATURE", reason, _share(q.before), _at(last))


def _version_skew(q: Question, skewed: Mapping[str, int]) -> HistoryRecord | None:
    green, step = _last(q.before, red=False), version_step(q)
    if green is None or not step:
        return None
    same_code = q.situation.clean and green.clean and green.revision == q.situation.revision
    together = skewed.get(step, 0)
    if not same_code and together < SKEWED_TESTS:
        return None
    why = "the same revision passed before it" if same_code else f"{together} tests turned red at it"
    return HistoryRecord("VERSION_SKEW", f"red since {step}; {why}", _share(q.before), step)


def _new(q: Question) -> HistoryRecord:
    green, step = _last(q.before, red=False), version_step(q)
    rate = total(_stratum_of(q.before, q.environment) or q.before)
    bound = f"{rate.failures} of {rate.runs} runs failed before"
    if rate.failures == 0 and rate.runs:
        bound = (
            f"passed {rate.runs} of {rate.runs} runs before (rate below {percent(exact_upper(0, rate.runs))})"
        )
    if green is None:
        return HistoryRecord("NEW", f"{bound}; no green run is recorded", _share(q.before), None)
    reds = [e for e in q.before if e.started > green.started]
    until = _short(reds[0].revision if reds else q.situation.revision)
    reason = f"{bound}; onset in {_short(green.revision)}..{until}"
    if step:
        reason += f", where {step} changed too"
    return HistoryRecord("NEW", reason, _share(q.before), reds[0].revision if reds else q.situation.revision)


def two_outcomes_of(entries: Sequence[Entry]) -> str:
    """How entries of one stratum, oldest first, prove that only chance decides; "" if they do not."""
    if any(entry.both for entry in entries):
        return "the same bytes passed and failed in one session"
    if two_outcomes(attempt for entry in entries for attempt in entry.attempts):
        return "the same bytes passed and failed"
    by_revision: dict[tuple[str, int | None], set[bool]] = {}
    for entry in entries:
        if entry.revision and entry.clean:
            by_revision.setdefault((entry.revision, entry.seed), set()).add(entry.red)
    if any(len(seen) == 2 for seen in by_revision.values()):
        return "one revision passed and failed"
    runs = [red for red, _ in groupby(entries, key=lambda entry: entry.red)]
    recovered = sum(red and i + 1 < len(runs) for i, red in enumerate(runs))
    return f"failed and recovered {recovered} times" if recovered >= 2 else ""


def _now_both(q: Question) -> bool:
    verdict = q.test.verdict.verdict if q.test.verdict else None
    green_again = any(not entry.red and entry.seed == _seed(q) for entry in q.again)
    both = two_outcomes(past_attempt(attempt, q.environment) for attempt in q.test.attempts)
    return q.test.result == "flaky" or verdict in TWO_OUTCOMES or both or green_again


def _seed(q: Question) -> int | None:
    return next((attempt.seed for attempt in q.test.attempts), None)


def _strata(entries: Sequence[Entry], now: Mapping[str, str]) -> list[tuple[Entry, ...]]:
    """Entries by stratum: that of `now` first, then by their newest run, newest first."""
    groups: dict[tuple[tuple[str, str], ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(stratum(entry.environment), []).append(entry)
    ordered = sorted(groups.values(), key=lambda group: -group[-1].started)
    return [tuple(g) for g in sorted(ordered, key=lambda g: bool(changes(g[-1].environment, now)))]


def _stratum_of(entries: Sequence[Entry], now: Mapping[str, str]) -> list[Entry]:
    return [entry for entry in entries if not changes(entry.environment, now)]


def _onset(entries: Sequence[Entry], signature: str) -> Entry:
    """First entry of the last unbroken stretch with this signature."""
    first = entries[-1]
    for entry in reversed(entries):
        if not entry.red or entry.signature != signature:
            break
        first = entry
    return first


def _last(entries: Sequence[Entry], *, red: bool) -> Entry | None:
    return next((entry for entry in reversed(entries) if entry.red is red), None)


def _share(entries: Sequence[Entry]) -> float | None:
    rate = total(entries)
    return rate.failures / rate.runs if rate.runs else None


def _at(entry: Entry) -> str:
    day = datetime.fromtimestamp(entry.started, timezone.utc).date().isoformat()
    return f"{_short(entry.revision)} ({day})"


def _short(revision: str | None) -> str:
    if revision is None:
        return "unknown revision"
    return revision[:12]
