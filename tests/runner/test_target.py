"""What only the bare-metal image has: boot, fault reports, memory map, manifest, no heap."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.targets import CORSTONE_300
from tests.runner.runners import Runner

FAULT = re.compile(
    r"F \[executorch:fault\.cpp:\d+ fault\(\)\] Hard fault: CFSR=0x(?P<CFSR>[0-9a-f]{8}) "
    r"HFSR=0x[0-9a-f]{8} MMFAR=0x[0-9a-f]{8} BFAR=0x(?P<BFAR>[0-9a-f]{8}) PC=0x(?P<PC>[0-9a-f]{8}) "
    r"LR=0x[0-9a-f]{8} xPSR=0x[0-9a-f]{8}"
)


def run_to_fault(target_runner: Runner, files: Path, program: str) -> tuple[re.Match[str], str]:
    done = target_runner.run(files, "-m", program, "-o", "out", "-i", "x.bin")
    assert done.status == 3, done.console
    match = FAULT.search(done.console)
    assert match, done.console
    assert "harness: end" not in done.console
    return match, done.errors[-1]


def test_bus_fault_names_address_and_function(target_runner: Runner, files: Path) -> None:
    registers, cause = run_to_fault(target_runner, files, "neg.pte")
    assert registers["BFAR"] == "50000000"
    assert "BFAR" in cause
    symbol = subprocess.run(
        ["arm-none-eabi-addr2line", "-fCe", str(target_runner.path), registers["PC"]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "read_where_nothing_is" in symbol


def test_stack_overflow_is_recognised(target_runner: Runner, files: Path) -> None:
    registers, cause = run_to_fault(target_runner, files, "abs.pte")
    assert int(registers["CFSR"], 16) & 1 << 20
    assert cause.endswith("stack overflow.")


def test_division_by_zero_is_a_fault(target_runner: Runner, files: Path) -> None:
    registers, cause = run_to_fault(target_runner, files, "ceil.pte")
    assert int(registers["CFSR"], 16) & 1 << 25
    assert cause.endswith("integer division by zero.")


def test_write_through_null_pointer_is_a_fault(target_runner: Runner, files: Path) -> None:
    registers, cause = run_to_fault(target_runner, files, "floor.pte")
    assert int(registers["CFSR"], 16) & 1 << 1
    assert "MMFAR" in cause


def test_semihosting_off_is_said(target_runner: Runner, files: Path) -> None:
    """The image then waits for ever: nobody is there whom it could tell its exit status."""
    argv = ["qemu-system-arm", "-M", "mps3-an547", "-nographic", "-kernel", str(target_runner.path)]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        process.kill()
    assert line.startswith("F [executorch:fault.cpp:")
    assert "Semihosting is off" in line


@pytest.fixture
def elf(target_runner: Runner) -> Iterator[ELFFile]:
    with target_runner.path.open("rb") as stream:
        yield ELFFile(stream)


def test_image_lies_within_the_boards_regions(elf: ELFFile) -> None:
    segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_memsz"] > 0]
    assert len(segments) >= 4
    for segment in segments:
        for address, size in ((segment["p_vaddr"], segment["p_memsz"]), (segment["p_paddr"], 0)):
            assert any(region.holds(address, size) for region in CORSTONE_300.regions), hex(address)


def test_manifest_is_in_the_image(elf: ELFFile) -> None:
    data = elf.get_section_by_name(".note.corstone-harness").data()
    name_size, description_size, kind = struct.unpack_from("<3I", data)
    assert (data[12 : 12 + name_size], kind) == (b"corstone-harness\0", 1)
    start = 12 + (name_size + 3) // 4 * 4
    assert json.loads(data[start : start + description_size])["target"] == "cortex-m55"


def test_image_has_no_heap(elf: ELFFile) -> None:
    names = {symbol.name for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
    assert "main" in names
    assert not {"malloc", "_malloc_r", "_Znwj", "_sbrk"} & names
