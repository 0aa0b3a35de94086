"""Rows B: launch and arguments of the FVP."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import FvpEngine, HostEngine, find_fvp, run_attempt, select_engine
from harness.flow import RunSpec
from harness.outcomes import HarnessError
from harness.targets import FVP_SSE300_U55, TARGETS
from tests.harness.bench import GOOD, Bench, MakeFake, Step, prints, writes
from tests.harness.catalogue.conftest import Link
from tests.harness.catalogue.expect import expect

M55 = TARGETS["cortex-m55"]


def test_catalogue_B1_of_two_on_path_the_same_is_taken_each_time(make_fake: MakeFake) -> None:
    first, second = make_fake("first", FVP_SSE300_U55), make_fake("second", FVP_SSE300_U55)
    path = f"{first.executable.parent}:{second.executable.parent}"
    assert {find_fvp(M55, path) for _ in range(5)} == {first.executable}
    identity = FvpEngine(first.executable).identity()
    assert (identity.path, identity.version) == (str(first.executable), "11.99.1 (Nov 30 2026)")


def test_catalogue_B1_an_fvp_that_does_not_start_says_why(make_fake: MakeFake) -> None:
    broken = make_fake("broken", FVP_SSE300_U55).does(
        version="libSDL2.so.2: cannot open shared object file", version_status=127
    )
    with pytest.raises(HarnessError) as caught:
        select_engine("fvp", M55, str(broken.executable.parent))
    expect(caught.value.outcome, "ENV/LOADER", "launch", 0)
    assert str(broken.executable) in caught.value.outcome.summary


@pytest.mark.parametrize(
    ("inputs", "says"),
    [(tuple(f"i{i}.bin" for i in range(45)), "> 256 characters"), (("two words.bin",), "two words.bin")],
)
def test_catalogue_B2_what_semihosting_would_cut_is_not_booted(
    bench: Bench, inputs: tuple[str, ...], says: str
) -> None:
    for name in inputs:
        (bench.directory / name).write_bytes(bytes(4))
    outcome = bench.attempt(writes(), *prints(*GOOD), inputs=inputs).outcome
    expect(outcome, "CONFIG/CMDLINE", "launch", 0)
    assert says in outcome.summary
    assert not (bench.directory / "console.log").exists()


E549 = "E549: libx.so: cannot enable executable stack as shared object requires: Invalid argument"
NO_PYTHON = "error while loading shared libraries: libpython3.9.so.1.0: cannot open shared object file"
NO_LICENCE = "Failed to check out licence FM_Simulation: no valid licence was found"


def unfit(bench: Bench, line: str, status: int, kind: str) -> None:
    """The FVP says `line` and ends: the machine is to blame, and nothing is rerun."""
    outcome = bench.attempt(*prints(line), ["exit", status]).outcome
    expect(outcome, kind, "launch", 0)
    assert line in outcome.summary


def test_catalogue_B3_an_executable_stack_has_its_class_and_a_hint(bench: Bench) -> None:
    unfit(bench, E549, 1, "ENV/EXECSTACK")


def test_catalogue_B4_a_missing_library_has_its_class(bench: Bench) -> None:
    unfit(bench, NO_PYTHON, 127, "ENV/LOADER")


def test_catalogue_B6_a_missing_licence_has_its_class(bench: Bench) -> None:
    unfit(bench, NO_LICENCE, 1, "ENV/LICENCE")


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME"])
def test_catalogue_B4_python_settings_do_not_reach_the_fvp(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    bench.attempt(["environment", name])
    assert f"{name}=None" in bench.console()


def test_catalogue_B7_an_option_without_effect_is_refused_by_name(bench: Bench) -> None:
    host = run_attempt(HostEngine(), replace(bench.spec, extra_args=("--stat",)), bench.directory).outcome
    expect(host, "CONFIG/OPTIONS", "launch", 0)
    assert "--fvp-arg" in host.summary
    traced = bench.attempt(writes(), *prints(*GOOD), npu_trace="trace.jsonl").outcome
    expect(traced, "CONFIG/OPTIONS", "launch", 0)
    assert "--npu-trace" in traced.summary
    unknown = bench.attempt(*prints("Error: unknown parameter 'cpu0.x'"), ["exit", 2]).outcome
    expect(unknown, "CONFIG/OPTIONS", "launch", 0)
    assert "cpu0.x" in unknown.summary


def test_catalogue_B8_each_run_reads_its_own_console(
    bench: Bench, make_fake: MakeFake, tmp_path: Path
) -> None:
    """Both run at once, and both claim a port that the other could listen on."""
    directories = [tmp_path / "one", tmp_path / "two"]
    steps: list[list[Step]] = [
        prints(f"terminal_0: Listening for serial connection on port {port}", f"I am {port}", *GOOD)
        for port in (5000, 5004)
    ]
    fakes = [make_fake(f"fvp{i}", FVP_SSE300_U55).does(writes(), *step) for i, step in enumerate(steps)]
    for directory in directories:
        directory.mkdir()
        for path in bench.directory.iterdir():
            (directory / path.name).write_bytes(path.read_bytes())
    with ThreadPoolExecutor(2) as pool:
        attempts = list(
            pool.map(lambda f, d: run_attempt(FvpEngine(f.executable), bench.spec, d), fakes, directories)
        )
    for attempt, port in zip(attempts, (5000, 5004), strict=True):
        assert attempt.outcome.green, attempt.outcome
        assert attempt.result is not None
        assert [line.text for line in attempt.result.lines if line.text.startswith("I am")] == [
            f"I am {port}"
        ]
        assert "telnet0.start_telnet=1" not in " ".join(attempt.result.argv)


def test_catalogue_B9_another_mac_count_than_the_program_has_is_refused(bench: Bench) -> None:
    parameter = "mps4_board.subsystem.ethosu.num_macs"
    changes = {"target": "ethos-u85-256", "board": "corstone-320"}
    refused = bench.attempt(
        writes(), *prints(*GOOD), extra_args=("-C", f"{parameter}=128"), **changes
    ).outcome
    expect(refused, "CONFIG/TARGET", "launch", 0)
    assert "128" in refused.summary
    assert "ethos-u85-256" in refused.summary
    assert not (bench.directory / "console.log").exists()
    same = bench.attempt(writes(), *prints(*GOOD), extra_args=("-C", f"{parameter}=256"), **changes).outcome
    assert same.green


def test_catalogue_B11_arguments_that_are_passed_on_are_in_argv_and_in_the_bundle(bench: Bench) -> None:
    extra = ("-C", "cpu0.semihosting-heap_base=0", "--stat")
    attempt = bench.attempt(writes(), *prints(*GOOD), ["arguments"], extra_args=extra)
    assert attempt.result is not None
    assert attempt.result.argv[-3:] == extra
    assert "--stat" in bench.console()
    assert RunSpec.from_json((bench.directory / "runspec.json").read_text()).extra_args == extra
    assert json.loads((bench.directory / "runspec.json").read_text())["extra_args"] == list(extra)


def test_catalogue_B12_an_elf_of_another_board_is_refused_by_its_memory_map(bench: Bench, link: Link) -> None:
    elsewhere = link("int _start(void) { return 0; }", text=0x1200_0000)
    (bench.directory / "runner.elf").write_bytes(elsewhere.read_bytes())
    outcome = bench.attempt(writes(), *prints(*GOOD)).outcome
    expect(outcome, "CONFIG/TARGET", "launch", 0)
    assert "corstone-320" in outcome.summary
    assert bench.fake.executable.name == FVP_SSE300_U55
    assert not (bench.directory / "console.log").exists()
    here = link("int _start(void) { return 0; }")
    (bench.directory / "runner.elf").write_bytes(here.read_bytes())
    assert bench.attempt(writes(), *prints(*GOOD)).outcome.green
