"""Addresses of an ELF to function and source line."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection


def locator(elf: Path) -> Callable[[int], str | None]:
    """A function that names the place of an address in `elf`: "function+0x4 (file.cpp:12)", None if unknown.

    The file is read at the first call only; a file that cannot be read knows no places.
    """

    @lru_cache(maxsize=1)
    def functions() -> list[tuple[int, int, str]]:
        return _functions(elf)

    def locate(address: int) -> str | None:
        address &= ~1  # the Thumb bit
        for start, end, name in functions():
            if start <= address < end:
                line = _line(elf, address)
                return f"{name}+0x{address - start:x}" + (f" ({line})" if line else "")
        return None

    return locate


# Names of the objects that tensors are placed in, and the alignment that kernels and the NPU rely on.
_BUFFER = re.compile(r"pool|arena|buffer|tensor|scratch", re.IGNORECASE)
_BUFFER_ALIGNMENT = 16  # [bytes]


def misaligned_buffers(elf: Path) -> tuple[str, ...]:
    """Memory pools and buffers of `elf` whose address is no multiple of 16: "name at 0x…"; () if unknown."""
    return tuple(
        f"{_plain(symbol.name)} at 0x{symbol['st_value']:08x}"
        for symbol in _symbols(elf, "STT_OBJECT")
        if _BUFFER.search(symbol.name) and symbol["st_value"] % _BUFFER_ALIGNMENT
    )


def _functions(elf: Path) -> list[tuple[int, int, str]]:
    return [
        (symbol["st_value"] & ~1, (symbol["st_value"] & ~1) + symbol["st_size"], _plain(symbol.name))
        for symbol in _symbols(elf, "STT_FUNC")
    ]


def _symbols(elf: Path, kind: str) -> list[Any]:
    try:
        with elf.open("rb") as file:
            return [
                symbol
                for section in ELFFile(file).iter_sections()
                if isinstance(section, SymbolTableSection)
                for symbol in section.iter_symbols()
                if symbol["st_info"]["type"] == kind and symbol["st_size"]
            ]
    except (OSError, ELFError, ValueError, KeyError):
        return []


def _line(elf: Path, address: int) -> str | None:
    """File and line from the DWARF line tables, if there are any."""
    try:
        with elf.open("rb") as file:
            image = ELFFile(file)
            if not image.has_dwarf_info():
                return None
            dwarf = image.get_dwarf_info()
            for unit in dwarf.iter_CUs():
                if found := _line_in(dwarf.line_program_for_CU(unit), address):
                    return found
    except Exception:  # pyelftools raises bare errors on damaged tables; a missing line is no failure
        return None
    return None


def _line_in(program: Any, address: int) -> str | None:
    previous = None
    for entry in program.get_entries() if program else ():
        state = entry.state
        if state is None:
            continue
        if previous is not None and not previous.end_sequence and previous.address <= address < state.address:
            # Before DWARF 5 files are counted from 1.
            index = previous.file - (0 if program["version"] >= 5 else 1)
            name = program["file_entry"][index].name
            text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
            return f"{PurePosixPath(text).name}:{previous.line}"
        previous = state
    return None


def _plain(name: str) -> str:
    """The last component of a mangled C++ name, enough to find the function; other names as they are."""
    if not name.startswith("_Z"):
        return name
    parts, rest = [], name[2:].lstrip("NKLVZ")
    while rest and rest[0].isdigit():
        digits = len(rest) - len(rest.lstrip("0123456789"))
        size = int(rest[:digits])
        parts.append(rest[digits : digits + size])
        rest = rest[digits + size :].lstrip("L")
    return "::".join(parts) or name
