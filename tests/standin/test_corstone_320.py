"""Corstone-320: its own vector table and UART, and what QEMU's machine lacks of its memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.standin.arguments import DataFile, parse
from harness.standin.errors import StandinError
from harness.standin.image import check_application, check_data
from harness.standin.machine import STOPPED_BY_LIMIT
from harness.standin.uart import Uart
from harness.targets import CORSTONE_320, FVP_SSE320

from .conftest import SEMIHOSTING_320, Firmware, RunStandin
from .test_image import elf

VECTORS = (0x1100_0000, 64, 64)


def test_console_and_semihosting_in_order(firmware: Firmware, run_320: RunStandin) -> None:
    run = run_320(firmware("hello", CORSTONE_320), *SEMIHOSTING_320)
    assert run.returncode == 42
    _, *lines = run.stdout.decode().splitlines()
    assert lines == [
        "uart one",
        "semihosting two",
        "uart three",
        "cmdline=<>",
        "tt four",
        f"fd {lines[5].removeprefix('fd ')}",
        "last uart bytes",
    ]


def test_eot_ends_the_simulation(firmware: Firmware, run_320: RunStandin) -> None:
    option = "mps4_board.uart0.shutdown_on_eot=1"
    run = run_320(firmware("eot", CORSTONE_320), "-q", "-C", option)
    reference = run_320(firmware("eot", CORSTONE_320), "-q", "--timelimit", "1")
    assert run.returncode == 0
    assert STOPPED_BY_LIMIT.encode() not in run.stdout
    assert reference.stdout.startswith(run.stdout + b"\x04")


def test_half_a_line_is_not_lost_at_the_limit(firmware: Firmware, run_320: RunStandin) -> None:
    run = run_320(firmware("hang", CORSTONE_320), "-q", "--timelimit", "1")
    first, *rest = run.stdout.decode().splitlines()
    assert first
    assert rest[0] == STOPPED_BY_LIMIT
    assert "at PC=0x1100" in rest[1]


def test_output_to_a_file(firmware: Firmware, run_320: RunStandin, tmp_path: Path) -> None:
    run_320(firmware("lines", CORSTONE_320), "-C", "mps4_board.uart0.out_file=log", *SEMIHOSTING_320)
    assert (tmp_path / "log").stat().st_size == 4000


def test_output_speed(firmware: Firmware, run_320: RunStandin) -> None:
    """Every byte is two stops of the guest: some hundred microseconds."""
    begin = time.monotonic()
    run = run_320(firmware("lines", CORSTONE_320), "-q", *SEMIHOSTING_320)
    assert len(run.stdout) == 4000
    assert time.monotonic() - begin < 60


def test_memory_that_qemu_lacks(tmp_path: Path) -> None:
    path = tmp_path / "image.elf"
    path.write_bytes(elf(VECTORS, (0x3100_0000, 16, 4 << 20), (0x7000_0000, 16, 1 << 28)))
    check_application(str(path), CORSTONE_320)
    path.write_bytes(elf(VECTORS, (0x1200_0000, 16, 16)))
    message = (
        "segment 1: 0x12000000-0x1200000f .* is in corstone-320's FPGA_SRAM, which the stand-in lacks "
        r"\(QEMU's mps3-an547 has no memory there\); use SRAM or DDR"
    )
    with pytest.raises(StandinError, match=message):
        check_application(str(path), CORSTONE_320)
    with pytest.raises(StandinError, match=r"--data .* is in corstone-320's FPGA_SRAM"):
        check_data(DataFile(str(path), 0x1200_0000), CORSTONE_320)
    path.write_bytes(elf(VECTORS, (0x3000_0000, 16, 64 << 10)))  # QEMU's DTCM is larger
    with pytest.raises(StandinError, match="outside corstone-320's memory; nearest: DTCM"):
        check_application(str(path), CORSTONE_320)
    path.write_bytes(elf((0x1000_0000, 64, 64)))
    with pytest.raises(StandinError, match="no vector table: corstone-320 boots from 0x11000000"):
        check_application(str(path), CORSTONE_320)


def test_uart_sends_only_when_enabled_and_by_lines() -> None:
    sent: list[bytes] = []
    uart = Uart((0x5820_3000,), sent.append)
    uart.write(0, 4, ord("x"))
    uart.write(8, 4, 1)
    for byte in b"ab\nc":
        uart.write(0, 4, byte)
    assert (sent, uart.read(4, 4), uart.read(8, 4), uart.read(9, 1)) == ([b"ab\n"], 0, 1, 0)
    uart.flush()
    uart.flush()
    assert sent == [b"ab\n", b"c"]
    for _ in range(300):
        uart.write(0, 1, ord("y"))
    assert sent[2] == b"y" * 256
    uart.write(0, 4, 4)
    assert sent[3] == b"y" * 44 + b"\x04"
    assert not uart.interrupt()


def test_default_npu() -> None:
    options = parse(["-a", "x"], FVP_SSE320)
    assert options.npu == ("u85", 128)
    macs = "mps4_board.subsystem.ethosu.num_macs=2048"
    assert parse(["-C", macs, "-a", "x"], FVP_SSE320).npu == ("u85", 2048)
