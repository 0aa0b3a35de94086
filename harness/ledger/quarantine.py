"""The quarantine: a reviewed file of tests that may fail for a while, each with a reason and an end.

A test in quarantine still runs and its result is stored; it only does not fail the session. An entry ends on
its date, or when the dependency that it waits for has arrived: then the test counts again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from harness.ledger.fingerprint import DEPENDENCIES
from harness.targets import target_named

DEFAULT_FILE = "quarantine.yaml"
_REQUIRED = ("pattern", "reason", "ticket", "owner")
# The engine's version is not among them: each engine counts in its own way, and only a boot tells it.
_AWAITED = tuple(name for name in DEPENDENCIES if name != "engine_version")
_OPTIONAL = ("target", "signature", "expires", "until", "fix")


class QuarantineError(ValueError):
    """The file cannot be used; one line for each thing that is wrong with it."""


class State(str, Enum):
    """Where an entry is in its life."""

    ACTIVE = "active"
    EXPIRED = "expired"
    PROBATION = "probation"


@dataclass(frozen=True)
class Quarantined:
    """One entry.

    Attributes:
        number: position in the file, from 1.
        pattern: of node ids; `*` and `?` are wild, brackets are not.
        reason: why the test may fail.
        ticket: where the cause is being looked for.
        owner: who does.
        target: name or short id; None for any.
        signature: pattern of the failure; None for any.
        expires: last day.
        until: version of a dependency at which the entry ends, e.g. `ethos-u-vela>5.1`.
        fix: revision of the repair: only runs of revisions that contain it count towards lifting.
    """

    number: int
    pattern: str
    reason: str
    ticket: str
    owner: str
    target: str | None = None
    signature: str | None = None
    expires: date | None = None
    until: str | None = None
    fix: str | None = None

    def matches(self, nodeid: str, target: str | None = None, signature: str | None = None) -> bool:
        """True for a test of this pattern and target, whose failure, if given, is the one expected."""
        if not _wild(self.pattern).fullmatch(nodeid):
            return False
        # A test that was only collected has no target yet.
        if self.target is not None and target is not None and target_named(self.target).name != target:
            return False
        return signature is None or self.signature is None or bool(_wild(self.signature).fullmatch(signature))

    def state(self, today: date, versions: Mapping[str, str]) -> State:
        """Where the entry is on this day with these versions (name to version)."""
        if self.expires is not None and today > self.expires:
            return State.EXPIRED
        if self.until is not None and _arrived(self.until, versions):
            return State.PROBATION
        return State.ACTIVE

    @property
    def end(self) -> str:
        """When it ends, in words."""
        parts = [f"until {self.until}"] if self.until else []
        return ", ".join(parts + ([f"expires {self.expires}"] if self.expires else []))

    def __str__(self) -> str:
        return f"entry {self.number} ({self.pattern}): {self.reason}; {self.ticket}, {self.owner}, {self.end}"


@dataclass(frozen=True)
class Quarantine:
    """All entries of one file."""

    file: Path | None = None
    entries: tuple[Quarantined, ...] = ()

    def holding(
        self,
        nodeid: str,
        target: str | None,
        signature: str,
        today: date,
        versions: Mapping[str, str],
    ) -> Quarantined | None:
        """The first active entry that lets this failure pass."""
        for entry in self.entries:
            if entry.target is not None and target is None:
                continue  # a test that died, or never booted, may be one of any target
            if entry.matches(nodeid, target, signature) and entry.state(today, versions) is State.ACTIVE:
                return entry
        return None

    def selects(self, nodeid: str, target: str | None = None) -> bool:
        """True for a test of any entry, whatever its state."""
        return any(entry.matches(nodeid, target) for entry in self.entries)

    def expired(self, today: date) -> tuple[Quarantined, ...]:
        """Entries whose date is past."""
        return tuple(entry for entry in self.entries if entry.state(today, {}) is State.EXPIRED)

    def unmatched(self, nodeids: Iterable[str]) -> tuple[Quarantined, ...]:
        """Entries that no test has."""
        known = list(nodeids)
        return tuple(entry for entry in self.entries if not any(map(entry.matches, known)))

    @cached_property
    def name(self) -> str:
        """The file for people."""
        return str(self.file) if self.file else "no quarantine file"


def load(file: Path | None) -> Quarantine:
    """Read a quarantine file; None is an empty one.

    Raises:
        QuarantineError: no such file, no YAML, or entries that lack something; all problems at once.
    """
    if file is None:
        return Quarantine()
    try:
        raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise QuarantineError(f"{file}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: also a date such as 2027-02-30
        raise QuarantineError(f"{file} is no YAML: {' '.join(str(error).split())}") from error
    if raw is None:
        return Quarantine(file)
    if not isinstance(raw, list):
        raise QuarantineError(f"{file}: a list of entries is expected (`- pattern: …`)")
    entries, problems = [], []
    for number, fields in enumerate(raw, start=1):
        found = _problems(fields)
        problems += [f"{file}, entry {number}: {problem}" for problem in found]
        if not found:
            entries.append(_entry(number, fields))
    if problems:
        raise QuarantineError("\n".join(problems))
    return Quarantine(file, tuple(entries))


def _problems(fields: Any) -> list[str]:
    if not isinstance(fields, dict):
        return ["not a mapping of pattern, reason, ticket, owner, expires or until"]
    found = [f"no {name}" for name in _REQUIRED if not str(fields.get(name) or "").strip()]
    unknown = sorted(str(name) for name in fields if name not in (*_REQUIRED, *_OPTIONAL))
    found += [f"unknown field '{name}'" for name in unknown]
    if not (fields.get("expires") or fields.get("until")):
        found.append("no end: give expires (a date) or until (e.g. ethos-u-vela>5.1)")
    try:
        _date(fields.get("expires"))
    except ValueError:
        found.append(f"expires '{fields['expires']}' is no date (YYYY-MM-DD)")
    if until := fields.get("until"):
        try:
            wanted = Requirement(str(until))
            if canonicalize_name(wanted.name) not in map(canonicalize_name, _AWAITED):
                known = ", ".join(_AWAITED)
                found.append(f"until '{until}' is of none of the versions that can be waited for: {known}")
            elif not wanted.specifier:
                found.append(f"until '{until}' has no version, e.g. ethos-u-vela>5.1")
        except InvalidRequirement:
            found.append(f"until '{until}' is no version bound, e.g. ethos-u-vela>5.1")
    if target := fields.get("target"):
        try:
            target_named(str(target))
        except KeyError as error:
            found.append(str(error.args[0]))
    return found


def _entry(number: int, fields: Mapping[str, Any]) -> Quarantined:
    texts = {name: str(fields[name]) for name in (*_REQUIRED, *_OPTIONAL) if fields.get(name)}
    texts.pop("expires", None)
    return Quarantined(number=number, expires=_date(fields.get("expires")), **texts)


def _date(value: object) -> date | None:
    if value in (None, ""):
        return None
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(str(value))


def _arrived(until: str, versions: Mapping[str, str]) -> bool:
    wanted = Requirement(until)
    # A compiler's version has its name before it.
    found = {canonicalize_name(name): text.rpartition(" ")[2] for name, text in versions.items()}
    try:
        version = found.get(canonicalize_name(wanted.name))
        return version is not None and wanted.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _wild(pattern: str) -> re.Pattern[str]:
    parts = (".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)
    return re.compile("".join(parts), re.DOTALL)
