"""`harness flakes` and `harness ledger`: a test's rate, on a fake FVP that fails when it is told to."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.flakes import FlakesError, measure, report_lines, source_of
from harness.ledger.store import Ledger
from tests.harness.bench import GOOD, Bench, Step, prints, writes
from tests.harness.ledger.records import FAULT, NODE, PASS, attempt, case, session

GOOD_RUN: list[Step] = [writes(), *prints(*GOOD)]
BAD_RUN: list[Step] = [writes(bytes([9, 2, 3, 252])), *prints(*GOOD)]
MODULE = """
from pathlib import Path
from harness.flow import Program, RunnerElf, TensorSpec

HERE = Path({directory!r})
SPEC = TensorSpec("int8", (2, 2), (0, 1))

def test_boots(run):
    program = Program(
        directory=HERE, pte=HERE / "program.pte", bpte=None, inputs=(HERE / "i0.bin",),
        references=(HERE / "ref-0.bin",), input_specs=(SPEC,), output_specs=(SPEC,), operators=(),
        target="cortex-m55", seed=0,
    )
    elf = RunnerElf(HERE / "runner.elf", "cortex-m55", "corstone-300", (), "s", "h", {{}})
    assert run(program, runner=elf).outcome.green

def test_without_a_boot():
    pass
"""


@pytest.fixture
def suite(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A directory with a test that boots the fake FVP."""
    (tmp_path / "test_it.py").write_text(MODULE.format(directory=str(bench.directory)))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(bench.fake.executable.parent), prepend=":")
    return bench


def test_a_rate_with_its_interval_is_measured_and_stored(suite: Bench, tmp_path: Path) -> None:
    # The first run is that of pytest; of the twelve others two are wrong.
    runs = [BAD_RUN if i in (4, 9) else GOOD_RUN for i in range(13)]
    suite.fake.does_in_turn(*runs, GOOD_RUN)
    ledger = tmp_path / "flakes.sqlite"
    arguments = ["flakes", "test_it.py::test_boots", "--runs", "12", "--engine", "fvp", "-j", "2"]
    result = CliRunner().invoke(
        app, [*arguments, "--directory", str(tmp_path / "kept")], env={"CORSTONE_LEDGER": str(ledger)}
    )
    assert result.exit_code == 1, result.output
    assert "test_it.py::test_boots: 2 of 12 failed: 17 % (4.7 % to 45 %)" in result.output
    assert "2 times verify/WRONG: outputs [0] beyond the limit" in result.output
    assert "the same bytes gave 2 different outputs" in result.output
    # Evidence of failures only.
    kept = sorted((tmp_path / "kept").iterdir())
    assert len(kept) == 2
    assert all((path / "console.log").is_file() for path in kept)
    with Ledger(str(ledger)) as opened:
        (entry,) = opened.history()["test_it.py::test_boots"]
    assert (entry.purpose, entry.rate.failures, entry.rate.runs, entry.both) == ("flakes", 2, 12, True)
    shown = CliRunner().invoke(app, ["ledger", "show", "test_boots", "--ledger", str(ledger)])
    assert shown.exit_code == 0, shown.output
    assert "2 of 12 failed" in shown.output
    assert "2/12" in shown.output


@pytest.mark.parametrize("bad", [(), (3,)], ids=["good", "one bad run"])
def test_a_hunt_boots_all_tests_until_its_time_is_over(
    suite: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: tuple[int, ...]
) -> None:
    clock = count()  # a second for each look at it: six boots after that of pytest
    monkeypatch.setattr("harness.hunt.monotonic", lambda: next(clock))
    suite.fake.does_in_turn(*[BAD_RUN if i in bad else GOOD_RUN for i in range(8)])
    kept, ledger = tmp_path / "kept", tmp_path / "hunt.sqlite"
    arguments = ["hunt", "7", "test_it.py", "--engine", "fvp", "-j", "2", "--directory", str(kept)]
    result = CliRunner().invoke(app, arguments, env={"CORSTONE_LEDGER": str(ledger)})
    assert result.exit_code == len(bad), result.output
    assert "1 tests, 7 boots in " in result.output
    if bad:
        assert "test_it.py::test_boots: 1 of 7 failed: 14 %" in result.output
        (evidence,) = kept.glob("test-0/*/console.log")
        assert f"reproduce: harness repro {evidence.parent}" in result.output
    else:
        assert "a rate above 35 % is excluded for each" in result.output
        assert not list(kept.rglob("console.log"))
    with Ledger(str(ledger)) as opened:
        (entry,) = opened.history()["test_it.py::test_boots"]
    assert (entry.purpose, entry.rate.failures, entry.rate.runs) == ("flakes", len(bad), 7)


def test_a_hunt_for_nothing_is_refused(suite: Bench) -> None:
    result = CliRunner().invoke(app, ["hunt", "5", "test_it.py::test_without_a_boot", "--engine", "fvp"])
    assert result.exit_code != 0
    assert "nothing was booted that could be repeated" in result.output + str(result.exception)


def test_until_fail_stops_and_is_no_rate(suite: Bench, tmp_path: Path) -> None:
    suite.fake.does_in_turn(GOOD_RUN, GOOD_RUN, GOOD_RUN, BAD_RUN, GOOD_RUN)
    measured = measure("test_it.py::test_boots", 50, "fvp", True, tmp_path / "kept", 1)
    assert not measured.complete
    assert len(measured.attempts) == 3
    assert "failed in run 3; 2 passed before" in report_lines(measured)[0]
    with Ledger(str(tmp_path / "l.sqlite")) as ledger:
        ledger.add(measured.session, "until-fail")
        (entry,) = ledger.history()["test_it.py::test_boots"]
    assert entry.rate.runs == 0


@pytest.mark.parametrize(
    ("nodeid", "message"), [("test_it.py", "is not one test but 2"), ("test_absent.py", "test_absent.py")]
)
def test_what_cannot_be_measured_is_one_line(suite: Bench, tmp_path: Path, nodeid: str, message: str) -> None:
    suite.fake.does(*GOOD_RUN)
    with pytest.raises(FlakesError, match=message) as caught:
        measure(nodeid, 2, "fvp", False, tmp_path / "kept", 1)
    assert "\n" not in str(caught.value)


def test_a_test_without_a_boot_has_no_rate(tmp_path: Path) -> None:
    for record in (case(nodeid="t.py::plain"), case(attempt(FAULT))):
        with pytest.raises(FlakesError, match="boots nothing that could be repeated"):
            source_of(record)


def test_trends_over_all_tests(tmp_path: Path) -> None:
    file = str(tmp_path / "l.sqlite")
    run = CliRunner().invoke
    with Ledger(file) as ledger:
        for i in range(16):
            step = i >= 10
            reds = [case(attempt(FAULT if step else PASS), nodeid=f"t.py::red{k}") for k in range(3)]
            drifting = case(attempt(margin=0.2 if i < 10 else 0.7), nodeid="t.py::drifting")
            fine = case(attempt(margin=0.2), nodeid="t.py::fine")
            version = "5.1.0" if step else "5.0.0"
            ledger.add(session(f"s{i}", *reds, drifting, fine, day=400 + i, ethos_u_vela=version))
    shown = run(app, ["ledger", "trends", "--ledger", file])
    assert "VERSION_SKEW ethos-u-vela 5.0.0 -> 5.1.0: 3 tests fail more often since" in shown.output
    assert "t.py::red0: 0 of 10 failed: 0 % (0 % to 28 %), then 6 of 6 failed" in shown.output
    assert "DRIFT t.py::drifting: margin 0.70 of the limit" in shown.output
    assert "fine" not in shown.output


def test_ledger_commands(tmp_path: Path) -> None:
    file = str(tmp_path / "l.sqlite")
    with Ledger(file) as ledger:
        for i in range(12):
            margin = 0.2 if i < 8 else 0.9
            made = case(attempt(FAULT, margin=None) if i == 11 else attempt(margin=margin))
            ledger.add(session(f"s{i}", made, day=400 + i))
    run = CliRunner().invoke
    shown = run(app, ["ledger", "show", NODE, "--ledger", file, "--last", "3"])
    assert "main | standin | stand-in 0.1" in shown.output
    assert "1 of 12 failed: 8.3 %" in shown.output
    assert "margin is drifting since" in shown.output
    assert shown.output.count("commit-s") == 3
    assert "run/FAULT" in shown.output
    absent = run(app, ["ledger", "show", "nothing", "--ledger", file])
    assert (absent.exit_code, absent.output) == (1, "the ledger knows no test nothing\n")
    pruned = run(app, ["ledger", "prune", "--days", "1", "--ledger", file])
    assert "12 sessions deleted" in pruned.output
