"""Bundled programs: the device's own verdict, several test cases, malformed bundles."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runner.runners import Finished, Runner


def results(done: Finished) -> list[str]:
    return [line for line in done.lines if "Test_result" in line]


def test_every_test_case_passes(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "good.bpte", "-o", "out")
    assert done.status == 0, done.console
    assert results(done) == [f"I TEST: BundleIO index[{i}] Test_result: PASS" for i in range(2)]
    assert np.array_equal(np.fromfile(files / "out-0.bin", np.float32), np.arange(6) + 1)
    assert np.array_equal(np.fromfile(files / "out-1-0.bin", np.float32), np.full(6, 2))
    assert re.search(r"PTE @ 0x[0-9a-f]+ \[----BP08\]", done.console)
    assert done.lines[-1] == "I harness: end status=0 outputs=2"


def test_difference_within_the_tolerance_passes(runner: Runner, files: Path) -> None:
    assert runner.run(files, "-m", "within.bpte", "-o", "out").status == 0


def test_one_wrong_test_case_fails_the_run(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "bad.bpte", "-o", "out")
    assert done.status == 1
    assert results(done) == [
        "I TEST: BundleIO index[0] Test_result: PASS",
        "E TEST: BundleIO index[1] Test_result: FAIL",
    ]
    assert "Output 0: 6 of 6 elements differ, the first at 0." in done.errors
    assert done.lines[-2:] == ["I Model run: 0", "I harness: end status=1 outputs=2"]


def test_inputs_beside_a_bundle_are_ignored(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "good.bpte", "-o", "out", "-i", "absent.bin")
    assert done.status == 0
    assert "I Inputs come from the bundle, -i is ignored." in done.lines


def test_bundle_without_test_case_for_the_method_is_no_pass(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "foreign.bpte", "-o", "out")
    assert done.status == 1
    assert done.errors[0].startswith("Bundle has no test case for method '")
    assert not results(done)


@pytest.mark.parametrize("size", [8, 12, 100, 400, 700])
def test_truncated_bundle_is_an_error(runner: Runner, files: Path, size: int) -> None:
    (files / "cut.bpte").write_bytes((files / "good.bpte").read_bytes()[:size])
    done = runner.run(files, "-m", "cut.bpte", "-o", "out")
    assert done.status == 1
    assert done.errors
    assert done.lines[-1].startswith("I harness: end status=1 ")


def test_mutated_bundles_never_crash(build: Callable[[str], Runner], files: Path) -> None:
    """Sanitizers abort with another status; a judged run or an error message are both fine."""
    runner = build("host-ours")
    original = (files / "good.bpte").read_bytes()
    rng = random.Random(20)
    for _ in range(100):
        mutated = bytearray(original)
        for _ in range(rng.randint(1, 4)):
            mutated[rng.randrange(8, len(mutated))] = rng.randrange(256)
        (files / "mutated.bpte").write_bytes(mutated)
        done = runner.run(files, "-m", "mutated.bpte", "-o", "out")
        assert done.status in (0, 1), done.console
        assert done.status == 0 or done.errors
