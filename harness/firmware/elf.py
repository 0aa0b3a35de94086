"""Reading of a runner ELF: manifest, memory map, section sizes. Never runs a tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from harness.flow import RunnerElf
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import BOARDS, Board, Target

MANIFEST_SECTION = ".note.corstone-harness"
MANIFEST_OWNER = "corstone-harness"
MANIFEST_VERSION = 1
# What pyelftools raises on a file that is no ELF or a damaged one.
_DAMAGED = (OSError, ELFError, ValueError, KeyError, AttributeError, TypeError)
_ALLOCATED = 0x2  # SHF_ALLOC


@dataclass(frozen=True)
class Segment:
    """A loaded segment: run address, load address and sizes in bytes."""

    virtual: int
    physical: int
    file_size: int
    memory_size: int


@dataclass(frozen=True)
class ElfImage:
    """What the harness needs to know of an ELF."""

    machine: str
    entry: int
    segments: tuple[Segment, ...]
    sizes: dict[str, int]
    manifest: dict[str, Any] | None
    sha256: str
    unloaded: tuple[str, ...] = ()  # tables of addresses that code refers to and that nobody loads


def read_elf(path: Path) -> ElfImage:
    """Read `path`.

    Raises:
        HarnessError: BUILD/LAYOUT, not an ELF file or a damaged one.
    """
    try:
        data = path.read_bytes()
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            return ElfImage(
                machine=str(elf["e_machine"]),
                entry=int(elf["e_entry"]),
                segments=_segments(elf),
                sizes=_section_sizes(elf),
                manifest=_manifest(elf),
                sha256=hashlib.sha256(data).hexdigest(),
                unloaded=_unloaded_tables(elf),
            )
    except _DAMAGED as error:
        raise _layout(
            f"{path.name} is not a readable ELF file ({error})", "build the runner again"
        ) from error


def check_board(path: Path, board: Board) -> None:
    """Refuse an ELF that was not linked for `board`, before it is booted; reads program headers only.

    A file that is no ELF is left to the simulator, which says so.

    Raises:
        HarnessError: CONFIG/TARGET or CONFIG/ARENA.
    """
    try:
        with path.open("rb") as stream:
            segments = _segments(ELFFile(stream))
    except _DAMAGED:
        return
    _check_segments(path.name, segments, board)


def check_runner(path: Path, target: Target) -> RunnerElf:
    """Accept `path` as a runner for `target`, or refuse it.

    Raises:
        HarnessError: BUILD/LAYOUT without a manifest; CONFIG/TARGET for another target or board,
            by manifest or by linked memory map.
    """
    image = read_elf(path)
    if image.machine != "EM_ARM":
        raise _layout(f"{path.name} is built for {image.machine}, not for Arm", "build with PLATFORM=target")
    check_memory_map(path.name, image, target.board)
    if image.unloaded:
        raise _layout(
            f"{path.name} has {', '.join(image.unloaded)}, and nothing loads it",
            "keep .got and .got.plt in the linker script, with .data: position-independent code reads them",
        )
    manifest = image.manifest
    if manifest is None:
        raise _layout(
            f"{path.name} has no {MANIFEST_SECTION} section", "build it with runner_app/CMakeLists.txt"
        )
    if (manifest.get("target"), manifest.get("board")) != (target.name, target.board.name):
        raise _target(
            f"{path.name} is a runner for {manifest.get('target')} on {manifest.get('board')}, "
            f"not for {target.name} on {target.board.name}"
        )
    return runner_elf(path, image, manifest)


def runner_elf(path: Path, image: ElfImage, manifest: dict[str, Any]) -> RunnerElf:
    """The record of a runner, from an image that was read and its manifest."""
    return RunnerElf(
        path=path,
        target=str(manifest["target"]),
        board=str(manifest["board"]),
        operators=tuple(manifest.get("operators", ())),
        source_hash=str(manifest.get("source_hash", "")),
        sha256=image.sha256,
        sizes=image.sizes,
    )


def check_memory_map(name: str, image: ElfImage, board: Board) -> None:
    """Refuse an image that reaches outside the regions of `board`.

    Raises:
        HarnessError: CONFIG/TARGET, naming the segment and the board that it would fit; CONFIG/ARENA, it is
            for this board, but a region is too small for what it holds.
    """
    _check_segments(name, image.segments, board)


def _check_segments(name: str, segments: Sequence[Segment], board: Board) -> None:
    stray = _first_stray(segments, board)
    if stray is None:
        return
    other = next((b.name for b in BOARDS.values() if _first_stray(segments, b) is None), "")
    region = next((r for r in board.regions if r.holds(stray.virtual, 1)), None)
    if region is not None and not other:
        raise HarnessError(
            Outcome(
                Phase.LAUNCH,
                OutcomeClass.CONFIG_ARENA,
                f"{name} has {stray.memory_size} bytes at {stray.virtual:#010x}, and {region.name} of "
                f"{board.name} ends after {region.end - stray.virtual}",
                "build the runner with smaller pools, or place them in a larger region (docs/runtime.md)",
                {"region": region.name, "needed": stray.memory_size, "available": region.end - stray.virtual},
            )
        )
    fits = f"; it is linked for {other}" if other else ""
    raise _target(
        f"{name} has a segment at {stray.virtual:#010x} ({stray.memory_size} bytes) "
        f"outside the memory of {board.name}{fits}"
    )


def _first_stray(segments: Sequence[Segment], board: Board) -> Segment | None:
    for segment in segments:
        run = any(r.holds(segment.virtual, segment.memory_size) for r in board.regions)
        load = any(r.holds(segment.physical, segment.file_size) for r in board.regions)
        if not (run and load):
            return segment
    return None


def _segments(elf: ELFFile) -> tuple[Segment, ...]:
    return tuple(
        Segment(s["p_vaddr"], s["p_paddr"], s["p_filesz"], s["p_memsz"])
        for s in elf.iter_segments()
        if s["p_type"] == "PT_LOAD" and s["p_memsz"] > 0
    )


def _section_sizes(elf: ELFFile) -> dict[str, int]:
    return {
        section.name: int(section["sh_size"])
        for section in elf.iter_sections()
        if section["sh_flags"] & _ALLOCATED and section["sh_size"]
    }


def _unloaded_tables(elf: ELFFile) -> tuple[str, ...]:
    """Names of the tables of addresses (`.got`) whose contents no loaded segment has."""
    loaded = [(s.virtual, s.virtual + s.file_size) for s in _segments(elf)]
    return tuple(
        section.name
        for section in elf.iter_sections()
        if section.name.startswith(".got")
        and section["sh_size"]
        and (
            section["sh_type"] == "SHT_NOBITS"
            or not any(low <= section["sh_addr"] < high for low, high in loaded)
        )
    )


def _manifest(elf: ELFFile) -> dict[str, Any] | None:
    section = elf.get_section_by_name(MANIFEST_SECTION)
    if not isinstance(section, NoteSection):
        return None
    for note in section.iter_notes():
        if note["n_name"] == MANIFEST_OWNER:
            raw = note["n_descdata"] if "n_descdata" in note else note["n_desc"]
            text = raw.encode("latin-1") if isinstance(raw, str) else bytes(raw)
            manifest = json.loads(text.rstrip(b"\0"))
            return manifest if manifest.get("version") == MANIFEST_VERSION else None
    return None


def _layout(summary: str, hint: str) -> HarnessError:
    return HarnessError(Outcome(Phase.BUILD, OutcomeClass.BUILD_LAYOUT, summary, hint))


def _target(summary: str) -> HarnessError:
    hint = "build the runner for this target: `harness build --target …`"
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_TARGET, summary, hint))
