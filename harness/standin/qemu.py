"""Finding, starting and ending QEMU."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
from dataclasses import dataclass

from harness.standin.arguments import Options
from harness.standin.boards import BOARD_MODELS
from harness.standin.ddr import SharedDdr
from harness.standin.errors import QemuError

PROGRAM = "qemu-system-arm"
OVERRIDE = "HARNESS_QEMU"  # environment variable: path of the qemu-system-arm to use
_TESTED = ((7, 2), (10,))  # versions that the probe (tests/standin/test_probe.py) was written for
CPU = "/machine/iotkit/cluster0/armv7m0"  # with its interrupt controller, in QEMU's object tree
_PR_SET_PDEATHSIG = 1
_EXEC_FAILED = 127
_ANSWER_WAIT = 10.0  # seconds until a qtest command counts as refused


def find_qemu() -> str:
    """Path of qemu-system-arm.

    Raises:
        QemuError: there is none.
    """
    override = os.environ.get(OVERRIDE)
    candidates = [override] if override else [f"{place or '.'}/{PROGRAM}" for place in os.get_exec_path()]
    for path in candidates:
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to import
            return path
    where = f"{OVERRIDE}={override} is not executable" if override else f"no {PROGRAM} on PATH"
    raise QemuError(f"{where}; install it (Debian, Ubuntu: apt-get install qemu-system-arm)")


def parse_version(text: str) -> tuple[int, ...]:
    """(7, 2, 22) from "7.2.22Debian 1:7.2…" or "QEMU emulator version 7.2.22 (…)"; () if there is none."""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, match[0].split("."))) if match else ()


def is_tested(version: tuple[int, ...]) -> bool:
    """True if the features the stand-in relies on were probed on this version of QEMU."""
    return any(version[: len(tested)] == tested for tested in _TESTED)


def command_line(
    qemu: str, options: Options, gdb: int, qtest: int | None = None, ddr: SharedDdr | None = None
) -> list[str]:
    """QEMU's command line: stopped at reset, gdb and qtest on these descriptors, UART0 on standard output.

    With semihosting every call goes to the gdb connection. QEMU 7.2 and 10 agree on all of this;
    they need the client to be attached before the first call, which `-S` ensures.
    """
    model = BOARD_MODELS[options.board.name]
    machine = model.machine + (ddr.machine_option if ddr else "")
    words = [qemu, "-M", machine, "-nodefaults", "-display", "none", "-S"]
    words += ddr.qemu_words() if ddr else []
    for setting in model.globals:
        words += ["-global", setting]
    words += ["-chardev", f"socket,id=gdb,fd={gdb}", "-gdb", "chardev:gdb"]
    words += ["-chardev", "stdio,id=uart0,signal=off", "-serial", "chardev:uart0"]
    if qtest is not None:  # beside TCG, it only serves to raise interrupts
        words += ["-chardev", f"socket,id=qtest,fd={qtest}", "-qtest", "chardev:qtest"]
        words += ["-qtest-log", "none", "-accel", "tcg"]
    if options.semihosting:
        words += ["-semihosting-config", f"enable=on,target=gdb,arg={_escaped(options.command_line)}"]
    for data in options.data:
        words += ["-device", f"loader,addr=0x{data.address:x},force-raw=on,file={_escaped(data.path)}"]
    return [*words, "-kernel", options.application]


def _escaped(text: str) -> str:
    return text.replace(",", ",,")


@dataclass
class Qemu:
    """A running QEMU: gdb and qtest connections, the pipes of UART0 (`uart`) and messages (`errors`), DDR."""

    pid: int
    gdb: socket.socket
    qtest: socket.socket
    uart: int
    errors: int
    ddr: SharedDdr
    status: int | None = None

    def wait(self) -> int:
        """Exit status of the process, negative for a signal."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def kill(self) -> None:
        """End the process and its group, if it still runs."""
        if self.status is None:
            for end in (os.killpg, os.kill):  # it may not have made its group yet
                try:
                    end(self.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.wait()
        self.ddr.close()

    def set_interrupt(self, number: int, level: bool) -> None:
        """Drive line `number` of the CPU's interrupt controller, from outside the machine.

        Raises:
            QemuError: QEMU refuses.
        """
        answer = b""
        try:
            self.qtest.sendall(f"set_irq_in {CPU} unnamed-gpio-in {number} {int(level)}\n".encode())
            answer = self.qtest.recv(64)
        except OSError:
            pass  # no answer is the error
        if answer != b"OK\n":
            raise QemuError(f"QEMU did not take interrupt {number}: {answer!r}")

    def cpu_seconds(self) -> float:
        """CPU time used so far; 0 where /proc does not tell."""
        try:
            descriptor = os.open(f"/proc/{self.pid}/stat", os.O_RDONLY)
        except OSError:
            return 0.0
        with os.fdopen(descriptor, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(options: Options) -> Qemu:
    """Start QEMU for `options`, stopped before the first instruction.

    Raises:
        QemuError: it is not installed.
        OSError: no memory for the board's DDR.
    """
    qemu = find_qemu()
    gdb, gdb_end = socket.socketpair()
    qtest, qtest_end = socket.socketpair()
    ddr = SharedDdr()
    uart, uart_end = os.pipe()
    errors, errors_end = os.pipe()
    qtest.settimeout(_ANSWER_WAIT)
    words = command_line(qemu, options, gdb_end.fileno(), qtest_end.fileno(), ddr)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        kept = (gdb_end.fileno(), qtest_end.fileno(), ddr.descriptor)
        _become(words, parent, uart_end, errors_end, kept)
    gdb_end.close()
    qtest_end.close()
    os.close(uart_end)
    os.close(errors_end)
    return Qemu(pid, gdb, qtest, uart, errors, ddr)


def _become(words: list[str], parent: int, uart: int, errors: int, kept: tuple[int, ...]) -> None:
    """In the child: turn into QEMU, in a session of its own, killed when the parent dies."""
    try:
        os.setsid()
        _die_with(parent)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a lock-up aborts QEMU
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (uart, 1), (errors, 2)):
            os.dup2(source, target)
        for descriptor in kept:
            os.set_inheritable(descriptor, True)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        # QEMU would end on these as if the program had exited with status 0; its parent ends it otherwise.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
        os.execv(words[0], words)
    except BaseException as error:  # whatever happened, never return into the parent's code
        os.write(2, f"cannot execute {words[0]}: {error}".encode())
    finally:
        os._exit(_EXEC_FAILED)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent is gone, however that ends (Linux)."""
    import ctypes  # only the child pays for it

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(_EXEC_FAILED)
