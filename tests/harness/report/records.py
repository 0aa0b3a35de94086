"""Records for tests of the reports, as a session would make them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.records import (
    AttemptRecord,
    ComparisonRecord,
    HistoryRecord,
    SessionRecord,
    TestRecord,
    VerdictRecord,
)

ENVIRONMENT: Mapping[str, str] = {"executorch": "1.5.1", "torch": "2.13.0", "ethos-u-vela": "5.1.0"}


def comparison(**changes: Any) -> ComparisonRecord:
    values: dict[str, Any] = {
        "index": 0,
        "ok": False,
        "elements": 64,
        "mismatches": 3,
        "worst": 0.25,
        "worst_lsb": 2.0,
        "margin": 2.0,
        "histogram": {0: 61, 1: 2, -2: 1},
        "message": "output 0: 3 of 64 elements differ, worst 2 LSB",
        "worst_index": (0, 3),
    }
    return ComparisonRecord(**{**values, **changes})


def attempt(number: int = 1, kind: str = "WRONG", **changes: Any) -> AttemptRecord:
    green = kind == "PASS"
    values: dict[str, Any] = {
        "number": number,
        "rung": "first" if number == 1 else "same-bytes",
        "phase": "exit" if green else "verify",
        "kind": kind,
        "summary": "all outputs within tolerance" if green else "output 0 differs by 2 LSB",
        "hint": "" if green else "compare the kernels",
        "signature": "" if green else "verify|WRONG|output differs",
        "engine": "standin",
        "engine_name": "FVP_Corstone_SSE-300_Ethos-U55",
        "engine_version": "stand-in 1",
        "engine_sha256": "e" * 64,
        "directory": None,
        "seed": 0,
        "hashes": {"inputs": "1" * 64, "program": "2" * 64, "outputs": f"{number:064x}"},
        "durations": {"run": 0.1},
        "margin": 0.0 if green else 2.0,
        "comparisons": () if green else (comparison(),),
        "environment": ENVIRONMENT,
    }
    return AttemptRecord(**{**values, **changes})


def verdict(name: str = "DETERMINISTIC") -> VerdictRecord:
    evidence = ("same-bytes: outputs 00000001 = 00000001",)
    return VerdictRecord(name, "the same bytes give the same wrong output", evidence, 2)


def a_test(nodeid: str = "tests/ops/test_add.py::test_add[m55-rank1]", **changes: Any) -> TestRecord:
    values: dict[str, Any] = {
        "nodeid": nodeid,
        "target": "cortex-m55",
        "result": "passed",
        "attempts": (attempt(kind="PASS"),),
        "verdict": None,
        "history": None,
        "started": 1_800_000_000.0,
        "seconds": 0.25,
        "worker": "main",
        "message": "",
        "repro": None,
    }
    return TestRecord(**{**values, **changes})


def failed(nodeid: str = "tests/ops/test_mul.py::test_mul[u85-a]", **changes: Any) -> TestRecord:
    values: dict[str, Any] = {
        "result": "failed",
        "target": "ethos-u85-256",
        "attempts": (attempt(1), attempt(2, hashes={"outputs": f"{1:064x}"})),
        "verdict": verdict(),
        "history": HistoryRecord("NEW", "green in 40 runs before", None, None),
        "message": "AssertionError: WRONG in phase verify",
        "repro": "harness repro attempts/mul",
    }
    return a_test(nodeid, **{**values, **changes})


def flaky(nodeid: str = "tests/ops/test_sub.py::test_sub[m55-a]", **changes: Any) -> TestRecord:
    values: dict[str, Any] = {
        "result": "flaky",
        "attempts": (attempt(1), attempt(2, "PASS")),
        "verdict": verdict("ENGINE_NONDETERMINISTIC"),
        "message": "AssertionError: first attempt",
        "repro": "harness repro attempts/sub",
    }
    return a_test(nodeid, **{**values, **changes})


def a_session(*tests: TestRecord, **changes: Any) -> SessionRecord:
    values: dict[str, Any] = {
        "id": "20261130-1200-abc",
        "started": 1_800_000_000.0,
        "seconds": 12.5,
        "argv": ("/usr/bin/pytest", "-k", "u85 and not slow"),
        "engine": "standin",
        "commit": "a" * 40,
        "merge_base": "b" * 40,
        "branch": "topic",
        "host": "builder",
        "environment": ENVIRONMENT,
        "exit_status": 0,
        "partial": False,
        "tests": tests,
    }
    return SessionRecord(**{**values, **changes})


def with_evidence(directory: Path, rows: int = 8, columns: int = 8) -> Path:
    """An attempt directory with a console and one output that differs from its reference."""
    import numpy as np

    from harness.flow import RunSpec, TensorSpec, Tolerance

    directory.mkdir(parents=True, exist_ok=True)
    reference = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    output = reference.copy()
    output[-1, 2:5] += [1.0, 2.0, 4.0]
    spec = TensorSpec("float32", (rows, columns), (0, 1))
    run = RunSpec(
        target="cortex-m55",
        board="corstone-300",
        elf="runner.elf",
        program="program.pte",
        inputs=("i0.bin",),
        references=("ref-0.bin",),
        output_specs=(spec,),
        tolerance=Tolerance(),
    )
    (directory / "runspec.json").write_text(run.to_json())
    (directory / "ref-0.bin").write_bytes(reference.tobytes())
    (directory / "out-0.bin").write_bytes(output.tobytes())
    (directory / "console.log").write_text(
        "[    0.012345] I [executorch:main.cpp:1 main()] Running executor with parameter:\n"
        "[    0.050000] <script>document.title='evil'</script>\n"
    )
    return directory
