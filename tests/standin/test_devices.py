"""Devices behind watchpoints: decoding, and a whole run with one."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.standin.access import Access, advance, decode, operand_address
from harness.standin.arguments import parse
from harness.standin.confined import Confinement
from harness.standin.console import Console
from harness.standin.errors import QemuError
from harness.standin.machine import Machine
from harness.standin.qemu import start

from .conftest import SEMIHOSTING, Firmware


@dataclass
class Scratch:
    """Registers that keep what is written; 0x40 is the interrupt line."""

    bases: tuple[int, ...] = (0x5000_4000, 0x4000_4000)
    size: int = 0x1000
    irq: int = 40
    memory: bytearray = field(default_factory=lambda: bytearray(0x1000))
    log: list[tuple[str, int, int]] = field(default_factory=list)

    def read(self, offset: int, size: int) -> int:
        self.log.append(("read", offset, size))
        return int.from_bytes(self.memory[offset : offset + size], "little")

    def write(self, offset: int, size: int, value: int) -> None:
        self.log.append(("write", offset, size))
        self.memory[offset : offset + size] = value.to_bytes(size, "little")

    def interrupt(self) -> bool:
        return self.memory[0x40] != 0

    def flush(self) -> None:
        pass


def run_with(device: Scratch, elf: Path, directory: Path) -> int:
    options = parse([*SEMIHOSTING, "--timelimit", "60", "-a", str(elf)])
    qemu = start(options)
    try:
        machine = Machine(options, qemu, Console(), Confinement(str(directory)))
        machine.attach(device)
        return machine.run()
    finally:
        qemu.kill()


def test_device_is_served(
    firmware: Firmware, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    device = Scratch()
    assert run_with(device, firmware("device"), tmp_path) == 0
    assert capfdbinary.readouterr().out.decode().splitlines() == [
        f"word {0x80C0FFEE - (1 << 32)}",
        f"byte {0xFF}",
        f"signed half {0x80C0 - 0x10000}",
        f"signed byte {0xEE - 0x100}",
        f"half at 8 {0x1234}",
        "moved by a group 12",
        "sum of a group 66",
        "acquired 22",
        "moved by 8",
        "first 11",
        "second 22",
        "pre-indexed 22",
        "moved to 4",
        "in an IT block 11",
        "behind it 8",
        "interrupts 1",
    ]
    assert device.log[:3] == [("write", 4, 4), ("read", 4, 4), ("read", 5, 1)]
    assert device.log[-2:] == [("write", 0x40, 4), ("write", 0x40, 4)]


def test_access_that_leaves_the_device_is_an_error(firmware: Firmware, tmp_path: Path) -> None:
    with pytest.raises(QemuError, match=r"PC=0x1000.* accessing 0x50004004; no device is there"):
        run_with(Scratch(size=6), firmware("device"), tmp_path)


INSTRUCTIONS = (
    ("ldr r1, [r2, #124]", Access(False, 4, (1,), 2, 2, offset=124)),
    ("strb r7, [r0, #31]", Access(True, 1, (7,), 0, 2, offset=31)),
    ("ldrh r3, [r4, #62]", Access(False, 2, (3,), 4, 2, offset=62)),
    ("str r1, [r2, r3]", Access(True, 4, (1,), 2, 2, index=3)),
    ("strh r1, [r2, r3]", Access(True, 2, (1,), 2, 2, index=3)),
    ("strb r1, [r2, r3]", Access(True, 1, (1,), 2, 2, index=3)),
    ("ldrsb r1, [r2, r3]", Access(False, 1, (1,), 2, 2, index=3, signed=True)),
    ("ldr r1, [r2, r3]", Access(False, 4, (1,), 2, 2, index=3)),
    ("ldrh r1, [r2, r3]", Access(False, 2, (1,), 2, 2, index=3)),
    ("ldrb r1, [r2, r3]", Access(False, 1, (1,), 2, 2, index=3)),
    ("ldrsh r1, [r2, r3]", Access(False, 2, (1,), 2, 2, index=3, signed=True)),
    ("ldr.w r11, [r12, #4095]", Access(False, 4, (11,), 12, 4, offset=4095)),
    ("ldrsh.w r1, [r2, #1]", Access(False, 2, (1,), 2, 4, offset=1, signed=True)),
    ("str r8, [r9, #-255]", Access(True, 4, (8,), 9, 4, offset=-255)),
    ("ldrb r1, [r2], #3", Access(False, 1, (1,), 2, 4, offset=3, post=True, writeback=True)),
    ("strh r1, [r2, #-3]!", Access(True, 2, (1,), 2, 4, offset=-3, writeback=True)),
    ("ldr.w r1, [r2, r8, lsl #3]", Access(False, 4, (1,), 2, 4, index=8, shift=3)),
    ("ldrd r1, r2, [r3, #-1020]", Access(False, 4, (1, 2), 3, 4, offset=-1020)),
    ("strd r1, r2, [r3], #8", Access(True, 4, (1, 2), 3, 4, offset=8, post=True, writeback=True)),
    ("ldrd r1, r2, [r3, #8]!", Access(False, 4, (1, 2), 3, 4, offset=8, writeback=True)),
    ("nop", None),
    ("add r1, r2, r3", None),
    ("ldr r1, [sp, #8]", None),
    ("ldmia r1!, {r2, r3}", Access(False, 4, (2, 3), 1, 2, offset=8, post=True, writeback=True)),
    ("ldmia r1, {r1, r3}", Access(False, 4, (1, 3), 1, 2, offset=8, post=True)),
    ("stmia r7!, {r0}", Access(True, 4, (0,), 7, 2, offset=4, post=True, writeback=True)),
    ("ldmia.w r8, {r2, r9, r14}", Access(False, 4, (2, 9, 14), 8, 4, offset=12, post=True)),
    ("stmdb r8!, {r2, r9}", Access(True, 4, (2, 9), 8, 4, offset=-8, writeback=True)),
    ("stmdb r8, {r2, r9}", Access(True, 4, (2, 9), 8, 4, offset=-8)),
    ("lda r9, [r2]", Access(False, 4, (9,), 2, 4)),
    ("ldab r1, [r2]", Access(False, 1, (1,), 2, 4)),
    ("stlh r1, [r2]", Access(True, 2, (1,), 2, 4)),
    ("stl r1, [r12]", Access(True, 4, (1,), 12, 4)),
    ("ldmia r1!, {r2, pc}", None),
    ("ldrex r1, [r2]", None),
    ("strex r1, r2, [r3]", None),
    ("ldrexb r1, [r2]", None),
    ("ldaex r1, [r2]", None),
    ("stlexb r1, r2, [r3]", None),
    ("sg", None),
    ("tt r1, r2", None),
    ("pld [r1, #4]", None),
    ("bl .", None),
    ("tbb [r1, r2]", None),
    ("vldrw.u32 q0, [r1]", None),
    ("vldr s0, [r1]", None),
)


def test_decoding_agrees_with_the_assembler(tmp_path: Path) -> None:
    source, linked, raw = (tmp_path / name for name in ("code.s", "code.o", "code.bin"))
    lines = [".syntax unified", ".thumb"]
    lines += [f".p2align 2, 0\n{text}\n.p2align 2, 0" for text, _ in INSTRUCTIONS]  # four bytes each
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["arm-none-eabi-as", "-march=armv8.1-m.main+mve.fp", source, "-o", linked], check=True)
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", linked, raw], check=True)
    code = raw.read_bytes()
    assert len(code) == 4 * len(INSTRUCTIONS)
    for number, (text, access) in enumerate(INSTRUCTIONS):
        assert decode(code[4 * number : 4 * number + 4]) == access, text


def test_operand_addresses() -> None:
    registers = [0x1000 * n for n in range(16)]
    registers[2] = 4
    assert operand_address(Access(False, 4, (1,), 2, 4, offset=-8), registers) == (0xFFFF_FFFC, 0xFFFF_FFFC)
    assert operand_address(Access(False, 4, (1,), 2, 4, offset=8, post=True), registers) == (4, 12)
    assert operand_address(Access(False, 4, (1,), 2, 4, index=3, shift=2), registers) == (0xC004, 0xC004)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0b0000_0000, 0b0000_0000),
        (0b0000_1000, 0b0000_0000),  # last instruction of a block
        (0b0000_0100, 0b0000_1000),
        (0b0001_1010, 0b0001_0100),  # the condition's low bit comes from the mask
        (0b1110_0001, 0b1110_0010),
    ],
)
def test_it_block_moves_on(before: int, after: int) -> None:
    def xpsr(state: int) -> int:
        return 0x6100_0010 | (state >> 2) << 10 | (state & 3) << 25

    assert advance(xpsr(before)) == xpsr(after)
