"""Fixtures: small Arm ELFs, linked where a test wants them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Link = Callable[..., Path]


@pytest.fixture
def link(tmp_path: Path) -> Link:
    """Compiles C source for Cortex-M55 and links it: `link(source, *options, text=0x10000000)`."""

    def make(source: str, *options: str, text: int = 0x1000_0000, name: str = "linked.elf") -> Path:
        (tmp_path / "program.c").write_text(source)
        command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-O0", "-g", "-nostdlib"]
        command += [f"-Wl,-Ttext={text:#x}", *options, "program.c", "-o", name]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return tmp_path / name

    return make
