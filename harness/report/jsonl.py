"""The journal of a session: append-only JSON lines that survive the end of their writer at any moment.

One writer, the controller. Each line is one object with an `entry`: first `session` (what is known at the
start), then `collected` (node ids), `test` for each test that ended, and `finish` at the end. A line goes
out in one write, so only the last one can be torn; a reader drops it and says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.records import HistoryRecord, SessionRecord, TestRecord

PREFIX, SUFFIX = "session-", ".jsonl"
# Of the first line of every journal, as `JournalWriter` writes it.
_BEGINNING = b'{"entry": "session"'


class JournalError(ValueError):
    """A file is no journal; the message says which and why."""


@dataclass(frozen=True)
class Journal:
    """What a journal says.

    Attributes:
        session: with its tests, each node id once; `partial` if the session did not finish.
        collected: node ids that the session set out to run; empty if it did not say.
        notes: one line for everything that a reader should know: torn lines, tests without a result.
    """

    session: SessionRecord
    collected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class JournalWriter:
    """Appends to one journal; nothing is buffered in this process."""

    def __init__(self, path: Path, session: SessionRecord, collected: Sequence[str] = ()) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._append("session", record=replace(session, tests=()).to_json())
        if collected:
            self._append("collected", nodeids=json.dumps(list(collected)))

    def add(self, test: TestRecord) -> None:
        """Append one test that ended. A later record of the same node id takes the place of this one."""
        self._append("test", record=test.to_json())

    def finish(self, session: SessionRecord) -> None:
        """Append the end of the session and what the ledger said of its tests, then close the file."""
        history = {test.nodeid: test.history for test in session.tests if test.history is not None}
        entries = ", ".join(f"{json.dumps(nodeid)}: {record.to_json()}" for nodeid, record in history.items())
        self._append("finish", record=replace(session, tests=()).to_json(), history=f"{{{entries}}}")
        os.fsync(self._file)
        os.close(self._file)
        self._file = -1

    def _append(self, entry: str, **values: str) -> None:
        """Append an object; `values` are JSON texts."""
        members = ", ".join(f'"{name}": {text}' for name, text in values.items())
        line = f'{{"entry": "{entry}", {members}}}\n'.encode()
        while line:
            line = line[os.write(self._file, line) :]


def read_journal(path: Path) -> Journal:
    """Read a journal, finished or not.

    Raises:
        JournalError: it cannot be read, or does not begin with a session of this format.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from error
    *lines, torn = data.split(b"\n")
    notes = [f"{path.name}: the last line is torn ({len(torn)} bytes) and was dropped"] if torn else []
    state = _State()
    for number, line in enumerate(lines, 1):
        try:
            state.take(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if state.session is None:
                raise JournalError(f"{path} is no journal of a session: line {number}: {error}") from error
            notes.append(f"{path.name}: line {number} cannot be read and was dropped: {error}")
    if state.session is None:
        raise JournalError(f"{path} is no journal of a session: it has no complete line")
    return _complete(state, state.session, notes)


def is_journal(path: Path) -> bool:
    """True for the journal of a session, also a damaged one: by its name, or by the beginning of its text."""
    if path.name.startswith(PREFIX):
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(len(_BEGINNING)) == _BEGINNING
    except OSError:
        return True  # `read_journal` says what is wrong with it


class _State:
    """A journal as far as it was read."""

    def __init__(self) -> None:
        self.session: SessionRecord | None = None
        self.collected: tuple[str, ...] = ()
        self.tests: dict[str, TestRecord] = {}
        self.history: dict[str, HistoryRecord] = {}
        self.finished = False

    def take(self, line: Mapping[str, Any]) -> None:
        """Take one line; raises ValueError, KeyError or TypeError."""
        entry = line["entry"]
        if entry != "session" and self.session is None:
            raise ValueError(f"begins with '{entry}', not with 'session'")
        if entry == "session":
            self.session = SessionRecord.from_json(json.dumps(line["record"]))
        elif entry == "collected":
            self.collected = tuple(map(str, line["nodeids"]))
        elif entry == "test":
            test = TestRecord.from_json(json.dumps(line["record"]))
            self.tests[test.nodeid] = test
        elif entry == "finish":
            self.session = SessionRecord.from_json(json.dumps(line["record"]))
            history = line["history"].items()
            self.history = {nodeid: HistoryRecord.from_json(json.dumps(raw)) for nodeid, raw in history}
            self.finished = True
        else:
            raise ValueError(f"unknown entry '{entry}'")


def _complete(state: _State, session: SessionRecord, notes: list[str]) -> Journal:
    tests = tuple(
        replace(test, history=state.history.get(nodeid, test.history)) for nodeid, test in state.tests.items()
    )
    if not state.finished:
        ends = [test.started + test.seconds - session.started for test in tests]
        # Nobody judged this session as a whole, so its status cannot be that of a good one.
        status = session.exit_status or 1
        session = replace(session, partial=True, exit_status=status, seconds=max([session.seconds, *ends]))
        notes.append(f"session {session.id} did not finish: this is what it wrote before its end")
    missing = [nodeid for nodeid in state.collected if nodeid not in state.tests]
    if missing:
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        notes.append(f"{len(missing)} of {len(state.collected)} collected tests have no result: {shown}")
    return Journal(replace(session, tests=tests), state.collected, tuple(notes))
