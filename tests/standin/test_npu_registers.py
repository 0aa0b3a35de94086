"""The Ethos-U's register block: its values, and a driver on both boards that uses it in every form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.standin.arguments import parse
from harness.standin.boards import BOARD_MODELS, npu_memory, views
from harness.standin.confined import Confinement
from harness.standin.console import Console
from harness.standin.ethosu.memory import BoardMemory
from harness.standin.ethosu.registers import Ending, EthosU, Fault, Job
from harness.standin.ethosu.words import CONFIG_WORDS
from harness.standin.machine import Machine
from harness.standin.npu.config import MACS, NpuConfig, config_from_word
from harness.standin.npu.errors import NpuFault
from harness.standin.qemu import start
from harness.standin.uart import Uart
from harness.targets import FVP_BOARDS, FVP_SSE300_U55, FVP_SSE320, Region

from .conftest import SEMIHOSTING, SEMIHOSTING_320, Firmware


def block(execute: object = None, product: str = "u55", macs: int = 128) -> tuple[EthosU, list[str]]:
    said: list[str] = []
    run = execute if callable(execute) else lambda job: Ending(job.size)
    return EthosU(product, macs, (0x4810_2000,), 0x2000, 56, run, said.append), said


def test_every_npu_has_its_config_word() -> None:
    assert set(CONFIG_WORDS) == {(product, macs) for product in MACS for macs in MACS[product]}
    for (product, macs), word in CONFIG_WORDS.items():
        assert config_from_word(word) == NpuConfig(product, macs)
        assert block(product=product, macs=macs)[0].read(0x28, 4) == word


def test_job_gets_what_the_registers_say() -> None:
    jobs: list[Job] = []

    def execute(job: Job) -> Ending:
        jobs.append(job)
        return Ending(job.size)

    npu, _ = block(execute)
    for offset, value in ((0x10, 0x7000_0010), (0x14, 1), (0x20, 48), (0x80, 0x100), (0xBC, 7)):
        npu.write(offset, 4, value)
    npu.write(0x08, 4, 0xD)
    assert jobs == [Job(0x1_7000_0010, 48, (0x100, 0, 0, 0, 0, 0, 0, 7 << 32))]
    assert npu.interrupt()
    assert (npu.read(0x04, 4), npu.read(0x18, 4), npu.read(0x08, 4)) == (0x22, 48, 0xC)
    npu.write(0x08, 1, 2)
    assert not npu.interrupt()
    assert (npu.read(0x04, 4), npu.read(0x08, 4)) == (0x20, 0)


@pytest.mark.parametrize(("fault", "status"), [(Fault.BUS, 0x06), (Fault.PARSE, 0x12)])
def test_error_stops_the_npu_until_a_reset(fault: Fault, status: int) -> None:
    endings = [Ending(8, fault), Ending(16)]
    npu, said = block(lambda job: endings.pop(0))
    npu.write(0x08, 4, 1)
    assert (npu.read(0x04, 4), npu.read(0x18, 4), npu.interrupt()) == (status, 8, True)
    npu.write(0x08, 4, 3)  # clears the interrupt; the run is ignored
    assert (npu.read(0x04, 4), npu.interrupt(), len(endings)) == (status & ~2, False, 1)
    assert said == ["Error: stand-in: NPU: a run was started after an error without a reset; it is ignored"]
    npu.write(0x0C, 4, 0)
    assert (npu.read(0x04, 4), npu.read(0x24, 4)) == (0, 0)
    npu.write(0x08, 4, 1)
    assert npu.read(0x04, 4) == 0x22


@pytest.mark.parametrize(
    ("product", "macs", "page"), [("u55", 128, 0), ("u85", 256, 0), ("u85", 256, 0x1000)]
)
def test_pmu_counts_nothing_and_says_so_once(product: str, macs: int, page: int) -> None:
    npu, said = block(product=product, macs=macs)
    npu.write(page + 0x180, 4, 0xFFFF_FFFF)
    assert npu.read(page + 0x180, 4) == 9 | (8 if product == "u85" else 4) << 11
    npu.write(page + 0x184, 4, 0x8000_0007)
    npu.write(page + 0x188, 4, 0x0000_0002)
    assert npu.read(page + 0x184, 4) == npu.read(page + 0x188, 4) == 0x8000_0005
    npu.write(page + 0x380, 4, 0x21)
    assert npu.read(page + 0x380, 4) == 0x21
    assert said == []
    for counter in (0x1A0, 0x1A4, 0x300, 0x304):
        npu.write(page + counter, 4, 123)
        assert npu.read(page + counter, 4) == 0
    (line,) = said
    assert "counters read 0" in line


def test_unknown_and_read_only_registers_ignore_writes() -> None:
    npu, _ = block()
    for offset in (0x00, 0x04, 0x18, 0x24, 0x28, 0xC0, 0x100, 0xFC0, 0xFFC):
        before = npu.read(offset, 4)
        npu.write(offset, 4, 0xFFFF_FFFF)
        assert npu.read(offset, 4) == before


EXPECTED = """\
byte 0x29 {byte}
reset done 00000000
prot 00000002
cmd 0000000c
id {id}
status 00000000
region 0 70000100
region 2 31000200
region 2 high 00000005
regioncfg 1234ab00
in an IT block 00000005
pmcr {pmcr}
Info: stand-in: the NPU's cycle and event counters read 0; it has no model of time
cycles 00000000
interrupts 00000001
status at interrupt 00000022
status 00000020
qread 00000040
first 000003e8
second 000000c8
first 000000c9
second 000007d0
interrupts 00000002
qsize 00000000
"""


@pytest.mark.parametrize(
    ("fvp", "semihosting", "values"),
    [
        (
            FVP_SSE300_U55,
            SEMIHOSTING,
            {"id": "10066001", "config": "00001807", "byte": "00000018", "pmcr": "00002009"},
        ),
        (
            FVP_SSE320,
            SEMIHOSTING_320,
            {"id": "20007000", "config": "20000117", "byte": "00000001", "pmcr": "00004009"},
        ),
    ],
)
def test_driver_on_a_board(
    fvp: str,
    semihosting: tuple[str, ...],
    values: dict[str, str],
    firmware: Firmware,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    board = FVP_BOARDS[fvp]
    options = parse([*semihosting, "--timelimit", "60", "-a", str(firmware("npu", board))], fvp)
    qemu, console = start(options), Console()
    machine = Machine(options, qemu, console, Confinement(str(tmp_path)))
    jobs: list[Job] = []

    def execute(job: Job) -> Ending:
        """Changes words in both memories; the second job does nothing."""
        jobs.append(job)
        if len(jobs) == 1:
            memory = BoardMemory(machine.gdb, qemu.ddr, npu_memory(board))
            for at, old, new in ((0x7100_0000, 100, 1000), (0x3100_1000, 201, 2000)):
                word = memory.view(at, 4).view(np.uint32)
                assert word[0] == old
                word[0] = new
            # Words 101 and 201 are on both sides of a page's end: one view of both.
            memory.view(0x3100_0FFC, 8).view(np.uint32)[0] += 100
            memory.flush()
        return Ending(job.size)

    lacks = BOARD_MODELS[board.name]
    npu = EthosU(*options.npu, views(board.npu_base), lacks.npu_size, board.npu_irq, execute, console.line)
    machine.attach(npu, Uart((0x5820_3000,), machine.uart))
    try:
        assert machine.run() == 0
    finally:
        qemu.kill()
    output = capfdbinary.readouterr().out.decode()
    assert output == f"id {values['id']}\nconfig {values['config']}\n" + EXPECTED.format(**values)
    assert jobs == [Job(0x7100_0000, 64, (0x3100_0FFC,) * 8)] * 2


class FakeGdb:
    """Guest memory of which every transfer is noted."""

    def __init__(self, origin: int, size: int) -> None:
        self.origin, self.memory = origin, bytearray(np.random.default_rng(0).bytes(size))
        self.log: list[tuple[str, int, int]] = []

    def read_memory(self, address: int, size: int) -> bytes:
        self.log.append(("read", address, size))
        return bytes(self.memory[address - self.origin : address - self.origin + size])

    def write_memory(self, address: int, data: bytes) -> None:
        self.log.append(("write", address, len(data)))
        self.memory[address - self.origin : address - self.origin + len(data)] = data


class FakeDdr:
    def mapping(self) -> bytearray:
        return bytearray(16)


def test_copies_are_shared_and_only_changed_pages_go_back() -> None:
    gdb = FakeGdb(0x3100_0000, 0x6800)
    regions = (Region("SRAM", 0x3100_0000, 0x6800), Region("SRAM_NS", 0x2100_0000, 0x6800))
    memory = BoardMemory(gdb, FakeDdr(), regions)  # type: ignore[arg-type]
    before = bytes(gdb.memory)
    first, overlapping = memory.view(0x3100_0010, 0x2000), memory.view(0x2100_1000, 0x3000)
    assert first.tobytes() == before[0x10:0x2010]
    overlapping[4] ^= 0xFF
    assert first[0x0FF4] == overlapping[4]
    last = memory.view(0x3100_67FF, 1)
    last[0] ^= 0xFF
    memory.flush()
    memory.flush()
    assert gdb.log == [
        ("read", 0x3100_0000, 0x3000),
        ("read", 0x3100_3000, 0x1000),
        ("read", 0x3100_6000, 0x800),
        ("write", 0x3100_1000, 0x1000),
        ("write", 0x3100_6000, 0x800),
    ]
    changed = [at for at in range(len(before)) if before[at] != gdb.memory[at]]
    assert changed == [0x1004, 0x67FF]
    for address, size in ((0x3000_0000, 1), (0x3100_67FF, 2), (0x30FF_FFFF, 2), (1 << 33, 1)):
        with pytest.raises(NpuFault, match=f"{address:#x}"):
            memory.view(address, size)
