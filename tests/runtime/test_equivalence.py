"""Our runtime and the wheel's do the same with good programs: what a kernel and a backend see, outputs,
metadata, status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime.conftest import Driver

PROGRAMS = [
    "add",
    "scalar",
    "empty",
    "int8",
    "linear",
    "external",
    "quantized",
    "state",
    "lists",
    "primitives",
    "branch",
    "loop",
    "view",
    "unplanned",
    "channels_last",
    "dynamic",
    "delegate",
    "delegate_inline",
    "delegate_named",
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_the_wheel(name: str, programs: Path, ours: Driver, wheel: Driver) -> None:
    program = programs / f"{name}.pte"
    run = ours.run(program, "--runs", 3)
    assert run.returncode == 0, run.log
    assert run.stdout == wheel.run(program, "--runs", 3).stdout
    assert run.status == 0
    assert len(re.findall("^E ", run.log, re.MULTILINE)) == run.stdout.count(
        "other 0x12"
    )  # refused values of primitives


def test_every_program_is_compared(registry: dict[str, dict[str, list[str]]]) -> None:
    assert sorted(registry) == sorted(PROGRAMS)


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_dynamic_shapes(rows: int, programs: Path, ours: Driver, wheel: Driver) -> None:
    run = ours.run(programs / "dynamic.pte", "--rows", rows)
    assert run.stdout == wheel.run(programs / "dynamic.pte", "--rows", rows).stdout
    assert run.status == 0


@pytest.mark.parametrize(("name", "rows"), [("dynamic", 9), ("add", 1), ("add", 3)])
def test_shapes_beyond_the_program(name: str, rows: int, programs: Path, ours: Driver, wheel: Driver) -> None:
    run = ours.run(programs / f"{name}.pte", "--rows", rows)
    assert run.status == wheel.run(programs / f"{name}.pte", "--rows", rows).status == 0x10
    assert "Input 0 has another shape than the program allows." in run.log


def test_delegates_are_destroyed(programs: Path, ours: Driver) -> None:
    assert "destroyed 1\n" in ours.run(programs / "delegate.pte").stdout
