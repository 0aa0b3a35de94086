"""Reader of `.pte` and `.bpte` files: no torch, no executorch, and no trust in the bytes.

Values that are no tensors have the dtypes "int" (int64, 8 bytes), "float" (float64, 8 bytes),
"bool_" (1 byte) and "none" (8 bytes that nobody reads), an empty shape and an empty dim order;
`byte_size` gives the width of any value. Tensors have numpy's names, a bool tensor "bool".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.pte.bundle import BUNDLE_ID, BundledValue, BundleFile, TestCase, parse_bundle
from harness.pte.flat import MalformedError
from harness.pte.program import PROGRAM_ID, Method, ProgramFile, byte_size, item_size, parse_program

__all__ = [
    "BundleFile",
    "BundledValue",
    "Method",
    "ProgramFile",
    "TestCase",
    "byte_size",
    "item_size",
    "read_bundle",
    "read_file",
    "read_program",
]

_T = TypeVar("_T")


def read_program(data: bytes) -> ProgramFile:
    """Read a `.pte`.

    Raises:
        HarnessError: BUNDLE_INVALID, the bytes are no well-formed program.
    """
    return _checked(parse_program, data, PROGRAM_ID, "program")


def read_bundle(data: bytes) -> BundleFile:
    """Read a `.bpte`.

    Raises:
        HarnessError: BUNDLE_INVALID, the bytes are no well-formed bundle, or the bundle's
            inputs and references do not fit its program.
    """
    return _checked(parse_bundle, data, BUNDLE_ID, "bundle")


def read_file(path: Path) -> ProgramFile | BundleFile:
    """Read a program or a bundle, told apart by the identifier in bytes 4 to 7.

    Raises:
        HarnessError: CONFIG/INPUT, it cannot be read; BUNDLE_INVALID, it is neither, or malformed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        summary = f"cannot read {path}: {error.strerror}"
        raise HarnessError(
            Outcome(
                Phase.LOAD, OutcomeClass.CONFIG_INPUT, summary, "name a program (.pte) or a bundle (.bpte)"
            )
        ) from error
    try:
        return read_bundle(data) if data[4:6] == b"BP" else read_program(data)
    except HarnessError as error:
        raise _invalid(f"{path}: {error.outcome.summary}") from error


def _checked(parse: Callable[[bytes], _T], data: bytes, magic: bytes, what: str) -> _T:
    if data[4:8] != magic:
        found = bytes(data[4:8])
        have = f"its identifier is {found!r}" if len(data) >= 8 else f"it has only {len(data)} bytes"
        raise _invalid(f"not a {what} that this harness reads: {have}, it needs {magic!r} in bytes 4 to 7")
    try:
        return parse(data)
    except MalformedError as error:
        raise _invalid(f"malformed {what}: {error}") from error


def _invalid(summary: str) -> HarnessError:
    hint = "Lower the program again; a file copied by hand may be cut short."
    return HarnessError(Outcome(Phase.LOAD, OutcomeClass.BUNDLE_INVALID, summary, hint))
