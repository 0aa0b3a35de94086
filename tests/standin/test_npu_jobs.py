"""Command streams run by firmware on the stand-in as users start it, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import harness.standin
from harness.standin.arguments import parse
from harness.standin.boards import npu_memory
from harness.standin.confined import Confinement
from harness.standin.console import Console
from harness.standin.ddr import SharedDdr
from harness.standin.errors import JobTimeLimitError
from harness.standin.ethosu.jobs import Model
from harness.standin.ethosu.registers import Ending, Fault, Job
from harness.standin.launchers import launcher_directory
from harness.standin.machine import STOPPED_BY_LIMIT, Machine
from harness.standin.main import board_devices
from harness.standin.qemu import start
from harness.targets import (
    CORSTONE_300,
    FVP_BOARDS,
    FVP_SSE300_U55,
    FVP_SSE300_U65,
    FVP_SSE320,
)

from .conftest import LIMIT, SEMIHOSTING, SEMIHOSTING_320, Firmware

STOP = 0xFFFF_0000
COPY = 0x10  # OP_DMA_START
FVPS = (FVP_SSE300_U55, FVP_SSE300_U65, FVP_SSE320)
DATA = 0x7000_1000


def copy(source: int, destination: int, size: int) -> list[int]:
    """Words that copy `size` bytes between addresses relative to the base of every region."""
    words = [0x0130 | 1 << 16, 0x0131 | 1 << 16]  # DMA0_SRC_REGION, DMA0_DST_REGION
    for opcode, value in ((0x30, source), (0x31, destination), (0x32, size)):
        words += [0x4000 | opcode | (value >> 32 & 0xFF) << 16, value & 0xFFFF_FFFF]
    return [*words, COPY]


RunJob = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_job(firmware: Firmware, tmp_path: Path) -> RunJob:
    def run(
        fvp: str,
        words: Sequence[int],
        *arguments: str,
        result: int = 0,
        region: int = DATA,
        variables: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """`words` as the stream; `result` is the address of the word that the firmware prints."""
        data = struct.pack(f"<4I{len(words)}I", 4 * len(words), region, result, 0, *words)
        (tmp_path / "stream").write_bytes(data)
        (tmp_path / "data").write_bytes(b"\xef\xbe\xad\xde" * 4)
        semihosting = SEMIHOSTING_320 if fvp == FVP_SSE320 else SEMIHOSTING
        elf = firmware("npu_job", FVP_BOARDS[fvp])
        files = ("--data", "stream@0x70000000", "--data", "data@0x70001000", "-a", elf)
        command: list[str | Path] = [launcher_directory() / fvp, *semihosting, "-q", *arguments, *files]
        return subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env={**os.environ, **(variables or {})},
        )

    return run


@pytest.mark.parametrize("fvp", FVPS)
@pytest.mark.parametrize(
    ("destination", "printed"),
    [
        pytest.param(0x7004_0000, 0x7004_0000, id="DDR"),
        pytest.param(0x3110_0000, 0x3110_0000, id="SRAM"),
        pytest.param(0x2100_0004, 0x3100_0004, id="SRAM non-secure"),
    ],
)
def test_job(fvp: str, destination: int, printed: int, run_job: RunJob) -> None:
    if fvp == FVP_SSE320 and destination < 0x3000_0000:
        destination = printed  # this board's map has one view only
    words = copy(DATA, destination, 8)
    run = run_job(fvp, [*words, STOP], result=printed, region=0)
    assert run.stdout.splitlines() == [
        "interrupts 00000001",
        "status 00000022",
        f"qread {4 * (len(words) + 1):08x}",
        "result deadbeef",
    ]
    assert run.returncode == 0


def test_trace(run_job: RunJob, tmp_path: Path) -> None:
    words = [*copy(0, 16, 8), STOP]
    for option, variables in (
        (["--npu-trace", "by option"], {}),
        ([], {"CORSTONE_STANDIN_NPU_TRACE": "by variable"}),
    ):
        assert run_job(FVP_SSE300_U55, words, *option, variables=variables).returncode == 0
    first, second = ((tmp_path / name).read_text() for name in ("by option", "by variable"))
    assert first == second
    assert [json.loads(line).get("operation") for line in first.splitlines()] == [None, "OP_DMA_START"]
    run = run_job(FVP_SSE300_U55, words, "--npu-trace", "no/such/directory")
    assert (run.returncode, run.stdout[:35]) == (2, "Error: stand-in: NPU trace 'no/such")


@pytest.mark.parametrize("fvp", [FVP_SSE300_U55, FVP_SSE320])
@pytest.mark.parametrize(
    ("words", "region", "status", "message"),
    [
        pytest.param(
            [0x0107, 0x03FF, STOP],
            DATA,
            0x12,
            "parse error at byte 0x4 of the command stream: ",
            id="opcode",
        ),
        pytest.param([0x0107], DATA, 0x12, "parse error at byte 0x4 ", id="no stop"),
        pytest.param([], DATA, 0x12, "parse error ", id="empty"),
        pytest.param(
            [*copy(0, 16, 16), STOP],
            0xF000_0000,
            0x06,
            "bus error in OP_DMA_START at byte 0x20 of the command stream: no memory at 0xf0000000",
            id="outside",
        ),
        pytest.param(
            [*copy(0, 16, 16), STOP], 0x3000_0000, 0x06, "bus error in OP_DMA_START", id="tightly coupled"
        ),
    ],
)
def test_wrong_stream(
    fvp: str, words: list[int], region: int, status: int, message: str, run_job: RunJob
) -> None:
    run = run_job(fvp, words, region=region)
    error, *lines = run.stdout.splitlines()
    assert error.startswith(f"Error: stand-in: NPU: {message}")
    assert lines[:2] == ["interrupts 00000001", f"status {status:08x}"]
    assert len(lines) == 4
    assert run.returncode == 0  # the firmware decides what it makes of it


@pytest.mark.parametrize(
    ("fvp", "macs"), [(FVP_SSE300_U55, 512), (FVP_SSE300_U65, 128), (FVP_SSE320, 64), (FVP_SSE320, 0)]
)
def test_npu_that_does_not_exist(fvp: str, macs: int, run_job: RunJob) -> None:
    name = FVP_BOARDS[fvp].parameters.num_macs
    run = run_job(fvp, [STOP], "-C", f"{name}={macs}")
    assert run.returncode == 2
    assert f"parameter {name}: {macs} is not possible; valid: " in run.stderr


def model(seconds: float = 60.0) -> tuple[Model, list[str]]:
    said: list[str] = []
    gdb: object = None
    job_model = Model(
        ("u55", 128),
        gdb,  # type: ignore[arg-type]
        SharedDdr(),
        npu_memory(CORSTONE_300),
        None,
        said.append,
        lambda: seconds,
    )
    return job_model, said


def test_mistake_of_the_model_is_an_error_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: object) -> None:
        raise ValueError("shapes\ndiffer")

    monkeypatch.setattr("harness.standin.npu.machine.run", run)
    job_model, said = model()
    assert job_model.execute(Job(0x7000_0000, 4, (0,) * 8)) == Ending(0, Fault.PARSE)
    assert len(said) == 1
    assert said[0].startswith("Error: stand-in: NPU: internal error: ValueError at test_npu_jobs.py:")
    assert said[0].endswith(": shapes differ")


@pytest.mark.parametrize(("commands", "size"), [(0x3000_0000, 64), (0xDFFF_FFF0, 64), (0x7000_0000, 1 << 32)])
def test_stream_outside_memory(commands: int, size: int) -> None:
    job_model, said = model()
    assert job_model.execute(Job(commands, size, (0,) * 8)) == Ending(0, Fault.BUS)
    assert said == [
        "Error: stand-in: NPU: bus error: fetching the command stream: "
        f"no memory at {commands:#x} ({size} bytes)"
    ]


def test_job_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: object) -> None:
        while True:
            pass

    monkeypatch.setattr("harness.standin.npu.machine.run", run)
    with pytest.raises(JobTimeLimitError):
        model(0.05)[0].execute(Job(0x7000_0000, 4, (0,) * 8))


def test_time_limit_within_a_job(
    monkeypatch: pytest.MonkeyPatch,
    firmware: Firmware,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    def run(*arguments: object) -> None:
        while True:
            pass

    monkeypatch.setattr("harness.standin.npu.machine.run", run)
    data = tmp_path / "stream"
    data.write_bytes(struct.pack("<4I", 4, DATA, 0, 0))
    limits = ["--timelimit", "1", "--data", f"{data}@0x70000000", "-a", str(firmware("npu_job"))]
    options = parse([*SEMIHOSTING, *limits])
    qemu, console = start(options), Console()
    try:
        machine = Machine(options, qemu, console, Confinement(str(tmp_path)))
        machine.attach(*board_devices(options, qemu, machine, console))
        assert machine.run() == 0
    finally:
        qemu.kill()
    assert capfdbinary.readouterr().out.decode().splitlines() == [
        STOPPED_BY_LIMIT,
        "Info: stand-in: the program was in a job of the NPU when it was stopped.",
    ]


@pytest.mark.parametrize(("program", "touched"), [("hello", False), ("npu_job", True)])
def test_model_is_imported_only_when_the_npu_is_touched(
    program: str, touched: bool, firmware: Firmware, tmp_path: Path
) -> None:
    main = Path(harness.standin.__file__).with_name("__main__.py")
    run = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", main, *SEMIHOSTING, "-a", firmware(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    imported = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    assert "harness.standin.machine" in imported
    for name in ("numpy", "harness.standin.npu.machine"):
        assert (name in imported) == touched
