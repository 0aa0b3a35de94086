"""Programs for the NPU, damaged where it counts: in the command stream, or in the delegate's blob."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness import Program
from harness.standin.npu.stream import Instruction, decode

_STREAM, _NOP, _CONFIG = 2, 5, 1


def damaged(program: Program, data: bytes, directory: Path) -> Program:
    """`program` with `data` as its `.pte`, without a bundle."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "damaged.pte").write_bytes(data)
    return replace(program, pte=directory / "damaged.pte", bpte=None)


def stream_position(data: bytes) -> tuple[int, int]:
    """First byte and size of the command stream of the first delegate in a `.pte`."""
    at = data.index(b"COP1") + 4
    while True:
        (tag,) = struct.unpack_from("<I", data, at)
        at += 4
        if tag & 0xFF == _STREAM:
            return at, 4 * (tag >> 16 | (tag >> 8 & 0xFF) << 16)
        assert tag & 0xFF in (_NOP, _CONFIG)
        at += 8 if tag & 0xFF == _CONFIG else 0


def instructions(data: bytes, product: str) -> Iterator[tuple[int, Instruction]]:
    """Each command of the first delegate with the position of its first byte in the file."""
    start, size = stream_position(data)
    words = struct.unpack_from(f"<{size // 4}I", data, start)
    offset = 0
    while offset < len(words):
        instruction = decode(product, words, offset)
        yield start + 4 * offset, instruction
        offset = instruction.end


def with_word(data: bytes, product: str, command: str, word: int, value: int) -> bytes:
    """`data` with word 0 or 1 of the last `command` of the first delegate overwritten."""
    *_, at = (at for at, instruction in instructions(data, product) if instruction.command.name == command)
    changed = bytearray(data)
    struct.pack_into("<I", changed, at + 4 * word, value)
    return bytes(changed)


def with_shorter_blob(data: bytes) -> bytes:
    """`data` with the size of its only delegate, as the program's segment table has it, cut to the half."""
    start = data.index(b"vela_bin_stream")
    size = data.index(b"vela_end_stream") + 32 - start
    place = data.rindex(struct.pack("<Q", size), 0, start)  # the header has it too, before the table
    changed = bytearray(data)
    struct.pack_into("<Q", changed, place, size // 2)
    return bytes(changed)
