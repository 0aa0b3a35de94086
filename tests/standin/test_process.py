"""Ends that nobody wished for: no process is left over, and none of them looks like a pass."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.standin.arguments import parse
from harness.standin.console import Console
from harness.standin.main import announce
from harness.standin.qemu import OVERRIDE, is_tested, parse_version

from .conftest import LIMIT, Firmware, children, is_running


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + LIMIT
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} is left over"
        time.sleep(0.005)


@contextmanager
def hanging(launcher: Path, elf: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The stand-in with a program that hangs: the process, and QEMU's pid once the program runs."""
    with subprocess.Popen(
        [launcher, "-a", elf], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            output = b""
            while not output.endswith(b"started"):
                byte = process.stdout.read(1)
                assert byte, output
                output += byte
            (qemu,) = children(process.pid)
            yield process, qemu
        finally:
            process.kill()


@pytest.fixture
def hang_up_by_default() -> Iterator[None]:
    """Under nohup the tests ignore SIGHUP, and what they start would do so too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_up_by_default")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_both(number: signal.Signals, launcher: Path, firmware: Firmware) -> None:
    with hanging(launcher, firmware("hang")) as (process, qemu):
        process.send_signal(number)
        assert process.wait(LIMIT) == 128 + number
        assert not is_running(qemu)


def test_killed_standin_takes_qemu_along(launcher: Path, firmware: Firmware) -> None:
    with hanging(launcher, firmware("hang")) as (process, qemu):
        process.kill()
        wait_until_gone(qemu)


def test_killed_group_takes_qemu_along(launcher: Path, firmware: Firmware) -> None:
    with hanging(launcher, firmware("hang")) as (process, qemu):
        assert os.getpgid(qemu) != process.pid
        os.killpg(process.pid, signal.SIGKILL)
        wait_until_gone(qemu)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_killed_qemu_is_an_error(number: signal.Signals, launcher: Path, firmware: Firmware) -> None:
    """Signals that QEMU handles, after which it exits with status 0, do not reach it."""
    with hanging(launcher, firmware("hang")) as (process, qemu):
        for handled in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(qemu, handled)
        os.kill(qemu, number)
        assert process.stdout is not None
        output = process.stdout.read()
        assert process.wait(LIMIT) == 3
        assert output.startswith(b"\nError: stand-in: QEMU ")
        assert b"before the program finished" in output


def test_stopped_qemu_does_not_defeat_the_time_limit(launcher: Path, firmware: Firmware) -> None:
    command: list[str | Path] = [launcher, "--timelimit", "1", "-a", firmware("hang")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while not process.stdout.read(1):
            pass
        (qemu,) = children(process.pid)
        os.kill(qemu, signal.SIGSTOP)
        assert b"CPU time has been exceeded." in process.stdout.read()
        assert process.wait(LIMIT) == 0
        assert not is_running(qemu)


def test_closed_output_ends_the_simulation(launcher: Path, firmware: Firmware) -> None:
    with subprocess.Popen([launcher, "-a", firmware("eot")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(LIMIT) == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'no such machine' >&2; exit 1", b"ended with status 1 before the program finished"),
        ("exit 0", b"ended with status 0 before the program finished"),
        ("kill -SEGV $$", b"was killed by signal 11 before the program finished"),
    ],
)
def test_qemu_that_fails_to_start(
    script: str, message: bytes, launcher: Path, firmware: Firmware, tmp_path: Path
) -> None:
    fake = tmp_path / "qemu"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, OVERRIDE: str(fake)}
    run = subprocess.run(
        [launcher, "-a", firmware("silent")], env=environment, capture_output=True, timeout=LIMIT
    )
    assert run.returncode == 3
    assert message in run.stdout
    assert (b"no such machine" in run.stdout) == ("no such machine" in script)


def test_no_qemu_at_all(launcher: Path, firmware: Firmware, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop(OVERRIDE, None)
    run = subprocess.run(
        ["/bin/sh", launcher, "-a", firmware("silent")], env=environment, capture_output=True, timeout=LIMIT
    )
    assert run.returncode == 3
    assert b"no qemu-system-arm on PATH; install it" in run.stdout + run.stderr


def test_module_is_the_same_program(firmware: Firmware) -> None:
    command = [sys.executable, "-m", "harness.standin", "-C", "cpu0.semihosting-enable=1"]
    run = subprocess.run([*command, "-a", firmware("silent")], capture_output=True, timeout=LIMIT)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("text", "version", "tested"),
    [
        ("7.2.22Debian 1:7.2+dfsg-7+deb12u18+b3", (7, 2, 22), True),
        ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", (10, 0, 2), True),
        ("8.2.2", (8, 2, 2), False),
        ("7.1.0", (7, 1, 0), False),
        ("unreadable", (), False),
    ],
)
def test_other_versions_are_announced(
    text: str, version: tuple[int, ...], tested: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    assert parse_version(text) == version
    assert is_tested(version) == tested
    announce(parse(["-a", "x.elf"]), Console(), text)
    banner, *warnings = capfd.readouterr().out.splitlines()
    assert f"(QEMU {'.'.join(map(str, version)) or text}, mps3-an547); not Arm's FVP" in banner
    assert len(warnings) == (not tested)
    assert all(re.match("Warning: stand-in: QEMU .* is untried", warning) for warning in warnings)
