"""Console lines to events: each known line has its meaning, harmless look-alikes have none."""

from __future__ import annotations

import pytest

from harness.console.events import Kind, read_events, read_line, significant
from harness.flow import ConsoleLine
from tests.harness.bench import GOOD, log


def event_of(text: str) -> tuple[Kind | None, dict[str, int | str]]:
    event = read_line(ConsoleLine(0.0, text))
    return (None, {}) if event is None else (event.kind, dict(event.values))


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        (log("I", "Running executor with parameter:"), Kind.BOOTED, {}),
        (log("I", "PTE @ 0x70000000 [----BP08]"), Kind.MODEL, {"magic": "BP08"}),
        (log("I", "Running method forward"), Kind.PARSED, {"method": "forward"}),
        (log("E", "kernel 'aten::exp.out' not found."), Kind.MISSING_OPERATOR, {"operator": "aten::exp.out"}),
        (
            log("E", "Missing operator: [3] aten::exp.out"),
            Kind.MISSING_OPERATOR,
            {"operator": "aten::exp.out"},
        ),
        (log("E", "Expected 15 args received 13"), Kind.OTHER_SCHEMA, {"expected": 15, "received": 13}),
        (
            log("I", "Loading of method forward failed with status 0x14"),
            Kind.LOAD_FAILED,
            {"method": "forward", "status": 0x14},
        ),
        (log("I", "Method 'forward' loaded."), Kind.LOADED, {"method": "forward"}),
        (log("I", "Input prepared."), Kind.INPUT_READY, {}),
        (log("I", "Starting running 1 inferences..."), Kind.RUN_BEGIN, {"count": 1}),
        (log("I", "1 inferences finished"), Kind.RUN_END, {"count": 1}),
        (
            log("E", "Execution of method forward failed with status 0x12"),
            Kind.RUN_FAILED,
            {"status": 0x12},
        ),
        (
            log("E", "Execution of the method failed with status 0x12 (InvalidArgument)"),
            Kind.RUN_FAILED,
            {"status": 0x12},
        ),
        (
            log(
                "E", "Memory allocation failed: 6144000B requested (adjusted for alignment), 2000B available"
            ),
            Kind.MEMORY,
            {"needed": 6144000, "available": 2000},
        ),
        (
            log(
                "E",
                "Memory allocation failed: 9B requested (adjusted for alignment), 2B available in pool files",
            ),
            Kind.MEMORY,
            {"needed": 9, "available": 2, "pool": "files"},
        ),
        (
            log("F", "In function check(), assert failed (a == b): sizes differ"),
            Kind.ASSERTION,
            {"where": "check", "condition": "a == b", "reason": "sizes differ"},
        ),
        (log("F", "In function f(), assert failed (x): they shall have same strides"), Kind.STRIDES, {}),
        (log("E", "Tensors shall have same strides"), Kind.STRIDES, {}),
        (log("E", "Could not open output file"), Kind.OUTPUT_LOST, {}),
        (log("E", "Could not write output file out-0.bin."), Kind.OUTPUT_LOST, {}),
        (log("I", "Failed to read whole file"), Kind.INPUT_REFUSED, {}),
        (
            log("E", "Input 0: file i0.bin has 3 bytes, the program expects 4 (tensor)."),
            Kind.INPUT_REFUSED,
            {},
        ),
        (log("I", "Writing output to file: out-0.bin"), Kind.OUTPUT, {"name": "out-0.bin"}),
        (log("I", "Output[1]: Not Tensor"), Kind.NOT_TENSOR, {"index": 1}),
        (
            log("I", "TEST: BundleIO index[0] Test_result: PASS"),
            Kind.DEVICE_VERDICT,
            {"index": 0, "verdict": "PASS"},
        ),
        (log("I", "TEST: BundleIO index[0] Test_result: PASSED"), Kind.LOG, {}),
        (log("I", "harness: end status=-1 outputs=2"), Kind.END, {"status": -1, "outputs": 2}),
        (log("I", "harness: end status=0 outputs=2 and more"), Kind.LOG, {}),
        (log("E", "Model file x.pte holds no valid program (InvalidProgram)."), Kind.BUNDLE_REFUSED, {}),
        (log("E", "The bundle expects 2 outputs, the program has 1."), Kind.BUNDLE_REFUSED, {}),
        (log("E", "Unknown option '-x'."), Kind.USAGE, {}),
        (
            log(
                "F",
                "Hard fault: CFSR=0x00008200 HFSR=0x40000000 MMFAR=0x0 BFAR=0x6 PC=0x1000 LR=0x2 xPSR=0x1",
            ),
            Kind.FAULT,
            None,
        ),
        (log("F", "Exception 3: stack overflow."), Kind.FAULT_CAUSE, {"cause": "stack overflow"}),
        (log("F", "Semihosting is off, so there is no command line and no file."), Kind.NO_SEMIHOSTING, {}),
        (log("E", "something else"), Kind.ERROR, {}),
        (log("I", "Output[0][0]: 1.5"), Kind.LOG, {}),
        ("Info: Simulation is stopping. Reason: CPU time has been exceeded.", Kind.CPU_LIMIT, {}),
        (
            "Info: stand-in: the program was at PC=0x10000008 when it was stopped.",
            Kind.STOPPED_AT,
            {"pc": 0x10000008},
        ),
        ("E549: lib: cannot enable executable stack as shared object requires", Kind.EXECSTACK, {}),
        ("libpython3.9.so.1.0: cannot open shared object file: No such file", Kind.LOADER, {}),
        ("error while loading shared libraries: libz.so", Kind.LOADER, {}),
        ("Failed to check out a license for FM_Simulator", Kind.LICENCE, {}),
        ("License error: no server", Kind.LICENCE, {}),
        ("qemu: fatal: Lockup: can't escalate 3 to HardFault", Kind.LOCKUP, {}),
        (
            "Error: stand-in: the CPU locked up at PC=0x10000040 (LR=0x1)",
            Kind.LOCKUP,
            {"pc": 0x10000040, "lr": 1},
        ),
        ("Error: stand-in: unknown parameter 'x' of FVP; did you mean y?", Kind.BAD_OPTION, {}),
        ("Error: stand-in: option --nope is unknown to the stand-in; see --help", Kind.BAD_OPTION, {}),
        ("Error: stand-in: 'x.elf' is not an ELF file", Kind.BAD_IMAGE, {}),
        ("Error: stand-in: 'x.elf' has no vector table: corstone-300 boots from 0x0", Kind.BAD_IMAGE, {}),
        ("Error: stand-in: no qemu-system-arm on PATH; install it", Kind.NOT_SIMULATED, {}),
        ("Error: stand-in: QEMU was killed by signal 9 before the program finished", Kind.SIMULATOR_LOST, {}),
        ('assertion "x" failed: file "a.c", line 3', Kind.ASSERTION, None),
        ("HardFault handler", Kind.FAULT, None),
        ("==1==ERROR: AddressSanitizer: heap-buffer-overflow on 0x1", Kind.SANITIZER, None),
    ],
)
def test_meanings(text: str, kind: Kind, values: dict[str, int | str] | None) -> None:
    found, got = event_of(text)
    assert found is kind
    if values is not None:
        assert got == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ethos-U rev 136b7d75 --- Apr 12 2023 13:44:01",
        "Finished set-up",
        "Fast Models [11.27.42 (Jun 28 2024)]",
        "Copyright 2000-2024 ARM Limited. All Rights Reserved.",
        "E is a letter",
        "Error",
        "Warning: Failed to initialize timing-adapter #0",
        "Timing adapter has no effect if option --fast/-F is enabled",
        "telnetterminal0: Listening for serial connection on port 5000",
        "corstone-harness stand-in for FVP_Corstone_SSE-300 (QEMU 7.2.22, mps3-an547); not Arm's FVP",
        "License: see the EULA",
        "clock unlocked upstream",
    ],
)
def test_harmless_lines(text: str) -> None:
    assert event_of(text) == (None, {})


def test_a_good_run_has_no_error() -> None:
    kinds = {event.kind for event in read_events(ConsoleLine(0.0, text) for text in GOOD)}
    assert Kind.END in kinds
    assert not kinds & {Kind.ERROR, Kind.FAULT, Kind.ASSERTION}


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31m" + log("E", "broken") + "\x1b[0m",
        "UART noise " + log("E", "broken"),
        log("E", "broken") + "\x04",
        "\x00" + log("E", "broken"),
    ],
)
def test_errors_in_colour_or_in_the_middle_of_a_line(text: str) -> None:
    event = read_line(ConsoleLine(0.0, text))
    assert event is not None
    assert (event.kind, event.level, event.file, event.line, event.function, event.message) == (
        Kind.ERROR,
        "E",
        "main.cpp",
        12,
        "main",
        "broken",
    )


def test_a_name_in_a_message_cannot_pose_as_a_milestone() -> None:
    for text in (
        "kernel 'harness: end status=0 outputs=1' is odd",
        "Running harness: end status=0 outputs=1",
    ):
        assert event_of(log("I", text))[0] is not Kind.END


def test_end_marker_behind_eot_counts() -> None:
    assert event_of(log("I", "harness: end status=0 outputs=1") + "\x04\r")[0] is Kind.END


@pytest.mark.parametrize("text", [log("I", "Output[0][7]: 2.0"), log("D", "detail"), "plain text"])
def test_plain_lines_are_not_kept_from_a_long_log(text: str) -> None:
    assert significant(text.encode()) is None


def test_every_event_but_plain_log_lines_is_kept() -> None:
    """The quick look before the tables must not lose a line that the tables know."""
    texts = [mark.args[1] for mark in test_meanings.pytestmark]  # type: ignore[attr-defined]
    for text, kind, _ in texts[0]:
        expected = None if kind is Kind.LOG else kind.value
        assert significant(text.encode()) == expected, text
