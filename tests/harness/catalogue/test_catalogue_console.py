"""Rows C: the console and the output files."""

from __future__ import annotations

import resource
import signal
import threading
from pathlib import Path
from time import perf_counter, process_time

import pytest

from harness.engines import FvpEngine, run_attempt
from harness.engines.execute import ETDUMP_NAME
from harness.flow import Attempt, Limits
from harness.outcomes import OutcomeClass
from tests.harness.bench import (
    BANNER,
    BOOT,
    DONE,
    GOOD,
    LOAD,
    REFERENCE,
    RUN,
    WRITE,
    Bench,
    Step,
    end,
    log,
    prints,
    wait_until,
    writes,
)
from tests.harness.catalogue.expect import Reruns, expect

FAULT = log("F", "Hard fault: CFSR=0x00008200 HFSR=0x40000000 PC=0x10000104 LR=0x1")
MEGABYTE = 1 << 20


def test_catalogue_C1_harmless_lines_that_begin_like_errors_are_none(bench: Bench) -> None:
    lines = ("Ethos-U rev 136b7d75", "Finished set-up", "Info: E and F are letters", *GOOD)
    assert bench.attempt(writes(), *prints(*lines)).outcome.green


@pytest.mark.parametrize(
    ("line", "kind", "phase", "reruns"),
    [
        ("Info: Simulation is stopping. Reason: CPU time has been exceeded.", "CPU_LIMIT", "run", "resolve"),
        ("error while loading shared libraries: libX.so", "EXIT_STATUS", "run", "ladder"),
        ("qemu: fatal: Lockup: can't escalate 3 to HardFault", "LOCKUP", "run", "ladder"),
        (f"Writing\x1b[31m{FAULT}\x1b[0m", "FAULT", "run", "ladder"),
        (
            f"half a line {log('F', 'In function execute(), assert failed (n > 0): empty')}",
            "ABORT",
            "run",
            "ladder",
        ),
        (
            log("E", "Memory allocation failed: 64B requested (adjusted for alignment), 8B available"),
            "MEM",
            "run",
            0,
        ),
    ],
)
def test_catalogue_C2_each_line_has_its_own_class(
    bench: Bench, line: str, kind: str, phase: str, reruns: Reruns
) -> None:
    expect(bench.attempt(*prints(*BOOT, *LOAD, RUN[0], line), ["exit", 1]).outcome, kind, phase, reruns)


def test_catalogue_C3_a_long_log_has_a_short_summary_and_stays_on_disk(bench: Bench) -> None:
    flood: Step = ["repeat", log("I", "noise " + "y" * 200), 22_000]
    outcome = bench.attempt(*prints(*BOOT, *LOAD), flood, ["exit", 255]).outcome
    expect(outcome, "EXIT_STATUS", "load", "ladder")
    assert len(outcome.summary + outcome.hint) < 4000
    assert "console.log" in outcome.hint
    assert (bench.directory / "console.log").stat().st_size > 5 * MEGABYTE


def test_catalogue_C4_the_log_grows_while_the_simulator_runs(bench: Bench) -> None:
    """The second line is printed at a signal that is sent when the first is in the file."""
    done: list[Attempt] = []
    steps = (["on_signal", signal.SIGTERM, "second"], *prints("first"), ["hang"])
    thread = threading.Thread(
        target=lambda: done.append(bench.attempt(*steps, limits=Limits(launch=30, silence=1.0, total=60)))
    )
    thread.start()
    file = bench.directory / "console.log"
    wait_until(lambda: file.exists() and b"first" in file.read_bytes())
    assert thread.is_alive()
    assert b"second" not in file.read_bytes()
    thread.join()
    assert "second" in bench.console()


def test_catalogue_C5_an_empty_console_is_no_verdict(bench: Bench) -> None:
    outcome = bench.attempt(writes(), ["exit", 0]).outcome
    expect(outcome, "NO_VERDICT", "verify", 0)
    assert "logging" in outcome.hint


def test_catalogue_C6_bytes_that_are_no_text_do_not_hide_the_marker(bench: Bench) -> None:
    assert bench.attempt(writes(), ["raw", "ff0a"], *prints(*GOOD)).outcome.green


def memory() -> int:
    """Most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_catalogue_C7_a_long_log_is_read_in_seconds_and_in_bounded_memory(bench: Bench) -> None:
    """60 MB of runner lines, each of which has to be looked at, with a fault in their midst."""
    text = log("I", "Output[0][0]: 1.500000 " + "." * 40)
    count = 60 * MEGABYTE // (len(text) + 7)
    half: Step = ["repeat", text, count // 2 // 1000 * 1000 + 1000]
    before, started, worked = memory(), perf_counter(), process_time()
    steps = (writes(), *prints(*GOOD[:-1]), half, *prints(FAULT), half, *prints(end()))
    attempt = bench.attempt(*steps, limits=Limits(launch=60, silence=60, total=300))
    seconds, processor = perf_counter() - started, process_time() - worked
    size = (bench.directory / "console.log").stat().st_size
    growth = memory() - before
    print(
        f"{size / MEGABYTE:.0f} MB: {seconds:.2f} s, of the harness {processor:.2f} s, {growth >> 20} MB more"
    )
    assert attempt.outcome.kind is OutcomeClass.FAULT
    assert size > 60 * MEGABYTE
    assert growth < 50 * MEGABYTE
    # The processor's time: other tests may keep the machine busy.
    assert processor < 5.0


def test_catalogue_C8_a_bad_status_behind_a_pass_is_red(bench: Bench) -> None:
    outcome = bench.attempt(writes(), *prints(*GOOD), ["exit", 3]).outcome
    expect(outcome, "EXIT_STATUS", "exit", "ladder")
    assert outcome.detail["status"] == 3


def test_catalogue_C9_text_after_the_marker_is_read(bench: Bench) -> None:
    expect(bench.attempt(writes(), *prints(*GOOD, FAULT)).outcome, "LATE_FAULT", "exit", "ladder")


def test_catalogue_C10_an_output_of_an_earlier_run_does_not_count(bench: Bench) -> None:
    (bench.directory / "out-0.bin").write_bytes(REFERENCE)
    expect(bench.attempt(*prints(*GOOD)).outcome, "NO_OUTPUT", "verify", "ladder")


@pytest.mark.parametrize(
    ("lines", "phase"),
    [
        ((), "launch"),
        ((BANNER,), "boot"),
        (BOOT, "load"),
        ((*BOOT, *LOAD, RUN[0]), "run"),
        ((*BOOT, *LOAD, *RUN), "verify"),
        (GOOD, "exit"),
    ],
)
def test_catalogue_C11_every_reason_carries_its_phase(
    bench: Bench, lines: tuple[str, ...], phase: str
) -> None:
    expect(bench.attempt(writes(), *prints(*lines), ["kill", 9]).outcome, "EXIT_STATUS", phase, "ladder")


def test_catalogue_C12_printed_values_are_not_data(bench: Bench) -> None:
    lies = (log("I", "Output[0][0]: 99"), log("I", "Output[0][1]: nan"))
    lines = (*BOOT, *LOAD, *RUN, *lies, *WRITE, *DONE, end())
    attempt = bench.attempt(writes(), *prints(*lines))
    assert attempt.outcome.green
    assert attempt.comparisons[0].worst == 0


def test_catalogue_C13_a_profile_is_decoded_and_nothing_is_executed(bench: Bench, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("still here")
    script = (
        "#[RUN THIS]",
        f"$(rm {victim})",
        f"rm {victim}; echo RVRkdW1w | base64 -d > {victim}",
        "RVRkdW1w",
        "AAEC/w==",
        "#[END]",
    )
    bench.fake.does(writes(), *prints(*GOOD[:-1], *script, GOOD[-1]))
    attempt = run_attempt(FvpEngine(bench.fake.executable), bench.spec, bench.directory)
    assert attempt.outcome.green, attempt.outcome
    assert victim.read_text() == "still here"
    # Two pieces with padding in the second only: one text of base64.
    assert (bench.directory / ETDUMP_NAME).read_bytes() == b"ETdump\x00\x01\x02\xff"


def test_catalogue_C13_a_log_without_the_end_of_the_profile_has_none(bench: Bench) -> None:
    (bench.directory / ETDUMP_NAME).write_bytes(b"of an earlier run")
    assert bench.attempt(writes(), *prints("#[RUN THIS]", "RVRkdW1w", *GOOD)).outcome.green
    assert not (bench.directory / ETDUMP_NAME).exists()
