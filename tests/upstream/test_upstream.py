"""`harness upstream`: ExecuTorch's own tests from the wheel, against our runner and stand-in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.outcomes import HarnessError, OutcomeClass
from harness.settings import resolve
from harness.upstream import SuiteRun, run_suite
from harness.upstream.recorder import Record, read_records


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from harness.cli import main; main()", "upstream", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)


def upstream(records: Path, *arguments: str) -> list[Record]:
    run = harness(*arguments, "--engine", "standin", "--records", str(records), "-q")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return read_records(records)


def test_upstreams_minimum_boots_and_passes_on_the_stand_in(tmp_path: Path) -> None:
    records = upstream(tmp_path / "records", "cortex_m", "-k", "implementation and test_minimum")
    assert len(records) >= 6
    assert {record.result for record in records} == {"passed"}
    assert all(record.boots == 1 for record in records)


def test_a_slice_of_upstreams_ethos_u_tests_is_as_known(tmp_path: Path) -> None:
    records = upstream(tmp_path / "records", "arm", "-k", "u55 or u85", "--slice", "7/128")
    assert len(records) >= 30
    assert sum(record.boots > 0 for record in records) >= 20


def test_an_upstream_model_boots_and_passes(tmp_path: Path) -> None:
    (record,) = upstream(tmp_path / "records", "arm_models", "-k", "residual_conv_block_u85")
    assert record.id == "test_residual_conv_block.py::test_residual_conv_block_u85_INT"
    assert (record.result, record.boots) == ("passed", 1)


def test_upstreams_ethos_u_tests_pass_with_cortex_m_at_the_borders(tmp_path: Path) -> None:
    # On U55 upstream checks of the 32-bit sigmoid only that it is not delegated.
    chosen = "test_sigmoid and INT and (u55 or u85) and not sigmoid_32bit"
    selection = ("-k", chosen, "--slice", "0/6", "--cortex-m-qdq")
    records = upstream(tmp_path / "records", "arm", *selection)
    assert len(records) >= 3
    assert {record.result for record in records} == {"passed"}
    assert all(record.boots == 1 for record in records)


@pytest.mark.parametrize(
    ("suite", "arguments", "engine", "kind"),
    [
        ("cortex_n", (), "standin", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", ("--cortex-m-target", "cortex-m99"), "standin", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", ("--cortex-m-target=cortex-m99",), "standin", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", (), "host", OutcomeClass.CONFIG_OPTIONS),
        ("cortex_m", (), "fvp", OutcomeClass.NOT_RUN),
    ],
)
def test_what_cannot_run_is_said_before_any_test(
    suite: str,
    arguments: tuple[str, ...],
    engine: str,
    kind: OutcomeClass,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    settings = resolve(lambda option: engine if option.name == "engine" else None, environment={})
    with pytest.raises(HarnessError) as failure:
        run_suite(SuiteRun(suite, arguments), settings, lambda _: None)
    assert failure.value.outcome.kind is kind


@pytest.mark.parametrize("text", ["1", "2/2", "a/b", "0/0", "-1/4"])
def test_a_slice_that_is_none_is_refused(text: str) -> None:
    settings = resolve(lambda option: None, environment={})
    with pytest.raises(ValueError, match="expected K/N"):
        run_suite(SuiteRun("arm", slice=text), settings, lambda _: None)
