"""Rows G: BundleIO. The host is the judge; what the device says is evidence."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path

import numpy as np
import pytest

from harness.engines import FvpEngine, run_attempt
from harness.flow import TensorSpec, Tolerance
from harness.pte import read_bundle
from harness.runfile import run_file
from harness.session import Harness
from harness.settings import resolve
from harness.targets import TARGETS
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
from tests.harness.catalogue.expect import expect
from tests.harness.catalogue.handmade import bundle, program

ONE_OFF = bytes([1, 2, 3, 253])


def device_says(verdict: str, status: int = 0) -> list[Step]:
    """The console of a runner with BundleIO."""
    boot = (BANNER, log("I", "Running executor with parameter:"), log("I", "PTE @ 0x70000000 [----BP08]"))
    complaint = [log("E", "Output 0: 1 of 4 elements differ.")] if verdict == "FAIL" else []
    line = log("I" if verdict == "PASS" else "E", f"TEST: BundleIO index[0] Test_result: {verdict}")
    return [*prints(*boot, *LOAD, *RUN, *WRITE, *complaint, line, *DONE, end(status)), ["exit", status]]


@pytest.mark.parametrize(("qtol", "green"), [(1.0, True), (0.0, False)])
def test_catalogue_G1_one_step_passes_where_the_limit_allows_it(
    bench: Bench, qtol: float, green: bool
) -> None:
    outcome = bench.attempt(
        writes(ONE_OFF),
        *device_says("FAIL", 1),
        program="x.bpte",
        inputs=(),
        tolerance=Tolerance(qtol=qtol),
    ).outcome
    if green:
        assert outcome.green, outcome
    else:
        expect(outcome, "LSB_TIE", "verify", 0)


def test_catalogue_G2_other_strides_are_a_dim_order(bench: Bench) -> None:
    text = "In function compare(), assert failed (same): Tensors shall have same strides (0,1,2) and (0,2,1)"
    outcome = bench.attempt(
        *prints(*BOOT, *LOAD, *RUN, log("F", text)), ["exit", 1], program="x.bpte", inputs=()
    ).outcome
    expect(outcome, "DIM_ORDER", "verify", 0)
    assert "(0,1,2) and (0,2,1)" in outcome.summary


def test_catalogue_G3_a_nan_is_an_infinite_error_whatever_the_runner_prints(bench: Bench) -> None:
    (bench.directory / "ref-0.bin").write_bytes(np.array([1, 2], np.float32).tobytes())
    attempt = bench.attempt(
        writes(np.array([1, np.nan], np.float32).tobytes()),
        *prints(
            *BOOT, *LOAD, *RUN, log("I", "max error 0.000000, mean error 0.000000"), *WRITE, *DONE, end()
        ),
        output_specs=(TensorSpec("float32", (2,), (0,)),),
        tolerance=Tolerance(atol=1e9, rtol=1e9),
    )
    expect(attempt.outcome, "WRONG", "verify", "ladder")
    assert attempt.comparisons[0].worst == inf
    assert "nan" in attempt.outcome.summary


def test_catalogue_G4_a_bundle_with_one_of_two_references_is_not_booted(bench: Bench, tmp_path: Path) -> None:
    """The program is made by hand, with the field numbers of ExecuTorch's schema."""
    file = tmp_path / "one.bpte"
    file.write_bytes(bundle(program(outputs=2), references=1))
    assert len(read_bundle(bundle(program(outputs=2), references=2)).cases[0].expected) == 2
    settings = resolve(lambda _: None, environment={})
    done, _ = run_file(
        Harness(settings),
        file,
        TARGETS["cortex-m55"],
        tmp_path / "run",
        bundleio=True,
        inputs=(),
        qtol=0,
        atol=0,
    )
    expect(done.outcome, "BUNDLE_INVALID", "load", 0)
    assert "1 references, the method 2" in done.outcome.summary
    assert done.result is None


@pytest.mark.parametrize("name", ["program.pte", "x.bpte"])
@pytest.mark.parametrize(
    "data", [b"\0\0\0\0BP", b"\0\0\0\0XX12\0\0", b"swap"], ids=["6 bytes", "other", "swapped"]
)
def test_catalogue_G5_the_identifier_decides(bench: Bench, name: str, data: bytes) -> None:
    if data == b"swap":
        data = b"\0\0\0\0BP08" if name.endswith(".pte") else b"\0\0\0\0ET12"
    if name == "x.bpte" and data == b"\0\0\0\0BP":
        data = b"\0\0\0\0ET"
    (bench.directory / name).write_bytes(data)
    outcome = bench.attempt(writes(), *prints(*GOOD), program=name).outcome
    expect(outcome, "BUNDLE_INVALID", "load", 0)
    assert not (bench.directory / "console.log").exists()


def test_catalogue_G6_two_runs_of_one_bundle_at_once_do_not_meet(bench: Bench, tmp_path: Path) -> None:
    """Eight runs, each in a directory of its own; all write a file of the same name."""
    bench.fake.does(writes(), *prints(*GOOD))
    directories = [tmp_path / f"worker{i}" for i in range(8)]
    for i, directory in enumerate(directories):
        directory.mkdir()
        for path in bench.directory.iterdir():
            (directory / path.name).write_bytes(path.read_bytes())
        # What the fake writes is right for the even ones only.
        (directory / "ref-0.bin").write_bytes(REFERENCE if i % 2 == 0 else ONE_OFF)
    with ThreadPoolExecutor(4) as pool:
        engine = FvpEngine(bench.fake.executable)
        attempts = list(pool.map(lambda d: run_attempt(engine, bench.spec, d), directories))
    assert [attempt.outcome.green for attempt in attempts] == [i % 2 == 0 for i in range(8)]
    assert all((directory / "out-0.bin").read_bytes() == REFERENCE for directory in directories)


def test_catalogue_G7_another_input_than_the_one_asked_for_is_refused(bench: Bench) -> None:
    outcome = bench.attempt(writes(), *prints(*GOOD), hashes={"file:i0.bin": "0" * 64}).outcome
    expect(outcome, "CONFIG/INPUT", "load", 0)
    assert "i0.bin" in outcome.summary


@pytest.mark.parametrize(("data", "kind"), [(REFERENCE, "PASS"), (ONE_OFF, "LSB_TIE")])
def test_catalogue_G8_a_runner_without_bundleio_is_judged_by_its_output_files(
    bench: Bench, data: bytes, kind: str
) -> None:
    """The bundle's program, inputs and references are files; the console has no verdict of the device."""
    outcome = bench.attempt(writes(data), *prints(*GOOD)).outcome
    assert outcome.kind.value == kind


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_catalogue_G8_a_device_that_contradicts_the_host_does_not_turn_it_green(
    bench: Bench, verdict: str
) -> None:
    data = bytes([1, 2, 3, 99]) if verdict == "PASS" else REFERENCE
    status = 0 if verdict == "PASS" else 1
    outcome = bench.attempt(writes(data), *device_says(verdict, status), program="x.bpte", inputs=()).outcome
    expect(outcome, "WRONG", "verify", "ladder")
