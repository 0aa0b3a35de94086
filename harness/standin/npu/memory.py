"""Memory as the NPU sees it: absolute addresses, and regions that command streams address by offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.errors import NpuFault

Bytes = NDArray[np.uint8]


class Memory(Protocol):
    """Byte-addressed memory."""

    def view(self, address: int, size: int) -> Bytes:
        """`size` bytes from `address` on, writable: the memory itself or a cached copy.

        Raises:
            NpuFault: a byte of it does not exist.
        """

    def flush(self) -> None:
        """Write the cached copies back."""


class ArrayMemory:
    """One block of memory at address `base`, in a numpy array of bytes."""

    def __init__(self, base: int, data: Bytes) -> None:
        self.base = base
        self.data = data

    def view(self, address: int, size: int) -> Bytes:
        """See `Memory.view`; zero-copy."""
        start = address - self.base
        if size < 0 or start < 0 or start + size > len(self.data):
            raise NpuFault(address, size)
        return self.data[start : start + size]

    def flush(self) -> None:
        """Nothing is cached."""


class RegionMemory:
    """Several blocks of memory; an access lies within one of them."""

    def __init__(self, blocks: Sequence[ArrayMemory]) -> None:
        self.blocks = tuple(blocks)

    def view(self, address: int, size: int) -> Bytes:
        """See `Memory.view`; zero-copy."""
        for block in self.blocks:
            if block.base <= address < block.base + len(block.data):
                return block.view(address, size)
        raise NpuFault(address, size)

    def flush(self) -> None:
        """Nothing is cached."""


@dataclass(frozen=True)
class Regions:
    """The memory behind the eight base pointers; what operations get as `memory`."""

    memory: Memory
    bases: tuple[int, ...]

    def view(self, region: int, offset: int, size: int) -> Bytes:
        """`size` bytes of a region, e.g. `view(state.WEIGHT_REGION, state.WEIGHT_BASE, n)`.

        Raises:
            NpuFault: no such region or no such memory.
        """
        if region >= len(self.bases) or size < 0:
            raise NpuFault(offset, size)
        return self.memory.view(self.bases[region] + offset, size)
