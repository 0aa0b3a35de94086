"""Addresses of an ELF to function and line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.console.symbols import locator

SOURCE = """\
namespace cortex_m { namespace native {
int quantized_add(int a, int b) {
  return a + b;
}
}}
extern "C" int _start() {
  return cortex_m::native::quantized_add(1, 2);
}
"""


@pytest.fixture(scope="module", params=["-gdwarf-4", "-gdwarf-5", "-g0"])
def elf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """A small Arm ELF, and whether it has line numbers."""
    directory = tmp_path_factory.mktemp("elf")
    (directory / "op_add.cpp").write_text(SOURCE)
    command = ["arm-none-eabi-g++", "-mcpu=cortex-m55", "-mthumb", "-O0", request.param, "-nostdlib"]
    subprocess.run([*command, "op_add.cpp", "-o", "x.elf"], cwd=directory, check=True)
    return directory / "x.elf", request.param != "-g0"


def test_place_of_an_address(elf: tuple[Path, bool]) -> None:
    path, has_lines = elf
    with path.open("rb") as file:
        (symbol,) = (
            ELFFile(file)
            .get_section_by_name(".symtab")
            .get_symbol_by_name("_ZN8cortex_m6native13quantized_addEii")
        )
    locate = locator(path)
    address = int(symbol["st_value"]) | 1
    expected = "cortex_m::native::quantized_add+0x0" + (" (op_add.cpp:2)" if has_lines else "")
    assert locate(address) == expected
    assert locate(address + int(symbol["st_size"]) - 2) is not None
    assert locate(0xDEADBEEF) is None


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"text", b"\x7fELF\x01\x01\x01" + bytes(60)])
def test_file_without_symbols_knows_no_place(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.elf"
    path.write_bytes(data)
    assert locator(path)(0x1000) is None
    assert locator(tmp_path / "none")(0x1000) is None
