"""Errors of the NPU: their own classes, from the driver's lines alone and from the stand-in's model."""

from __future__ import annotations

import pytest

from harness.outcomes import OutcomeClass, Phase
from harness.reruns.policy import POLICIES
from tests.harness.bench import BOOT, LOAD, RUN, end, log
from tests.harness.test_classify import judge

FAILED = log("E", "Execution of method forward failed with status 0x1")
RUNNING = (*BOOT, *LOAD, RUN[0])


def driver(what: str) -> str:
    return log("E", f"NPU {what} at byte 32 of 96 of the command stream (STATUS=0x00000006)", "driver.cpp")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (driver("command parse error"), OutcomeClass.NPU_PARSE),
        (driver("bus error"), OutcomeClass.NPU_BUS),
        (driver("time-out"), OutcomeClass.NPU_TIMEOUT),
        (driver("stop without interrupt"), OutcomeClass.NPU_TIMEOUT),
        (driver("ECC fault"), OutcomeClass.NPU_FAULT),
        (driver("stop before the end"), OutcomeClass.NPU_FAULT),
        (log("E", "NPU refuses privileged secure accesses (PROT=0x0)"), OutcomeClass.NPU_FAULT),
        (log("E", "NPU at 0x48102000 does not leave reset (STATUS=0x00000008)"), OutcomeClass.NPU_FAULT),
    ],
)
def test_drivers_lines_suffice(line: str, kind: OutcomeClass) -> None:
    """On Arm's FVP there are no others."""
    outcome = judge(*RUNNING, line, FAILED, end(1, 0), exit_status=1)
    assert (outcome.kind, outcome.phase) == (kind, Phase.RUN)
    assert outcome.summary.startswith("NPU")
    assert outcome.hint


def test_drivers_numbers_are_in_the_detail() -> None:
    outcome = judge(*RUNNING, driver("bus error"), FAILED, end(1, 0), exit_status=1)
    assert outcome.detail == {"error": "bus error", "offset": 32, "size": 96, "status": "0x6"}


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("parse error at byte 0x4 of the command stream: word 0xffff is", OutcomeClass.NPU_PARSE),
        ("bus error in OP_CONV at byte 0x20 of the command stream: no memory at", OutcomeClass.NPU_BUS),
        ("unimplemented error in OP_POOL at byte 0x20 of the command", OutcomeClass.NPU_UNIMPLEMENTED),
        ("internal error: ValueError at conv.py:12: shapes differ", OutcomeClass.NPU_UNIMPLEMENTED),
    ],
)
def test_model_knows_more_than_the_driver(what: str, kind: OutcomeClass) -> None:
    """The driver sees the model's own mistakes as parse errors."""
    model = f"Error: stand-in: NPU: {what}"
    parse = driver("command parse error")
    outcome = judge(*RUNNING, model, parse, FAILED, end(1, 0), exit_status=1)
    assert (outcome.kind, outcome.phase) == (kind, Phase.RUN)
    assert outcome.summary == f"NPU: {what}"
    assert outcome.detail["status"] == "0x6"
    assert judge(*RUNNING, model, end(), exit_status=0).kind is kind  # a driver that says nothing


@pytest.mark.parametrize(
    "message",
    [
        "There is no NPU at 0x48102000 (ID=0)",
        "program is compiled for ethos-u85-256, this NPU is ethos-u85-512",
        "program is compiled for another version of ethos-u85-256: ID 0x20007000",
        "Backend EthosUBackend is not registered.",
    ],
)
def test_wrong_npu_is_a_matter_of_the_target(message: str) -> None:
    failed = log("I", "Loading of method forward failed with status 0x20")
    outcome = judge(*BOOT, LOAD[0], log("E", message), failed, end(1, 0), exit_status=1)
    assert (outcome.kind, outcome.phase) == (OutcomeClass.CONFIG_TARGET, Phase.LOAD)
    assert outcome.summary == message


def test_malformed_blob_is_a_malformed_program() -> None:
    message = log("E", "NPU program is malformed: a block is truncated")
    failed = log("I", "Loading of method forward failed with status 0x23")
    outcome = judge(*BOOT, LOAD[0], message, failed, end(1, 0), exit_status=1)
    assert (outcome.kind, outcome.phase) == (OutcomeClass.BUNDLE_INVALID, Phase.LOAD)
    assert "truncated" in outcome.summary


def test_every_class_has_a_policy_for_reruns() -> None:
    assert set(POLICIES) == set(OutcomeClass)
