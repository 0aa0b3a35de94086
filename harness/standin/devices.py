"""Devices that QEMU's machine lacks, emulated behind access watchpoints.

The guest stops before it touches a device's registers; the access is then done by the device and the
guest goes on behind the instruction. Guest time stands still meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from harness.standin.access import advance, decode, operand_address
from harness.standin.errors import QemuError
from harness.standin.gdb import PC, XPSR, Gdb

_LONGEST_INSTRUCTION = 4


class Device(Protocol):
    """A block of `size` bytes of registers, visible at each of `bases` (secure and non-secure view)."""

    @property
    def bases(self) -> tuple[int, ...]:
        """First addresses of the block."""
        ...

    @property
    def size(self) -> int:
        """Length of the block in bytes."""
        ...

    @property
    def irq(self) -> int:
        """Number of the interrupt at the CPU's interrupt controller."""
        ...

    def read(self, offset: int, size: int) -> int:
        """Value of the `size` bytes at `offset`."""
        ...

    def write(self, offset: int, size: int, value: int) -> None:
        """Store `size` bytes at `offset`; work that this starts is done when it returns."""
        ...

    def interrupt(self) -> bool:
        """Whether the interrupt line is raised now."""
        ...


def watch_all(gdb: Gdb, devices: Sequence[Device]) -> None:
    """Have the guest stop before every access to a device."""
    for device in devices:
        for base in device.bases:
            gdb.watch(base, device.size)


def serve_access(gdb: Gdb, devices: Sequence[Device]) -> Device:
    """Do the access at which the guest stopped, and move the guest behind it.

    Returns:
        The device that was accessed.

    Raises:
        QemuError: the guest did not stop at an access to a device.
    """
    registers = gdb.core_registers()
    pc = registers[PC]
    access = decode(gdb.read_memory(pc, _LONGEST_INSTRUCTION))
    if access is None:
        raise QemuError(f"the guest stopped at PC=0x{pc:08x}, which is no load or store the stand-in knows")
    address, base_after = operand_address(access, registers)
    for number, register in enumerate(access.registers):
        at = address + number * access.size
        device, offset = _device_at(devices, at, access.size, pc)
        if access.store:
            device.write(offset, access.size, registers[register] & (1 << 8 * access.size) - 1)
        else:
            gdb.write_register(register, access.extended(device.read(offset, access.size)))
    if access.writeback:
        gdb.write_register(access.base, base_after)
    xpsr = gdb.read_register(XPSR)
    if (after := advance(xpsr)) != xpsr:
        gdb.write_register(XPSR, after)
    gdb.write_register(PC, pc + access.length)
    return device


def _device_at(devices: Sequence[Device], address: int, size: int, pc: int) -> tuple[Device, int]:
    for device in devices:
        for base in device.bases:
            if base <= address and address + size <= base + device.size:
                return device, address - base
    raise QemuError(f"the guest stopped at PC=0x{pc:08x} accessing 0x{address:08x}; no device is there")
