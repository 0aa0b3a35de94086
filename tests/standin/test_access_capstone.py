"""The decoder of loads and stores against capstone, over 19,000 encodings."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

import capstone
from capstone import arm

from harness.standin.access import Access, decode

# Mnemonic: store, bytes, sign-extended. The unprivileged forms (…t) are the same for privileged code.
_SINGLE = {
    "ldr": (False, 4, False),
    "ldrb": (False, 1, False),
    "ldrh": (False, 2, False),
    "ldrsb": (False, 1, True),
    "ldrsh": (False, 2, True),
    "str": (True, 4, False),
    "strb": (True, 1, False),
    "strh": (True, 2, False),
    "ldrd": (False, 4, False),
    "strd": (True, 4, False),
    "lda": (False, 4, False),
    "ldab": (False, 1, False),
    "ldah": (False, 2, False),
    "stl": (True, 4, False),
    "stlb": (True, 1, False),
    "stlh": (True, 2, False),
}
_SINGLE |= {f"{name}t": form for name, form in _SINGLE.items() if name[2:] in ("r", "rb", "rh", "rsb", "rsh")}
_MULTIPLE = {"ldm": (False, 1), "stm": (True, 1), "ldmdb": (False, -1), "stmdb": (True, -1)}
_NUMBERS = {getattr(arm, f"ARM_REG_R{n}"): n for n in range(13)} | {
    arm.ARM_REG_SP: 13,
    arm.ARM_REG_LR: 14,
    arm.ARM_REG_PC: 15,
}
_SP, _PC = 13, 15


def narrow() -> Iterator[bytes]:
    """Every third encoding of 16 bits that begins like a load or store, the stack's and literals aside."""
    for top in (*range(0x5000, 0x9000, 3), *range(0xC000, 0xD000, 3)):
        yield struct.pack("<HH", top, 0xBF00)


def wide(count: int) -> Iterator[bytes]:
    """Random encodings of 32 bits in the spaces of loads and stores."""
    rng = random.Random(0)
    for _ in range(count):
        first = rng.choice((0xF800, 0xF800, 0xE800)) | rng.randrange(0x200)
        second = rng.randrange(1 << 16)
        if rng.random() < 0.3:
            second &= 0xF03F  # the register-offset form leaves these bits 0
        if rng.random() < 0.1:
            first, second = 0xE8C0 | first & 0x1F, second & 0xF000 | 0xF8F | second & 0x30  # acquire, release
        yield struct.pack("<HH", first, second)


def expected(instruction: Any) -> Access | None:
    """What capstone says, in our words; None for anything that touches PC or is no such access."""
    name = instruction.mnemonic.removesuffix(".w")
    operands = instruction.operands
    if name in _MULTIPLE:
        store, direction = _MULTIPLE[name]
        base, *registers = (_NUMBERS[operand.reg] for operand in operands)
        if base == _PC or {_SP, _PC} & set(registers):
            return None
        offset = direction * 4 * len(registers)
        post, size = direction > 0, instruction.size
        return Access(
            store, 4, tuple(registers), base, size, offset, post=post, writeback=bool(instruction.writeback)
        )
    if name not in _SINGLE:
        return None
    store, size, signed = _SINGLE[name]
    registers = [_NUMBERS[operand.reg] for operand in operands if operand.type == arm.ARM_OP_REG]
    memory = next(operand for operand in operands if operand.type == arm.ARM_OP_MEM)
    base = _NUMBERS[memory.mem.base]
    if _PC in (base, *registers):
        return None
    offset = memory.mem.disp
    if instruction.post_index:
        behind = operands[-1]
        offset = -behind.imm if behind.subtracted else behind.imm
    return Access(
        store,
        size,
        tuple(registers),
        base,
        instruction.size,
        offset=offset,
        index=_NUMBERS[memory.mem.index] if memory.mem.index else None,
        shift=memory.shift.value,
        signed=signed,
        post=bool(instruction.post_index),
        writeback=bool(instruction.writeback),
    )


def test_decoder_agrees_with_capstone() -> None:
    disassembler = capstone.Cs(
        capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
    )
    disassembler.detail = True
    agreed: dict[str, int] = {}
    differences = []
    for code in (*narrow(), *wide(12_000)):
        instruction = next(disassembler.disasm(code, 0, 1), None)
        if instruction is None or instruction.mnemonic in ("push.w", "pop.w"):
            continue  # capstone knows no such instruction, or by another name
        ours, theirs = decode(code), expected(instruction)
        if ours == theirs:
            agreed[instruction.mnemonic] = agreed.get(instruction.mnemonic, 0) + (ours is not None)
        else:
            differences.append(f"{code.hex()} {instruction.mnemonic} {instruction.op_str}: {ours} | {theirs}")
    assert not differences, f"{len(differences)} differences:\n" + "\n".join(differences[:40])
    assert {name.removesuffix(".w") for name, count in agreed.items() if count} >= _SINGLE.keys() | _MULTIPLE
    assert sum(agreed.values()) > 11_000
