"""Engines: which one is chosen, what it is, what it gets as environment, what it refuses."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import FvpEngine, HostEngine, find_fvp, identify, prepare, run_attempt, select_engine
from harness.engines.environment import fingerprint, simulator_environment
from harness.flow import Program
from harness.outcomes import HarnessError, OutcomeClass, Phase
from harness.targets import FVP_SSE300_U55, FVP_SSE320, TARGETS
from tests.harness.bench import ARM, GOOD, REFERENCE, Bench, Fake, MakeFake, prints, writes

M55 = TARGETS["cortex-m55"]
STANDIN = (
    f"{FVP_SSE300_U55} stand-in (corstone-harness 0.1)\nnot Arm's FVP: QEMU 7.2\nsources sha256:0123abcd"
)


def path_of(*fakes: Fake) -> str:
    return os.pathsep.join(str(fake.executable.parent) for fake in fakes)


def refused(name: str, search_path: str) -> tuple[OutcomeClass, Phase, str]:
    with pytest.raises(HarnessError) as caught:
        select_engine(name, M55, search_path)
    outcome = caught.value.outcome
    assert outcome.hint
    return outcome.kind, outcome.phase, outcome.summary


def test_identity_comes_from_the_version_and_the_file(fake: Fake) -> None:
    identity = identify(fake.does(version=ARM).executable)
    assert (identity.kind, identity.version) == ("fvp", "11.99.1 (Nov 30 2026)")
    assert identity.path == str(fake.executable)
    assert len(identity.sha256) == 64


def test_the_standin_is_not_arms_whatever_its_name(fake: Fake) -> None:
    identity = identify(fake.does(version=STANDIN).executable)
    assert (identity.kind, identity.sha256) == ("standin", "0123abcd")
    assert "QEMU 7.2" in identity.version


def test_version_is_asked_once_per_file(fake: Fake) -> None:
    first = identify(fake.executable)
    fake.does(version="something else")
    assert identify(fake.executable) is first
    fake.executable.write_text(fake.executable.read_text() + "\n# another build\n")
    with pytest.raises(HarnessError):
        identify(fake.executable)


def test_auto_takes_arms_fvp(fake: Fake) -> None:
    assert select_engine("auto", M55, path_of(fake)).identity().path == str(fake.executable)
    assert select_engine("fvp", M55, path_of(fake)).identity().kind == "fvp"


def test_a_launcher_of_the_standin_on_path_is_passed_over(make_fake: MakeFake) -> None:
    ours = make_fake("ours", FVP_SSE300_U55).does(version=STANDIN)
    arms = make_fake("arms", FVP_SSE300_U55).does(version=ARM)
    assert find_fvp(M55, path_of(ours, arms)) == arms.executable
    assert find_fvp(M55, path_of(ours)) is None
    kind, phase, summary = refused("fvp", path_of(ours))
    assert (kind, phase) == (OutcomeClass.NOT_RUN, Phase.LAUNCH)
    assert FVP_SSE300_U55 in summary


def test_the_first_of_two_is_taken_each_time(make_fake: MakeFake) -> None:
    first, second = make_fake("one", FVP_SSE300_U55), make_fake("two", FVP_SSE300_U55)
    for _ in range(3):
        assert find_fvp(M55, path_of(first, second)) == first.executable
    assert find_fvp(M55, path_of(second, first)) == second.executable


@pytest.mark.parametrize("search_path", ["", os.pathsep, "/no/such/directory"])
def test_empty_path(search_path: str, monkeypatch: pytest.MonkeyPatch, fake: Fake) -> None:
    monkeypatch.chdir(fake.executable.parent)  # an empty entry must not mean the current directory
    assert refused("fvp", search_path)[0] is OutcomeClass.NOT_RUN
    assert select_engine("auto", M55, search_path).identity().kind == "standin"


def test_path_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert find_fvp(M55) is None


def test_standin_is_chosen_even_where_arms_is_there(fake: Fake) -> None:
    engine = select_engine("standin", M55, path_of(fake))
    assert engine.identity().kind == "standin"


def test_an_fvp_that_does_not_start_is_red_and_says_why(fake: Fake) -> None:
    fake.does(version="Error: licence checkout failed", version_status=1)
    kind, phase, summary = refused("auto", path_of(fake))
    assert (kind, phase) == (OutcomeClass.ENV_LICENCE, Phase.LAUNCH)
    assert "licence checkout failed" in summary


@pytest.mark.parametrize("version", ["", "GNU bash 5.2", "Traceback (most recent call last)"])
def test_a_stranger_of_that_name_is_not_run(fake: Fake, version: str) -> None:
    fake.does(version=version)
    assert refused("auto", path_of(fake))[0] is OutcomeClass.NOT_RUN


def test_a_file_that_cannot_be_executed_is_passed_over(fake: Fake) -> None:
    fake.executable.chmod(0o644)
    assert find_fvp(M55, path_of(fake)) is None


def test_unknown_engine_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="unknown engine 'qemu'"):
        select_engine("qemu", M55)


def test_capabilities(make_fake: MakeFake) -> None:
    assert FvpEngine(make_fake("a", FVP_SSE300_U55).executable).capabilities(M55).npu
    assert not FvpEngine(make_fake("b", FVP_SSE320).executable).capabilities(M55).runs
    ours = FvpEngine(make_fake("c", FVP_SSE300_U55).does(version=STANDIN).executable).capabilities(M55)
    assert (ours.runs, ours.npu, ours.cycles) == (True, True, False)
    assert HostEngine().capabilities(M55).runs


def test_python_settings_do_not_reach_the_simulator(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/somewhere")
    monkeypatch.setenv("PYTHONPATH", "x")
    names = ("PYTHONHOME", "PYTHONPATH", "HOME")
    attempt = bench.attempt(*(["environment", name] for name in names))
    assert attempt.result is not None
    texts = [line.text for line in attempt.result.lines]
    assert texts == ["PYTHONHOME=None", "PYTHONPATH=None", f"HOME={os.environ.get('HOME')}"]


def test_python_that_comes_with_the_fvp_is_set(tmp_path: Path) -> None:
    executable = tmp_path / "models" / "Linux64" / FVP_SSE320
    library = tmp_path / "python" / "lib"
    library.mkdir(parents=True)
    (library / "libpython3.9.so.1.0").touch()
    environment = simulator_environment(executable, {"PYTHONHOME": "x", "LD_LIBRARY_PATH": "/y"})
    assert environment["PYTHONHOME"] == str(tmp_path / "python")
    assert environment["LD_LIBRARY_PATH"] == f"{library}:/y"
    assert "PYTHONHOME" not in simulator_environment(tmp_path / "other" / "models" / "x" / "y" / "z", {})


def test_extra_arguments_reach_the_simulator_and_the_record(bench: Bench) -> None:
    attempt = bench.attempt(["arguments"], extra_args=("--stat", "--quantum=5"))
    assert attempt.result is not None
    assert [line.text for line in attempt.result.lines][-2:] == ["--stat", "--quantum=5"]
    assert attempt.result.argv[-2:] == ("--stat", "--quantum=5")
    assert '"--quantum=5"' in (bench.directory / "runspec.json").read_text()


def test_fingerprint_needs_no_torch() -> None:
    values = fingerprint()
    assert values["torch"]
    assert values["executorch"]
    assert float(values["load"]) >= 0


def test_importing_the_engines_does_not_import_torch() -> None:
    import subprocess

    code = "import harness.engines, sys; sys.exit('torch' in sys.modules or 'executorch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A lowered program on disk, as far as an engine looks at it."""
    made = tmp_path / "cache"
    made.mkdir()
    for name, data in {
        "p.pte": b"\0\0\0\0ET12",
        "x.bin": bytes(4),
        "r.bin": REFERENCE,
        "r.elf": b"\x7fELF",
    }.items():
        (made / name).write_bytes(data)
    return Program(
        directory=made,
        pte=made / "p.pte",
        bpte=None,
        inputs=(made / "x.bin",),
        references=(made / "r.bin",),
        input_specs=(),
        output_specs=(),
        operators=(),
        target="cortex-m55",
        seed=0,
    )


def test_prepared_directory_runs(bench: Bench, program: Program, tmp_path: Path) -> None:
    directory = tmp_path / "new" / "attempt"
    spec = prepare(bench.spec, directory, program.directory / "r.elf", program)
    assert {path.name for path in directory.iterdir()} == {
        "runner.elf",
        "program.pte",
        "i0.bin",
        "ref-0.bin",
        "runspec.json",
    }
    assert set(spec.hashes) == {"file:runner.elf", "file:program.pte", "file:i0.bin", "file:ref-0.bin"}
    bench.fake.does(writes(), *prints(*GOOD))
    attempt = run_attempt(FvpEngine(bench.fake.executable), spec, directory, 3)
    assert attempt.outcome.kind is OutcomeClass.PASS
    assert attempt.number == 3
    assert set(attempt.durations) == {"run", "compare"}


def test_a_run_cannot_reach_the_cache(bench: Bench, program: Program, tmp_path: Path) -> None:
    directory = tmp_path / "attempt"
    spec = prepare(bench.spec, directory, program.directory / "r.elf", program)
    bench.fake.does(["write", "i0.bin", "ff"], *prints(*GOOD))
    run_attempt(FvpEngine(bench.fake.executable), spec, directory)
    assert (program.directory / "x.bin").read_bytes() == bytes(4)


def test_prepare_deletes_old_outputs(bench: Bench, program: Program, tmp_path: Path) -> None:
    directory = tmp_path / "attempt"
    (directory / "out-1.bin").mkdir(parents=True)
    (directory / "out-0.bin").write_bytes(REFERENCE)
    prepare(bench.spec, directory, program.directory / "r.elf", program)
    assert not list(directory.glob("out-*"))


def test_prepare_names_what_is_missing(bench: Bench, program: Program, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"runner\.elf"):
        prepare(bench.spec, tmp_path / "a", tmp_path / "none.elf", program)
    with pytest.raises(HarnessError, match="no bundle"):
        prepare(replace(bench.spec, program="x.bpte"), tmp_path / "a", program.directory / "r.elf", program)


HOST_RUNNER = """\
#!/bin/sh
[ "$*" = "-m program.pte -o out -i i0.bin" ] || exit 9
{body}
"""


def host_attempt(bench: Bench, body: str, executable: bool = True) -> OutcomeClass:
    runner = bench.directory / "runner.elf"
    runner.write_text(HOST_RUNNER.format(body=body))
    runner.chmod(0o755 if executable else 0o644)
    attempt = run_attempt(HostEngine(), bench.spec, bench.directory)
    if attempt.result is not None:
        assert attempt.result.engine.kind == "host"
    return attempt.outcome.kind


def say(lines: tuple[str, ...]) -> str:
    return "\n".join(f"printf '%s\\n' \"{line}\"" for line in lines)


def test_host_runner_works_in_the_attempt_directory(bench: Bench) -> None:
    assert host_attempt(bench, "cp ref-0.bin out-0.bin\n" + say(GOOD)) is OutcomeClass.PASS


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("kill -SEGV $$", OutcomeClass.FAULT),
        ("kill -ABRT $$", OutcomeClass.ABORT),
        (
            "echo '==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1'; exit 1",
            OutcomeClass.FAULT,
        ),
        ("echo 'op.cpp:3:4: runtime error: signed integer overflow'", OutcomeClass.FAULT),
        (say(GOOD), OutcomeClass.NO_OUTPUT),
        ("exit 0", OutcomeClass.NO_VERDICT),
    ],
)
def test_host_failures(bench: Bench, body: str, kind: OutcomeClass) -> None:
    assert host_attempt(bench, body) is kind


def test_host_runner_that_is_none(bench: Bench) -> None:
    assert host_attempt(bench, "exit 0", executable=False) is OutcomeClass.CONFIG_TARGET


def test_host_engine_refuses_arguments_for_a_simulator(bench: Bench) -> None:
    spec = replace(bench.spec, extra_args=("--stat",))
    outcome = run_attempt(HostEngine(), spec, bench.directory).outcome
    assert outcome.kind is OutcomeClass.CONFIG_OPTIONS
    assert "--stat" in outcome.summary


def test_only_the_standin_records_the_npu(bench: Bench) -> None:
    """Arm's FVP would ignore the wish, and the missing file would show only later."""
    spec = replace(bench.spec, npu_trace="npu.jsonl")
    attempts = (
        bench.attempt(["print", "boot"], npu_trace="npu.jsonl"),
        run_attempt(HostEngine(), spec, bench.directory),
    )
    for attempt in attempts:
        assert attempt.outcome.kind is OutcomeClass.CONFIG_OPTIONS
        assert attempt.result is None
        assert "--engine standin" in attempt.outcome.hint
