"""Probe: the features of QEMU that the stand-in relies on, against the QEMU that is installed.

Written for QEMU 7.2 and 10. Another version prints a warning in every run (`is_tested`); if one of
these tests fails on it, the stand-in cannot be trusted there.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from harness.standin.arguments import Options, parse
from harness.standin.boards import DDR
from harness.standin.ddr import SharedDdr
from harness.standin.gdb import PC, XPSR, Gdb, GuestMemoryError, Stop, parse_stop
from harness.standin.qemu import CPU, command_line, find_qemu, parse_version
from harness.targets import CORSTONE_320, FVP_SSE320

from .conftest import LIMIT, SEMIHOSTING, Firmware

ABSENT = 0x5000_4000


class Probe:
    """A QEMU started with the stand-in's command line, and a qtest connection beside."""

    def __init__(self, options: Options) -> None:
        ours, theirs = socket.socketpair()
        self.qtest, qtest = socket.socketpair()
        self.ddr = SharedDdr()
        words = command_line(find_qemu(), options, theirs.fileno(), qtest.fileno(), self.ddr)
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno(), qtest.fileno(), self.ddr.descriptor],
        )
        theirs.close()
        qtest.close()
        self.gdb = Gdb(ours)
        self.gdb.deadline = time.monotonic() + LIMIT

    def resume(self) -> bytes:
        """Run to the next packet."""
        self.gdb.resume()
        return self.gdb.receive()

    def finish(self) -> tuple[bytes, int]:
        """UART0's output and the exit status."""
        assert self.process.stdout is not None
        return self.process.stdout.read(), self.process.wait(LIMIT)


@pytest.fixture
def start(firmware: Firmware) -> Iterator[list[Probe]]:
    """Probes to be ended after the test."""
    probes: list[Probe] = []
    yield probes
    for probe in probes:
        probe.process.kill()
        probe.process.communicate()


@pytest.fixture
def hello(start: list[Probe], firmware: Firmware) -> Probe:
    start.append(
        Probe(parse([*SEMIHOSTING, "-C", "cpu0.semihosting-cmd_line=x,y", "-a", str(firmware("hello"))]))
    )
    return start[0]


@pytest.fixture
def absent(start: list[Probe], firmware: Firmware) -> Probe:
    start.append(Probe(parse([*SEMIHOSTING, "-a", str(firmware("probe"))])))
    return start[0]


def test_version_through_the_monitor(hello: Probe) -> None:
    printed = subprocess.run([find_qemu(), "--version"], capture_output=True, text=True, check=True).stdout
    version = parse_version(hello.gdb.monitor("info version"))
    assert version == parse_version(printed)
    assert len(version) >= 2


def test_starts_stopped_at_the_vector_table(hello: Probe) -> None:
    assert parse_stop(hello.gdb.request(b"?")) is not None
    registers = hello.gdb.core_registers()
    stack, reset = (int.from_bytes(hello.gdb.read_memory(0x1000_0000 + at, 4), "little") for at in (0, 4))
    assert registers[13] == stack
    assert registers[PC] == reset & ~1
    assert hello.gdb.read_memory(0, 64) == hello.gdb.read_memory(0x1000_0000, 64)  # non-secure alias


def test_memory_in_bulk_and_where_there_is_none(hello: Probe) -> None:
    data = os.urandom(100_003)
    for address in (0x2000_0000, 0x2100_0001, 0x3800_0000, 0x6000_0003, 0x7FFF_0000):
        hello.gdb.write_memory(address, data)
        assert hello.gdb.read_memory(address, len(data)) == data
    with pytest.raises(GuestMemoryError):
        hello.gdb.read_memory(0xF000_0000, 4)
    assert hello.gdb.core_registers()[PC]  # requests and replies are still in step


def test_registers_need_the_target_description(hello: Probe) -> None:
    assert 'name="pc"' in hello.gdb.target_description() + hello.gdb.target_description("arm-m-profile.xml")
    for number, value in ((0, 0x01234567), (7, 0xFFFFFFFF)):
        hello.gdb.write_register(number, value)
        assert hello.gdb.read_register(number) == value
        assert hello.gdb.core_registers()[number] == value
    assert hello.gdb.read_register(XPSR) & 1 << 24  # Thumb


def test_step_and_interrupt(hello: Probe) -> None:
    before = hello.gdb.core_registers()[PC]
    assert hello.gdb.step() == Stop(5, None)
    assert hello.gdb.core_registers()[PC] != before
    hello.gdb.write_memory(0x2000_0000, b"\xfe\xe7")  # b .
    hello.gdb.write_register(PC, 0x2000_0000)
    hello.gdb.resume()
    assert hello.gdb.interrupt() == Stop(2, None)
    assert hello.gdb.core_registers()[PC] == 0x2000_0000


def test_semihosting_arrives_as_file_io(hello: Probe) -> None:
    """Console calls are writes to 1 and 2, files have pointers with lengths, exit is a W packet."""
    packet, seen, console = hello.resume(), [], b""
    while packet.startswith(b"F"):
        name, *arguments = packet.decode().split(",")
        seen.append(name)
        result = 0
        if name == "Fopen":
            name_at, length = arguments[0].split("/")
            assert hello.gdb.read_memory(int(name_at, 16), int(length.rstrip("x"), 16)) == b"out.txt\0"
            assert int(arguments[1], 16) == 0x601  # O_WRONLY | O_CREAT | O_TRUNC of the protocol
            result = 5
        elif name == "Fwrite":
            number, address, size = (int(argument, 16) for argument in arguments)
            result = size
            console += hello.gdb.read_memory(address, size) if number in (1, 2) else b""
        hello.gdb.answer(result)
        packet = hello.gdb.receive()
    assert packet.startswith(b"W2a")
    assert set(seen) == {"Fwrite", "Fopen", "Fclose"}
    assert re.fullmatch(rb"semihosting two\ncmdline=<x,y>\ntt four\nfd \d\n", console)
    assert hello.finish() == (b"uart one\nuart three\nlast uart bytes", 42)


def test_access_watchpoint_stops_before_the_access_where_nothing_is(absent: Probe) -> None:
    gdb = absent.gdb
    gdb.watch(ABSENT, 0x1000)
    offsets = []
    for _ in range(2):
        stop = parse_stop(absent.resume())
        assert stop == Stop(5, ABSENT)
        # Skip the access: PC is still at it.
        pc = gdb.core_registers()[PC]
        code = int.from_bytes(gdb.read_memory(pc, 2), "little")
        assert code >> 12 == 6  # ldr or str with an immediate offset
        offsets.append((bool(code & 0x800), (code >> 6 & 31) * 4))
        if code & 0x800:
            gdb.write_register(code & 7, 987)
        else:
            assert gdb.core_registers()[code & 7] == 0x12345678
        gdb.write_register(PC, pc + 2)
    assert offsets == [(False, 8), (True, 12)]
    gdb.resume()
    absent.qtest.sendall(f"set_irq_in {CPU} unnamed-gpio-in 56 1\n".encode())
    assert absent.qtest.recv(64) == b"OK\n"
    assert gdb.receive().startswith(b"W01")
    assert absent.finish() == (b"987", 1)


def test_ddr_is_shared_both_ways(hello: Probe) -> None:
    ddr = hello.ddr.mapping()
    data = os.urandom(10_000)
    hello.gdb.write_memory(0x7000_0001, data)
    at = 0x7000_0001 - DDR.origin
    assert ddr[at : at + len(data)] == data
    ddr[at + 5 : at + 9] = b"host"
    assert hello.gdb.read_memory(0x7000_0006, 4) == b"host"
    ddr[-1] = 7
    assert hello.gdb.read_memory(0xDFFF_FFFF, 1) == b"\x07"


def test_several_registers_and_resume_in_one_go(absent: Probe) -> None:
    gdb = absent.gdb
    registers, code = gdb.snapshot(0x1000_0000, 4)
    assert registers == [*gdb.core_registers(), gdb.read_register(XPSR)]
    assert code == gdb.read_memory(0x1000_0000, 4)
    assert gdb.snapshot(0xF000_0000, 4)[1] == b""
    gdb.write_memory(0x2000_0000, b"\xfe\xe7")  # b .
    registers[3], registers[PC], registers[-1] = 33, 0x2000_0000, registers[-1] | 1 << 31
    gdb.resume(registers)
    assert gdb.interrupt() == Stop(2, None)
    assert gdb.snapshot(0, 4)[0] == registers


def test_another_vector_table_and_cpuid(start: list[Probe], firmware: Firmware) -> None:
    start.append(Probe(parse(["-a", str(firmware("hello", CORSTONE_320))], FVP_SSE320)))
    gdb = start[0].gdb
    assert gdb.monitor(f"qom-set {CPU}/cpu init-svtor 0x11000000") == ""
    assert gdb.monitor("system_reset") == ""
    stack, reset = (int.from_bytes(gdb.read_memory(0x1100_0000 + at, 4), "little") for at in (0, 4))
    registers = gdb.core_registers()
    assert (registers[13], registers[PC]) == (stack, reset & ~1)
    assert int(gdb.monitor(f"qom-get {CPU}/cpu midr"), 0) == 0x411F_D230
    start[0].qtest.sendall(f"set_irq_in {CPU} unnamed-gpio-in 16 1\n".encode())
    assert start[0].qtest.recv(64) == b"OK\n"


def test_lockup_ends_qemu_with_a_register_dump(start: list[Probe], firmware: Firmware) -> None:
    start.append(Probe(parse([*SEMIHOSTING, "-a", str(firmware("lockup"))])))
    start[0].gdb.resume()
    assert start[0].process.stderr is not None
    dump = start[0].process.stderr.read()
    assert start[0].process.wait(LIMIT) == -6
    assert re.search(rb"Lockup.*\n", dump)
    assert re.search(rb"R15=[0-9a-f]{8}", dump)
