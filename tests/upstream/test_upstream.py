"""`harness upstream`: ExecuTorch's own tests from the wheel, against our runner and stand-in."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from harness.outcomes import HarnessError, OutcomeClass
from harness.settings import resolve
from harness.upstream import run_suite


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from harness.cli import main; main()", "upstream", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def test_upstreams_minimum_passes_on_the_stand_in() -> None:
    run = harness("cortex_m", "--engine", "standin", "-q", "-k", "implementation and test_minimum")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= 6
    assert not re.search(r"(xfailed|xpassed|skipped)", run.stdout)


@pytest.mark.parametrize(
    ("suite", "arguments", "engine", "kind"),
    [
        ("cortex_n", [], "standin", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", ["--cortex-m-target", "cortex-m99"], "standin", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", ["--cortex-m-target=cortex-m99"], "standin", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", [], "host", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", [], "fvp", OutcomeClass.NOT_RUN),
    ],
)
def test_what_cannot_run_is_said_before_any_test(
    suite: str, arguments: list[str], engine: str, kind: OutcomeClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    settings = resolve(lambda option: engine if option.name == "engine" else None, environment={})
    with pytest.raises(HarnessError) as failure:
        run_suite(suite, arguments, settings, lambda _: None)
    assert failure.value.outcome.kind is kind
