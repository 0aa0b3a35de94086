"""Decoding of command words (reference section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.standin.npu.enums import value_names
from harness.standin.npu.errors import NpuError, parse_error
from harness.standin.npu.opcodes import Command, commands_by_key

KEY = 0xC3FF  # opcode and control bits of word 0


class Instruction(NamedTuple):
    """A decoded command: `offset` in words, `par` the upper half of word 0, `data` word 1 or 0."""

    command: Command
    offset: int
    par: int
    data: int

    @property
    def value(self) -> int:
        """What the command's fields are part of."""
        return self.par | self.data << 16

    @property
    def end(self) -> int:
        """Offset of the next command, in words."""
        return self.offset + self.command.words

    def field(self, name: str) -> int:
        """A field of the command, unsigned."""
        return next(field.of(self.value) for field in self.command.fields if field.name == name)

    def choice(self, product: str, name: str) -> str:
        """The name of an enumerated field's value.

        Raises:
            NpuError: the value has no name.
        """
        value = self.field(name)
        label = value_names(product, self.command.name, name).get(value)
        if label is None:
            raise parse_error(f"{name} {value} means nothing on Ethos-{product.upper()}")
        return label


def decode(product: str, words: Sequence[int], offset: int) -> Instruction:
    """The command at word `offset` of a stream.

    Raises:
        NpuError: no such command, or the stream ends within it; its `offset` is set.
    """
    if not 0 <= offset < len(words):
        raise NpuError("parse", "the stream ends without OP_STOP", offset=offset)
    word = words[offset]
    command = commands_by_key(product).get(word & KEY)
    if command is None:
        message = f"word {word:#010x} is not a command of Ethos-{product.upper()}"
        raise NpuError("parse", message, offset=offset)
    if command.words == 1:
        return Instruction(command, offset, word >> 16, 0)
    if offset + 1 >= len(words):
        raise NpuError("parse", f"the stream ends within {command.name}", command.name, offset)
    return Instruction(command, offset, word >> 16, words[offset + 1])
