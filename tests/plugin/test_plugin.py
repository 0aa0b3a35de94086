"""The pytest face, in real inner pytest runs."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from harness.plugin.exits import NOTHING_RAN
from harness.plugin.summary import engine_line
from harness.settings import OPTIONS, default_cache
from tests.plugin.records import booted

CASE = """
import torch
from harness import Case, cases

class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y

def inputs(rng):
    return torch.rand(5, generator=rng), torch.rand(5, generator=rng)

@cases("m55", rank1=Case(lambda rng: Add(), inputs))
def test_add(case, check):
    check(case)
"""

BY_HAND = """
import torch

class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y

def test_by_hand(lower, runner, run, assert_matches):
    program = lower(Add(), (torch.ones(3), torch.arange(3.0)), target="m55")
    attempt = run(program, runner=runner("m55"))
    assert_matches(attempt)

def test_wrong_reference_is_red(lower, run, assert_matches, tmp_path):
    from dataclasses import replace
    program = lower(Add, lambda rng: (torch.ones(3), torch.arange(3.0)), target="m55")
    wrong = tmp_path / "wrong-reference.bin"
    wrong.write_bytes(bytes(12))
    assert_matches(run(replace(program, references=(wrong,))))
"""


# Read before pytester moves HOME: inner sessions share the programs and runners of the outer one.
CACHE = str(default_cache())


def inner(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("--cache", CACHE, *arguments)


def test_declared_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CASE)
    result = inner(pytester, "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_add*m55-rank1* PASSED*", "1 cases: * 1 on the stand-in*"])


def test_steps_by_hand_and_a_red_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BY_HAND)
    result = inner(pytester, "--no-reruns")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*WRONG in phase verify*", "*evidence: *"])


def test_under_xdist_the_summary_counts_all_workers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CASE, test_other=CASE)
    result = inner(pytester, "-n", "2")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 cases: * 2 on the stand-in*"])


def test_engine_fvp_without_an_fvp_is_red(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(CASE)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    result = inner(pytester, "--engine", "fvp")
    result.assert_outcomes(failed=1)
    assert result.ret == NOTHING_RAN
    result.stdout.fnmatch_lines(["1 cases: 0 of 1 on Arm's FVP, *1 not run", "*NOT_RUN in phase launch*"])


def test_engine_host_runs_without_a_board(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CASE)
    result = inner(pytester, "--engine", "host")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 cases: * 1 on the host*"])


def test_target_selects_and_an_unknown_one_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CASE + "\ndef test_without_a_case():\n    pass\n")
    inner(pytester, "--target", "m55", "--collect-only").assert_outcomes(deselected=1)
    result = inner(pytester, "--target", "m56")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unknown target 'm56'; known: cortex-m0plus*cortex-m55*"])


def test_bad_option_value_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = inner(pytester, "--engine", "quemu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--engine quemu: choose from auto, fvp, standin, host*"])


def test_help_lists_every_option(pytester: pytest.Pytester) -> None:
    text = inner(pytester, "--help").stdout.str()
    for option in OPTIONS:
        assert option.flag in text
        assert option.environment in text


def test_seed_reaches_the_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CASE)
    result = inner(pytester, "--case-seed", "7", "--artifacts", "kept")
    result.assert_outcomes(passed=1)
    (spec,) = pytester.path.glob("kept/*/attempt-1/runspec.json")
    assert '"seed": 7' in spec.read_text()


def test_engine_line() -> None:
    tests = [booted(kind) for kind in ("standin", "standin", None)]
    assert engine_line(tests) == "3 cases: 0 of 3 on Arm's FVP, 2 on the stand-in, 0 on the host, 1 not run"


def test_from_another_repository(tmp_path: Path) -> None:
    """The built wheel, in a new environment, runs a case from an empty folder."""
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(root)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True)
    # torch and executorch take gigabytes: the new environment borrows the installed ones.
    purelib = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    borrowed = Path(pytest.__file__).parents[1]
    (purelib / "borrowed.pth").write_text(f"{borrowed}\n")
    empty = tmp_path / "empty folder"
    empty.mkdir()
    (empty / "test_add.py").write_text(CASE)
    arguments = [python, "-m", "pytest", "-v", "--cache", CACHE]
    run = subprocess.run(arguments, cwd=empty, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 on the stand-in" in run.stdout
    where = [python, "-c", "import harness; print(harness.__file__)"]
    shown = subprocess.run(where, cwd=empty, capture_output=True, text=True, check=True)
    assert str(purelib) in shown.stdout
