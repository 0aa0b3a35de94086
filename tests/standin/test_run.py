"""Whole simulations: console, files, exit status and limits."""

from __future__ import annotations

import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .conftest import SEMIHOSTING, Firmware, RunStandin

STOPPED = b"Info: Simulation is stopping. Reason: CPU time has been exceeded."
BANNER = re.compile(
    rb"corstone-harness stand-in for FVP_Corstone_SSE-300_Ethos-U55 "
    rb"\(QEMU [\d.]+, mps3-an547\); not Arm's FVP\n"
)
EOT_ON = ("-C", "mps3_board.uart0.shutdown_on_eot=1")


def body(run: subprocess.CompletedProcess[bytes]) -> bytes:
    """Output behind the banner (and a warning about an untried QEMU)."""
    match = BANNER.match(run.stdout)
    assert match, run.stdout
    return re.sub(rb"\AWarning: stand-in: QEMU [^\n]*untried[^\n]*\n", b"", run.stdout[match.end() :])


def test_console_order_command_line_file_and_status(
    firmware: Firmware, run_standin: RunStandin, tmp_path: Path
) -> None:
    run = run_standin(firmware("hello"), *SEMIHOSTING, "-C", "cpu0.semihosting-cmd_line='a,b  c=\"d\"'")
    assert body(run) == (
        b'uart one\nsemihosting two\nuart three\ncmdline=<a,b  c="d">\ntt four\nfd 2\nlast uart bytes'
    )
    assert run.returncode == 42
    assert (tmp_path / "out.txt").read_bytes() == b"content"


def test_upstream_command_line(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    """All parameters that upstream's run_corstone passes for this board, quotes included."""
    words = (
        "-C ethosu.num_macs=128 -C mps3_board.visualisation.disable-visualisation=1 "
        "-C mps3_board.telnetterminal0.start_telnet=0 -C mps3_board.uart0.out_file='-' "
        "-C cpu0.semihosting-enable=1 -C cpu0.semihosting-stack_base=0 -C cpu0.semihosting-heap_limit=0 "
        f"-C cpu0.semihosting-cwd={tmp_path} -C ethosu.extra_args='--fast' --timelimit 120"
    ).split()
    line = "executor_runner -m program.pte -o out -i i0.bin"
    run = run_standin(firmware("hello"), *words, "-C", f"cpu0.semihosting-cmd_line='{line}'")
    assert f"cmdline=<{line}>".encode() in body(run)
    assert run.returncode == 42


def test_command_line_is_cut_at_256_characters(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("hello"), *SEMIHOSTING, "-C", "cpu0.semihosting-cmd_line=" + "x" * 255 + "yz")
    assert b"cmdline=<" + b"x" * 255 + b"y>\n" in body(run)


def test_no_success_line_looks_like_a_failure(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("silent"), *SEMIHOSTING, "--stat")
    assert run.returncode == 0
    assert not re.search(rb"(^[EF][: ].*$)|(^.*Hard fault.*$)|(^.*Assertion.*$)", run.stdout, re.MULTILINE)
    assert b"stand-in statistics" in run.stdout


def test_firmware_that_prints_nothing(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("silent"), *SEMIHOSTING)
    assert (body(run), run.returncode) == (b"", 0)
    assert (
        run_standin(firmware("silent"), *SEMIHOSTING, "-q").stdout == run.stdout[run.stdout.find(b"\n") + 1 :]
    )


def test_uart_goes_to_a_file(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    run = run_standin(firmware("hello"), *SEMIHOSTING, "-C", "mps3_board.uart0.out_file='uart log.txt'")
    assert (tmp_path / "uart log.txt").read_bytes() == b"uart one\nuart three\nlast uart bytes"
    assert b"uart" not in body(run)
    assert b"semihosting two" in body(run)


def test_no_byte_before_the_exit_is_lost(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("flood"), *SEMIHOSTING)
    assert body(run) == b"0123456789abcde\n" * 30000 + b"the end"
    assert run.returncode == 7


def test_eot_ends_the_simulation(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("eot"), *EOT_ON)
    assert (body(run), run.returncode) == (b"before\n", 0)


def test_eot_is_a_byte_like_others_unless_asked_for(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("eot"), "--timelimit", "1")
    assert body(run).startswith(b"before\n\x04after\n" + STOPPED + b"\n")


@pytest.mark.parametrize("option", ["--timelimit", "--cpulimit", "-T"])
def test_limit_stops_as_the_fvp_does(option: str, firmware: Firmware, run_standin: RunStandin) -> None:
    begin = time.monotonic()
    run = run_standin(firmware("hang"), option, "0.5")
    assert time.monotonic() - begin >= 0.5
    # The guest's line was not finished: the message must not continue it.
    assert body(run).startswith(b"started\n" + STOPPED + b"\n")
    assert re.search(rb"PC=0x1000[0-9a-f]{4} ", run.stdout)
    assert run.returncode == 0


def test_limit_counts_while_the_program_waits_for_input(firmware: Firmware, launcher: Path) -> None:
    command: list[str | Path] = [launcher, *SEMIHOSTING, "--timelimit", "0.5", "-a", firmware("input")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert STOPPED in process.stdout.read()
        assert process.wait() == 0


def test_lockup_is_reported_with_its_place(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("lockup"), *SEMIHOSTING)
    assert body(run).startswith(b"about to fault\nError: stand-in: the CPU locked up at PC=0x")
    assert re.search(rb"PC=0x[0-9a-f]{8} \(LR=0x[0-9a-f]{8}, xPSR=0x[0-9a-f]{8}\)", run.stdout)
    assert run.returncode == 4


def test_semihosting_is_off_unless_enabled(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("hello"), "--timelimit", "20")
    assert b"semihosting two" not in body(run)
    assert run.returncode == 4  # an unserved BKPT is a fault, and this program has no handler


def test_data_is_loaded(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    (tmp_path / "a, b=c.bin").write_bytes(b"from a file\0")
    run = run_standin(firmware("data"), *SEMIHOSTING, "--data", "a, b=c.bin@0x90000000")
    assert (body(run), run.returncode) == (b"from a file", 0)


def test_standard_input_reaches_the_program(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("input"), *SEMIHOSTING, stdin=b"some words\n")
    assert (body(run), run.returncode) == (b"got some words\n", 0)


def test_bulk_data_survives(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    run = run_standin(firmware("bulk"), *SEMIHOSTING)
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "bulk.bin").read_bytes() == bytes((i * 7 ^ i >> 8) & 0xFF for i in range(3000001))


def test_paths_with_blanks(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    place = tmp_path / "a directory, with 'quotes'"
    place.mkdir()
    elf = place / "my program.elf"
    elf.write_bytes(firmware("hello").read_bytes())
    run = run_standin(elf, *SEMIHOSTING, "-C", f"cpu0.semihosting-cwd={place}")
    assert run.returncode == 42
    assert (place / "out.txt").read_bytes() == b"content"


def test_parallel_runs(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    def one(number: int) -> bytes:
        place = tmp_path / str(number)
        place.mkdir()
        run = run_standin(elf, *SEMIHOSTING, "-C", f"cpu0.semihosting-cmd_line=n{number}", cwd=place)
        assert run.returncode == 42
        assert (place / "out.txt").read_bytes() == b"content"
        return body(run)

    elf = firmware("hello")
    with ThreadPoolExecutor(6) as pool:
        for number, output in enumerate(pool.map(one, range(12))):
            assert b"cmdline=<n%d>" % number in output
