"""Overwritten programs and bundles: an error message or a judged run, never a fault, a hang or a false pass.

1,000 of them through our runtime on the host under ASan and UBSan, 50 through the stand-in.
CORSTONE_MUTATIONS and CORSTONE_MUTATIONS_STANDIN set other numbers.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn import functional

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


class Elementwise(torch.nn.Module):
    """Elementwise operators and a linear layer: a small program, of which a byte is often decisive."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(9, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.linear(x * y + x)
        return torch.maximum(h, torch.relu(h)), torch.minimum(x, y)


class Broad(torch.nn.Module):
    """Operators that read beside what they write: images, gather, index, cat, padding, matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(4, 4, 3, groups=4, padding=1)
        self.up = torch.nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.register_buffer("rows", torch.tensor([2, 0, 3]))

    def forward(self, x: torch.Tensor, indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h = self.depthwise(torch.relu(self.conv(x)))
        largest, mean = functional.max_pool2d(h, 2), functional.avg_pool2d(h, 2)
        both = torch.cat([largest, mean], 1).contiguous().flatten(2)
        padded = functional.pad(both, (1, 1))
        product = torch.bmm(torch.softmax(padded, -1), padded.transpose(1, 2))
        chosen = torch.gather(product, 2, indices)
        quotient = product[:, self.rows] / (chosen.abs().sum() + 1.5)
        return self.up(largest), chosen, quotient, torch.sigmoid(product)


def broad_inputs(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
    image = torch.rand(1, 2, 4, 6, generator=rng) - 0.5
    indices = torch.randint(0, 8, (1, 8, 3), generator=rng)
    return image.to(memory_format=torch.channels_last), indices


@pytest.fixture(scope="module")
def programs(harness: Harness) -> tuple[Program, Program]:
    small = Case(lambda rng: Elementwise(), uniform((3, 9), (3, 9)))
    broad = Case(lambda rng: Broad().to(memory_format=torch.channels_last), broad_inputs)
    return harness.lower(small), harness.lower(broad)


class Delegated(torch.nn.Module):
    """All of it on the NPU."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(torch.relu(self.conv(x + y)), 2)


@pytest.fixture(scope="module")
def delegated(harness: Harness) -> Program:
    inputs = uniform((1, 2, 4, 6), (1, 2, 4, 6))
    return harness.lower(Case(lambda rng: Delegated(), inputs, target=TARGETS["ethos-u55-128"]))


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
def test_host_under_sanitizers(
    first: int, programs: tuple[Program, Program], sanitized: Path, tmp_path: Path
) -> None:
    for number in range(first, min(first + BATCH, COUNT)):
        program, bundled = programs[number % 2], number // 2 % 2 == 1
        original, name = (program.bpte, "m.bpte") if bundled else (program.pte, "m.pte")
        assert original is not None
        (tmp_path / name).write_bytes(mutate(original.read_bytes(), random.Random(number)))
        inputs = [] if bundled else [word for path in program.inputs for word in ("-i", str(path))]
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
    OutcomeClass.DIM_ORDER,
    OutcomeClass.DTYPE,
    OutcomeClass.NO_OUTPUT,
    # The command stream of a delegate; UNIMPLEMENTED says what the stand-in's model lacks.
    OutcomeClass.CONFIG_TARGET,
    OutcomeClass.NPU_PARSE,
    OutcomeClass.NPU_BUS,
    OutcomeClass.NPU_FAULT,
    OutcomeClass.NPU_TIMEOUT,
    OutcomeClass.NPU_UNIMPLEMENTED,
}


@pytest.mark.parametrize("first", range(0, BOOTS, 10))
def test_stand_in(
    first: int, programs: tuple[Program, Program], delegated: Program, harness: Harness, tmp_path: Path
) -> None:
    for number in range(first, first + 10):
        program = (*programs, delegated)[number % 3]
        runner = harness.runner(TARGETS[program.target], program.operators)
        place = tmp_path / str(number)
        place.mkdir()
        (place / "mutated.pte").write_bytes(mutate(program.pte.read_bytes(), random.Random(number)))
        mutated = replace(program, pte=place / "mutated.pte", bpte=None)
        attempt = harness.run(mutated, place / "attempt", runner=runner)
        assert attempt.outcome.kind in JUDGED, f"mutation {number}: {attempt.outcome}"
        if attempt.outcome.kind is not OutcomeClass.PASS:
            assert attempt.outcome.summary
