"""Fixtures: a fake FVP and an attempt directory for it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from harness.flow import RunSpec, TensorSpec, Tolerance
from harness.targets import FVP_SSE300_U55
from tests.harness.bench import LIMITS, REFERENCE, Bench, Fake, MakeFake, install_fake

# A shell's background job ignores Ctrl-C, and so would every process that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def make_fake(tmp_path: Path) -> MakeFake:
    """Makes a fake FVP: folder and name of the executable."""

    def make(folder: str, name: str = FVP_SSE300_U55) -> Fake:
        return install_fake(tmp_path / folder / name)

    return make


@pytest.fixture
def fake(make_fake: MakeFake) -> Fake:
    """A fake FVP named like the Corstone-300's."""
    return make_fake("bin", FVP_SSE300_U55)


@pytest.fixture
def bench(fake: Fake, tmp_path: Path) -> Bench:
    """A fake FVP and an attempt directory for it; a path with a blank on purpose."""
    directory = tmp_path / "one attempt"
    directory.mkdir()
    (directory / "runner.elf").write_bytes(b"\x7fELF")
    (directory / "program.pte").write_bytes(b"\0\0\0\0ET12" + bytes(8))
    (directory / "x.bpte").write_bytes(b"\0\0\0\0BP08" + bytes(8))
    (directory / "i0.bin").write_bytes(bytes(4))
    (directory / "ref-0.bin").write_bytes(REFERENCE)
    spec = RunSpec(
        target="cortex-m55",
        board="corstone-300",
        elf="runner.elf",
        program="program.pte",
        inputs=("i0.bin",),
        references=("ref-0.bin",),
        output_specs=(TensorSpec("int8", (2, 2), (0, 1)),),
        tolerance=Tolerance(),
        limits=LIMITS,
    )
    return Bench(fake, directory, spec)
