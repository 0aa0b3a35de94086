"""Serves GDB File-I/O requests, which is how QEMU passes semihosting on (`target=gdb`).

A request is `F<name>,<argument>,…` with hexadecimal arguments, pointers to buffers as
`address/length`; the answer is a result and an errno, -1 with one or another with 0. Files are
confined to one directory.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from collections.abc import Callable
from typing import Protocol

from harness.standin.confined import Confinement, RefusedError
from harness.standin.gdb import GuestMemoryError

# Numbers of the File-I/O protocol, not of the host.
_ERRNO = {
    **{number: number for number in (1, 2, 4, 9, 13, 14, 16, 17, 19, 20, 21, 22, 23, 24, 27, 28, 29, 30)},
    errno.ENAMETOOLONG: 91,
}
_EUNKNOWN = 9999
_FLAGS = {0x8: os.O_APPEND, 0x200: os.O_CREAT, 0x400: os.O_TRUNC, 0x800: os.O_EXCL}
_ACCESS = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)
_STAT = struct.Struct(">7I3Q3I")
_TIME = struct.Struct(">IQ")
_BLOCK = 1 << 18  # bytes moved at a time
_PATH_LIMIT = 4096
_MAX_FILES = 256
_CONSOLE_IN, _FIRST_FILE = 0, 3


class Memory(Protocol):
    """Guest memory."""

    def read_memory(self, address: int, size: int) -> bytes:
        """Read; raises GuestMemoryError."""
        ...

    def write_memory(self, address: int, data: bytes) -> None:
        """Write; raises GuestMemoryError."""
        ...


class FileService:
    """Descriptors of one program: 0, 1 and 2 are its console, the others files in `files`.

    `write_console` takes console output, `read_console` returns up to n bytes of input (b"" at its
    end), `warn` a line for the user.
    """

    def __init__(
        self,
        memory: Memory,
        files: Confinement,
        write_console: Callable[[bytes], None],
        read_console: Callable[[int], bytes],
        warn: Callable[[str], None],
    ) -> None:
        self._memory = memory
        self._files = files
        self._write_console = write_console
        self._read_console = read_console
        self._warn = warn
        self._open: dict[int, int] = {}

    def serve(self, request: bytes) -> tuple[int, int]:
        """Answer to one request packet: result, and errno as the protocol numbers it."""
        name, *arguments = request.decode("ascii", errors="replace").split(",")
        operation = _OPERATIONS.get(name)
        try:
            if operation is None:
                raise OSError(errno.EINVAL, f"unknown request {name}")
            return operation(self, *arguments), 0
        except RefusedError as error:
            self._warn(f"semihosting access to '{error.filename}' refused: {error.strerror}")
            number = error.errno
        except OSError as error:
            number = error.errno
        except GuestMemoryError:
            number = errno.EFAULT
        except (ValueError, TypeError, IndexError):  # not a well-formed request
            number = errno.EINVAL
        return -1, _ERRNO.get(number or 0, _EUNKNOWN)

    def _path(self, pointer: str) -> bytes:
        address, _, length = pointer.partition("/")
        size = int(length.rstrip("x"), 16)  # QEMU 8.1 to 10.1 print a stray x behind the length
        if size > _PATH_LIMIT:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        return self._memory.read_memory(int(address, 16), size).partition(b"\0")[0]

    def _file(self, number: str) -> int:
        try:
            return self._open[int(number, 16)]
        except KeyError:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None

    def open(self, pointer: str, flags: str, mode: str) -> int:
        """Fopen; the mode is always 0666, as with fopen."""
        path, bits = self._path(pointer), int(flags, 16)
        number = next((n for n in range(_FIRST_FILE, _MAX_FILES) if n not in self._open), None)
        if number is None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        host = _ACCESS[bits & 3]
        for bit, flag in _FLAGS.items():
            host |= flag if bits & bit else 0
        self._open[number] = self._files.open(path, host)
        return number

    def close(self, number: str) -> int:
        """Fclose."""
        if int(number, 16) >= _FIRST_FILE:
            os.close(self._file(number))
            del self._open[int(number, 16)]
        return 0

    def read(self, number: str, address: str, size: str) -> int:
        """Fread: all that is there, up to `size`."""
        at, left = int(address, 16), int(size, 16)
        if int(number, 16) == _CONSOLE_IN:
            data = self._read_console(left)
            self._memory.write_memory(at, data)
            return len(data)
        descriptor, start = self._file(number), at
        while left and (data := os.read(descriptor, min(left, _BLOCK))):
            self._memory.write_memory(at, data)
            at += len(data)
            left -= len(data)
        return at - start

    def write(self, number: str, address: str, size: str) -> int:
        """Fwrite: all of it."""
        at, total, done = int(address, 16), int(size, 16), 0
        console = _CONSOLE_IN < int(number, 16) < _FIRST_FILE
        descriptor = -1 if console else self._file(number)
        while done < total:
            data = self._memory.read_memory(at + done, min(total - done, _BLOCK))
            done += len(data)
            if console:
                self._write_console(data)
            while not console and data:
                data = data[os.write(descriptor, data) :]
        return done

    def seek(self, number: str, offset: str, whence: str) -> int:
        """Flseek."""
        return os.lseek(self._file(number), _signed(offset), int(whence, 16))

    def rename(self, old: str, new: str) -> int:
        """Frename."""
        self._files.rename(self._path(old), self._path(new))
        return 0

    def unlink(self, pointer: str) -> int:
        """Funlink."""
        self._files.unlink(self._path(pointer))
        return 0

    def stat(self, pointer: str, buffer: str) -> int:
        """Fstat."""
        self._memory.write_memory(int(buffer, 16), _packed(self._files.stat(self._path(pointer))))
        return 0

    def file_stat(self, number: str, buffer: str) -> int:
        """Ffstat, which only SYS_FLEN asks for.

        QEMU 7.2 to 10.1 compare the result with the size in the buffer and fail if they differ, later
        ones take the size from the buffer: the size as the result suits both.
        """
        status = os.fstat(self._file(number))
        self._memory.write_memory(int(buffer, 16), _packed(status))
        return status.st_size

    def time_of_day(self, buffer: str, zone: str) -> int:
        """Fgettimeofday: host time."""
        now = time.time_ns()
        self._memory.write_memory(int(buffer, 16), _TIME.pack(now // 10**9, now % 10**9 // 1000))
        return 0

    def is_terminal(self, number: str) -> int:
        """Fisatty: the console is one."""
        if int(number, 16) >= _FIRST_FILE:
            self._file(number)
            return 0
        return 1

    def system(self, pointer: str) -> int:
        """Fsystem: never; "is there a shell" (no command) is answered with no."""
        command = os.fsdecode(self._path(pointer))
        if not command:
            return 0
        raise RefusedError(errno.EACCES, "no commands are run for the program", command)


def _signed(number: str) -> int:
    """Hexadecimal, negative either with a sign or in two's complement of 32 or 64 bits."""
    value = int(number, 16)
    bits = 64 if len(number) > 8 else 32
    return value - (1 << bits) if value >= 1 << (bits - 1) else value


def _packed(status: os.stat_result) -> bytes:
    """`struct stat` of the protocol: 64 bytes, big-endian; host identities are not shown."""
    size, blocks = status.st_size, (status.st_size + 511) // 512
    times = (int(t) & 0xFFFFFFFF for t in (status.st_atime, status.st_mtime, status.st_ctime))
    return _STAT.pack(0, 0, status.st_mode & 0xFFFF, 1, 0, 0, 0, size, 512, blocks, *times)


_OPERATIONS: dict[str, Callable[..., int]] = {
    "Fopen": FileService.open,
    "Fclose": FileService.close,
    "Fread": FileService.read,
    "Fwrite": FileService.write,
    "Flseek": FileService.seek,
    "Frename": FileService.rename,
    "Funlink": FileService.unlink,
    "Fstat": FileService.stat,
    "Ffstat": FileService.file_stat,
    "Fgettimeofday": FileService.time_of_day,
    "Fisatty": FileService.is_terminal,
    "Fsystem": FileService.system,
}
