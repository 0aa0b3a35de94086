"""The board's memory as the NPU sees it: DDR itself, other memory as copies that are written back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.standin.boards import DDR, SECURE
from harness.standin.ddr import SharedDdr
from harness.standin.gdb import Gdb
from harness.standin.npu.errors import NpuFault
from harness.targets import Region

Bytes = NDArray[np.uint8]
_PAGE = 1 << 12


class CopiedRegion:
    """Memory behind the gdb connection: pages are fetched when they are first looked at."""

    def __init__(self, gdb: Gdb, region: Region) -> None:
        self._gdb = gdb
        self._origin = region.origin
        self._data = np.zeros(region.size, np.uint8)
        self._fetched = np.zeros(-(-region.size // _PAGE), np.bool_)
        self._original: dict[int, bytes] = {}  # page → as the guest knows it

    def view(self, offset: int, size: int) -> Bytes:
        """`size` bytes from `offset` on; overlapping views share their bytes."""
        first, last = offset // _PAGE, -(-(offset + size) // _PAGE)
        for start, end in _runs(~self._fetched[first:last]):
            self._fetch(first + start, first + end)
        return self._data[offset : offset + size]

    def flush(self) -> None:
        """Write the pages back that have changed."""
        changed = np.zeros_like(self._fetched)
        for page, original in self._original.items():
            changed[page] = self._data[page * _PAGE : (page + 1) * _PAGE].tobytes() != original
        for start, end in _runs(changed):
            self._gdb.write_memory(
                self._origin + start * _PAGE, self._data[start * _PAGE : end * _PAGE].tobytes()
            )
        for page in np.flatnonzero(changed):
            self._original[int(page)] = self._data[page * _PAGE : (page + 1) * _PAGE].tobytes()

    def _fetch(self, first: int, last: int) -> None:
        end = min(last * _PAGE, len(self._data))
        data = self._gdb.read_memory(self._origin + first * _PAGE, end - first * _PAGE)
        self._data[first * _PAGE : end] = np.frombuffer(data, np.uint8)
        for page in range(first, last):
            at = (page - first) * _PAGE
            self._original[page] = data[at : at + _PAGE]
        self._fetched[first:last] = True


def _runs(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First and last + 1 of each run of true flags."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        yield int(start), int(end)


class BoardMemory:
    """A `harness.standin.npu.memory.Memory` over one job: the guest stands still meanwhile.

    `regions` are what the NPU reaches; secure and non-secure addresses of copied memory are the same bytes.
    """

    def __init__(self, gdb: Gdb, ddr: SharedDdr, regions: Sequence[Region]) -> None:
        self._gdb = gdb
        self._regions = regions
        self._ddr: Bytes = np.frombuffer(ddr.mapping(), np.uint8)
        self._copies: dict[int, CopiedRegion] = {}

    def view(self, address: int, size: int) -> Bytes:
        """See `Memory.view`: DDR is not copied."""
        region = next((region for region in self._regions if region.holds(address, size)), None)
        if region is None or size < 0:
            raise NpuFault(address, size)
        if DDR.holds(address, size):
            return self._ddr[address - DDR.origin : address - DDR.origin + size]
        origin = region.origin | SECURE
        if origin not in self._copies:
            self._copies[origin] = CopiedRegion(self._gdb, Region(region.name, origin, region.size))
        return self._copies[origin].view(address - region.origin, size)

    def flush(self) -> None:
        """See `Memory.flush`."""
        for copy in self._copies.values():
            copy.flush()
