"""The first operation in which two records of the NPU differ (`harness npu diff A B`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

Record = dict[str, Any]


class TraceError(ValueError):
    """A line is no part of a record; the message says which."""


@dataclass(frozen=True)
class Difference:
    """Where two records part, and how, for people.

    Attributes:
        run: number of the command stream, counted from 0.
        index: number of the operation in it; None for the start of the stream.
        message: several lines.
    """

    run: int
    index: int | None
    message: str


def first_difference(ours: Iterable[str], theirs: Iterable[str]) -> Difference | None:
    """The first operation that two records do not share; None if they are equal.

    An operation whose inputs are equal and whose output is not is the one that went wrong. Where the inputs
    differ too, the fault lies before it: in what the CPU gave the NPU, or in constants.

    Raises:
        TraceError: a line is no part of a record.
    """
    records = zip_longest(_records(ours, "first"), _records(theirs, "second"))
    return next((_difference(a, b) for a, b in records if a != b), None)


def _records(lines: Iterable[str], which: str) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("run"), int):
            raise TraceError(f"line {number} of the {which} file is no part of an NPU trace: {line[:80]!r}")
        yield record


def _difference(ours: Record | None, theirs: Record | None) -> Difference:
    present = ours or theirs
    assert present is not None
    run, index = int(present["run"]), present.get("index")
    if ours is None or theirs is None:
        how = f"the {'first' if ours is None else 'second'} record ends before it"
        return Difference(run, index, f"{_name(present)}: {how}")
    if _name(ours) != _name(theirs):
        return Difference(run, index, f"{_name(ours)}\n{_name(theirs)}: another operation")
    lines = [_name(ours)]
    mine, other = ours.get("inputs") or [], theirs.get("inputs") or []
    for number, (a, b) in enumerate(zip_longest(mine, other)):
        lines.append(f"  {(a or b).get('name', number)}: {_compared(a, b)}")
    lines.append(f"  output: {_compared(ours.get('output'), theirs.get('output'))}")
    lines.append(
        "this operation computed something else from equal inputs"
        if mine == other
        else "its inputs differ already: look at what the CPU wrote, and at constants"
    )
    return Difference(run, index, "\n".join(lines))


def _name(record: Record) -> str:
    if "index" not in record:
        return f"stream {record['run']} on {record.get('npu')}"
    offset = int(record.get("offset", 0))
    where = f"stream {record['run']}, byte 0x{4 * offset:x}"
    return f"operation {record['index']} ({where}): {record.get('operation')}"


def _compared(ours: Record | None, theirs: Record | None) -> str:
    return f"equal, {_shown(ours)}" if ours == theirs else f"{_shown(ours)} | {_shown(theirs)}"


def _shown(values: Record | None) -> str:
    if values is None:
        return "none"
    shape = "x".join(map(str, values.get("shape", ())))
    return f"{values.get('type')} {shape} crc32 {values.get('crc32')}"
