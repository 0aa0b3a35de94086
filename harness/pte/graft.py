"""Puts other bytes in the place of a delegate's, without torch: the rest of the program stays as it is.

A delegate's bytes are a data segment behind the FlatBuffers part. A segment that changes its size moves
the ones behind it; their offsets are numbers of fixed width in the file, which are written over.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from harness.pte.flat import Buffer, MalformedError, Table

_SEGMENT = 1  # DataLocation
# Of segments, as executorch writes them; offsets may be rounder by chance.
_LARGEST_ALIGNMENT = 128


def replace_delegates(program: bytes, replacements: Mapping[bytes, bytes]) -> bytes:
    """A copy of a `.pte` in which delegates have other bytes.

    Args:
        program: the file.
        replacements: new bytes by old bytes of a delegate; each of them has to be there.

    Raises:
        MalformedError: the program is malformed, has no segments, or a delegate is not in one.
    """
    buffer = Buffer(program)
    if len(program) < 40 or program[8:12] != b"eh00" or buffer.number("I", 12) < 32:
        raise MalformedError("its header does not tell where data segments are")
    length, base = buffer.number("Q", 16), buffer.number("Q", 24)
    root = Buffer(buffer.span(0, length)).root()
    segments = list(root.tables(4))
    contents = [_content(buffer, base, segment) for segment in segments]
    old, missing = list(contents), dict(replacements)
    for index in sorted(_delegate_segments(root)):
        if not 0 <= index < len(contents):
            raise MalformedError(f"a delegate lies in segment {index} of {len(contents)}")
        new = replacements.get(contents[index])
        if new is not None:
            missing.pop(contents[index], None)
            contents[index] = new
    if missing:
        raise MalformedError(
            f"{len(missing)} of the delegates to replace are not in a segment of the program"
        )
    if contents == old:
        return program
    return _assembled(program, base, segments, contents)


def _content(buffer: Buffer, base: int, segment: Table) -> bytes:
    return bytes(buffer.span(base + segment.integer(0, "Q"), segment.integer(1, "Q")))


def _delegate_segments(root: Table) -> set[int]:
    found = set()
    for plan in root.tables(1):
        for delegate in plan.tables(7):
            reference = delegate.required(1, "a delegate's data")
            if reference.integer(0, "b") == _SEGMENT:
                found.add(reference.integer(1, "I"))
    return found


def _assembled(program: bytes, base: int, segments: list[Table], contents: list[bytes]) -> bytes:
    """The file with `contents` as its segments, in the old order, aligned as before."""
    offsets = [segment.integer(0, "Q") for segment in segments]
    alignment = _LARGEST_ALIGNMENT
    while any(offset % alignment for offset in offsets):
        alignment //= 2
    head = bytearray(program[:base])
    data = bytearray()
    for index in sorted(range(len(segments)), key=lambda index: offsets[index]):
        data += bytes(-len(data) % alignment)
        _set(head, segments[index], 0, offsets[index], len(data), f"the offset of segment {index}")
        size = segments[index].integer(1, "Q")
        _set(head, segments[index], 1, size, len(contents[index]), f"the size of segment {index}")
        data += contents[index]
    struct.pack_into("<Q", head, 32, len(data))
    return bytes(head + data)


def _set(head: bytearray, segment: Table, field: int, old: int, new: int, what: str) -> None:
    place = segment.place(field, 8)
    if old == new:
        return
    if place is None or place + 8 > len(head):
        raise MalformedError(f"{what} has no place in the file")
    struct.pack_into("<Q", head, place, new)
