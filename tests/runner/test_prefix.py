"""RUNTIME=prefix: what linking with a user's own ExecuTorch install must get right besides running."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.firmware.prefix import prefix_hash
from harness.outcomes import HarnessError, OutcomeClass
from tests.runner.runners import Runner


def symbols(path: Path) -> dict[str, int]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        return {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}


def test_library_that_registers_itself_is_linked_as_a_whole(build: Callable[[str], Runner]) -> None:
    """And the one with kernels of its own is not, or the image would not have linked."""
    assert any("self_registering" in name for name in symbols(build("target-prefix").path))


def test_global_offset_table_is_copied_with_the_data(build: Callable[[str], Runner]) -> None:
    """The library is position-independent code: its addresses of objects are in `.got`."""
    runner = build("target-prefix")
    with runner.path.open("rb") as stream:
        assert ELFFile(stream).get_section_by_name(".got") is None
    found = symbols(runner.path)
    assert found["data_start"] < found["data_end"]


def test_new_install_is_another_build(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "cmake" / "ExecuTorch"
    package.mkdir(parents=True)
    (package / "executorch-config.cmake").touch()
    library = tmp_path / "lib" / "libexecutorch.a"
    library.write_bytes(b"1")
    before = prefix_hash(tmp_path)
    library.write_bytes(b"2")
    assert prefix_hash(tmp_path) != before


def test_directory_without_an_install_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as failure:
        prefix_hash(tmp_path)
    assert failure.value.outcome.kind is OutcomeClass.CONFIG_OPTIONS
