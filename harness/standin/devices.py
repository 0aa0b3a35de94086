"""Devices that QEMU's machine lacks, emulated behind access watchpoints."""

from __future__ import annotations

from typing import Protocol


class Device(Protocol):
    """A block of registers. Addresses are absolute; `aliases` are further bases (secure views)."""

    base: int
    size: int
    aliases: tuple[int, ...]

    def read(self, offset: int, size: int) -> int:
        """Value of `size` bytes at `offset`."""
        ...

    def write(self, offset: int, size: int, value: int) -> None:
        """Store `size` bytes at `offset`; work that this starts is done before it returns."""
        ...

    def interrupt(self) -> tuple[int, bool]:
        """Number of the interrupt line and whether it is raised now."""
        ...
