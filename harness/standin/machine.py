"""The loop: one simulation from the first instruction to its exit status."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Sequence

from harness.standin.arguments import Options
from harness.standin.boards import BOARD_MODELS
from harness.standin.confined import Confinement
from harness.standin.console import EOT, Console
from harness.standin.devices import AccessServer, Device
from harness.standin.errors import (
    ConnectionLostError,
    JobTimeLimitError,
    LockupError,
    QemuError,
    TimeLimitError,
)
from harness.standin.fileio import FileService
from harness.standin.gdb import PC, Gdb, Stop, parse_stop
from harness.standin.qemu import CPU, Qemu

STOPPED_BY_LIMIT = "Info: Simulation is stopping. Reason: CPU time has been exceeded."
_START_WAIT = 60.0  # seconds until QEMU must have come up
_END_WAIT = 20.0  # seconds until QEMU must be gone
_PLACE_WAIT = 2.0  # seconds to find out where a stopped guest is
_CPU_CHECK = 0.05  # seconds between looks at the CPU time
_ERROR_TAIL = 1 << 14  # bytes of QEMU's messages that are kept
_STDIN = 0


class _EotError(Exception):
    """UART0 sent EOT under shutdown_on_eot."""


class Machine:
    """Serves one started QEMU: console, semihosting files, devices and limits.

    `gdb` is its gdb connection. The devices may use it while they do an access.
    """

    def __init__(self, options: Options, qemu: Qemu, console: Console, files: Confinement) -> None:
        self._options = options
        self._qemu = qemu
        self._console = console
        self._devices: Sequence[Device] = ()
        self.gdb = self._gdb = Gdb(qemu.gdb)
        self._accesses = AccessServer(self._gdb, (), qemu.set_interrupt)
        self._errors = b""
        self._exited = False
        self._serving = False  # the guest stands still in a File-I/O request
        self._streams = {qemu.uart: self.uart, qemu.errors: self._error}
        self._poll = select.poll()
        self._poll.register(self._gdb.fileno(), select.POLLIN)
        for descriptor in self._streams:
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
        self._files = FileService(self._gdb, files, console.semihosting, self._read_input, self._warn)

    def version(self) -> str:
        """Version of the running QEMU in its own words.

        Raises:
            QemuError: it did not come up.
        """
        self._gdb.deadline = time.monotonic() + _START_WAIT
        try:
            return self._gdb.monitor("info version")
        except ConnectionLostError:
            self._ended()
            raise
        except TimeLimitError:
            raise QemuError(f"QEMU did not come up within {_START_WAIT:.0f} s") from None

    def attach(self, *devices: Device) -> None:
        """Give the machine devices; before `run`."""
        self._devices = devices
        self._accesses = AccessServer(self._gdb, devices, self._qemu.set_interrupt)

    def seconds_left(self) -> float:
        """Until the nearer of the two limits; infinity without any."""
        left = self._gdb.deadline - time.monotonic()
        if self._options.cpu_limit is not None:
            used = self._qemu.cpu_seconds() + time.process_time()
            left = min(left, self._options.cpu_limit - used)
        return left

    def uart(self, data: bytes) -> None:
        """Output of UART0."""
        before, eot, _ = data.partition(EOT) if self._options.shutdown_on_eot else (data, b"", b"")
        self._console.uart(before)
        if eot:
            raise _EotError

    def run(self) -> int:
        """Run to the end and return the exit status.

        Raises:
            QemuError: QEMU failed.
            LockupError: the CPU locked up.
        """
        try:
            try:
                return self._run()
            except JobTimeLimitError:
                self._say_stopped("in a job of the NPU")
            except TimeLimitError:
                self._stopped_by_limit()
        except _EotError:
            pass
        return 0

    def _run(self) -> int:
        limit = self._options.time_limit
        self._gdb.deadline = float("inf") if limit is None else time.monotonic() + limit
        try:
            self._set_vectors()
            self._accesses.watch()
            self._gdb.resume()
            while not self._exited:
                self._turn()
        except ConnectionLostError:
            return self._ended()
        return self._ended()

    def _set_vectors(self) -> None:
        """Have the CPU start from the board's vector table."""
        base = BOARD_MODELS[self._options.board.name].vector_base
        if base is not None:
            answer = self._gdb.monitor(f"qom-set {CPU}/cpu init-svtor 0x{base:x}")
            answer += self._gdb.monitor("system_reset")  # done before QEMU answers anything else
            if answer:
                raise QemuError(f"QEMU did not take the vector table at 0x{base:x}: {answer}")

    def _turn(self) -> None:
        """Wait for the next event and serve it."""
        left = self.seconds_left()
        if left <= 0:
            raise TimeLimitError
        if self._options.cpu_limit is not None:
            left = min(left, _CPU_CHECK)
        events = self._poll.poll(None if left == float("inf") else left * 1000 + 1)
        for descriptor, _ in events:
            if descriptor in self._streams:
                self._drain(descriptor)
        if any(descriptor == self._gdb.fileno() for descriptor, _ in events):
            self._gdb.fill()
            while (packet := self._gdb.pending()) is not None:
                self._serve(packet)

    def _serve(self, packet: bytes) -> None:
        """Answer what QEMU sent while the guest ran; what UART0 printed before comes first."""
        self._drain(self._qemu.uart)
        if packet.startswith(b"F"):
            self._flush()
            self._serving = True
            self._gdb.answer(*self._files.serve(packet))
            self._serving = False
        elif packet.startswith(b"W"):
            self._exited = True
        elif (stop := parse_stop(packet)) is not None:
            self._access(stop)

    def _access(self, stop: Stop) -> None:
        """The guest stopped, which only a device's watchpoint may cause."""
        if stop.watch is None:
            pc = self._gdb.core_registers()[PC]
            raise QemuError(f"the guest stopped at PC=0x{pc:08x} (signal {stop.signal}) for no known reason")
        self._accesses.serve()

    # Streams

    def _drain(self, descriptor: int) -> bool:
        """Pass on what a stream of QEMU's holds; False at its end."""
        while descriptor in self._streams:
            try:
                data = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                self._poll.unregister(descriptor)
                del self._streams[descriptor]
            else:
                self._streams[descriptor](data)
        return False

    def _flush(self) -> None:
        for device in self._devices:
            device.flush()

    def _error(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_ERROR_TAIL:]

    def _warn(self, text: str) -> None:
        self._console.line(f"Warning: stand-in: {text}")

    def _read_input(self, size: int) -> bytes:
        """Standard input for the program; waits for it like a terminal."""
        poll = select.poll()
        poll.register(_STDIN, select.POLLIN)
        poll.register(self._gdb.fileno(), select.POLLIN)  # the guest stands still: only QEMU's end
        left = self._gdb.deadline - time.monotonic()
        events = dict(poll.poll(None if left == float("inf") else max(left, 0) * 1000 + 1))
        if not events:
            raise TimeLimitError
        if _STDIN not in events:
            self._gdb.fill()
        return os.read(_STDIN, size) if _STDIN in events else b""

    # The end

    def _ended(self) -> int:
        """Collect QEMU's last words and judge its end."""
        self._flush()
        deadline = time.monotonic() + _END_WAIT
        while self._streams and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in self._poll.poll(left * 1000 + 1):
                if not self._drain(descriptor) and descriptor == self._gdb.fileno():
                    self._poll.unregister(descriptor)
        if self._streams:
            self._qemu.kill()
            raise QemuError("QEMU hung at its end and was killed")
        status = self._qemu.wait()
        text = self._errors.decode(errors="replace")
        # A signal that QEMU handles looks like the program's exit with status 0, apart from this message.
        if self._exited and status >= 0 and "terminating on signal" not in text:
            return status
        if "Lockup" in text:
            raise LockupError(_lockup_message(text))
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        tail = "".join(f"\n  {line}" for line in text.strip().splitlines()[-5:])
        raise QemuError(f"QEMU {how} before the program finished{tail and '; its last messages:'}{tail}")

    def _stopped_by_limit(self) -> None:
        """Stop the guest and say where it was."""
        self._gdb.deadline = time.monotonic() + _PLACE_WAIT
        place = "in a semihosting call"
        try:
            if not self._serving and self._gdb.interrupt() is not None:
                place = f"at PC=0x{self._gdb.core_registers()[PC]:08x}"
            self._drain(self._qemu.uart)
        except (QemuError, TimeLimitError):
            place = "at an unknown place (QEMU does not answer)"
        self._say_stopped(place)

    def _say_stopped(self, place: str) -> None:
        self._flush()
        self._console.line(STOPPED_BY_LIMIT)
        self._console.line(f"Info: stand-in: the program was {place} when it was stopped.")


def _lockup_message(dump: str) -> str:
    """One line from QEMU's message and register dump."""
    registers = dict(re.findall(r"\b(R\d\d|XPSR)=([0-9a-f]{8})", dump))
    reason = re.search(r"Lockup:?\s*(.*)", dump)
    pc, lr, xpsr = (registers.get(name, "unknown") for name in ("R15", "R14", "XPSR"))
    return (
        f"the CPU locked up at PC=0x{pc} (LR=0x{lr}, xPSR=0x{xpsr}): a fault inside a fault handler, "
        f"or no handler; QEMU: {reason[1].strip() if reason else ''}"
    )
