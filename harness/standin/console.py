"""Where the guest's output and the stand-in's own lines go."""

from __future__ import annotations

import os

_STDOUT = 1
EOT = b"\x04"


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, unbuffered."""
    while data:
        data = data[os.write(descriptor, data) :]


class Console:
    """Standard output, shared by UART0, semihosting and the stand-in's lines.

    `uart_file` sends UART0 to a file instead.

    Raises:
        OSError: that file cannot be created.
    """

    def __init__(self, uart_file: str | None = None) -> None:
        self._mid_line = False
        self._uart = _STDOUT
        if uart_file is not None:
            self._uart = os.open(uart_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)

    def uart(self, data: bytes) -> None:
        """Output of UART0."""
        if self._uart == _STDOUT:
            self.semihosting(data)
        else:
            write_all(self._uart, data)

    def semihosting(self, data: bytes) -> None:
        """Output of the semihosting console."""
        if data:
            self._mid_line = not data.endswith(b"\n")
            write_all(_STDOUT, data)

    def line(self, text: str) -> None:
        """A line of the stand-in's own; it never continues a line of the guest's."""
        newline = "\n" if self._mid_line else ""
        self._mid_line = False
        write_all(_STDOUT, f"{newline}{text}\n".encode(errors="backslashreplace"))
