"""What a session leaves behind: flat frozen records that go through JSON unchanged.

Report, ledger and repro read these and nothing else. The only paths in them are the `directory` of an
attempt and the line that reproduces it.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from math import isfinite
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

RECORD_VERSION = 1
_R = TypeVar("_R", bound="Record")


@dataclass(frozen=True)
class Record:
    """Base of all records: one JSON object each, with the version of the format beside the fields.

    Non-finite numbers are written as the strings "inf", "-inf" and "nan", so that the text is valid JSON.
    """

    def to_json(self) -> str:
        """One line of JSON with sorted keys."""
        return json.dumps({"version": RECORD_VERSION, **_plain_fields(self)}, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls: type[_R], text: str) -> _R:
        """Read what `to_json` wrote.

        Raises:
            ValueError: no JSON, another version, a field that is missing, unknown or of another type.
        """
        raw = json.loads(text)  # a JSONDecodeError is a ValueError
        if not isinstance(raw, dict):
            raise ValueError(f"not a {cls.__name__}: no JSON object")
        version = raw.pop("version", None)
        if version != RECORD_VERSION:
            raise ValueError(f"{cls.__name__} of version {version}, this harness reads {RECORD_VERSION}")
        record = _decode(cls, raw, cls.__name__)
        assert isinstance(record, cls)
        return record


@dataclass(frozen=True)
class ComparisonRecord(Record):
    """One output against its reference; fields as in `flow.Comparison`."""

    index: int
    ok: bool
    elements: int
    mismatches: int
    worst: float
    worst_lsb: float | None
    margin: float
    histogram: Mapping[int, int]
    message: str
    worst_index: tuple[int, ...]


@dataclass(frozen=True)
class AttemptRecord(Record):
    """One attempt.

    Attributes:
        number: 1 for the first attempt of the test.
        rung: of the ladder: "first", "same-bytes", "re-lower", "other-seed" or "other-engine".
        phase: value of `outcomes.Phase`.
        kind: value of `outcomes.OutcomeClass`.
        summary: one line.
        hint: what to do next.
        signature: phase, class and first fatal line without what varies between runs; "" for a green one.
        engine: "fvp", "standin" or "host"; None if nothing was started.
        engine_name: name of the executable.
        engine_version: as it prints it.
        engine_sha256: of the executable.
        directory: of the evidence, absolute.
        seed: of the case.
        hashes: SHA-256 by name: inputs, program, elf, outputs, and the stages of lowering that are known.
        durations: seconds by stage.
        margin: the largest error/limit of all outputs; None if nothing was compared.
        comparisons: one an output.
        environment: versions and machine: executorch, torch, ethos-u-vela, kernels, compiler, host, …
    """

    number: int
    rung: str
    phase: str
    kind: str
    summary: str
    hint: str
    signature: str
    engine: str | None
    engine_name: str | None
    engine_version: str | None
    engine_sha256: str | None
    directory: str | None
    seed: int | None
    hashes: Mapping[str, str]
    durations: Mapping[str, float]
    margin: float | None
    comparisons: tuple[ComparisonRecord, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class VerdictRecord(Record):
    """What all attempts together prove.

    Attributes:
        verdict: value of `outcomes.Verdict`.
        reason: one line.
        evidence: one line a rung, with hashes.
        runs: boots that it took.
    """

    verdict: str
    reason: str
    evidence: tuple[str, ...]
    runs: int


@dataclass(frozen=True)
class HistoryRecord(Record):
    """What the ledger says of a test that is not green.

    Attributes:
        kind: NEW_TEST, NEW, NEW_SIGNATURE, FLAKY, BROKEN_BASE, VERSION_SKEW, INFRA, QUARANTINED or PROMOTE.
        reason: one line.
        rate: of failures, known from history; None without any.
        since: revision or time of the first one.
    """

    kind: str
    reason: str
    rate: float | None
    since: str | None


@dataclass(frozen=True)
class TestRecord(Record):
    """One test of a session.

    Attributes:
        nodeid: as pytest prints it.
        target: name of the target; None for a test without one.
        result: passed, failed, flaky, skipped, xfailed, xpassed, error, crashed or quarantined.
        attempts: in order; empty for a test that booted nothing.
        verdict: None unless there was something to judge.
        history: filled in by the controller.
        started: seconds since the epoch.
        seconds: set-up, call and teardown.
        worker: of xdist ("gw0"), or "main".
        message: what pytest shows of a failure, at most 4 kB.
        repro: the one line that reproduces it.
    """

    __test__: ClassVar[bool] = False  # not a class of tests, whatever its name

    nodeid: str
    target: str | None
    result: str
    attempts: tuple[AttemptRecord, ...]
    verdict: VerdictRecord | None
    history: HistoryRecord | None
    started: float
    seconds: float
    worker: str
    message: str
    repro: str | None


@dataclass(frozen=True)
class SessionRecord(Record):
    """One pytest session.

    Attributes:
        id: unique.
        started: seconds since the epoch.
        seconds: so far.
        argv: command line.
        engine: as asked for: auto, fvp, standin or host.
        commit: revision of the checkout; None outside one.
        merge_base: with the base revision.
        branch: name, None if detached.
        host: name of the machine.
        environment: as in AttemptRecord.
        exit_status: of the session.
        partial: True if it was cut short.
        tests: in order of completion.
        shard: "K/N" if it is one of N parts of a session, whatever said so.
    """

    id: str
    started: float
    seconds: float
    argv: tuple[str, ...]
    engine: str
    commit: str | None
    merge_base: str | None
    branch: str | None
    host: str
    environment: Mapping[str, str]
    exit_status: int
    partial: bool
    tests: tuple[TestRecord, ...]
    shard: str | None = None


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return _plain_fields(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


def _plain_fields(record: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(record, field.name)) for field in fields(record)}


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


@cache
def _required(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind) if field.default is MISSING)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


def _decode(kind: Any, raw: Any, where: str) -> Any:
    """The value of type `kind` from plain JSON; `where` names it in a message."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if raw is None else _decode(arguments[0], raw, where)
    if _is_record(kind):
        hints = _hints(kind)
        # A record of before a field was added still reads: the field has its default.
        if not isinstance(raw, dict) or not _required(kind) <= raw.keys() <= hints.keys():
            differing = sorted(hints.keys() ^ raw.keys()) if isinstance(raw, dict) else []
            raise ValueError(f"{where}: not the fields of {kind.__name__} {differing}")
        return kind(**{name: _decode(hints[name], value, f"{where}.{name}") for name, value in raw.items()})
    if origin is tuple and isinstance(raw, list):
        return tuple(_decode(arguments[0], entry, where) for entry in raw)
    if origin is Mapping and isinstance(raw, dict):
        key, value = arguments
        return {_decode(key, k, where): _decode(value, v, where) for k, v in raw.items()}
    if kind is float and isinstance(raw, (int, float, str)) and not isinstance(raw, bool):
        return float(raw)
    if kind is int and isinstance(raw, (int, str)) and not isinstance(raw, bool):
        return int(raw)  # keys of an object are strings
    if kind in (str, bool) and isinstance(raw, kind):
        return raw
    raise ValueError(f"{where}: {raw!r:.80} is no {getattr(kind, '__name__', kind)}")
