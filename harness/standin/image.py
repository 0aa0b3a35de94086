"""What may be loaded: an ELF reader of header and segments, and the check against the board's map."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from harness.standin.arguments import DataFile, Dump
from harness.standin.boards import BOARD_MODELS, DDR
from harness.standin.errors import StandinError
from harness.targets import BOARDS, Board, Region

_EM_ARM, _PT_LOAD = 40, 1
_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")  # Elf32_Ehdr
_SEGMENT = struct.Struct("<IIIIIIII")  # Elf32_Phdr
_RESET_VECTORS = 8  # bytes: initial stack pointer and reset handler


@dataclass(frozen=True)
class Segment:
    """A PT_LOAD header: `file_size` bytes go to `physical`; `size` bytes from `virtual` on are used."""

    index: int
    virtual: int
    physical: int
    file_size: int
    size: int


def load_segments(path: str) -> list[Segment]:
    """The PT_LOAD segments of the little-endian ARM ELF executable at `path`.

    Raises:
        StandinError: unreadable, or not such an ELF.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 5 ms of start-up
            header = file.read(_HEADER.size)
            length = file.seek(0, 2)
            ident, _, machine, _, _, offset, _, _, _, entry_size, count, *_ = _HEADER.unpack(header)
            if ident[:4] != b"\x7fELF":
                raise StandinError(f"'{path}' is not an ELF file")
            if ident[4:6] != b"\x01\x01" or machine != _EM_ARM:
                raise StandinError(f"'{path}' is not a little-endian 32-bit Arm ELF (machine {machine})")
            if entry_size != _SEGMENT.size or offset + count * entry_size > length:
                raise StandinError(f"'{path}' is truncated: its program headers are not in the file")
            file.seek(offset)
            table = file.read(count * entry_size)
    except OSError as error:
        raise StandinError(f"cannot read the program '{path}': {error.strerror}") from None
    except struct.error:
        raise StandinError(f"'{path}' is not an ELF file") from None
    segments = []
    for index, fields in enumerate(_SEGMENT.iter_unpack(table)):
        kind, start, virtual, physical, file_size, size, _, _ = fields
        if kind != _PT_LOAD or not size:
            continue
        if start + file_size > length or file_size > size:
            raise StandinError(f"'{path}' is truncated: segment {index} is not in the file")
        segments.append(Segment(index, virtual, physical, file_size, size))
    if not segments:
        raise StandinError(f"'{path}' has nothing to load: link it as an executable")
    return segments


def check_application(path: str, board: Board) -> None:
    """Refuse an ELF that the board could not run.

    Raises:
        StandinError: not an Arm ELF, a segment outside the board's memory, or no vector table.
    """
    segments = load_segments(path)
    for segment in segments:
        for address, size in ((segment.virtual, segment.size), (segment.physical, segment.file_size)):
            if not _fits(board.regions, address, size):
                raise StandinError(_misfit(path, segment, address, size, segments, board))
            _check_present(f"'{path}' segment {segment.index}", board, address, size)
    vectors = [region for region in board.regions if region.name in BOARD_MODELS[board.name].vectors]
    if not any(
        segment.physical == region.origin and segment.file_size >= _RESET_VECTORS
        for segment in segments
        for region in vectors
    ):
        places = " or ".join(f"0x{region.origin:08x}" for region in vectors)
        raise StandinError(f"'{path}' has no vector table: {board.name} boots from {places}")


def check_data(data: DataFile, board: Board) -> None:
    """Refuse raw data that is unreadable or does not fit.

    Raises:
        StandinError: see above.
    """
    try:
        with open(data.path, "rb") as file:  # noqa: PTH123 - as above
            size = file.seek(0, 2)
    except OSError as error:
        raise StandinError(f"cannot read the data file '{data.path}': {error.strerror}") from None
    regions = board.regions + BOARD_MODELS[board.name].data
    if not _fits(regions, data.address, size):
        raise StandinError(
            f"--data '{data.path}': {_range(data.address, size)} is outside {board.name}'s memory; "
            f"nearest: {_nearest(regions, data.address)}"
        )
    _check_present(f"--data '{data.path}'", board, data.address, size)


def check_dump(dump: Dump, board: Board) -> None:
    """Refuse a dump of other memory than the board's DDR.

    Raises:
        StandinError: see above.
    """
    regions = tuple(
        region
        for region in board.regions + BOARD_MODELS[board.name].data
        if DDR.holds(region.origin, region.size)
    )
    if not _fits(regions, dump.address, dump.size):
        raise StandinError(
            f"--dump '{dump.path}': {_range(dump.address, dump.size)} is outside {board.name}'s DDR, "
            f"and the stand-in dumps nothing else; nearest: {_nearest(regions, dump.address)}"
        )


def _check_present(what: str, board: Board, address: int, size: int) -> None:
    model = BOARD_MODELS[board.name]
    for region in board.regions:
        if size and region.name in model.absent and region.holds(address, size):
            raise StandinError(
                f"{what}: {_range(address, size)} is in {board.name}'s {region.name}, which the stand-in "
                f"lacks (QEMU's {model.machine} has no memory there); use SRAM or DDR"
            )


def _fits(regions: tuple[Region, ...], address: int, size: int) -> bool:
    return size == 0 or any(region.holds(address, size) for region in regions)


def _misfit(
    path: str, segment: Segment, address: int, size: int, segments: list[Segment], board: Board
) -> str:
    others = [
        other.name
        for other in BOARDS.values()
        if other != board and all(_fits(other.regions, one.virtual, one.size) for one in segments)
    ]
    hint = f"; the image fits {others[0]}: was it built for that board?" if others else ""
    return (
        f"'{path}' segment {segment.index}: {_range(address, size)} is outside {board.name}'s memory; "
        f"nearest: {_nearest(board.regions, address)}{hint}"
    )


def _range(address: int, size: int) -> str:
    return f"0x{address:08x}-0x{address + max(size, 1) - 1:08x} ({size} bytes)"


def _nearest(regions: tuple[Region, ...], address: int) -> str:
    def distance(region: Region) -> int:
        return max(region.origin - address, address - region.end + 1, 0)

    region = min(regions, key=distance)
    return f"{region.name} 0x{region.origin:08x}-0x{region.end - 1:08x}"
