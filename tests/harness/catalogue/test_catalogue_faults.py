"""Rows E: faults and memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.firmware.build import explain_failure
from harness.firmware.elf import check_runner, read_elf
from harness.outcomes import HarnessError
from harness.targets import TARGETS
from tests.harness.bench import BOOT, GOOD, LOAD, RUN, Bench, end, log, prints, writes
from tests.harness.catalogue.conftest import Link
from tests.harness.catalogue.expect import expect

NO_MEMORY = log("E", "Memory allocation failed: 6144000B requested (adjusted for alignment), 2000B available")
SOURCE = """\
int kernel(int a) {
  return a + 1;
}
int _start(void) { return kernel(1); }
"""


def address_of(path: Path, name: str) -> int:
    with path.open("rb") as file:
        (symbol,) = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(name)
    return int(symbol["st_value"])


def test_catalogue_E1_a_fault_names_symbol_and_line(bench: Bench, link: Link) -> None:
    path = link(SOURCE)
    (bench.directory / "runner.elf").write_bytes(path.read_bytes())
    pc, lr = address_of(path, "kernel"), address_of(path, "_start")
    dump = log("F", f"Hard fault: CFSR=0x00000400 HFSR=0x40000000 PC={pc:#010x} LR={lr:#010x}")
    outcome = bench.attempt(*prints(*BOOT, *LOAD, RUN[0], dump), ["exit", 3]).outcome
    expect(outcome, "FAULT", "run", "ladder")
    assert "PC in kernel+0x0 (program.c:1)" in outcome.summary
    assert "LR in _start+0x0 (program.c:4)" in outcome.summary
    assert str(outcome.detail["symbol"]).startswith("kernel")


@pytest.mark.parametrize(
    ("before", "phase"), [(LOAD[:1], "load"), ((*LOAD, RUN[0]), "run")], ids=["load", "run"]
)
def test_catalogue_E2_a_failed_allocation_shows_bytes_and_pool(
    bench: Bench, before: tuple[str, ...], phase: str
) -> None:
    line = f"{NO_MEMORY} in pool method allocator"
    outcome = bench.attempt(*prints(*BOOT, *before, line, end(1, 0)), ["exit", 1]).outcome
    expect(outcome, "MEM", phase, 0)
    assert dict(outcome.detail) == {"needed": 6144000, "available": 2000, "pool": "method allocator"}


def test_catalogue_E3_an_output_that_nobody_wrote_is_red(bench: Bench) -> None:
    outcome = bench.attempt(writes(b"\xa5" * 4), *prints(*GOOD)).outcome
    expect(outcome, "OUTPUT_NOT_WRITTEN", "verify", "ladder")


def test_catalogue_E4_the_build_option_is_suggested_with_its_number(bench: Bench) -> None:
    outcome = bench.attempt(*prints(*BOOT, LOAD[0], NO_MEMORY, end(1, 0)), ["exit", 1]).outcome
    expect(outcome, "MEM", "load", 0)
    assert "POOL_SIZE ≥ 6144000" in outcome.hint


def test_catalogue_E5_a_fault_offers_the_run_with_sanitizers(bench: Bench) -> None:
    dump = log("F", "Hard fault: CFSR=0x00000400 PC=0x10000104 LR=0x1")
    outcome = bench.attempt(*prints(*BOOT, *LOAD, RUN[0], dump), ["exit", 3]).outcome
    expect(outcome, "FAULT", "run", "ladder")
    assert "--engine host --host-runner sanitized" in outcome.hint


def test_catalogue_E6_a_used_up_stack_is_named(bench: Bench) -> None:
    """The runner sets the core's stack limit: its fault is exact where paint would have to be looked at."""
    dump = (
        log("F", "Hard fault: CFSR=0x00100000 HFSR=0x0 PC=0x0 LR=0x0", "fault.cpp"),
        log("F", "Exception 6: stack overflow.", "fault.cpp"),
    )
    outcome = bench.attempt(*prints(*BOOT, *LOAD, RUN[0], *dump), ["exit", 3]).outcome
    expect(outcome, "FAULT", "run", "ladder")
    assert "stack exhausted" in outcome.summary


GOT_SOURCE = "extern int x; int x = 3; int *volatile p; int _start(void) { p = &x; return *p; }"
GOT_SCRIPT = """\
MEMORY {{ ITCM (rwx) : ORIGIN = 0x10000000, LENGTH = 64K }}
SECTIONS {{
  .text : {{ *(.text*) }} > ITCM
  .data : {{ *(.data*) }} > ITCM
  {got}
  .bss : {{ *(.bss*) }} > ITCM
  /DISCARD/ : {{ *(.ARM*) {discarded} }}
}}
"""


def without_contents(path: Path, name: str) -> bytes:
    """The ELF with a section turned into one that only has an address, as `(NOLOAD)` makes them."""
    data = bytearray(path.read_bytes())
    with path.open("rb") as file:
        image = ELFFile(file)
        index = image.get_section_index(name)
        type_field = image["e_shoff"] + index * image["e_shentsize"] + 4
    data[type_field : type_field + 4] = (8).to_bytes(4, "little")  # SHT_NOBITS
    return bytes(data)


def test_catalogue_E7_a_table_of_addresses_that_nobody_loads_is_refused(link: Link, tmp_path: Path) -> None:
    script = tmp_path / "board.ld"
    script.write_text(GOT_SCRIPT.format(got=".got : { *(.got*) } > ITCM", discarded=""))
    path = link(GOT_SOURCE, "-fPIC", f"-T{script}")
    assert read_elf(path).unloaded == ()
    (tmp_path / "bad.elf").write_bytes(without_contents(path, ".got"))
    assert read_elf(tmp_path / "bad.elf").unloaded == (".got",)
    with pytest.raises(HarnessError) as caught:
        check_runner(tmp_path / "bad.elf", TARGETS["cortex-m55"])
    expect(caught.value.outcome, "BUILD/LAYOUT", "build", 0)
    assert ".got" in caught.value.outcome.summary


def test_catalogue_E7_a_linker_script_that_discards_it_is_named(link: Link, tmp_path: Path) -> None:
    script = tmp_path / "board.ld"
    script.write_text(GOT_SCRIPT.format(got="", discarded="*(.got*)"))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        link(GOT_SOURCE, "-fPIC", f"-T{script}")
    outcome = explain_failure(caught.value.stderr.decode(), "build.log")
    expect(outcome, "BUILD/LAYOUT", "build", 0)
    assert ".got" in outcome.summary
