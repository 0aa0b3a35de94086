"""`harness selfcheck` on the stand-in: its facts, its ladder, and what it says where there is no FVP."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness import Case, Program
from harness.cli import app
from harness.flow import EngineIdentity
from harness.selfcheck.facts import QUESTIONS, ask, build_probe
from harness.selfcheck.ladder import GRAPHS, climb
from harness.selfcheck.record import NOT_MEASURED, BoardCheck, Boot, Rung, SelfCheck
from harness.session import Harness
from harness.standin.launchers import launcher_directory
from harness.targets import TARGETS

U55 = TARGETS["ethos-u55-128"]
LIMIT_LINE = "Info: Simulation is stopping. Reason: CPU time has been exceeded."


@pytest.fixture(scope="module")
def boots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Boot]:
    directory = tmp_path_factory.mktemp("probe")
    elf = build_probe(U55.board, directory)
    return {boot.name: boot for boot in ask(launcher_directory() / U55.fvp, U55, elf, directory, 1)}


def test_exit_statuses_of_the_standin(boots: dict[str, Boot]) -> None:
    assert list(boots) == [question.name for question in QUESTIONS]
    assert {name: boot.status for name, boot in boots.items()} == {
        "success": 0,
        "failure with status 7": 7,
        "run-time error": 1,
        "abort": 1,
        "lock-up": 4,
        "endless loop": 0,
        "endless sleep": 0,
        "EOT, shutdown_on_eot=1": 0,
        "EOT, shutdown_on_eot=0": 0,
        "semihosting": 0,
    }
    assert all("probe: begin" in boot.lines for boot in boots.values())
    assert "stand-in" in boots["success"].lines[0]  # the banner


def test_only_what_does_not_end_meets_the_limit(boots: dict[str, Boot]) -> None:
    stopped = {name for name, boot in boots.items() if LIMIT_LINE in boot.lines}
    assert stopped == {"endless loop", "endless sleep", "EOT, shutdown_on_eot=0"}
    assert all((boots[name].seconds >= 1) for name in stopped)


def test_semihosting_of_the_standin(boots: dict[str, Boot]) -> None:
    facts = boots["semihosting"].facts
    assert facts["command_line_length"] == 256  # of 312
    assert facts["console_is_console"] == 1
    assert facts["open_missing_file"] == facts["open_outside_of_cwd"] == 0xFFFF_FFFF
    assert facts["errno_of_it"] == 2
    assert {"heap_base", "stack_limit", "clock", "tick_frequency"} <= facts.keys()


def test_ladder_agrees_with_the_reference_model(harness: Harness, tmp_path: Path) -> None:
    first, last = climb(harness, U55, tmp_path, (GRAPHS[0], GRAPHS[-1]))
    assert (first.name, first.outcome, first.as_reference) == ("convolution", "PASS", True)
    assert (last.name, last.outcome, last.as_reference) == ("x * sigmoid(x), 16 bits", "PASS", True)
    assert first.as_standin is last.as_standin is None  # it would be compared with itself
    assert first.output != last.output


def test_ladder_names_a_wrong_output(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = Harness.lower

    def other_reference(self: Harness, case: Case) -> Program:
        program = lower(self, case)
        data = bytearray(program.references[0].read_bytes())
        data[-1] ^= 0x40
        (tmp_path / "ref.bin").write_bytes(data)
        return replace(program, references=(tmp_path / "ref.bin",))

    monkeypatch.setattr(Harness, "lower", other_reference)
    (rung,) = climb(harness, U55, tmp_path, GRAPHS[:1])
    assert (rung.outcome, rung.as_reference) == ("WRONG", False)


ARM = EngineIdentity("fvp", U55.fvp, "11.99.1", "/fvp", "hash")
STANDIN = replace(ARM, kind="standin", version="stand-in")
BOOTS = (Boot("success", 0, "exit", 0.5, {"clock": 3}, ("Fast Models [11.99.1]", "probe: begin")),)
RUNGS = (Rung("convolution", "PASS", "a", True, True), Rung("… sigmoid", "PASS", "b", True, False))


def test_table_names_the_first_graph_that_differs_from_the_standin() -> None:
    check = SelfCheck((BoardCheck(U55.name, ARM, BOOTS, RUNGS),), {})
    lines = list(check.table())
    assert lines[0] == "ethos-u55-128 on FVP_Corstone_SSE-300_Ethos-U55: fvp, 11.99.1"
    assert lines[1].split() == ["success", "status", "0", "0.50", "s", "Fast", "Models", "[11.99.1]"]
    assert lines[-1] == "  first graph that differs: … sigmoid"
    assert not check.good
    assert "note" not in json.loads(check.to_json())
    assert SelfCheck((BoardCheck(U55.name, ARM, BOOTS, RUNGS[:1]),), {}).good
    assert not SelfCheck((BoardCheck(U55.name, ARM, BOOTS, RUNGS[:1], "LOAD"),), {}).good


def test_results_of_the_standin_say_that_no_fvp_was_measured() -> None:
    check = SelfCheck((BoardCheck(U55.name, STANDIN, BOOTS, RUNGS[:1]),), {})
    assert json.loads(check.to_json())["note"] == NOT_MEASURED
    assert any(NOT_MEASURED in line for line in check.table())


def test_without_an_fvp_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    output = tmp_path / "check.json"
    run = CliRunner().invoke(app, ["selfcheck", "--engine", "fvp", "--output", str(output)])
    assert run.exit_code == 1
    assert "ethos-u55-128: not run: --engine fvp, but there is no" in run.stdout
    written = json.loads(output.read_text())
    assert written["note"] == NOT_MEASURED
    assert [board["boots"] for board in written["boards"]] == [[], [], []]


@pytest.mark.parametrize("words", [["--engine", "host"], ["--target", "m55"]])
def test_what_has_no_npu_is_refused(words: list[str]) -> None:
    run = CliRunner().invoke(app, ["selfcheck", *words])
    assert isinstance(run.exception, ValueError)
