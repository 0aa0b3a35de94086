"""File-I/O requests against a memory of our own, and the gdb client against a scripted stub."""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path

import pytest

from harness.standin.confined import Confinement
from harness.standin.errors import ConnectionLostError, QemuError, TimeLimitError
from harness.standin.fileio import FileService
from harness.standin.gdb import Gdb, GuestMemoryError, Stop, frame, parse_stop, unescape


class Ram:
    """64 KiB from 0 on."""

    def __init__(self) -> None:
        self.data = bytearray(1 << 16)

    def read_memory(self, address: int, size: int) -> bytes:
        self._check(address, size)
        return bytes(self.data[address : address + size])

    def write_memory(self, address: int, data: bytes) -> None:
        self._check(address, len(data))
        self.data[address : address + len(data)] = data

    def _check(self, address: int, size: int) -> None:
        if address + size > len(self.data):
            raise GuestMemoryError


class Guest:
    """A file service over `Ram`, with everything it said."""

    def __init__(self, directory: Path, stdin: bytes = b"") -> None:
        self.ram, self.output, self.warnings = Ram(), bytearray(), list[str]()
        self.service = FileService(
            self.ram,
            Confinement(str(directory)),
            self.output.extend,
            lambda size: stdin[:size],
            self.warnings.append,
        )

    def request(self, text: str) -> str:
        result, number = self.service.serve(text.encode())
        return f"F{result:x},{number:x}" if number else f"F{result:x}"

    def path(self, name: str, address: int = 0x100) -> str:
        data = name.encode() + b"\0"
        self.ram.write_memory(address, data)
        return f"{address:x}/{len(data):x}"


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    return Guest(tmp_path)


def test_life_of_a_file(guest: Guest, tmp_path: Path) -> None:
    assert guest.request(f"Fopen,{guest.path('f')},601,1a4") == "F3"
    guest.ram.write_memory(0x1000, b"0123456789")
    assert guest.request("Fwrite,3,1000,a") == "Fa"
    assert guest.request("Fclose,3") == "F0"
    assert (tmp_path / "f").read_bytes() == b"0123456789"
    assert guest.request(f"Fopen,{guest.path('f')}x,0,0") == "F3"  # the x of QEMU 8.1 to 10.1
    assert guest.request("Flseek,3,4,0") == "F4"
    assert guest.request("Fread,3,2000,64") == "F6"
    assert guest.ram.read_memory(0x2000, 6) == b"456789"
    assert guest.request("Flseek,3,-2,2") == guest.request("Flseek,3,fffffffe,2") == "F8"
    assert guest.request("Ffstat,3,3000") == "Fa"
    assert struct.unpack_from(">Q", guest.ram.read_memory(0x3000, 64), 28) == (10,)
    assert guest.request("Fisatty,3") == "F0"
    assert guest.request(f"Fstat,{guest.path('f')},3000") == "F0"
    assert guest.request(f"Frename,{guest.path('f')},{guest.path('g', 0x200)}") == "F0"
    assert guest.request(f"Funlink,{guest.path('g')}") == "F0"
    assert list(tmp_path.iterdir()) == []


def test_append_and_exclusive(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    assert guest.request(f"Fopen,{guest.path('f')},209,1a4") == "F3"  # O_WRONLY | O_APPEND | O_CREAT
    guest.ram.write_memory(0x1000, b"new")
    assert guest.request("Fwrite,3,1000,3") == "F3"
    assert (tmp_path / "f").read_bytes() == b"oldnew"
    assert guest.request(f"Fopen,{guest.path('f')},a01,1a4") == "F-1,11"  # EEXIST


def test_console(tmp_path: Path) -> None:
    guest = Guest(tmp_path, stdin=b"typed")
    guest.ram.write_memory(0x1000, b"out")
    assert guest.request("Fwrite,1,1000,3") == guest.request("Fwrite,2,1000,3") == "F3"
    assert guest.output == b"outout"
    assert guest.request("Fread,0,2000,2") == "F2"
    assert guest.ram.read_memory(0x2000, 2) == b"ty"
    assert guest.request("Fisatty,1") == "F1"
    assert guest.request("Fclose,1") == "F0"


@pytest.mark.parametrize(
    ("request_", "number"),
    [
        ("Fopen,100/8,0,0", 2),
        ("Fopen,100/1001,0,0", 91),
        ("Fopen,fff0/20,0,0", 14),
        ("Fclose,9", 9),
        ("Fread,9,0,1", 9),
        ("Fwrite,0,0,1", 9),
        ("Fwrite,1,fff0,20", 14),
        ("Ffstat,9,0", 9),
        ("Fopen,100/8,3,0", 22),
        ("Fopen", 22),
        ("Fopen,zz/zz,0,0", 22),
        ("Fread,3", 22),
        ("Ffrobnicate,1", 22),
        ("F\xff,1", 22),
    ],
)
def test_errors_have_the_protocols_numbers(request_: str, number: int, guest: Guest) -> None:
    guest.path("absent")
    assert guest.request(request_) == f"F-1,{number:x}"
    assert guest.warnings == []


def test_refusals_warn(guest: Guest) -> None:
    assert guest.request(f"Fopen,{guest.path('../f')},601,1a4") == "F-1,d"
    assert guest.request(f"Fsystem,{guest.path('rm -rf x')}") == "F-1,d"
    assert [warning.partition(" refused")[0] for warning in guest.warnings] == [
        "semihosting access to '../f'",
        "semihosting access to 'rm -rf x'",
    ]
    assert guest.request("Fsystem,0/0") == "F0"


def test_descriptors_run_out(guest: Guest) -> None:
    path = guest.path("f")
    replies = [guest.request(f"Fopen,{path},601,1a4") for _ in range(300)]
    assert len(set(replies[:253])) == 253
    assert set(replies[253:]) == {"F-1,18"}  # EMFILE
    for number in range(3, 256):
        assert guest.request(f"Fclose,{number:x}") == "F0"


def test_time(guest: Guest) -> None:
    assert guest.request("Fgettimeofday,1000,0") == "F0"
    seconds, microseconds = struct.unpack(">IQ", guest.ram.read_memory(0x1000, 12))
    assert abs(seconds - time.time()) < 100
    assert microseconds < 1_000_000


# The protocol's framing


@pytest.fixture
def pair() -> tuple[Gdb, socket.socket]:
    ours, stub = socket.socketpair()
    return Gdb(ours), stub


def test_frame_and_stop_replies() -> None:
    assert frame(b"g") == b"$g#67"
    assert unescape(b"a}\x03b}]c") == b"a#b}c"
    assert parse_stop(b"T05thread:p01.01;watch:50004000;") == Stop(5, 0x50004000)
    assert parse_stop(b"T05thread:01;awatch:10;") == Stop(5, 0x10)
    assert parse_stop(b"S02") == Stop(2, None)
    assert parse_stop(b"Fopen,1/2,0,0") is None


def test_packets_in_pieces(pair: tuple[Gdb, socket.socket]) -> None:
    gdb, stub = pair
    for piece in (b"+", b"+$ab", b"c#", b"2", b"6$d#64"):
        assert gdb.pending() is None
        stub.sendall(piece)
        gdb.fill()
    assert [gdb.pending(), gdb.pending(), gdb.pending()] == [b"abc", b"d", None]


def test_bad_checksum_and_closed_connection(pair: tuple[Gdb, socket.socket]) -> None:
    gdb, stub = pair
    stub.sendall(b"$abc#00")
    with pytest.raises(QemuError, match="checksum"):
        gdb.receive()
    stub.close()
    with pytest.raises(ConnectionLostError):
        gdb.receive()


def test_deadline(pair: tuple[Gdb, socket.socket]) -> None:
    gdb, _stub = pair
    gdb.deadline = time.monotonic() + 0.02
    with pytest.raises(TimeLimitError):
        gdb.receive()


def test_memory_errors_leave_the_stream_in_step(pair: tuple[Gdb, socket.socket]) -> None:
    gdb, stub = pair
    stub.sendall(frame(b"E14") + frame(os.urandom(2048).hex().encode()) + frame(b"00") + frame(b"OK"))
    with pytest.raises(GuestMemoryError):
        gdb.read_memory(0, 4097)
    assert gdb.request(b"x") == b"OK"
