"""Ways to a false pass that reviewers found; each stays closed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from harness import Case, Tolerance, cases
from harness.compare.compare import compare_outputs
from harness.flow import TensorSpec
from harness.outcomes import HarnessError, OutcomeClass
from harness.runfile import run_file
from harness.session import Harness
from harness.settings import resolve
from harness.targets import TARGETS


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("name", ["atol", "rtol", "qtol"])
def test_a_limit_is_a_finite_number(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Tolerance(**{name: value})


def test_no_tolerance_turns_a_false_into_a_true(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(bytes(4))
    (tmp_path / "ref").write_bytes(b"\1\1\1\1")
    spec = TensorSpec("bool", (4,), (0,))
    (result,) = compare_outputs(tmp_path, ["out"], ["ref"], [spec], Tolerance(atol=5, qtol=5))
    assert not result.ok


def test_a_scale_that_is_no_number_accepts_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(np.array([9], np.float32).tobytes())
    (tmp_path / "ref").write_bytes(np.array([0], np.float32).tobytes())
    spec = TensorSpec("float32", (1,), (0,), scale=math.nan, zero_point=0)
    (result,) = compare_outputs(tmp_path, ["out"], ["ref"], [spec], Tolerance(qtol=1))
    assert not result.ok


@pytest.mark.parametrize("body", ["import sys; sys.exit(0)", "raise RuntimeError('no')", "syntax error"])
def test_a_module_file_that_ends_or_raises_is_red(tmp_path: Path, body: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(body)
    harness = Harness(resolve(lambda _: None, environment={}))
    target = TARGETS["cortex-m55"]
    attempt, _ = run_file(harness, file, target, tmp_path, bundleio=False, inputs=[], qtol=0, atol=0)
    assert attempt.outcome.kind is OutcomeClass.CONFIG_INPUT


def test_cases_without_a_target_or_a_case_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        cases("", some=Case(lambda rng: None, lambda rng: ()))
    with pytest.raises(ValueError, match="at least one"):
        cases("m55")


def test_unwritable_cache_is_one_line(tmp_path: Path) -> None:
    from harness.firmware.build import RunnerRequest, build_runner

    (tmp_path / "file").write_text("")
    request = RunnerRequest(TARGETS["cortex-m55"], ("cortex_m::minimum.out",))
    with pytest.raises(HarnessError) as failure:
        build_runner(request, tmp_path / "file")
    assert failure.value.outcome.kind is OutcomeClass.CONFIG_OPTIONS
