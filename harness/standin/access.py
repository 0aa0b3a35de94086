"""Decodes the Thumb load or store at which a watchpoint stopped.

Encodings: Armv8-M Architecture Reference Manual, T32 instruction set. Exclusive and vector loads and
stores are not covered: drivers do not use them on device registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MASK = 0xFFFF_FFFF
_NO_REGISTER = 15


@dataclass(frozen=True)
class Access:
    """One load or store.

    `size` is in bytes for each of `registers`; the operand's address is `base` + offset, where offset
    is `offset` or register `index` shifted left by `shift`. With `post` the offset is only added to
    the base afterwards. `length` is that of the instruction in bytes.
    """

    store: bool
    size: int
    registers: tuple[int, ...]
    base: int
    length: int
    offset: int = 0
    index: int | None = None
    shift: int = 0
    signed: bool = False
    post: bool = False
    writeback: bool = False

    def extended(self, value: int) -> int:
        """What a load of `value` puts in the register."""
        bits = 8 * self.size
        value &= (1 << bits) - 1
        return (value - (1 << bits)) & _MASK if self.signed and value >> (bits - 1) else value


def decode(code: bytes) -> Access | None:
    """The load or store at the start of `code` (4 bytes), or None if it is something else."""
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    if first >> 11 < 0b11101:
        return _narrow(first)
    if first >> 9 == 0b1111100:
        return _wide(first, second)
    if first >> 9 == 0b1110100:
        if first & 0x1E0 == 0x0C0 and second & 0xFCF == 0xF8F:
            return _ordered(first, second)
        return _double(first, second) if first & 0x40 else _multiple(first, second)
    return None


def operand_address(access: Access, registers: Sequence[int]) -> tuple[int, int]:
    """Address of the first byte, and the base register's value after a write-back."""
    base = registers[access.base]
    offset = access.offset if access.index is None else registers[access.index] << access.shift
    moved = (base + offset) & _MASK
    return (base if access.post else moved), moved


def advance(xpsr: int) -> int:
    """`xpsr` behind one more instruction: moves on in an IT block."""
    state = (xpsr >> 8 & 0xFC) | (xpsr >> 25 & 3)
    state = state & 0xE0 | state << 1 & 0x1F if state & 7 else 0
    return xpsr & ~0x0600_FC00 | (state & 0xFC) << 8 | (state & 3) << 25


def _narrow(code: int) -> Access | None:
    base, register = code >> 3 & 7, code & 7
    if code >> 12 == 0b0101:  # register offset
        store, size, signed = (
            (True, 4, False),
            (True, 2, False),
            (True, 1, False),
            (False, 1, True),
            (False, 4, False),
            (False, 2, False),
            (False, 1, False),
            (False, 2, True),
        )[code >> 9 & 7]
        return Access(store, size, (register,), base, 2, index=code >> 6 & 7, signed=signed)
    if code >> 12 == 0b1100:  # several registers, base updated unless it is loaded
        mask, base, store = code & 0xFF, code >> 8 & 7, not code & 0x800
        return _by_mask(store, base, mask, 2, writeback=store or not mask >> base & 1)
    width = {0b0110: 4, 0b0111: 1, 0b1000: 2}.get(code >> 12)  # immediate offset
    if width is None:
        return None
    return Access(not code & 0x800, width, (register,), base, 2, offset=(code >> 6 & 31) * width)


def _wide(first: int, second: int) -> Access | None:
    size, store, signed = 1 << (first >> 5 & 3), not first & 0x10, bool(first & 0x100)
    base, register = first & 15, second >> 12
    if size > 4 or base == _NO_REGISTER or register == _NO_REGISTER or (signed and (store or size == 4)):
        return None
    if first & 0x80:
        return Access(store, size, (register,), base, 4, offset=second & 0xFFF, signed=signed)
    if second & 0x800:
        pre, up, write = second & 0x400, second & 0x200, second & 0x100
        if not pre and not write:
            return None
        offset = second & 0xFF if up else -(second & 0xFF)
        return Access(
            store,
            size,
            (register,),
            base,
            4,
            offset=offset,
            signed=signed,
            post=not pre,
            writeback=bool(write),
        )
    if second & 0xFC0:
        return None
    index, shift = second & 15, second >> 4 & 3
    return Access(store, size, (register,), base, 4, index=index, shift=shift, signed=signed)


def _ordered(first: int, second: int) -> Access | None:
    """Load-acquire and store-release."""
    base, register, size = first & 15, second >> 12, 1 << (second >> 4 & 3)
    if size > 4 or _NO_REGISTER in (base, register):
        return None
    return Access(not first & 0x10, size, (register,), base, 4)


def _multiple(first: int, second: int) -> Access | None:
    """LDM, STM (increment after, decrement before)."""
    up, down = first & 0x80, first & 0x100
    store, base = not first & 0x10, first & 15
    if bool(up) == bool(down) or base == _NO_REGISTER or second & 0xA000:
        return None
    return _by_mask(store, base, second, 4, writeback=bool(first & 0x20), down=bool(down))


def _by_mask(
    store: bool, base: int, mask: int, length: int, writeback: bool, down: bool = False
) -> Access | None:
    registers = tuple(number for number in range(_NO_REGISTER) if mask >> number & 1)
    if not registers:
        return None
    offset = 4 * len(registers) * (-1 if down else 1)
    return Access(store, 4, registers, base, length, offset=offset, post=not down, writeback=writeback)


def _double(first: int, second: int) -> Access | None:
    pre, up, write = first & 0x100, first & 0x80, first & 0x20
    base, registers = first & 15, (second >> 12, second >> 8 & 15)
    if _NO_REGISTER in (base, *registers) or not (pre or write):
        return None
    offset = (second & 0xFF) * (4 if up else -4)
    store = not first & 0x10
    return Access(store, 4, registers, base, 4, offset=offset, post=not pre, writeback=bool(write))
