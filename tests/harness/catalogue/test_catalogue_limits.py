"""Rows D: hangs and time limits. Each hang is a real process; the limits are short."""

from __future__ import annotations

import pytest

from harness.flow import Limits
from tests.harness.bench import BANNER, BOOT, LOAD, RUN, Bench, log, prints
from tests.harness.catalogue.conftest import Link
from tests.harness.catalogue.expect import expect

# A loaded machine takes its time to start a process, so only the limit under test is short.
SHORT = Limits(launch=30.0, silence=0.4, total=600.0)
IN_THE_RUN = (*BOOT, *LOAD, RUN[0])


def test_catalogue_D1_a_silent_boot_is_found_at_the_boot_limit(bench: Bench) -> None:
    attempt = bench.attempt(*prints(BANNER), ["hang"], limits=SHORT)
    expect(attempt.outcome, "CONFIG/SEMIHOSTING", "boot", 0)
    assert attempt.result is not None
    assert attempt.result.durations["simulate"] < 10.0


@pytest.mark.parametrize(("name", "told"), [("tensor_arena", True), ("counters", False)])
def test_catalogue_D4_a_hang_names_buffers_that_are_not_aligned(
    bench: Bench, link: Link, name: str, told: bool
) -> None:
    buffer = f'char {name}[64] __attribute__((section(".ddr"), aligned(8))) = {{1}};'
    path = link(buffer + "int _start(void) { return 0; }", "-Wl,--section-start=.ddr=0x70000008")
    (bench.directory / "runner.elf").write_bytes(path.read_bytes())
    outcome = bench.attempt(*prints(*IN_THE_RUN), ["hang"], limits=SHORT).outcome
    expect(outcome, "TIMEOUT", "run", "resolve")
    assert (f"not 16-byte aligned: {name} at 0x70000008" in outcome.hint) is told


def test_catalogue_D5_a_start_up_that_hangs_is_bounded(bench: Bench) -> None:
    outcome = bench.attempt(["hang"], limits=Limits(launch=0.4, silence=600.0, total=600.0)).outcome
    expect(outcome, "TIMEOUT", "launch", 1)
    assert outcome.detail["limit"] == "launch"


@pytest.mark.parametrize(
    ("limits", "fired", "origin"),
    [
        (Limits(launch=30, silence=0.4, total=60), "silence", "--silence-limit"),
        (Limits(launch=30, silence=60, total=2.0), "total", "--timelimit"),
    ],
)
def test_catalogue_D8_the_limit_that_fired_is_named_with_its_origin(
    bench: Bench, limits: Limits, fired: str, origin: str
) -> None:
    outcome = bench.attempt(*prints(*IN_THE_RUN), ["hang"], limits=limits).outcome
    expect(outcome, "TIMEOUT", "run", "resolve")
    assert f"ended by the {fired} limit" in outcome.summary
    assert outcome.detail["seconds"] == getattr(limits, fired)
    assert origin in outcome.hint


def test_catalogue_D8_the_simulators_own_limit_is_another(bench: Bench) -> None:
    line = "Info: Simulation is stopping. Reason: CPU time has been exceeded."
    outcome = bench.attempt(*prints(*IN_THE_RUN, log("I", "working"), line)).outcome
    expect(outcome, "CPU_LIMIT", "run", "resolve")
    assert f"--timelimit {bench.spec.limits.simulated}" in outcome.summary
