"""Whole attempts on a fake FVP: each kind of failure is its own red outcome, never a pass."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import FvpEngine, run_attempt
from harness.flow import Limits, RunSpec, TensorSpec, Tolerance
from harness.outcomes import OutcomeClass, Phase
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
    writes,
)

SHORT = Limits(launch=0.4, silence=0.4, total=5.0)
HARD_FAULT = log("F", "Hard fault: CFSR=0x00008200 HFSR=0x40000000 MMFAR=0x0 BFAR=0x60 PC=0x10000104 LR=0x1")


def test_a_good_run_passes_and_leaves_its_evidence(bench: Bench) -> None:
    attempt = bench.attempt(writes(), *prints(*GOOD), ["exit", 0])
    assert attempt.outcome.kind is OutcomeClass.PASS, attempt.outcome
    assert attempt.outcome.phase is Phase.EXIT
    assert attempt.outcome.detail["elements"] == 4
    result = attempt.result
    assert result is not None
    assert result.exit_status == 0
    assert list(result.outputs) == ["out-0.bin"]
    assert [line.text for line in result.lines] == list(GOOD)
    assert result.engine.kind == "fvp"
    assert result.environment["python"]
    assert RunSpec.from_json((bench.directory / "runspec.json").read_text()) == bench.spec
    assert all(row.startswith("[") and "] " in row for row in bench.console().splitlines())


CASES: dict[str, tuple[list[Step], OutcomeClass, Phase]] = {
    "one output byte corrupted": (
        [writes(bytes([1, 2, 3, 200])), *prints(*GOOD)],
        OutcomeClass.WRONG,
        Phase.VERIFY,
    ),
    "output missing": (prints(*GOOD), OutcomeClass.NO_OUTPUT, Phase.VERIFY),
    "output holds only the fill": (
        [writes(b"\xa5" * 4), *prints(*GOOD)],
        OutcomeClass.OUTPUT_NOT_WRITTEN,
        Phase.VERIFY,
    ),
    "output too short": ([writes(REFERENCE[:3]), *prints(*GOOD)], OutcomeClass.SHAPE, Phase.VERIFY),
    "output of a wider type": ([writes(bytes(16)), *prints(*GOOD)], OutcomeClass.DTYPE, Phase.VERIFY),
    "empty output": ([writes(b""), *prints(*GOOD)], OutcomeClass.SHAPE, Phase.VERIFY),
    "one LSB": ([writes(bytes([1, 2, 3, 253])), *prints(*GOOD)], OutcomeClass.LSB_TIE, Phase.VERIFY),
    "simulator prints nothing": ([["exit", 0]], OutcomeClass.NO_VERDICT, Phase.VERIFY),
    "simulator prints nothing, output is there": ([writes()], OutcomeClass.NO_VERDICT, Phase.VERIFY),
    "no marker": ([writes(), *prints(*GOOD[:-1])], OutcomeClass.NO_VERDICT, Phase.VERIFY),
    "two markers": ([writes(), *prints(*GOOD, end())], OutcomeClass.NO_VERDICT, Phase.VERIFY),
    "marker without an output": (
        [writes(), *prints(*GOOD[:-1], end(0, 0))],
        OutcomeClass.NO_OUTPUT,
        Phase.VERIFY,
    ),
    "marker inside another text": (
        [writes(), *prints(*GOOD[:-1], log("I", "name harness: end status=0 outputs=1"))],
        OutcomeClass.NO_VERDICT,
        Phase.VERIFY,
    ),
    "marker with a failure": (
        [writes(), *prints(*GOOD[:-1], end(1))],
        OutcomeClass.EXIT_STATUS,
        Phase.VERIFY,
    ),
    "exit 3 behind a pass": ([writes(), *prints(*GOOD), ["exit", 3]], OutcomeClass.EXIT_STATUS, Phase.EXIT),
    "killed behind a pass": (
        [writes(), *prints(*GOOD), ["kill", signal.SIGKILL]],
        OutcomeClass.EXIT_STATUS,
        Phase.EXIT,
    ),
    "killed in the run": ([*prints(*BOOT, *LOAD, RUN[0]), ["kill", 9]], OutcomeClass.EXIT_STATUS, Phase.RUN),
    "killed before a line": ([["kill", 15]], OutcomeClass.EXIT_STATUS, Phase.LAUNCH),
    "fault behind the marker": ([writes(), *prints(*GOOD, HARD_FAULT)], OutcomeClass.LATE_FAULT, Phase.EXIT),
    "lock-up behind the marker": (
        [writes(), *prints(*GOOD, "qemu: fatal: Lockup: can't escalate")],
        OutcomeClass.LATE_FAULT,
        Phase.EXIT,
    ),
    "fault in the run": (
        [*prints(*BOOT, *LOAD, RUN[0], HARD_FAULT), ["exit", 3]],
        OutcomeClass.FAULT,
        Phase.RUN,
    ),
    "fault before main": ([*prints(BANNER, HARD_FAULT), ["exit", 3]], OutcomeClass.FAULT, Phase.BOOT),
    "licence": (
        [*prints("Failed to check out licence FM_X: no server"), ["exit", 1]],
        OutcomeClass.ENV_LICENCE,
        Phase.LAUNCH,
    ),
    "executable stack": (
        [*prints("E549: libx.so: cannot enable executable stack as shared object requires"), ["exit", 1]],
        OutcomeClass.ENV_EXECSTACK,
        Phase.LAUNCH,
    ),
    "no library": (
        [*prints("libpython3.9.so.1.0: cannot open shared object file"), ["exit", 127]],
        OutcomeClass.ENV_LOADER,
        Phase.LAUNCH,
    ),
    "time limit of the simulator": (
        [*prints(*BOOT, *LOAD, RUN[0], "Info: Simulation is stopping. Reason: CPU time has been exceeded.")],
        OutcomeClass.CPU_LIMIT,
        Phase.RUN,
    ),
    "unknown parameter": (
        [*prints("Error: stand-in: unknown parameter 'x' of FVP; did you mean y?"), ["exit", 2]],
        OutcomeClass.CONFIG_OPTIONS,
        Phase.LAUNCH,
    ),
    "ELF of another board": (
        [
            *prints(
                "Error: stand-in: 'runner.elf' segment 1: 0x12000000-0x12000fff (4096 bytes) is outside "
                "corstone-300's memory; nearest: BRAM 0x11000000-0x110fffff; the image fits corstone-320"
            ),
            ["exit", 2],
        ],
        OutcomeClass.CONFIG_TARGET,
        Phase.LAUNCH,
    ),
    "no QEMU": (
        [*prints("Error: stand-in: no qemu-system-arm on PATH; install it"), ["exit", 3]],
        OutcomeClass.NOT_RUN,
        Phase.LAUNCH,
    ),
    "QEMU killed": (
        [
            *prints(*BOOT, "Error: stand-in: QEMU was killed by signal 9 before the program finished"),
            ["exit", 3],
        ],
        OutcomeClass.EXIT_STATUS,
        Phase.LOAD,
    ),
    "lock-up": (
        [
            *prints(
                BANNER, "Error: stand-in: the CPU locked up at PC=0x10000040 (LR=0x1, xPSR=0x2): a fault"
            ),
            ["exit", 4],
        ],
        OutcomeClass.LOCKUP,
        Phase.BOOT,
    ),
    "no memory": (
        [
            *prints(
                *BOOT,
                log("I", "Running method forward"),
                log(
                    "E",
                    "Memory allocation failed: 6144000B requested (adjusted for alignment), 2000B available",
                ),
                end(1, 0),
            ),
            ["exit", 1],
        ],
        OutcomeClass.MEM,
        Phase.LOAD,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_red_outcomes(bench: Bench, name: str) -> None:
    steps, kind, phase = CASES[name]
    outcome = bench.attempt(*steps).outcome
    assert (outcome.kind, outcome.phase) == (kind, phase), outcome
    assert not outcome.green
    assert outcome.summary
    assert outcome.hint


def test_old_output_is_not_read_as_a_new_one(bench: Bench) -> None:
    (bench.directory / "out-0.bin").write_bytes(REFERENCE)
    assert bench.attempt(*prints(*GOOD)).outcome.kind is OutcomeClass.NO_OUTPUT


def test_old_output_behind_a_link_is_not_read_either(bench: Bench) -> None:
    (bench.directory / "out-0.bin").symlink_to(bench.directory / "ref-0.bin")
    assert bench.attempt(*prints(*GOOD)).outcome.kind is OutcomeClass.NO_OUTPUT
    assert (bench.directory / "ref-0.bin").read_bytes() == REFERENCE


def test_killed_simulator_names_the_signal(bench: Bench) -> None:
    outcome = bench.attempt(*prints(*BOOT), ["kill", signal.SIGKILL]).outcome
    assert "SIGKILL" in outcome.summary
    assert outcome.detail["status"] == -9


HANGS: dict[str, tuple[list[Step], OutcomeClass, Phase, str]] = {
    "nothing at all": ([["hang"]], OutcomeClass.TIMEOUT, Phase.LAUNCH, "launch"),
    "in the load": ([*prints(*BOOT), ["hang"]], OutcomeClass.TIMEOUT, Phase.LOAD, "silence"),
    "in the run": ([*prints(*BOOT, *LOAD, RUN[0]), ["hang"]], OutcomeClass.TIMEOUT, Phase.RUN, "silence"),
    "behind the marker": ([writes(), *prints(*GOOD), ["hang"]], OutcomeClass.TIMEOUT, Phase.EXIT, "silence"),
    "terminal closed": ([*prints(*BOOT), ["close"], ["hang"]], OutcomeClass.TIMEOUT, Phase.LOAD, "silence"),
    "deaf to SIGTERM": (
        [*prints(*BOOT), ["ignore", 15], ["ignore", 1], ["hang"]],
        OutcomeClass.TIMEOUT,
        Phase.LOAD,
        "silence",
    ),
}


@pytest.mark.parametrize("name", HANGS)
def test_hangs_name_the_limit_that_fired(bench: Bench, name: str) -> None:
    steps, kind, phase, limit = HANGS[name]
    attempt = bench.attempt(*steps, limits=SHORT)
    assert (attempt.outcome.kind, attempt.outcome.phase) == (kind, phase), attempt.outcome
    assert attempt.outcome.detail["limit"] == limit
    assert attempt.result is not None
    assert attempt.result.exit_status is None
    assert attempt.result.durations["simulate"] < SHORT.total


def test_banner_and_then_silence_is_a_silent_boot(bench: Bench) -> None:
    outcome = bench.attempt(*prints(BANNER), ["hang"], limits=SHORT).outcome
    assert (outcome.kind, outcome.phase) == (OutcomeClass.CONFIG_SEMIHOSTING, Phase.BOOT)


def test_endless_output_meets_the_total_limit(bench: Bench) -> None:
    limits = replace(SHORT, total=0.6)
    outcome = bench.attempt(*prints(*BOOT), ["repeat", "x", 10**9], limits=limits).outcome
    assert outcome.kind is OutcomeClass.TIMEOUT
    assert outcome.detail["limit"] == "total"


def test_bytes_that_are_no_text_do_not_hide_the_marker(bench: Bench) -> None:
    attempt = bench.attempt(writes(), ["raw", "fffe80c3280a"], *prints(*GOOD))
    assert attempt.outcome.kind is OutcomeClass.PASS
    assert "�" in attempt.result.lines[0].text if attempt.result else False


def test_long_log_then_the_marker(bench: Bench) -> None:
    flood: Step = ["repeat", log("I", "Output[0][0]: 1.5"), 200_000]
    attempt = bench.attempt(writes(), *prints(*GOOD[:-1]), flood, *prints(end()))
    assert attempt.outcome.kind is OutcomeClass.PASS
    assert bench.console().count("\n") == 200_000 + len(GOOD)


def test_long_log_does_not_hide_what_failed_in_its_middle(bench: Bench) -> None:
    flood: Step = ["repeat", "x", 10_000]
    attempt = bench.attempt(writes(), *prints(*GOOD[:-1]), flood, *prints(HARD_FAULT), flood, *prints(end()))
    assert attempt.outcome.kind is OutcomeClass.FAULT


@pytest.mark.parametrize("number", [0, 1])
def test_summary_stays_short(bench: Bench, number: int) -> None:
    steps = [["exit", 255]], [writes(bytes(4)), *prints(*GOOD)]
    flood: Step = ["repeat", log("E", "noise " + "y" * 200), 20_000]
    attempt = bench.attempt(*prints(*BOOT), flood, *steps[number])
    assert not attempt.outcome.green
    assert len(attempt.outcome.summary + attempt.outcome.hint) < 4000


def test_nothing_to_compare_with_is_no_verdict(bench: Bench) -> None:
    outcome = bench.attempt(writes(), *prints(*GOOD), references=()).outcome
    assert outcome.kind is OutcomeClass.NO_VERDICT


def test_missing_reference_is_not_the_devices_fault(bench: Bench) -> None:
    outcome = bench.attempt(writes(), *prints(*GOOD), references=("ref-9.bin",)).outcome
    assert outcome.kind is OutcomeClass.REF_ERROR


def test_empty_tensor_passes_with_a_note(bench: Bench) -> None:
    (bench.directory / "ref-0.bin").write_bytes(b"")
    specs = (TensorSpec("float32", (0, 3), (0, 1)),)
    outcome = bench.attempt(writes(b""), *prints(*GOOD), output_specs=specs).outcome
    assert outcome.kind is OutcomeClass.PASS
    assert "0 elements compared" in outcome.summary


def test_output_that_is_no_tensor_needs_no_file(bench: Bench) -> None:
    specs = (*bench.spec.output_specs, TensorSpec("int", (), ()))
    outcome = bench.attempt(writes(), *prints(*GOOD), output_specs=specs).outcome
    assert outcome.kind is OutcomeClass.PASS


def test_fill_pattern_passes_where_it_is_the_right_answer(bench: Bench) -> None:
    (bench.directory / "ref-0.bin").write_bytes(b"\xa5" * 4)
    assert bench.attempt(writes(b"\xa5" * 4), *prints(*GOOD)).outcome.kind is OutcomeClass.PASS


def test_fill_pattern_near_zero_does_not_pass_as_float(bench: Bench) -> None:
    """Four fill bytes are -2.9e-16 as a float: within any limit of an expected zero."""
    (bench.directory / "ref-0.bin").write_bytes(bytes(8))
    attempt = bench.attempt(
        writes(b"\xa5" * 8),
        *prints(*GOOD),
        output_specs=(TensorSpec("float32", (2,), (0,)),),
        tolerance=Tolerance(atol=1e-3),
    )
    assert attempt.outcome.kind is OutcomeClass.OUTPUT_NOT_WRITTEN


BUNDLED = (BANNER, log("I", "Running executor with parameter:"), log("I", "PTE @ 0x70000000 [----BP08]"))


def bundle_console(verdict: str, status: int = 0, complaint: bool = False) -> list[Step]:
    level = "I" if verdict == "PASS" else "E"
    lines = [*BUNDLED, *LOAD, *RUN, *WRITE]
    if complaint:
        lines.append(log("E", "Output 0: 1 of 4 elements differ, the first at 3.", "compare.cpp"))
    if verdict:
        lines.append(log(level, f"TEST: BundleIO index[0] Test_result: {verdict}"))
    return prints(*lines, *DONE, end(status))


@pytest.mark.parametrize(
    ("output", "qtol", "console", "status", "kind"),
    [
        (REFERENCE, 0, bundle_console("PASS"), 0, OutcomeClass.PASS),
        (REFERENCE, 0, bundle_console(""), 0, OutcomeClass.NO_VERDICT),
        (REFERENCE, 0, bundle_console("FAIL"), 0, OutcomeClass.WRONG),
        (bytes([1, 2, 3, 253]), 1, bundle_console("FAIL", 1, complaint=True), 1, OutcomeClass.PASS),
        (bytes([1, 2, 3, 253]), 1, bundle_console("FAIL", 1, complaint=True), 2, OutcomeClass.EXIT_STATUS),
        (bytes([1, 2, 3, 253]), 0, bundle_console("FAIL", 1, complaint=True), 1, OutcomeClass.LSB_TIE),
        (bytes([1, 2, 3, 99]), 0, bundle_console("PASS"), 0, OutcomeClass.WRONG),
    ],
    ids=[
        "all agree",
        "no device verdict",
        "device objects to equal bytes",
        "device objects to what qtol allows",
        "other status than the marker's",
        "one LSB beyond",
        "device is wrong",
    ],
)
def test_bundles_are_judged_by_the_host(
    bench: Bench, output: bytes, qtol: float, console: list[Step], status: int, kind: OutcomeClass
) -> None:
    attempt = bench.attempt(
        writes(output),
        *console,
        ["exit", status],
        program="x.bpte",
        inputs=(),
        tolerance=Tolerance(qtol=qtol),
    )
    assert attempt.outcome.kind is kind, attempt.outcome


@pytest.mark.parametrize("data", [b"", b"\0\0ET12", b"\0\0\0\0XX12\0\0", b"\0\0\0\0BP08\0\0"])
def test_malformed_program_is_refused_before_the_launch(bench: Bench, data: bytes) -> None:
    (bench.directory / "program.pte").write_bytes(data)
    outcome = bench.attempt(writes(), *prints(*GOOD)).outcome
    assert (outcome.kind, outcome.phase) == (OutcomeClass.BUNDLE_INVALID, Phase.LOAD)
    assert not (bench.directory / "console.log").exists()


def test_other_input_than_the_one_described(bench: Bench) -> None:
    attempt = bench.attempt(writes(), *prints(*GOOD), hashes={"file:i0.bin": "0" * 64})
    assert attempt.outcome.kind is OutcomeClass.CONFIG_INPUT
    assert "i0.bin" in attempt.outcome.summary


@pytest.mark.parametrize("name", ["runner.elf", "program.pte", "i0.bin"])
def test_missing_file_is_named(bench: Bench, name: str) -> None:
    (bench.directory / name).unlink()
    outcome = bench.attempt(writes(), *prints(*GOOD)).outcome
    assert outcome.kind is OutcomeClass.CONFIG_INPUT
    assert name in outcome.summary


def test_parallel_attempts_do_not_disturb_each_other(bench: Bench, tmp_path: Path) -> None:
    """The same program in two directories, one of them failing."""
    other = tmp_path / "other"
    other.mkdir()
    for path in bench.directory.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    good = bench.attempt(writes(), *prints(*GOOD))
    bench.fake.does(*prints(*GOOD))
    bad = run_attempt(FvpEngine(bench.fake.executable), bench.spec, other)
    assert good.outcome.kind is OutcomeClass.PASS
    assert bad.outcome.kind is OutcomeClass.NO_OUTPUT
    assert (bench.directory / "out-0.bin").exists()
