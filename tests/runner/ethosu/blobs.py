"""Delegate blobs made by hand: the container of Vela's output around an arbitrary command stream."""

from __future__ import annotations

import struct
from collections.abc import Mapping

U85_256 = (0x20000118, 0x20007000)  # CONFIG and ID
COMMANDS = struct.pack("<4I", 0x0101, 0x0102, 0x0103, 0x0000)


def padded(data: bytes) -> bytes:
    """`data` with zeros up to a multiple of 16."""
    return data + bytes(-len(data) % 16)


def block(name: str, data: bytes = b"", external: int = 0) -> bytes:
    """One block: header, data, padding."""
    return struct.pack("<16sIB11x", name.encode(), len(data), external) + padded(data)


def driver_actions(
    identity: tuple[int, int] = U85_256, commands: bytes = COMMANDS, before: bytes = b""
) -> bytes:
    """The driver payload: magic, configuration, NOPs up to a multiple of 16, the command stream."""
    head = b"COP1" + before + struct.pack("<3I", 1 | 0x10 << 16, *identity)
    head += struct.pack("<I", 5) * (-(len(head) + 4) % 16 // 4)
    words = len(commands) // 4
    return head + struct.pack("<I", 2 | (words >> 16) << 8 | (words & 0xFFFF) << 16) + commands


def placements(*entries: tuple[int, ...]) -> bytes:
    """A list of inputs or outputs: (elements, element size, offset, region) each."""
    rows = (struct.pack("<9i", 1, 1, 1, 1, 1, *entry) for entry in entries)
    return struct.pack("<i", len(entries)) + b"".join(rows)


def blob(**changed: bytes | None) -> bytes:
    """A blob with one input and one output of 8 bytes; `changed` replaces blocks, None drops them."""
    blocks: Mapping[str, bytes | None] = {
        "vela_bin_stream": b"",
        "cmd_data": driver_actions(),
        "weight_data": b"\0",
        "scratch_size": struct.pack("<I", 64),
        "inputs": placements((8, 1, 0, 1)),
        "outputs": placements((8, 1, 8, 1)),
        "vela_end_stream": b"",
    } | changed
    return b"".join(block(name, data) for name, data in blocks.items() if data is not None)
