"""A CMSDK APB UART that only sends, for boards whose UART QEMU's machine lacks."""

from __future__ import annotations

from collections.abc import Callable

from harness.standin.console import EOT

_DATA, _STATE, _CTRL, _INTSTATUS, _BAUDDIV = 0x00, 0x04, 0x08, 0x0C, 0x10
_PART_ID = dict(zip(range(0xFD0, 0x1000, 4), b"\x04\0\0\0\x21\xb8\x1b\0\x0d\xf0\x05\xb1", strict=True))
_TX_ENABLE = 1
_LONGEST = 256  # bytes kept back for the rest of a line


class Uart:
    """The transmitter: never busy, no interrupts. `send` gets the bytes, line by line."""

    size = 0x1000
    irq = 0

    def __init__(self, bases: tuple[int, ...], send: Callable[[bytes], None]) -> None:
        self.bases = bases
        self._send = send
        self._line = bytearray()
        self._words = {_CTRL: 0, _BAUDDIV: 0}

    def read(self, offset: int, size: int) -> int:
        """See `Device.read`; nothing is ever received."""
        word = self._words.get(offset & ~3, _PART_ID.get(offset & ~3, 0))
        return word >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        """See `Device.write`."""
        if offset == _DATA and self._words[_CTRL] & _TX_ENABLE:
            self._line.append(value & 0xFF)
            if value & 0xFF in (0x0A, EOT[0]) or len(self._line) >= _LONGEST:
                self.flush()
        elif offset in self._words:
            self._words[offset] = value

    def interrupt(self) -> bool:
        """See `Device.interrupt`."""
        return False

    def flush(self) -> None:
        """See `Device.flush`."""
        line = bytes(self._line)
        self._line.clear()
        if line:
            self._send(line)
