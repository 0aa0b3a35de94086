"""What each upstream suite is known to do on our engine, and how a session differs from it.

The YAML files beside this module are reviewed: every test that neither passes nor carries upstream's own
xfail or skip stands there with its reason, and so do the tests that pass without a boot. Anything else is
a change, for the better too, and makes the session red.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from harness.upstream.recorder import Record

_FOLDER = Path(__file__).with_name("expectations")


@dataclass(frozen=True)
class Group:
    """Tests that share a result and a reason; a `*` in a pattern stands for any text."""

    reason: str
    tests: tuple[str, ...]
    result: str = "passed"

    def has(self, test: str) -> bool:
        """Whether a pattern fits the whole id."""
        return any(_pattern(pattern).fullmatch(test) for pattern in self.tests)


@dataclass(frozen=True)
class Totals:
    """Counts of a whole part of the suite: tests whose id contains the part's name."""

    tests: int
    boots: int


@dataclass(frozen=True)
class Expectations:
    """What is known of one suite.

    Attributes:
        executorch: version of the suite.
        totals: by part of the suite ("u55"), what a session has that runs the whole part.
        without_boot: passed tests for which the simulator is not started, by upstream's own design.
        not_passed: results other than passed, xfailed and skipped.
    """

    executorch: str = ""
    totals: Mapping[str, Totals] = field(default_factory=dict)
    without_boot: tuple[Group, ...] = ()
    not_passed: tuple[Group, ...] = ()


def load(suite: str) -> Expectations:
    """The committed expectations of `suite`; empty if there are none.

    Raises:
        ValueError: the file is not of this form, or a group gives no reason.
    """
    path = _FOLDER / f"{suite}.yaml"
    if not path.exists():
        return Expectations()
    raw = yaml.safe_load(path.read_text())
    try:
        return Expectations(
            executorch=raw["executorch"],
            totals={name: Totals(**counts) for name, counts in raw.get("totals", {}).items()},
            without_boot=_groups(raw.get("without_boot")),
            not_passed=_groups(raw.get("not_passed")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a file of expectations: {error}") from error


def changes(records: Sequence[Record], known: Expectations) -> list[str]:
    """One line for each way in which `records` differ from what is known; empty if they do not."""
    found = [line for record in records if (line := _change(record, known))]
    for part, totals in known.totals.items():
        inside = [record for record in records if part in record.id]
        boots = sum(record.boots > 0 for record in inside)
        if len(inside) > totals.tests:
            found.append(f"{part}: {len(inside)} tests ran, {totals.tests} are known")
        if len(inside) >= totals.tests and boots < totals.boots:
            found.append(f"{part}: {boots} tests booted, {totals.boots} have to")
    return found


def table(records: Iterable[Record], parts: Sequence[str]) -> list[tuple[str, Mapping[str, int]]]:
    """Counts for all records and for each part: tests, booted, passed without boot, and each result."""
    records = list(records)
    chosen = [("all", records)] + [(part, [r for r in records if part in r.id]) for part in parts]
    return [(name, counts(rows)) for name, rows in chosen if rows]


def counts(records: Sequence[Record]) -> Mapping[str, int]:
    """How many tests, boots and results."""
    results = Counter(record.result for record in records)
    unbooted = sum(record.result == "passed" and not record.boots for record in records)
    booted = sum(record.boots > 0 for record in records)
    return {"tests": len(records), "booted": booted, "passed without boot": unbooted, **results}


def _change(record: Record, known: Expectations) -> str | None:
    expected = next((group for group in known.not_passed if group.has(record.id)), None)
    if expected is not None:
        if record.result != expected.result:
            return f"{record.id}: {record.result}, known as {expected.result}; take it off the list"
        return None
    if record.result in ("xfailed", "skipped"):
        return None
    if record.result != "passed":
        return f"{record.id}: {record.result}: {record.reason}"
    idle = any(group.has(record.id) for group in known.without_boot)
    if not record.boots and not idle:
        return f"{record.id}: passed, but nothing was booted"
    if record.boots and idle:
        return f"{record.id}: booted, known to pass without; take it off the list"
    return None


def _groups(raw: Sequence[Mapping[str, object]] | None) -> tuple[Group, ...]:
    groups = []
    for entry in raw or ():
        tests, reason = entry["tests"], str(entry.get("reason") or "").strip()
        if not isinstance(tests, list) or not tests:
            raise TypeError("a group has no tests")
        if not reason:
            raise ValueError(f"{tests[0]}: an expectation needs its reason")
        groups.append(Group(reason, tuple(map(str, tests)), str(entry.get("result", "passed"))))
    return tuple(groups)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)
