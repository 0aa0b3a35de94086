"""The image for Corstone-320: memory map, boot from its vector table, console, NPU backend."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from harness.targets import CORSTONE_320
from tests.runner.runners import TARGET_OPTIONS, Runner, configure, once

OPTIONS = {
    **TARGET_OPTIONS,
    "TARGET": "ethos-u85-256",
    "BOARD": "corstone-320",
    "DELEGATES": "EthosUBackend",
}


@pytest.fixture(scope="session")
def image(shared: Path) -> Path:
    """The built runner and, beside it, the first two words of its vector table."""

    def make(directory: Path) -> None:
        configured = configure(directory, OPTIONS)
        assert configured.returncode == 0, configured.stdout + configured.stderr
        built = subprocess.run(["ninja", "-C", str(directory)], capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
        with (directory / "executor_runner").open("rb") as stream:
            vectors = ELFFile(stream).get_section_by_name(".vectors").data()
        (directory / "vectors.bin").write_bytes(vectors[:8])

    return once(shared, "build corstone-320", make) / "executor_runner"


@pytest.fixture
def runner_320(image: Path) -> Runner:
    """The runner on a machine whose reset reads address 0: the two words are put there."""
    shim = f"loader,file={str(image.parent / 'vectors.bin').replace(',', ',,')},addr=0,force-raw=on"
    return Runner(image, emulated=True, machine=("-device", shim))


def test_image_lies_within_the_boards_regions(image: Path) -> None:
    with image.open("rb") as stream:
        elf = ELFFile(stream)
        segments = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD" and s["p_memsz"] > 0]
        used = {
            region.name
            for segment in segments
            for address, size in (
                (segment["p_vaddr"], segment["p_memsz"]),
                (segment["p_paddr"], segment["p_filesz"]),
            )
            for region in CORSTONE_320.regions
            if region.holds(address, size)
        }
        assert used == {"BROM", "SRAM", "DDR"}
        assert elf.get_section_by_name(".vectors")["sh_addr"] == 0x1100_0000
        inside = [
            s for s in segments if any(r.holds(s["p_vaddr"], s["p_memsz"]) for r in CORSTONE_320.regions)
        ]
        assert inside == segments


def test_runs_a_program(runner_320: Runner, files: Path) -> None:
    done = runner_320.run(files, "-m", "add.pte", "-o", "out", "-i", "x.bin", "-i", "y.bin")
    assert done.status == 0, done.console
    assert "harness: end status=0 outputs=1" in done.console
    x, y, out = (np.fromfile(files / f"{name}.bin", np.float32) for name in ("x", "y", "out-0"))
    np.testing.assert_array_equal(out, x + y)


def test_fault_is_reported_on_the_console(runner_320: Runner, files: Path) -> None:
    done = runner_320.run(files, "-m", "floor.pte", "-o", "out", "-i", "x.bin")
    assert done.status == 3, done.console
    assert "Hard fault: CFSR=" in done.console
    assert "MMFAR" in done.errors[-1]


def test_code_is_read_only(image: Path) -> None:
    """Vectors and code are inside what the MPU protects, and writable data is not."""
    with image.open("rb") as stream:
        elf = ELFFile(stream)
        symbols = {s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols()}
    place: Callable[[str], int] = symbols.__getitem__
    assert place("boot_start") <= place("vector_table") < place("boot_end")
    assert place("code_start") <= place("main") & ~1 < place("code_end")
    assert not place("code_start") <= place("data_start") < place("code_end")
    assert all(place(name) % 32 == 0 for name in ("boot_start", "boot_end", "code_start", "code_end"))
