"""Lowered programs on disk: one directory per key, whole or absent.

An entry is written beside its place and renamed into it. Its `program.json` carries the
SHA-256 of every file and of itself, so an entry that was damaged later is made again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from harness.cache import mark_used
from harness.flow import Program, TensorSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

RECORD = "program.json"
FORMAT = 2


@dataclass(frozen=True)
class Entry:
    """What lowering produces, before it is on disk.

    `files` maps names to contents; the other fields name some of them. `durations` are seconds by stage.
    """

    files: Mapping[str, bytes]
    pte: str
    bpte: str | None
    inputs: tuple[str, ...]
    references: tuple[str, ...]
    quantized: tuple[str, ...]
    input_specs: tuple[TensorSpec, ...]
    output_specs: tuple[TensorSpec, ...]
    operators: tuple[str, ...]
    target: str
    seed: int
    hashes: Mapping[str, str]
    versions: Mapping[str, str]
    durations: Mapping[str, float] = field(default_factory=dict)
    delegates: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Delegate:
    """What runs on the NPU: `blob` as the program holds it, and the TOSA graph that it was compiled from."""

    blob: Path
    tosa: Path


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def fetch(cache: Path, key: str, make: Callable[[], Entry]) -> tuple[Program, bool]:
    """The program stored under `key`, made by `make` if there is none; True if it was there already.

    Processes that want the same key wait for the one that makes it.
    """
    directory = cache / key
    program = _whole(directory)
    if program is not None:
        mark_used(directory)
        return program, True
    locks = cache / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    with FileLock(locks / key):
        program = _whole(directory)
        if program is not None:
            return program, True
        _store(cache, key, make())
        return load_program(directory), False


def load_program(directory: Path) -> Program:
    """Read a lowered program from its directory.

    Raises:
        HarnessError: BUNDLE_INVALID, a file is missing, damaged or of another format.
    """
    directory = directory.resolve()
    record = _record(directory)
    for name, digest in record["sha256"].items():
        if sha256((directory / name).read_bytes() if (directory / name).is_file() else b"") != digest:
            raise _damaged(directory, f"{name} is missing or changed")
    return Program(
        directory=directory,
        pte=directory / record["pte"],
        bpte=None if record["bpte"] is None else directory / record["bpte"],
        inputs=tuple(directory / name for name in record["inputs"]),
        references=tuple(directory / name for name in record["references"]),
        input_specs=tuple(map(TensorSpec.from_dict, record["input_specs"])),
        output_specs=tuple(map(TensorSpec.from_dict, record["output_specs"])),
        operators=tuple(record["operators"]),
        target=record["target"],
        seed=record["seed"],
        hashes=record["hashes"],
        versions=record["versions"],
    )


def quantized_references(program: Program) -> tuple[Path, ...]:
    """Outputs of the quantized torch graph before lowering, for accuracy statistics.

    Laid out like `program.references`; empty for a case with `quantize=False`.
    """
    return tuple(program.directory / name for name in _record(program.directory)["quantized"])


def delegates(program: Program) -> tuple[Delegate, ...]:
    """The delegates of `program`, in order of execution; none for a Cortex-M target."""
    names = _record(program.directory)["delegates"]
    return tuple(Delegate(program.directory / blob, program.directory / tosa) for blob, tosa in names)


def durations_of(program: Program) -> Mapping[str, float]:
    """Seconds by stage of the run that lowered `program`, whichever process that was."""
    durations: dict[str, float] = _record(program.directory)["durations"]
    return durations


def _store(cache: Path, key: str, entry: Entry) -> None:
    new = cache / f".new-{key}"  # ours alone: the key is locked
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for name, content in entry.files.items():
        (new / name).write_bytes(content)
    record = {name: value for name, value in asdict(entry).items() if name != "files"}
    record |= {"format": FORMAT, "sha256": {name: sha256(data) for name, data in entry.files.items()}}
    record["self"] = _self_digest(record)
    (new / RECORD).write_text(json.dumps(record, indent=2, sort_keys=True), encoding="utf-8")
    old = cache / f".old-{key}"
    shutil.rmtree(old, ignore_errors=True)
    if (cache / key).exists():
        (cache / key).rename(old)
    new.rename(cache / key)
    shutil.rmtree(old, ignore_errors=True)


def _whole(directory: Path) -> Program | None:
    try:
        return load_program(directory)
    except HarnessError:
        return None


def _record(directory: Path) -> dict[str, Any]:
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        intact = record["format"] == FORMAT and record.pop("self") == _self_digest(record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        intact = False
    if not intact:
        raise _damaged(directory, f"{RECORD} is missing, changed or of another format")
    return dict(record)


def _self_digest(record: Mapping[str, Any]) -> str:
    return sha256(json.dumps(record, sort_keys=True).encode())


def _damaged(directory: Path, what: str) -> HarnessError:
    summary = f"no usable program in {directory}: {what}"
    hint = "Delete that directory and lower the case again."
    return HarnessError(Outcome(Phase.LOAD, OutcomeClass.BUNDLE_INVALID, summary, hint))
