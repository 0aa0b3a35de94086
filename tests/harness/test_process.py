"""The process on the pseudo-terminal: limits, groups, lines, bytes, status, memory."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.console.events import significant
from harness.console.process import LaunchError, ProcessRecord, run_process
from harness.console.recorder import LONGEST_LINE, LineSplitter
from harness.flow import Limits
from tests.harness.bench import Fake, Step, end, prints, wait_until

LIMITS = Limits(launch=5.0, silence=5.0, total=20.0)
# A harness of its own: boots {argv} with its console in {log}.
HARNESS = """
from pathlib import Path
from harness.console.process import run_process
from harness.flow import Limits
run_process({argv!r}, env={{}}, log=Path({log!r}), limits=Limits())
"""
SHORT = Limits(launch=0.3, silence=0.3, total=5.0)


def run(fake: Fake, *steps: Step, limits: Limits = LIMITS) -> ProcessRecord:
    fake.does(*steps)
    return run_process(
        [str(fake.executable), "-a"],
        env=dict(os.environ),
        log=fake.executable.parent / "console.log",
        limits=limits,
        significant=significant,
    )


def log_lines(fake: Fake) -> list[bytes]:
    return (fake.executable.parent / "console.log").read_bytes().split(b"\n")[:-1]


@pytest.mark.parametrize("status", [0, 1, 3, 255])
def test_exit_status(fake: Fake, status: int) -> None:
    record = run(fake, *prints("hello"), ["exit", status])
    assert (record.stopped_by, record.exit_status) == ("exit", status)
    assert [line.text for line in record.lines] == ["hello"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_signal_is_a_negative_status(fake: Fake, number: int) -> None:
    assert run(fake, ["kill", number]).exit_status == -number


def test_terminal_is_wide_and_the_process_leads_its_own_session(fake: Fake) -> None:
    record = run(fake, ["terminal"])
    assert record.lines[0].text == "columns=32767 leader=True group=True controlling=True"


def test_input_is_not_echoed_and_sigpipe_is_not_ignored(fake: Fake) -> None:
    assert run(fake, ["kill", signal.SIGPIPE]).exit_status == -signal.SIGPIPE


def test_line_ends_and_a_last_line_without_one(fake: Fake) -> None:
    record = run(fake, ["raw", b"one\r\ntwo\n\nthree".hex()])
    assert [line.text for line in record.lines] == ["one", "two", "", "three"]
    assert record.total_lines == 4


def test_bytes_that_are_no_utf8(fake: Fake) -> None:
    record = run(fake, ["raw", "61ff62c30a"], *prints(end()))
    assert record.lines[0].text == "a�b�"
    assert record.lines[1].text == end()
    assert log_lines(fake)[0].endswith(b"] a\xffb\xc3")


def test_characters_split_between_two_reads_stay_whole() -> None:
    splitter = LineSplitter()
    assert splitter.feed("grün"[:3].encode()[:3]) == []
    assert splitter.feed("grün\n".encode()[3:]) == ["grün".encode()]


@pytest.mark.parametrize(
    ("steps", "reason"),
    [([["hang"]], "launch"), ([*prints("banner"), ["hang"]], "silence"), ([["close"], ["hang"]], "launch")],
)
def test_limits(fake: Fake, steps: list[Step], reason: str) -> None:
    started = time.monotonic()
    record = run(fake, *steps, limits=SHORT)
    assert (record.stopped_by, record.exit_status) == (reason, None)
    assert 0.3 <= record.durations["total"] <= time.monotonic() - started < 60.0


def test_total_limit_fires_while_output_flows(fake: Fake) -> None:
    record = run(fake, ["repeat", "x", 10**9], limits=Limits(launch=5, silence=5, total=0.5))
    assert record.stopped_by == "total"
    assert record.durations["total"] < 60.0


def test_progress_keeps_a_run_alive_beyond_the_silence_limit(fake: Fake) -> None:
    """Each line comes after 0.4 of the limit; three of them take longer than the limit."""
    script = "import sys, time\nfor i in range(4): print(i, flush=True); time.sleep(1.2)"
    record = run_process(
        [sys.executable, "-IS", "-c", script],
        env={},
        log=fake.executable.parent / "console.log",
        limits=Limits(launch=30, silence=3, total=60),
    )
    assert (record.stopped_by, record.total_lines) == ("exit", 4)
    assert record.lines[3].time - record.lines[0].time > 3


def test_last_words_after_sigterm_are_kept(fake: Fake) -> None:
    record = run(fake, ["on_signal", signal.SIGTERM, "stopping"], *prints("up"), ["hang"], limits=SHORT)
    assert [line.text for line in record.lines] == ["up", "stopping"]


@pytest.mark.parametrize("own_session", [False, True])
@pytest.mark.parametrize("ending", [["hang"], ["exit", 0]], ids=["hangs", "ends"])
def test_no_process_is_left(fake: Fake, own_session: bool, ending: Step) -> None:
    """Offspring deaf to SIGTERM dies with the group; in a session of its own it is found by its descent."""
    record = run(fake, ["offspring", own_session], ending, limits=SHORT)
    pid = int(record.lines[0].text.split()[1])
    try:
        if own_session and ending == ["exit", 0]:
            assert record.exit_status == 0, "nobody can find it any more, but it must not hold up the run"
        else:
            wait_until(lambda: not alive(pid))
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    assert record.durations["total"] < 60.0


@pytest.mark.parametrize("before", [[], ["nohup"]], ids=["plain", "nohup"])
def test_everything_dies_with_the_harness(fake: Fake, tmp_path: Path, before: list[str]) -> None:
    """The harness is killed: its terminal closes, and the simulator is hung up."""
    fake.does(["arguments"], ["offspring", False], ["hang"])
    script = HARNESS.format(argv=[str(fake.executable), "-a"], log=str(tmp_path / "log"))
    with subprocess.Popen([*before, sys.executable, "-c", script]) as harness:
        me = psutil.Process(harness.pid)
        family = wait_until(lambda: found if len(found := me.children(recursive=True)) == 2 else None)
        wait_until(lambda: (tmp_path / "log").read_text().count("\n") == 2)
        harness.kill()
    _, left = psutil.wait_procs(family[:1], timeout=5)
    assert not left
    for process in family[1:]:
        process.kill()  # deaf to SIGHUP on purpose


def test_interruption_leaves_no_process(fake: Fake, tmp_path: Path) -> None:
    fake.does(*prints("up"), ["ignore", signal.SIGHUP], ["ignore", signal.SIGTERM], ["hang"])
    script = HARNESS.format(argv=[str(fake.executable), "-a"], log=str(tmp_path / "log"))
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as harness:
        wait_until(lambda: (tmp_path / "log").exists() and b"up" in (tmp_path / "log").read_bytes())
        (child,) = psutil.Process(harness.pid).children()
        harness.send_signal(signal.SIGINT)
        harness.wait(10)
    assert not alive(child.pid)


def test_long_log_is_complete_on_disk_and_bounded_in_memory(fake: Fake) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    worked = time.process_time()
    record = run(fake, ["repeat", "I [executorch:x.cpp:1 f()] Output[0]", 200_000], *prints(end()))
    assert time.process_time() - worked < 5.0
    assert record.total_lines == 200_001
    assert len(record.lines) < 5000
    assert record.lines[-1].text == end()
    lines = log_lines(fake)
    assert len(lines) == 200_001
    assert lines[1234].endswith(b"f()] Output[0] 234")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024  # [KiB]


def test_lines_with_a_meaning_are_kept_from_the_middle(fake: Fake) -> None:
    record = run(fake, ["repeat", "x", 5000], *prints("E549: bad", end()), ["repeat", "x", 5000])
    texts = [line.text for line in record.lines]
    assert texts[2000:2002] == ["E549: bad", end()]
    assert len(texts) == 4002
    assert [line.time for line in record.lines] == sorted(line.time for line in record.lines)


def test_one_endless_line(fake: Fake) -> None:
    size = 40 * LONGEST_LINE + 10
    record = run(fake, ["chunk", "z", size], ["raw", "0a"], *prints(end()))
    assert record.lines[-1].text == end()
    assert record.total_lines >= 41
    assert sum(len(line.partition(b"] ")[2]) for line in log_lines(fake)[:-1]) == size
    assert max(len(line.text) for line in record.lines) < 5000


def test_log_grows_while_the_process_runs(fake: Fake, tmp_path: Path) -> None:
    """The process waits for a signal that is sent only once its first line is in the file."""
    fake.does(["on_signal", signal.SIGUSR1, "signalled"], *prints("first"), ["hang"])
    log = tmp_path / "log"
    script = (
        "import os, signal, sys, time\nfrom pathlib import Path\nimport psutil\n"
        f"log = Path({str(log)!r})\n"
        "while not (log.exists() and b'first' in log.read_bytes()): time.sleep(0.005)\n"
        f"[p.send_signal(signal.SIGUSR1) for p in psutil.Process({os.getpid()}).children()"
        f" if {str(fake.executable)!r} in p.cmdline()]\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]):
        record = run_process(
            [str(fake.executable), "-a"],
            env={},
            log=log,
            limits=Limits(launch=5, silence=1.0, total=20),
        )
    assert [line.text for line in record.lines] == ["first", "signalled"]


@pytest.mark.parametrize("data", [b"\x7fELF not a program", b"", b"#!/no/such/interpreter\n"])
def test_what_cannot_be_executed_is_a_launch_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "FVP"
    path.write_bytes(data)
    path.chmod(0o755)
    with pytest.raises(LaunchError):
        run_process([str(path), "-a"], env={}, log=tmp_path / "log", limits=LIMITS)


def test_absent_executable_is_a_launch_error(tmp_path: Path) -> None:
    with pytest.raises(LaunchError):
        run_process([str(tmp_path / "none"), "-a"], env={}, log=tmp_path / "log", limits=LIMITS)


def alive(pid: int) -> bool:
    """True if the process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
