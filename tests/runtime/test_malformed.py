"""A malformed program is an error with a message: no fault, no hang, no silent failure.

The driver is built with the address and undefined behaviour sanitizers, gives every damaged program
a buffer of exactly its size, and fails if an error came without a message.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.conftest import Driver
from tests.runtime.malformed import MALFORMED
from tests.runtime.test_equivalence import PROGRAMS

MUTATIONS = 400


@pytest.mark.parametrize("name", PROGRAMS)
def test_truncated(name: str, programs: Path, ours: Driver) -> None:
    program = programs / f"{name}.pte"
    run = ours.run(program, "--truncate", 16)
    assert run.returncode == 0, run.stdout + run.log
    assert run.stdout == f"cases {(program.stat().st_size + 15) // 16} accepted 0\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_overwritten(name: str, programs: Path, ours: Driver) -> None:
    run = ours.run(programs / f"{name}.pte", "--runs", 2, "--mutate", 1, MUTATIONS)
    assert run.returncode == 0, run.stdout + run.log
    assert run.stdout.startswith(f"cases {MUTATIONS} accepted ")


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str, programs: Path, ours: Driver) -> None:
    case = MALFORMED[name]
    run = ours.run(programs / "malformed" / f"{name}.pte", known=case.base)
    assert run.returncode == 0, run.log
    assert run.status == case.status
    messages = [line for line in run.log.splitlines() if line.startswith("E ")]
    assert any(case.message in message for message in messages), run.log


def test_missing_operators(programs: Path, ours: Driver) -> None:
    run = ours.run(programs / "linear.pte", known="add")
    names = ours.registry["linear"]["operators"]
    expected = [
        line
        for i, name in enumerate(names)
        for line in (f"E kernel '{name}' not found.", f"E Missing operator: [{i}] {name}")
    ]
    assert run.status == 0x14
    assert run.log.splitlines() == expected


@pytest.mark.parametrize("name", ["quantized", "lists", "delegate_named", "dynamic"])
def test_small_arenas(name: str, programs: Path, ours: Driver) -> None:
    """Whichever allocation fails, loading fails with its message; a large enough arena works."""
    program = programs / f"{name}.pte"
    statuses = []
    for arena in range(8, 8192, 152):
        run = ours.run(program, "--arena", arena)
        assert run.returncode == 0, run.log
        statuses.append(run.status)
        assert (run.status != 0) == ("Memory allocation failed: " in run.log)
    assert statuses == sorted(statuses, reverse=True)
    assert set(statuses) == {0x21, 0}
