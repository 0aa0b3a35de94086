"""One failing test, and which of its past results it may be compared with. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.ledger.entries import Entry, test_engine, test_signature
from harness.ledger.fingerprint import changes
from harness.records import TestRecord

# Branches that others start from, where the ledger knows of no run on the base revision itself.
BASE_BRANCHES = ("main", "master")


@dataclass(frozen=True)
class Situation:
    """Where the session stands.

    Attributes:
        revision: under test; None if it is not known.
        base: the revision that it is compared with.
        branch: its name; None if detached.
        clean: the revision says exactly what is tested: nothing in the checkout is modified.
        base_branches: names of the branches that the base is on.
        infrastructure: the session's own failures are the machine's.
    """

    revision: str | None
    base: str | None
    branch: str | None
    clean: bool = True
    base_branches: tuple[str, ...] = BASE_BRANCHES
    infrastructure: bool = False


@dataclass(frozen=True)
class Question:
    """One failing test and what is known of it: runs on its engine only, oldest first.

    Attributes:
        test: as this session saw it.
        signature: of the failure.
        environment: of its first attempt.
        situation: of the session.
        own: earlier runs on the session's branch, but not of the revision under test.
        base: earlier runs on the base revision and on its branch.
        again: earlier runs of the very revision under test, under the same versions.
        elsewhere: number of runs on other engines.
    """

    test: TestRecord
    signature: str
    environment: Mapping[str, str]
    situation: Situation
    own: tuple[Entry, ...]
    base: tuple[Entry, ...]
    again: tuple[Entry, ...] = ()
    elsewhere: int = 0

    @property
    def before(self) -> tuple[Entry, ...]:
        """The line of runs that the test is compared with: its branch's, else the base's."""
        return self.own or self.base


def ask(
    test: TestRecord, environment: Mapping[str, str], situation: Situation, entries: Iterable[Entry]
) -> Question:
    """Sort out which entries are comparable."""
    engine, every = test_engine(test), tuple(entries)
    same = [entry for entry in every if engine is None or entry.engine in (engine, None)]
    again: list[Entry] = []
    rest: list[Entry] = []
    for entry in same:
        this = situation.clean and situation.revision is not None and entry.revision == situation.revision
        (again if this and entry.clean and not changes(entry.environment, environment) else rest).append(
            entry
        )
    base = situation.base
    named = {e.branch for e in rest if base and e.revision == base and e.branch} or set(
        situation.base_branches
    )
    return Question(
        test,
        test_signature(test),
        environment,
        situation,
        own=tuple(e for e in rest if situation.branch is not None and e.branch == situation.branch),
        base=tuple(e for e in rest if e.branch in named or (base and e.revision == base)),
        again=tuple(again),
        elsewhere=len(every) - len(same),
    )
