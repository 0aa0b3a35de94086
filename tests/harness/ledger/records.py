"""Sessions, tests and attempts for the tests of the ledger: plain values with short calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from harness.ledger.signature import signature
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.records import AttemptRecord, SessionRecord, TestRecord, VerdictRecord

DAY = 86400.0
START = 1_760_000_000.0
VERSIONS = {
    "executorch": "1.5.1",
    "torch": "2.13.0",
    "ethos-u-vela": "5.0.0",
    "compiler": "arm-none-eabi-g++ 12.2.1",
    "kernels": "k1",
    "checkout": "clean",
}
NODE = "tests/ops/test_sigmoid.py::test_sigmoid[u85-ramp]"
FAULT = Outcome(
    Phase.RUN,
    OutcomeClass.FAULT,
    "Hard fault: PC=0x1234",
    detail={"symbol": "arm_nn_sigmoid_s8+0x12 (s.c:7)"},
)
OTHER_FAULT = Outcome(
    Phase.RUN, OutcomeClass.FAULT, "Bus fault: PC=0x99", detail={"symbol": "memcpy+0x2 (m.c:1)"}
)
WRONG = Outcome(
    Phase.VERIFY,
    OutcomeClass.WRONG,
    "output 0: 3 of 12 elements beyond the limit (25 %)",
    detail={"outputs": [0]},
)
PASS = Outcome(Phase.EXIT, OutcomeClass.PASS, "1 outputs, 12 elements equal")
NO_LICENCE = Outcome(Phase.LAUNCH, OutcomeClass.ENV_LICENCE, "the simulator has no licence: checkout failed")


def digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


def attempt(
    outcome: Outcome = PASS,
    number: int = 1,
    rung: str = "first",
    engine: str | None = "standin",
    engine_version: str = "stand-in 0.1",
    program: str = "",
    output: str = "",
    margin: float | None = 0.0,
    environment: Mapping[str, str] | None = None,
) -> AttemptRecord:
    return AttemptRecord(
        number=number,
        rung=rung,
        phase=outcome.phase.value,
        kind=outcome.kind.value,
        summary=outcome.summary,
        hint=outcome.hint,
        signature=signature(outcome),
        engine=engine,
        engine_name="FVP_Corstone_SSE-320" if engine else None,
        engine_version=engine_version if engine else None,
        engine_sha256=digest("engine", engine_version) if engine else None,
        directory=None,
        seed=0,
        hashes={
            "inputs": digest("i"),
            # What is broken was built from other sources, unless a test says otherwise.
            "program": digest(program or ("good" if outcome.green else "broken")),
            "elf": digest("e"),
            "outputs": digest(output or outcome.kind.value),
        },
        durations={"simulate": 0.5},
        margin=margin,
        comparisons=(),
        environment=environment or {},
    )


def case(
    *attempts: AttemptRecord,
    nodeid: str = NODE,
    result: str | None = None,
    verdict: str | None = None,
    message: str = "",
    target: str | None = "ethos-u85-256",
) -> TestRecord:
    green = all(entry.kind == "PASS" for entry in attempts)
    return TestRecord(
        nodeid=nodeid,
        target=target,
        result=result or ("passed" if green else "failed"),
        attempts=attempts,
        verdict=VerdictRecord(verdict, "because", ("first  WRONG",), len(attempts)) if verdict else None,
        history=None,
        started=START,
        seconds=1.0,
        worker="main",
        message=message,
        repro=None,
    )


def session(
    name: str,
    *tests: TestRecord,
    day: float = 0.0,
    commit: str | None = None,
    branch: str | None = "main",
    merge_base: str | None = None,
    argv: tuple[str, ...] = ("pytest",),
    **versions: str,
) -> SessionRecord:
    started = START + day * DAY
    return SessionRecord(
        id=name,
        started=started,
        seconds=10.0,
        argv=argv,
        engine="auto",
        commit=commit or f"commit-{name}",
        merge_base=merge_base,
        branch=branch,
        host="bench",
        environment={**VERSIONS, **{key.replace("_", "-"): value for key, value in versions.items()}},
        exit_status=0,
        partial=False,
        tests=tuple(replace(entry, started=started) for entry in tests),
    )
