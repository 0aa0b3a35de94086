"""Verdicts for upstream's own tests: on a simulator that flips a bit of an output now and then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.demo.wrapper import install
from harness.report.jsonl import read_journal
from harness.targets import FVP_BOARDS

TEST = "test_sigmoid_u85_INT"


def harness(directory: Path, *arguments: str, simulators: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from harness.cli import main; main()", *arguments]
    environment = {**os.environ, "PATH": f"{simulators}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_a_flipped_bit_has_verdict_rate_and_a_line_that_reproduces_it(tmp_path: Path) -> None:
    # The rate is that of later runs; the first one goes wrong in any case.
    simulators = tmp_path / "bin"
    for fvp in FVP_BOARDS:
        install(simulators, fvp, seed=1, forced=True, flip=1e-9)
    reports = tmp_path / "reports"
    selection = ("arm", "-k", TEST, "--slice", "0/4", "--engine", "fvp")
    run = harness(tmp_path, "upstream", *selection, "--report-dir", "reports", simulators=simulators)
    said = run.stdout[-4000:] + run.stderr[-4000:]
    assert run.returncode == 1, said

    (journal,) = reports.glob("*.jsonl")
    (hit,) = [test for test in read_journal(journal).session.tests if test.result != "passed"]
    assert hit.result == "flaky", said
    assert [attempt.kind for attempt in hit.attempts] == ["WRONG", "PASS"], said
    assert hit.verdict is not None
    assert hit.verdict.verdict == "ENGINE_NONDETERMINISTIC"
    assert "the same bytes fail and pass" in hit.verdict.reason
    assert f"FLAKY  {hit.nodeid}  WRONG in phase verify" in run.stdout, said
    assert "rate: 1 of 2 failed: 50 %" in run.stdout, said
    assert f"reproduce: {hit.repro}" in run.stdout, said
    assert hit.repro is not None

    bundle = Path(str(hit.attempts[0].directory))
    again = harness(tmp_path, "repro", str(bundle), "--engine", "fvp", simulators=simulators)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "passes here" in again.stdout
