"""Errors of the NPU model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["parse", "bus", "unimplemented"]


@dataclass
class NpuError(Exception):
    """The command stream cannot be executed; hardware would set a status bit and stop.

    Attributes:
        kind: "parse" (malformed stream), "bus" (address outside memory) or "unimplemented" (legal, but
            nothing is known or nothing was built for it).
        message: what is wrong, without position.
        opcode: name of the operation that failed; None if it failed before one was decoded.
        offset: position of the command in the stream, in words of 32 bits; None if not in a stream.
        registers: the register file at that moment, name to value.
    """

    kind: Kind
    message: str
    opcode: str | None = None
    offset: int | None = None
    registers: dict[str, int] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at word {self.offset}"
        what = "" if self.opcode is None else f" in {self.opcode}"
        return f"NPU {self.kind} error{what}{where}: {self.message}"

    def report(self) -> str:
        """The message, followed by the register file, one register a line."""
        lines = [f"  {name} = {value:#x}" for name, value in sorted(self.registers.items())]
        return "\n".join([str(self), *lines])


class NpuFault(NpuError):  # noqa: N818 - hardware's word for it
    """An access to memory that does not exist."""

    def __init__(self, address: int, size: int = 1) -> None:
        super().__init__("bus", f"no memory at {address:#x} ({size} bytes)")
        self.address = address
        self.size = size


def parse_error(message: str) -> NpuError:
    """The stream or a container is malformed."""
    return NpuError("parse", message)


def unimplemented(message: str) -> NpuError:
    """Legal, but not modelled."""
    return NpuError("unimplemented", message)
