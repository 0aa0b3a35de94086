"""Vela and the reference model in child processes: crashes, errors, limits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from harness.aot import lower, vela
from harness.aot.child import run_tool
from harness.aot.steps import Steps
from harness.aot.tosa import ReferenceModelError, evaluate
from harness.aot.vela import Vela
from harness.flow import Case
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import target_named

SEGFAULT = "import os, signal\nprint('compiling')\nos.kill(os.getpid(), signal.SIGSEGV)"
FAKES = {"vela": "ethosu/vela/vela.py", "tosa": "tosa_reference_model/__init__.py"}


def install_fake(monkeypatch: pytest.MonkeyPatch, directory: Path, tool: str, body: str) -> None:
    """Put a package before the real one on the path of child processes only."""
    module = directory / "fake" / FAKES[tool]
    module.parent.mkdir(parents=True)
    for parent in (module.parent, *module.parents):
        if parent == directory / "fake":
            break
        (parent / "__init__.py").touch()
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    module.write_text(f"def main(arguments):\n{lines}\ndef run(*arguments, **options):\n{lines}\n")
    monkeypatch.setenv("PYTHONPATH", str(directory / "fake"))


def small() -> Case:
    return Case(
        lambda rng: torch.nn.Linear(4, 3),
        lambda rng: (torch.randn(2, 4, generator=rng),),
        target_named("u85-256"),
        name="small",
    )


def failed(case: Case, cache: Path) -> Outcome:
    with pytest.raises(HarnessError) as caught:
        lower(case, cache)
    assert "\n" not in caught.value.outcome.summary
    return caught.value.outcome


def test_a_crash_of_vela_is_an_outcome(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        install_fake(patch, tmp_path, "vela", SEGFAULT)
        outcome = failed(small(), tmp_path / "cache")
    assert (outcome.kind, outcome.phase) == (OutcomeClass.AOT_CRASH, Phase.LOWER)
    assert "SIGSEGV" in outcome.summary
    log = Path(str(outcome.detail["log"]))
    assert log.read_text() == "compiling\n"
    assert log.with_name("graph.tosa").read_bytes()[4:8] == b"TOSA"
    assert "--accelerator-config=ethos-u85-256" in outcome.hint
    assert lower(small(), tmp_path / "cache").pte.is_file()  # this process goes on, and the real Vela is back


def test_a_crash_of_the_reference_model_is_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_fake(monkeypatch, tmp_path, "tosa", SEGFAULT)
    outcome = failed(small(), tmp_path / "cache")
    assert (outcome.kind, outcome.phase) == (OutcomeClass.REF_ERROR, Phase.VERIFY)
    assert "SIGSEGV" in outcome.summary


def vela_outcome(directory: Path, *flags: str) -> Outcome:
    graph = directory / "graph.tosa"
    graph.write_bytes(b"\x08\0\0\0TOSA" + bytes(range(200)))
    with pytest.raises(HarnessError) as caught:
        Vela(Steps(directory / "failures", "x")).main([*flags, f"--output-dir={directory}", str(graph)])
    return caught.value.outcome


def test_vela_reports_an_error(tmp_path: Path) -> None:
    outcome = vela_outcome(tmp_path, "--accelerator-config=ethos-u85-77")
    assert outcome.kind is OutcomeClass.AOT_REFUSED
    assert "ethos-u85-77" in outcome.summary


def test_vela_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake(monkeypatch, tmp_path, "vela", "import time\nprint('now', flush=True)\ntime.sleep(600)")
    monkeypatch.setattr(vela, "TIME_LIMIT", 3.0)
    outcome = vela_outcome(tmp_path)
    assert outcome.kind is OutcomeClass.TIMEOUT
    assert "did not end in time: now" in outcome.summary


def test_malformed_graph_is_no_crash_of_ours(tmp_path: Path) -> None:
    outcome = vela_outcome(tmp_path, "--accelerator-config=ethos-u55-128")
    assert outcome.kind in (OutcomeClass.AOT_REFUSED, OutcomeClass.AOT_CRASH)
    with pytest.raises(ReferenceModelError):
        evaluate(b"\x08\0\0\0TOSA" + bytes(64), [np.zeros(3, np.int8)])


def test_a_tool_prints_what_is_not_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_fake(monkeypatch, tmp_path, "vela", "import sys\nsys.stdout.buffer.write(b'\\xff')\nreturn 3")
    ended = run_tool("vela", [], tmp_path, 60)
    assert (ended.status, ended.crashed, ended.how) == (3, False, "exited with status 3")
    assert ended.last_line == "\N{REPLACEMENT CHARACTER}"


def test_a_tool_ends_with_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "started")
    body = "import os, time\nopen('started', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    install_fake(monkeypatch, tmp_path, "vela", body)
    script = (
        "import sys\nfrom pathlib import Path\nfrom harness.aot.child import run_tool\n"
        "run_tool('vela', [], Path(sys.argv[1]), 600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    try:
        tool = psutil.Process(int((tmp_path / "started").read_text()))
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    tool.wait(timeout=60)
