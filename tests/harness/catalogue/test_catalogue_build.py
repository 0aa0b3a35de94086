"""Rows A: build and toolchain. The compiler and the linker are real."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness import doctor
from harness.firmware import build, elf
from harness.firmware.build import RunnerRequest, build_runner, explain_failure
from harness.firmware.memory_use import read_map, warnings
from harness.outcomes import HarnessError
from harness.settings import default_cache
from harness.targets import TARGETS
from tests.harness.bench import GOOD, Bench, log, prints, writes
from tests.harness.catalogue.conftest import Link
from tests.harness.catalogue.expect import expect

M55 = TARGETS["cortex-m55"]
EMPTY = "int _start(void) { return 0; }"
MAP = """\
Memory Configuration

Name             Origin             Length             Attributes
ITCM             0x00000000         0x00080000         xr
DTCM             0x20000000         0x00080000         rw
*default*        0x00000000         0xffffffff

Linker script and memory map

.vectors        0x00000000      0x220
 .vectors       0x00000000      0x220 vectors.o
.text           0x00000220     {text:#x}
.a.section.with.a.long.name
                0x20000000      0x100 load address 0x{load:08x}
.debug_info     0x00000000   0x1f19da
"""


def test_catalogue_A1_an_archive_of_a_host_build_is_named(tmp_path: Path) -> None:
    (tmp_path / "old.c").write_text("int old(void) { return 1; }")
    (tmp_path / "main.c").write_text("int old(void); int _start(void) { return old(); }")
    subprocess.run(["gcc", "-c", "old.c"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rc", "libold.a", "old.o"], cwd=tmp_path, check=True)
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-nostdlib", "main.c", "libold.a"]
    linked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    outcome = explain_failure(linked.stderr, "build.log")
    expect(outcome, "BUILD/STALE_DIR", "build", 0)
    assert "old" in str(outcome.detail["file"])


@pytest.mark.parametrize(("text", "load", "tight"), [(0x7F000, 0x7F220, True), (0x40000, 0x40220, False)])
def test_catalogue_A3_a_region_that_is_almost_full_is_a_warning(text: int, load: int, tight: bool) -> None:
    itcm, dtcm = read_map(MAP.format(text=text, load=load))
    assert (itcm.name, itcm.used, itcm.free) == ("ITCM", load + 0x100, 0x80000 - load - 0x100)
    assert (dtcm.name, dtcm.used) == ("DTCM", 0x100)
    assert warnings((itcm, dtcm)) == ((f"almost full: {itcm}",) if tight else ())


def test_catalogue_A3_a_region_that_is_more_than_full_is_red() -> None:
    with pytest.raises(HarnessError) as caught:
        warnings(read_map(MAP.format(text=0x80000, load=0x100)))
    expect(caught.value.outcome, "BUILD/OVERFLOW", "build", 0)
    assert dict(caught.value.outcome.detail) == {"region": "ITCM", "bytes": 0x220}


@pytest.mark.parametrize(
    ("text", "region", "size"),
    [
        ("ld: region 'iram0_0_seg' overflowed by 12 bytes", "iram0_0_seg", 12),
        ("ld: region `DDR4_6_NS' overflowed by 4096 bytes", "DDR4_6_NS", 4096),
    ],
)
def test_catalogue_A4_any_region_that_overflows_is_named_with_its_bytes(
    text: str, region: str, size: int
) -> None:
    outcome = explain_failure(text, "build.log")
    expect(outcome, "BUILD/OVERFLOW", "build", 0)
    assert dict(outcome.detail) == {"region": region, "bytes": size}


def test_catalogue_A5_an_operator_that_is_missing_forty_times_is_one_failure(bench: Bench) -> None:
    lines = [log("E", f"Missing operator: [{i}] aten::exp.out", "method.cpp") for i in range(40)]
    kernel = log("E", "kernel 'aten::exp.out' not found.", "operator_registry.cpp")
    attempt = bench.attempt(*prints(*GOOD[:3], kernel, *lines), ["exit", 1])
    expect(attempt.outcome, "CONFIG/MISSING_OP", "load", 0)
    assert attempt.outcome.detail["operators"] == ["aten::exp.out"]
    assert "--runner program" in attempt.outcome.hint


def test_catalogue_A6_exclusive_options_start_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_run", lambda *_: pytest.fail("a compiler was started"))
    for request in (
        RunnerRequest(M55, (), runtime="wheel"),
        RunnerRequest(M55, (), sanitize=True),
        RunnerRequest(M55, (), runtime="prefix"),
        RunnerRequest(M55, (), prefix=tmp_path),
    ):
        with pytest.raises(HarnessError) as caught:
            build_runner(request, tmp_path)
        expect(caught.value.outcome, "CONFIG/OPTIONS", "build", 0)


def test_catalogue_A7_sizes_need_no_tool(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    path = link("int values[100]; " + EMPTY)
    monkeypatch.setenv("PATH", "")
    sizes = elf.read_elf(path).sizes
    assert sizes[".bss"] == 400
    assert sizes[".text"] > 0


def test_catalogue_A8_a_wrong_compiler_is_shown_with_the_one_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, version in (("old", "9.2.1"), ("new", "12.2.1")):
        tool = tmp_path / folder / "arm-none-eabi-g++"
        tool.parent.mkdir()
        tool.write_text(f"#!/bin/sh\necho 'arm-none-eabi-g++ (GNU) {version}'\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "old"), str(tmp_path / "new"), "/usr/bin"]))
    (finding,) = (f for f in doctor.examine() if f.name == "arm-none-eabi-g++")
    assert (finding.ok, finding.needed) == (False, True)
    assert str(tmp_path / "old") in finding.found
    assert "9.2.1" in finding.found
    assert "expected >= 12" in finding.found
    assert str(tmp_path / "new") in finding.advice
    with pytest.raises(HarnessError) as caught:
        build_runner(RunnerRequest(M55, ()), tmp_path)
    expect(caught.value.outcome, "ENV/TOOLCHAIN", "build", 0)


def test_catalogue_A10_a_compiler_that_the_system_killed_is_infrastructure() -> None:
    text = "c++: fatal error: Killed signal terminated program cc1plus\nninja: build stopped: FAILED: x.o"
    expect(explain_failure(text, "build.log"), "INFRA/OOM", "build", 1)


def test_catalogue_A11_an_arena_larger_than_its_region_is_not_booted(bench: Bench, link: Link) -> None:
    source = 'char arena[6 << 20] __attribute__((section(".arena"), aligned(16)));' + EMPTY
    path = link(source, "-Wl,--section-start=.arena=0x31000000")
    (bench.directory / "runner.elf").write_bytes(path.read_bytes())
    outcome = bench.attempt(writes(), *prints(*GOOD)).outcome
    expect(outcome, "CONFIG/ARENA", "launch", 0)
    assert dict(outcome.detail) == {"region": "SRAM", "needed": 6 << 20, "available": 2 << 20}
    assert not (bench.directory / "console.log").exists()


def test_catalogue_A12_a_second_build_starts_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    request = RunnerRequest(M55, ("cortex_m::quantized_add.out",))
    first = build_runner(request, default_cache())
    monkeypatch.setattr(build, "_run", lambda *_: pytest.fail("a compiler was started"))
    assert build_runner(request, default_cache()) == first
