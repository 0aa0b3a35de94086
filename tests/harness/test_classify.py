"""The classifier as a pure function: phases, details, order of causes, and no pass without evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare.tensors import OutputState
from harness.console.classify import classify
from harness.console.events import read_events
from harness.console.evidence import Evidence
from harness.flow import Comparison, ConsoleLine, RunSpec, TensorSpec, Tolerance
from harness.outcomes import Outcome, OutcomeClass, Phase
from tests.harness.bench import BANNER, BOOT, DONE, GOOD, LOAD, RUN, WRITE, end, log

SPEC = RunSpec(
    target="cortex-m55",
    board="corstone-300",
    elf="runner.elf",
    program="program.pte",
    inputs=("i0.bin",),
    references=("ref-0.bin",),
    output_specs=(TensorSpec("int8", (4,), (0,)),),
    tolerance=Tolerance(),
)
EQUAL = Comparison(0, True, 4, 0, 0.0, 0.0, 0.0, {0: 4}, "output 0: 4 elements, equal")
WRONG = replace(EQUAL, ok=False, mismatches=1, worst=9.0, message="off", problem=OutcomeClass.WRONG)
FAULT = log(
    "F", "Hard fault: CFSR=0x00000082 HFSR=0x40000000 MMFAR=0x60 BFAR=0x0 PC=0x10000104 LR=0x10000201"
)
CPU_LIMIT = "Info: Simulation is stopping. Reason: CPU time has been exceeded."
NO_MEMORY = log("E", "Memory allocation failed: 6144000B requested (adjusted for alignment), 2000B available")


def evidence(*lines: str, **changes: Any) -> Evidence:
    """Evidence of a good run, but for its console and `changes`."""
    made = Evidence(
        spec=SPEC,
        engine="fvp",
        spoke=bool(lines),
        events=read_events(ConsoleLine(0.1 * i, text) for i, text in enumerate(lines)),
        stopped_by="exit",
        exit_status=0,
        outputs=(OutputState("out-0.bin", 4, "hash"),),
        comparisons=(EQUAL,),
    )
    return replace(made, **changes)


def judge(*lines: str, **changes: Any) -> Outcome:
    return classify(evidence(*lines, **changes))


def test_good_evidence_passes() -> None:
    assert judge(*GOOD).kind is OutcomeClass.PASS


@pytest.mark.parametrize(
    ("lines", "phase"),
    [
        ((), Phase.LAUNCH),
        ((BANNER,), Phase.BOOT),
        (BOOT[:2], Phase.LOAD),
        ((*BOOT, *LOAD), Phase.LOAD),
        ((*BOOT, *LOAD, RUN[0]), Phase.RUN),
        ((*BOOT, *LOAD, *RUN), Phase.VERIFY),
        ((*BOOT, *LOAD, *RUN, *WRITE, *DONE), Phase.VERIFY),
        (GOOD, Phase.EXIT),
    ],
)
def test_every_ending_carries_its_phase(lines: Sequence[str], phase: Phase) -> None:
    """A host limit fires, or the simulator is killed: the furthest phase that began is named."""
    assert judge(*lines, stopped_by="total", exit_status=None).phase is phase
    assert judge(*lines, exit_status=-9).phase is phase
    assert judge(*lines, FAULT, exit_status=3).phase is (Phase.BOOT if phase is Phase.LAUNCH else phase)


def test_each_missing_operator_is_listed_once() -> None:
    lines = [log("E", f"Missing operator: [{i}] aten::exp.out") for i in range(40)]
    outcome = judge(*BOOT, log("E", "kernel 'aten::sin.out' not found."), *lines, end(1), exit_status=1)
    assert (outcome.kind, outcome.phase) == (OutcomeClass.CONFIG_MISSING_OP, Phase.LOAD)
    assert outcome.detail["operators"] == ["aten::sin.out", "aten::exp.out"]
    assert outcome.summary.count("aten::exp.out") == 1


def test_memory_names_bytes_pool_and_option() -> None:
    outcome = judge(*BOOT, NO_MEMORY + " in pool temporary", end(1), exit_status=1)
    assert (outcome.kind, outcome.phase) == (OutcomeClass.MEM, Phase.LOAD)
    assert outcome.detail == {"needed": 6144000, "available": 2000, "pool": "temporary"}
    assert "POOL_SIZE ≥ 6144000" in outcome.hint
    assert judge(*BOOT, *LOAD, RUN[0], NO_MEMORY, exit_status=1).phase is Phase.RUN


def test_fault_names_symbol_cause_and_registers() -> None:
    places = {0x10000104: "quantized_add+0x4 (op_add.cpp:12)", 0x10000201: "execute+0x10"}
    cause = log("F", "Exception 3: stack overflow.")
    outcome = judge(*BOOT, *LOAD, RUN[0], FAULT, cause, exit_status=3, locate=places.get)
    assert (outcome.kind, outcome.phase) == (OutcomeClass.FAULT, Phase.RUN)
    assert "stack exhausted" in outcome.summary
    assert "PC in quantized_add+0x4 (op_add.cpp:12), LR in execute+0x10" in outcome.summary
    assert outcome.detail["symbol"] == "quantized_add+0x4 (op_add.cpp:12)"
    assert outcome.detail["pc"] == "0x10000104"


def test_place_of_an_endless_loop_and_of_a_lockup() -> None:
    places = {0x10000008: "spin+0x4"}
    stopped = "Info: stand-in: the program was at PC=0x10000008 when it was stopped."
    assert "PC in spin+0x4" in judge(*BOOT, CPU_LIMIT, stopped, locate=places.get).summary
    lockup = "Error: stand-in: the CPU locked up at PC=0x10000008 (LR=0x1, xPSR=0x3): a fault"
    assert "PC in spin+0x4" in judge(*BOOT, lockup, exit_status=4, locate=places.get).summary


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("0x14", OutcomeClass.CONFIG_MISSING_OP),
        ("0x21", OutcomeClass.MEM),
        ("0x30", OutcomeClass.CONFIG_TARGET),
        ("0x23", OutcomeClass.BUNDLE_INVALID),
    ],
)
def test_status_of_a_failed_load(status: str, kind: OutcomeClass) -> None:
    """Upstream says so at level I and goes on with "loaded": the first line counts."""
    failed = log("I", f"Loading of method forward failed with status {status}")
    outcome = judge(*BOOT, LOAD[0], failed, LOAD[1], exit_status=0)
    assert (outcome.kind, outcome.phase) == (kind, Phase.LOAD)


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ((*BOOT, log("E", "Program header is out of bounds.")), OutcomeClass.BUNDLE_INVALID),
        ((*BOOT, log("E", "Bundle is malformed: table at offset 12.")), OutcomeClass.BUNDLE_INVALID),
        ((BOOT[1], log("E", "Could not open model file program.pte.")), OutcomeClass.CONFIG_INPUT),
        ((*BOOT, LOAD[0], log("E", "Expected 15 args received 13")), OutcomeClass.CONFIG_MISSING_OP),
        ((*BOOT, LOAD[0], log("E", "The program takes 2 inputs, 1 were given.")), OutcomeClass.CONFIG_INPUT),
        ((BOOT[1], log("E", "Unknown option '-z'.")), OutcomeClass.CONFIG_CMDLINE),
        ((log("F", "Semihosting is off, so there is no file."),), OutcomeClass.CONFIG_SEMIHOSTING),
        (
            (
                *BOOT,
                *LOAD,
                RUN[0],
                log("E", "op failed"),
                log("E", "Execution of method forward failed with status 0x12"),
            ),
            OutcomeClass.ABORT,
        ),
        (
            (
                *BOOT,
                *LOAD,
                RUN[0],
                log("E", "quantized_conv2d: input or out is not channels-last"),
                log("E", "Execution of method forward failed with status 0x12"),
            ),
            OutcomeClass.DIM_ORDER,
        ),
        ((*BOOT, *LOAD, log("F", "In function f(), assert failed (x): no")), OutcomeClass.ABORT),
        ((*BOOT, *LOAD, *RUN, log("F", "Tensors shall have same strides")), OutcomeClass.DIM_ORDER),
        ((*BOOT, *LOAD, *RUN, log("E", "Could not write output file out-0.bin.")), OutcomeClass.EXIT_STATUS),
        (
            (BOOT[1], log("E", "Registration of operators or delegates failed (Internal).")),
            OutcomeClass.EXIT_STATUS,
        ),
    ],
)
def test_failures_that_the_runner_reports(lines: Sequence[str], kind: OutcomeClass) -> None:
    assert judge(*lines, end(1, 0), exit_status=1).kind is kind
    assert not judge(*lines, exit_status=1).green


def test_first_complaint_is_the_summary() -> None:
    lines = (*BOOT, *LOAD, RUN[0], log("E", "axis 7 is out of range"), log("E", "generic failure"))
    assert "axis 7 is out of range" in judge(*lines, end(1), exit_status=1).summary


@pytest.mark.parametrize(
    ("lines", "changes", "kind"),
    [
        ((*BOOT, NO_MEMORY, FAULT), {"stopped_by": "silence", "exit_status": None}, OutcomeClass.MEM),
        ((*BOOT, FAULT), {"stopped_by": "silence", "exit_status": None}, OutcomeClass.FAULT),
        ((*BOOT, CPU_LIMIT), {"exit_status": -15}, OutcomeClass.CPU_LIMIT),
        ((*GOOD, FAULT), {"exit_status": 3, "comparisons": (WRONG,)}, OutcomeClass.LATE_FAULT),
        (GOOD, {"exit_status": 3, "comparisons": (WRONG,)}, OutcomeClass.WRONG),
        (GOOD, {"outputs": (OutputState("out-0.bin", None),), "comparisons": ()}, OutcomeClass.NO_OUTPUT),
    ],
    ids=["memory then hang", "fault then hang", "cpu limit", "late fault", "wrong and status", "no output"],
)
def test_causes_come_before_consequences(
    lines: Sequence[str], changes: dict[str, Any], kind: OutcomeClass
) -> None:
    assert judge(*lines, **changes).kind is kind


def test_environment_lines_of_a_program_do_not_blame_the_machine() -> None:
    """Once the runner has spoken, the simulator has started."""
    lines = (*GOOD[:-1], "note: license could not be renewed, expired", GOOD[-1])
    assert judge(*lines).kind is OutcomeClass.PASS


def test_host_runner_has_no_semihosting_to_blame() -> None:
    outcome = judge("hello", stopped_by="silence", exit_status=None, engine="host")
    assert (outcome.kind, outcome.phase) == (OutcomeClass.TIMEOUT, Phase.BOOT)


def test_bundle_of_several_tests_needs_every_verdict() -> None:
    def verdicts(*good: bool) -> list[str]:
        return [
            log("I" if ok else "E", f"TEST: BundleIO index[{i}] Test_result: {'PASS' if ok else 'FAIL'}")
            for i, ok in enumerate(good)
        ]

    spec = replace(SPEC, program="x.bpte")
    front = (*BOOT, *LOAD, *RUN, *WRITE)
    # The host compares the first test case only, and the device is never the judge.
    assert judge(*front, *verdicts(True, True), end(), spec=spec, tests=2).kind is OutcomeClass.NO_VERDICT
    assert judge(*front, *verdicts(True), end(), spec=spec, tests=2).kind is OutcomeClass.NO_VERDICT
    twice = (*verdicts(True), *verdicts(True))
    assert judge(*front, *twice, end(), spec=spec, tests=1).kind is OutcomeClass.NO_VERDICT
    late = judge(*front, *verdicts(True, False), end(1), spec=spec, tests=2, exit_status=1)
    assert late.kind is OutcomeClass.WRONG


def test_a_device_that_fails_and_passes_one_test_fails() -> None:
    lines = [
        log("I", "TEST: BundleIO index[0] Test_result: PASS"),
        log("E", "TEST: BundleIO index[0] Test_result: FAIL"),
    ]
    spec = replace(SPEC, program="x.bpte")
    assert not judge(*BOOT, *LOAD, *RUN, *WRITE, *lines, end(), spec=spec).green


def test_only_a_complaint_about_the_comparison_is_excused() -> None:
    """The device objects to a difference that the host allows; anything else it complains of still counts."""
    near = replace(EQUAL, worst=1.0, margin=1.0, histogram={0: 3, 1: 1})
    objection = (
        log("E", "Output 0: 1 of 4 elements differ, the first at 3."),
        log("E", "TEST: BundleIO index[0] Test_result: FAIL"),
    )
    other = log("E", "something else")
    front, spec = (*BOOT, *LOAD, *RUN, *WRITE), replace(SPEC, program="x.bpte")

    def kind(*lines: str) -> OutcomeClass:
        return judge(*lines, end(1), spec=spec, exit_status=1, comparisons=(near,)).kind

    assert kind(*front, *objection) is OutcomeClass.PASS
    assert kind(*front, *objection, other) is OutcomeClass.EXIT_STATUS
    assert kind(*BOOT, other, *front[len(BOOT) :], *objection) is OutcomeClass.EXIT_STATUS
    assert kind(*front, *objection[:1]) is OutcomeClass.EXIT_STATUS


NOISE = (
    FAULT,
    NO_MEMORY,
    CPU_LIMIT,
    BANNER,
    "qemu: fatal: Lockup",
    log("E", "some error"),
    log("I", "Output[0][0]: 3"),
    end(1),
    end(0, 0),
    end(),
)


@settings(max_examples=400)
@given(
    kept=st.lists(st.sampled_from(range(len(GOOD))), unique=True),
    noise=st.lists(st.sampled_from(NOISE), max_size=2),
    at=st.integers(0, len(GOOD)),
    stopped_by=st.sampled_from(["exit", "exit", "launch", "silence", "total"]),
    status=st.sampled_from([0, 0, 0, 1, 255, -9, -11]),
    output=st.sampled_from(
        [
            OutputState("out-0.bin", 4, "h"),
            OutputState("out-0.bin", None),
            OutputState("out-0.bin", 4, "h", 4),
        ]
    ),
    comparisons=st.sampled_from([(EQUAL,), (EQUAL,), (WRONG,), ()]),
    engine=st.sampled_from(["fvp", "standin", "host"]),
)
def test_no_pass_without_its_evidence(
    kept: list[int],
    noise: list[str],
    at: int,
    stopped_by: str,
    status: int,
    output: OutputState,
    comparisons: tuple[Comparison, ...],
    engine: str,
) -> None:
    lines = [GOOD[i] for i in sorted(kept)]
    lines[at:at] = noise
    seen = evidence(
        *lines,
        stopped_by=stopped_by,
        exit_status=status if stopped_by == "exit" else None,
        outputs=(output,),
        comparisons=comparisons,
        engine=engine,
    )
    outcome = classify(seen)
    assert outcome.summary
    crashed = any(line in lines for line in (FAULT, NO_MEMORY, CPU_LIMIT, "qemu: fatal: Lockup"))
    proven = (
        lines.count(end()) == 1
        and end(1) not in lines
        and end(0, 0) not in lines
        and not crashed
        and stopped_by == "exit"
        and status == 0
        and output.size is not None
        and comparisons == (EQUAL,)
    )
    assert outcome.green is proven, outcome


def test_every_line_of_the_tail_matters_or_is_commentary() -> None:
    """Without the end marker nothing passes; without a milestone the end marker still proves the run."""
    assert not judge(*GOOD[:-1]).green
    for i in range(len(GOOD) - 1):
        assert judge(*GOOD[:i], *GOOD[i + 1 :]).green
