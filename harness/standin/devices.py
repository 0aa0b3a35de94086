"""Devices that QEMU's machine lacks, emulated behind access watchpoints.

The guest stops before it touches a device's registers; the access is then done by the device and the
guest goes on behind the instruction. Guest time stands still meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from harness.standin.access import advance, decode, operand_address
from harness.standin.errors import QemuError
from harness.standin.gdb import PC, Gdb

_LONGEST_INSTRUCTION = 4
_XPSR = -1  # in a snapshot


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

    def flush(self) -> None:
        """Pass on output that is held back."""
        ...


class AccessServer:
    """Does the accesses at which the guest stops.

    `set_interrupt(number, level)` is called when a device's line changes.
    """

    def __init__(
        self, gdb: Gdb, devices: Sequence[Device], set_interrupt: Callable[[int, bool], None]
    ) -> None:
        self._gdb = gdb
        self._devices = devices
        self._set_interrupt = set_interrupt
        self._levels: dict[int, bool] = {}  # interrupt lines as QEMU knows them
        self._pc = 0  # of the last access
        self._following: dict[int, int] = {}  # PC of an access → PC of the one that came after it last time

    def watch(self) -> None:
        """Have the guest stop before every access to a device."""
        for device in self._devices:
            for base in device.bases:
                self._gdb.watch(base, device.size)

    def serve(self) -> None:
        """Do the access at which the guest stopped, move the guest behind it and let it run.

        Raises:
            QemuError: the guest did not stop at an access to a device.
        """
        guess = self._following.get(self._pc, self._pc)  # saves a round trip where it is right
        registers, code = self._gdb.snapshot(guess, _LONGEST_INSTRUCTION)
        pc = registers[PC]
        self._following[self._pc] = pc
        self._pc = pc
        access = decode(code if pc == guess else self._gdb.read_memory(pc, _LONGEST_INSTRUCTION))
        if access is None:
            raise QemuError(
                f"the guest stopped at PC=0x{pc:08x}, which is no load or store the stand-in knows"
            )
        address, base_after = operand_address(access, registers)
        loaded = {}
        for number, register in enumerate(access.registers):
            device, offset = self._device_at(address + number * access.size, access.size, pc)
            if access.store:
                device.write(offset, access.size, registers[register] & (1 << 8 * access.size) - 1)
            else:
                loaded[register] = access.extended(device.read(offset, access.size))
            self._drive(device)
        for register, value in loaded.items():
            registers[register] = value
        if access.writeback:
            registers[access.base] = base_after
        registers[PC] = pc + access.length
        registers[_XPSR] = advance(registers[_XPSR])
        self._gdb.resume(registers)

    def _drive(self, device: Device) -> None:
        level = device.interrupt()
        if level != self._levels.get(device.irq, False):
            self._levels[device.irq] = level
            self._set_interrupt(device.irq, level)

    def _device_at(self, address: int, size: int, pc: int) -> tuple[Device, int]:
        for device in self._devices:
            for base in device.bases:
                if base <= address and address + size <= base + device.size:
                    return device, address - base
        raise QemuError(f"the guest stopped at PC=0x{pc:08x} accessing 0x{address:08x}; no device is there")
