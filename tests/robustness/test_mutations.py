"""Overwritten programs and bundles: an error message or a judged run, never a fault, a hang or a false pass.

1,000 of them through our runtime on the host under ASan and UBSan, 50 through the stand-in.
CORSTONE_MUTATIONS and CORSTONE_MUTATIONS_STANDIN set other numbers.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness import Case, Program
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.outcomes import OutcomeClass
from harness.session import Harness
from harness.targets import TARGETS
from tests.ops.inputs import uniform

COUNT = int(os.environ.get("CORSTONE_MUTATIONS", "1000"))
BOOTS = int(os.environ.get("CORSTONE_MUTATIONS_STANDIN", "50"))
BATCH = 100
SANITIZER_STATUS = 99
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": f"exitcode={SANITIZER_STATUS}:detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": f"halt_on_error=1:exitcode={SANITIZER_STATUS}:print_stacktrace=1",
}


class Mixed(torch.nn.Module):
    """Most operators and value kinds in one small program."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(9, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.linear(x * y + x)
        return torch.maximum(h, torch.relu(h)), torch.minimum(x, y)


@pytest.fixture(scope="module")
def program(harness: Harness) -> Program:
    return harness.lower(Case(lambda rng: Mixed(), uniform((3, 9), (3, 9))))


@pytest.fixture(scope="module")
def sanitized(harness: Harness) -> Path:
    request = RunnerRequest(TARGETS["cortex-m55"], known_operators(), platform="host", sanitize=True)
    return build_runner(request, harness.settings.cache).path


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Overwrite 1 to 8 bytes; now and then cut the file or put a large word in its place."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    if rng.random() < 0.1:
        position = rng.randrange(0, len(changed) - 4) & ~3
        changed[position : position + 4] = rng.choice(
            [b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\xff\xff\xff\x7f"]
        )
    if rng.random() < 0.1:
        del changed[rng.randrange(len(changed)) :]
    return bytes(changed)


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_host_under_sanitizers(first: int, program: Program, sanitized: Path, tmp_path: Path) -> None:
    assert program.bpte is not None
    originals = {"m.pte": program.pte.read_bytes(), "m.bpte": program.bpte.read_bytes()}
    for index, path in enumerate(program.inputs):
        shutil.copyfile(path, tmp_path / f"i{index}.bin")
    for number in range(first, min(first + BATCH, COUNT)):
        rng = random.Random(number)
        name = ("m.pte", "m.bpte")[number % 2]
        (tmp_path / name).write_bytes(mutate(originals[name], rng))
        inputs = ["-i", "i0.bin", "-i", "i1.bin"] if name == "m.pte" else []
        run = subprocess.run(
            [str(sanitized), "-m", name, "-o", "out", *inputs],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            timeout=30,
            check=False,
        )
        text = (run.stdout + run.stderr).decode(errors="replace")
        assert run.returncode >= 0, f"mutation {number}: signal {-run.returncode}\n{text[-3000:]}"
        assert run.returncode != SANITIZER_STATUS, f"mutation {number}:\n{text[-6000:]}"
        if run.returncode == 0:
            assert "harness: end status=0" in text, f"mutation {number}: exit 0 without an end marker"
        else:
            assert "E [executorch:" in text, f"mutation {number}: no message\n{text[-3000:]}"


JUDGED = {
    OutcomeClass.PASS,
    OutcomeClass.WRONG,
    OutcomeClass.LSB_TIE,
    OutcomeClass.BUNDLE_INVALID,
    OutcomeClass.CONFIG_MISSING_OP,
    OutcomeClass.CONFIG_INPUT,
    OutcomeClass.MEM,
    OutcomeClass.ABORT,
    OutcomeClass.EXIT_STATUS,
    OutcomeClass.OUTPUT_NOT_WRITTEN,
    OutcomeClass.SHAPE,
    OutcomeClass.DTYPE,
    OutcomeClass.NO_OUTPUT,
}


@pytest.mark.parametrize("first", range(0, BOOTS, 10))
def test_stand_in(first: int, program: Program, harness: Harness, tmp_path: Path) -> None:
    runner = harness.runner(TARGETS["cortex-m55"], program.operators)
    original = program.pte.read_bytes()
    for number in range(first, first + 10):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "mutated.pte").write_bytes(mutate(original, random.Random(number)))
        mutated = replace(program, pte=place / "mutated.pte", bpte=None)
        attempt = harness.run(mutated, place / "attempt", runner=runner)
        assert attempt.outcome.kind in JUDGED, f"mutation {number}: {attempt.outcome}"
        if attempt.outcome.kind is not OutcomeClass.PASS:
            assert attempt.outcome.summary
