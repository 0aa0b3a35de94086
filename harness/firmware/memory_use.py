"""Use of the memory regions by a linked runner, from the linker's map. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

# A region with a smaller share free is worth a warning: the next operator may not fit.
MARGIN = 0.01

_HEX = r"0x[0-9a-f]+"
_REGION = re.compile(rf"^(\S+)[ \t]+({_HEX})[ \t]+({_HEX})\b", re.MULTILINE)
# An output section stands at the start of a line; behind a long name its numbers are on the next one.
_SECTION = re.compile(
    rf"^(\.\S+)\n?[ \t]+({_HEX})[ \t]+({_HEX})(?:[ \t]+load address ({_HEX}))?[ \t]*$", re.MULTILINE
)
# Sections that no memory holds; the linker gives them address 0.
_NOT_LOADED = (".debug", ".comment", ".ARM.attributes", ".stab", ".gnu", ".symtab", ".strtab", ".shstrtab")


@dataclass(frozen=True)
class RegionUse:
    """One memory region: size and bytes used, counted up to the highest address as the linker does."""

    name: str
    size: int
    used: int

    @property
    def free(self) -> int:
        """Bytes left; negative if the region overflows."""
        return self.size - self.used

    @property
    def tight(self) -> bool:
        """True if less than MARGIN of the region is free."""
        return self.free < MARGIN * self.size

    def __str__(self) -> str:
        return f"{self.name}: {self.used} of {self.size} bytes, {self.free} free"


def read_map(text: str) -> tuple[RegionUse, ...]:
    """The regions of a map file of GNU ld, in its order; empty for a text that is none."""
    head, _, body = text.partition("Linker script and memory map")
    configuration = head.partition("Memory Configuration")[2]
    spans = [span for found in _SECTION.finditer(body) for span in _spans(found)]
    uses = []
    for name, origin, length in _REGION.findall(configuration):
        start, size = int(origin, 16), int(length, 16)
        ends = [address + count for address, count in spans if start <= address < start + size]
        if name != "*default*":
            uses.append(RegionUse(name, size, max(ends, default=start) - start))
    return tuple(uses)


def warnings(uses: Sequence[RegionUse]) -> tuple[str, ...]:
    """One line for each region that is almost full.

    Raises:
        HarnessError: BUILD/OVERFLOW, a region holds more than it can.
    """
    for use in uses:
        if use.free < 0:
            raise HarnessError(
                Outcome(
                    Phase.BUILD,
                    OutcomeClass.BUILD_OVERFLOW,
                    f"memory region {use.name} overflowed by {-use.free} bytes",
                    "register fewer operators (--runner=program) or shrink a pool",
                    {"region": use.name, "bytes": -use.free},
                )
            )
    return tuple(f"almost full: {use}" for use in uses if use.tight)


def _spans(section: re.Match[str]) -> list[tuple[int, int]]:
    """(address, bytes) that an output section occupies: where it runs and where it is loaded from."""
    name, address, size, load = section.groups()
    if name.startswith(_NOT_LOADED) or not int(size, 16):
        return []
    return [(int(place, 16), int(size, 16)) for place in (address, load) if place]
