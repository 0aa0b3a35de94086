"""Several sessions of one job into one: shards of a suite, or a shard and its second run.

A test is one node id under one `--engine`. Where several sessions have it, its attempts are kept one
after the other, and a pass beside a failure is flaky: no test twice, none lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.records import SessionRecord, TestRecord
from harness.report.jsonl import Journal
from harness.report.shared import GREEN, RED, RESULTS

_SHARD = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class Merged:
    """The merged session, and one line for everything that is missing or was joined."""

    session: SessionRecord
    notes: tuple[str, ...]


def merge(journals: Sequence[Journal]) -> Merged:
    """Merge journals.

    Raises:
        ValueError: there are none.
    """
    if not journals:
        raise ValueError("nothing to merge")
    distinct = list({journal.session.id: journal for journal in journals}.values())
    notes = [note for journal in distinct for note in journal.notes]
    if len(distinct) < len(journals):
        notes.append(f"{len(journals) - len(distinct)} journals were given twice and count once")
    distinct.sort(key=lambda journal: journal.session.started)
    sessions = [journal.session for journal in distinct]
    tests: dict[tuple[str, str], TestRecord] = {}
    for session in sessions:
        for test in session.tests:
            key = (session.engine, test.nodeid)
            if key in tests:
                notes.append(f"{test.nodeid} is in several sessions; its attempts were joined")
                tests[key] = joined(tests[key], test)
            else:
                tests[key] = test
    missing = missing_shards(sessions)
    notes += missing
    # A collected test that ended in a later session is not missing.
    done = set(tests)
    lost = [
        nodeid
        for journal in distinct
        for nodeid in journal.collected
        if (journal.session.engine, nodeid) not in done
    ]
    partial = bool(missing or lost) or any(_cut_short(journal, done) for journal in distinct)
    return Merged(_session(sessions, tuple(tests.values()), partial), tuple(notes))


def joined(first: TestRecord, second: TestRecord) -> TestRecord:
    """One record of a test that two sessions ran: the attempts of both, the worse of both results.

    Attempts are numbered anew, in order; a green and a red result make a flaky test.
    """
    earlier, later = sorted((first, second), key=lambda test: test.started)
    attempts = (*earlier.attempts, *later.attempts)
    results = {first.result, second.result}
    worse = min(results, key=lambda result: RESULTS.index(result) if result in RESULTS else 0)
    if results & {*RED} and results & {*GREEN}:
        worse = "flaky"
    # What explains the result: of a flaky test, the one that was not green.
    shown = next(
        test for test in (earlier, later) if test.result == worse or (worse == "flaky" and test.result in RED)
    )
    return replace(
        shown,
        result=worse,
        attempts=tuple(replace(attempt, number=number) for number, attempt in enumerate(attempts, 1)),
        started=earlier.started,
        seconds=first.seconds + second.seconds,
        message=shown.message or later.message or earlier.message,
        repro=shown.repro or later.repro or earlier.repro,
    )


def missing_shards(sessions: Sequence[SessionRecord]) -> list[str]:
    """One line for each `--shard i/n` of which some parts are not there; each engine has parts of its own."""
    found: dict[tuple[str, int], set[int]] = {}
    for session in sessions:
        match = _SHARD.fullmatch(session.shard or "")
        # The total comes from a file: nobody has a thousand shards.
        if match and 0 < int(match[1]) <= int(match[2]) <= 1000:
            found.setdefault((session.engine, int(match[2])), set()).add(int(match[1]))
    several = len({engine for engine, _ in found}) > 1
    return [
        f"shard {number}/{total} is missing" + (f" of --engine {engine}" if several else "")
        for (engine, total), parts in sorted(found.items())
        for number in range(1, total + 1)
        if number not in parts
    ]


def _cut_short(journal: Journal, done: set[tuple[str, str]]) -> bool:
    """True if a session was cut short and no other one of its engine ran what it left."""
    if not journal.session.partial:
        return False
    collected = {(journal.session.engine, nodeid) for nodeid in journal.collected}
    return not collected or not done.issuperset(collected)


def _session(
    sessions: Sequence[SessionRecord], tests: tuple[TestRecord, ...], partial: bool
) -> SessionRecord:
    first = sessions[0]
    if len(sessions) == 1:
        return replace(first, tests=tests, partial=partial)
    end = max(session.started + session.seconds for session in sessions)

    def common(values: Sequence[str | None]) -> str | None:
        return values[0] if len(set(values)) == 1 else None

    environment = {
        name: value
        for name, value in first.environment.items()
        if all(session.environment.get(name) == value for session in sessions)
    }
    return replace(
        first,
        id="+".join(session.id for session in sessions)[:200],
        seconds=end - first.started,
        argv=first.argv if len({session.argv for session in sessions}) == 1 else _argv(first.argv),
        engine="+".join(sorted({session.engine for session in sessions})),
        commit=common([session.commit for session in sessions]),
        merge_base=common([session.merge_base for session in sessions]),
        branch=common([session.branch for session in sessions]),
        host=", ".join(sorted({session.host for session in sessions})),
        environment=environment,
        exit_status=_status(sessions, tests, partial),
        partial=partial,
        tests=tests,
        shard=None,
    )


def _argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command line without its shard and the file that balances it."""
    words: list[str] = []
    skip = False
    for word in argv:
        if not skip and not word.startswith("--shard"):
            words.append(word)
        skip = word in ("--shard", "--shard-durations")
    return tuple(words)


def _status(sessions: Sequence[SessionRecord], tests: Sequence[TestRecord], partial: bool) -> int:
    """0 all green, 1 broken or incomplete, 10 only flaky, 11 nothing ran; else the worst of all."""
    results = {test.result for test in tests}
    statuses = {session.exit_status for session in sessions}
    if not partial and statuses - {5} == {11}:
        return 11
    # Red without a red test: an expired entry of the quarantine, a module that cannot be collected, a plugin.
    other = any(
        session.exit_status == 1 and not {test.result for test in session.tests} & {*RED}
        for session in sessions
    )
    # Only a strict xfail that passes is red, and its session has said so.
    red = {*RED} if 1 in statuses else {*RED} - {"xpassed"}
    if partial or other or results & red:
        return 1
    # 1 and 10 came from tests, which are judged apart; 5 and 11 say that a shard had nothing to do.
    if broken := statuses - {0, 1, 5, 10, 11}:
        return max(broken)
    if "flaky" in results and statuses & {1, 10}:
        return 10
    return 0 if tests else 11
