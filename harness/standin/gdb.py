"""A client of the GDB remote protocol, as far as QEMU's stub speaks it.

Replies are not acknowledged one by one: the stub takes the next packet as acknowledgement of the
last, so requests can be pipelined. The connection is a local socket; nothing gets lost on it.
"""

from __future__ import annotations

import re
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.standin.errors import ConnectionLostError, QemuError, TimeLimitError

PC, XPSR = 15, 25  # register numbers of QEMU's M-profile description
_CORE_REGISTERS = 16
_SNAPSHOT = struct.Struct(f"<{_CORE_REGISTERS + 1}I")
_PACKET_SIZE = 4096  # QEMU's limit, advertised as PacketSize=1000
_READ_CHUNK = _PACKET_SIZE // 2  # reply is hex
_WRITE_CHUNK = _READ_CHUNK - 32  # request is "M<address>,<length>:" and hex
_IN_FLIGHT = 16  # pipelined requests
_STOP = re.compile(rb"[ST]([0-9a-f]{2})")
_WATCH = re.compile(rb"[ra]?watch:([0-9a-f]+)")


class GuestMemoryError(Exception):
    """The stub refused a memory access: no memory at this address."""


@dataclass(frozen=True)
class Stop:
    """A stop reply: `signal` as in GDB (5 = trap, 2 = interrupt), `watch` the watchpoint that was hit."""

    signal: int
    watch: int | None


def parse_stop(packet: bytes) -> Stop | None:
    """The stop reply in `packet`, or None if it is something else."""
    match = _STOP.match(packet)
    if match is None:
        return None
    watch = _WATCH.search(packet)
    return Stop(int(match[1], 16), int(watch[1], 16) if watch else None)


def frame(payload: bytes) -> bytes:
    """`payload` as a packet."""
    return b"$%b#%02x" % (payload, sum(payload) & 0xFF)


def unescape(data: bytes) -> bytes:
    """Binary data of a reply with its `}` escapes resolved."""
    return re.sub(rb"}(.)", lambda match: bytes((match[1][0] ^ 0x20,)), data, flags=re.DOTALL)


class Gdb:
    """One connection to the stub.

    `deadline` (time.monotonic) bounds every wait; passing it raises TimeLimitError. A lost
    connection raises ConnectionLostError, an unexpected packet QemuError.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._described = False
        self.deadline = float("inf")

    def fileno(self) -> int:
        """For poll."""
        return self._connection.fileno()

    # Packets

    def send(self, payload: bytes) -> None:
        """Send one packet."""
        self._send_raw(frame(payload))

    def receive(self) -> bytes:
        """The next packet's payload."""
        while (packet := self.pending()) is None:
            self.fill()
        return packet

    def request(self, payload: bytes) -> bytes:
        """Send one packet and return the reply."""
        self.send(payload)
        return self.receive()

    def pending(self) -> bytes | None:
        """A packet that has been received completely, or None."""
        start = self._buffer.find(b"$")
        end = self._buffer.find(b"#", start)
        if start < 0 or end < 0 or len(self._buffer) < end + 3:
            return None
        payload = bytes(self._buffer[start + 1 : end])
        checksum = bytes(self._buffer[end + 1 : end + 3])
        del self._buffer[: end + 3]
        if b"%02x" % (sum(payload) & 0xFF) != checksum.lower():
            raise QemuError("QEMU's gdb stub sent a packet with a bad checksum")
        return payload

    def fill(self) -> None:
        """Wait for bytes and take what is there.

        Raises:
            TimeLimitError: the deadline passed first.
            ConnectionLostError: the connection is closed.
        """
        wait = self.deadline - time.monotonic()
        if wait != float("inf"):
            poll = select.poll()
            poll.register(self._connection, select.POLLIN)
            if wait <= 0 or not poll.poll(wait * 1000 + 1):
                raise TimeLimitError
        try:
            data = self._connection.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise ConnectionLostError("QEMU closed its gdb connection")
        self._buffer += data

    def _send_raw(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except OSError:
            raise ConnectionLostError("QEMU closed its gdb connection") from None

    # Execution

    def monitor(self, command: str) -> str:
        """Output of a QEMU monitor command."""
        reply = self.request(b"qRcmd," + command.encode().hex().encode())
        output = bytearray()
        while reply.startswith(b"O") and reply != b"OK":
            output += bytes.fromhex(reply[1:].decode())
            reply = self.receive()
        return output.decode(errors="replace").strip()

    def resume(self, registers: Sequence[int] | None = None) -> None:
        """Set all registers, as in a `snapshot`, and let the guest run.

        The next packet is a stop reply, a File-I/O request or its exit.
        """
        if registers is None:
            self.send(b"c")
        else:
            values = b"".join(value.to_bytes(4, "little") for value in registers)
            self._send_raw(frame(b"G" + values.hex().encode()) + frame(b"c"))
            _check(b"G", self.receive())

    def answer(self, result: int, number: int = 0) -> None:
        """Answer a File-I/O request with its result and errno, and let the guest go on.

        The answer alone resumes the guest, but from version 8.1 on QEMU reports a later stop or exit
        only after a command like `c`. So the answer carries the flag that stops the guest once more.

        Raises:
            QemuError: the stub did not stop.
        """
        self._send_raw(frame(b"F%x,%x,C" % (result, number)) + frame(b"c"))
        self._stop(self.receive())

    def step(self) -> Stop:
        """Execute one instruction."""
        return self._stop(self.request(b"s"))

    def interrupt(self) -> Stop | None:
        """Stop the running guest; None if it stands still in a File-I/O request."""
        self._send_raw(b"\x03")
        packet = self.receive()
        return None if packet.startswith(b"F") else self._stop(packet)

    def _stop(self, packet: bytes) -> Stop:
        stop = parse_stop(packet)
        if stop is None:
            raise QemuError(f"QEMU's gdb stub sent {packet[:40]!r}, expected a stop reply")
        return stop

    # Memory and registers

    def read_memory(self, address: int, size: int) -> bytes:
        """`size` bytes of guest memory.

        Raises:
            GuestMemoryError: no memory there.
        """
        data = bytearray()
        chunks = [
            (at, min(_READ_CHUNK, address + size - at)) for at in range(address, address + size, _READ_CHUNK)
        ]
        for batch in _batches(chunks):
            self._send_raw(b"".join(frame(b"m%x,%x" % chunk) for chunk in batch))
            replies = [self.receive() for _ in batch]
            for reply, (at, length) in zip(replies, batch, strict=True):
                if len(reply) != 2 * length:
                    raise GuestMemoryError(f"no memory at 0x{at:08x}")
                data += bytes.fromhex(reply.decode())
        return bytes(data)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write `data` to guest memory.

        Raises:
            GuestMemoryError: no memory there.
        """
        chunks = [(at, min(_WRITE_CHUNK, len(data) - at)) for at in range(0, len(data), _WRITE_CHUNK)]
        for batch in _batches(chunks):
            packets = (
                b"M%x,%x:%b" % (address + at, length, data[at : at + length].hex().encode())
                for at, length in batch
            )
            self._send_raw(b"".join(map(frame, packets)))
            replies = [self.receive() for _ in batch]
            for reply, (at, _) in zip(replies, batch, strict=True):
                if reply != b"OK":
                    raise GuestMemoryError(f"no memory at 0x{address + at:08x}")

    def core_registers(self) -> tuple[int, ...]:
        """r0 … r15."""
        data = bytes.fromhex(self.request(b"g").decode())
        return tuple(int.from_bytes(data[4 * n : 4 * n + 4], "little") for n in range(_CORE_REGISTERS))

    def read_register(self, number: int) -> int:
        """One 32-bit register."""
        self._describe()
        reply = self.request(b"p%x" % number)
        try:
            return int.from_bytes(bytes.fromhex(reply.decode()), "little")
        except ValueError:
            raise QemuError(f"QEMU's gdb stub refused to read register {number}: {reply!r}") from None

    def snapshot(self, address: int, size: int) -> tuple[list[int], bytes]:
        """r0 … r15 with xPSR behind, and `size` bytes at `address` (none where no memory is)."""
        self._describe()
        self._send_raw(frame(b"g") + frame(b"m%x,%x" % (address, size)))
        data, code = (self.receive() for _ in range(2))
        if len(data) != 2 * _SNAPSHOT.size:
            raise QemuError(f"QEMU's gdb stub described {len(data) // 2} bytes of registers")
        registers = list(_SNAPSHOT.unpack(bytes.fromhex(data.decode())))
        return registers, bytes.fromhex(code.decode()) if len(code) == 2 * size else b""

    def write_register(self, number: int, value: int) -> None:
        """Set one 32-bit register."""
        self._describe()
        self._ok(b"P%x=%b" % (number, value.to_bytes(4, "little").hex().encode()))

    def watch(self, address: int, size: int) -> None:
        """Stop before every access to `size` bytes from `address` on; there may be nothing there."""
        self._ok(b"Z4,%x,%x" % (address, size))

    def unwatch(self, address: int, size: int) -> None:
        """Remove what `watch` set."""
        self._ok(b"z4,%x,%x" % (address, size))

    def target_description(self, annex: str = "target.xml") -> str:
        """A document of `qXfer:features:read`."""
        text = bytearray()
        while True:
            reply = self.request(b"qXfer:features:read:%b:%x,%x" % (annex.encode(), len(text), _READ_CHUNK))
            text += unescape(reply[1:])
            if reply[:1] != b"m":
                return text.decode(errors="replace")

    def _describe(self) -> None:
        """Read the target description once: the stub refuses p and P before that."""
        if not self._described:
            self.target_description()
            self._described = True

    def _ok(self, payload: bytes) -> None:
        _check(payload, self.request(payload))


def _check(payload: bytes, reply: bytes) -> None:
    if reply != b"OK":
        raise QemuError(f"QEMU's gdb stub answered {payload[:40]!r} with {reply!r}")


def _batches(chunks: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    return [chunks[at : at + _IN_FLIGHT] for at in range(0, len(chunks), _IN_FLIGHT)]
