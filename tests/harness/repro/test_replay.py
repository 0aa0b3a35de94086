from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from harness.cli import app
from harness.flow import Limits, RunSpec
from harness.repro.bundle import pack, read_bundle
from harness.repro.confined import BundleError
from harness.repro.replay import Options, Replayer, Verdict, differences
from harness.settings import Settings
from tests.harness.bench import BOOT, GOOD, Bench, prints, writes
from tests.harness.repro.conftest import BAD, FAILING, PASSING, MakeBundle


def repro(*words: object) -> Result:
    return CliRunner().invoke(app, ["repro", *map(str, words)])


def change_spec(directory: Path, **changes: object) -> None:
    path = directory / "runspec.json"
    path.write_text(replace(RunSpec.from_json(path.read_text()), **changes).to_json())  # type: ignore[arg-type]


def test_catalogue_L1_a_replay_shows_the_same_signature(make_bundle: MakeBundle) -> None:
    result = repro(make_bundle())
    assert "same signature, the same output bytes" in result.output
    assert "environment: no difference" in result.output
    assert "boot " in result.output
    assert result.exit_code == 1


def test_catalogue_L1_a_bundle_has_what_a_replay_needs(make_bundle: MakeBundle) -> None:
    directory = make_bundle(session=("pytest", "-k", "m55"), modules=("t.py", "u.py"))
    names = {path.name for path in directory.iterdir()}
    assert {"runspec.json", "bundle.json", "program.pte", "i0.bin", "ref-0.bin", "runner.elf"} <= names
    assert {"console.log", "out-0.bin"} <= names
    record = json.loads((directory / "bundle.json").read_text())
    assert record["argv"][0] == "FVP"
    assert any(word.endswith("semihosting-cwd=DIRECTORY") for word in record["argv"])
    assert record["session"] == ["pytest", "-k", "m55"]
    assert record["environment"]["torch"]
    assert "load" in record["environment"]
    assert record["seed"] == 0
    assert record["comparisons"]
    assert {"outputs", "program", "elf", "inputs"} <= record["hashes"].keys()


def test_a_bundle_copied_elsewhere_replays(make_bundle: MakeBundle, tmp_path: Path) -> None:
    copy = tmp_path / "some where" / "else"
    shutil.copytree(make_bundle(), copy)
    shutil.rmtree(tmp_path / "one attempt")
    assert "same signature" in repro(copy).output


def test_other_failures_and_passes_are_told_apart(make_bundle: MakeBundle, bench: Bench) -> None:
    directory = make_bundle()
    bench.fake.does(*prints(*BOOT), ["exit", 3])
    result = repro(directory)
    assert "different" in result.output
    assert "signature here:" in result.output
    assert result.exit_code == 1
    bench.fake.does(*PASSING)
    result = repro(directory)
    assert "passes here" in result.output
    assert result.exit_code == 0


def test_a_replay_leaves_the_bundle_as_it_was(make_bundle: MakeBundle, bench: Bench) -> None:
    directory = make_bundle()
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    bench.fake.does(*PASSING)
    repro(directory)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def test_catalogue_L6_a_replay_uses_the_recorded_inputs(
    make_bundle: MakeBundle, settings: Settings, tmp_path: Path
) -> None:
    directory = make_bundle(modules=("t.py",))
    assert json.loads((directory / "bundle.json").read_text())["modules"] == ["t.py"]
    bundle = read_bundle(directory, settings.cache)
    keep = tmp_path / "kept"
    Replayer(bundle, settings, Options(keep=keep)).once()
    assert (keep / "replay-1" / "i0.bin").read_bytes() == (directory / "i0.bin").read_bytes()
    (directory / "i0.bin").write_bytes(b"\7\7\7\7")  # changed after the recording: not the recorded run
    assert "i0.bin is not the file that runspec.json describes" in repro(directory, "--trust-elf").output


def test_catalogue_L7_until_fail_stops_at_the_first_failure(make_bundle: MakeBundle, bench: Bench) -> None:
    directory = make_bundle()
    bench.fake.does_in_turn(PASSING, PASSING, FAILING, PASSING)
    result = repro(directory, "--until-fail")
    assert bench.fake.runs == 3
    assert "replay 3: WRONG" in result.output
    assert "1 of 3 failed: 33 %" in result.output
    assert result.exit_code == 1


def test_times_measures_the_rate(make_bundle: MakeBundle, bench: Bench) -> None:
    directory = make_bundle()
    bench.fake.does_in_turn(PASSING, FAILING, PASSING, PASSING)
    result = repro(directory, "--times", 4)
    assert "1 of 4 failed: 25 % (" in result.output
    assert "same signature" in result.output


def test_differences_of_environments_are_named() -> None:
    recorded = {"torch": "2.13.0", "load": "0.10", "elf": "a" * 64, "only": "there"}
    here = {"torch": "2.14.0", "load": "7.00", "elf": "b" * 64}
    assert differences(recorded, here) == (
        f"elf: {'a' * 16} -> {'b' * 16}",
        "torch: 2.13.0 -> 2.14.0",
    )


def test_a_replay_never_imports_torch(make_bundle: MakeBundle) -> None:
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from harness.cli import app\n"
        "result = CliRunner().invoke(app, ['repro', sys.argv[1]])\n"
        "assert 'same signature' in result.output, result.output\n"
        "assert not {'torch', 'executorch', 'pytest'} & sys.modules.keys()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(make_bundle())], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_directory_without_a_record_is_replayed_and_judged(make_bundle: MakeBundle) -> None:
    directory = make_bundle()
    (directory / "bundle.json").unlink()
    result = repro(directory, "--trust-elf")
    assert "nothing was recorded to compare with" in result.output
    assert "WRONG" in result.output


@pytest.mark.parametrize("words", [["no/such"], ["--bisect", "vela=5", "X"], ["--bisect", "gcc=1..2", "X"]])
def test_bad_requests_are_one_line(make_bundle: MakeBundle, words: list[str], tmp_path: Path) -> None:
    directory = str(make_bundle())
    command = [sys.executable, "-m", "harness.cli", "repro", *(directory if w == "X" else w for w in words)]
    code = "import sys; sys.argv = sys.argv[1:]; from harness.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *command[2:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_pack_and_replay_from_a_zip_file(make_bundle: MakeBundle, settings: Settings, tmp_path: Path) -> None:
    directory = make_bundle()
    archive = tmp_path / "bundle.zip"
    pack(directory, archive, settings.cache)
    result = repro(archive)
    assert "same signature" in result.output
    assert "not from here" not in result.output
    with pytest.raises(FileExistsError):
        pack(directory, archive, settings.cache)


def test_limits_of_a_bundle_are_capped(make_bundle: MakeBundle, settings: Settings, tmp_path: Path) -> None:
    directory = make_bundle()
    change_spec(directory, limits=Limits(1e9, 1e9, 1e9, 10**9))
    keep = tmp_path / "kept"
    bundle = read_bundle(directory, settings.cache)
    Replayer(bundle, settings, Options(trust_elf=True, keep=keep)).once()
    spec = RunSpec.from_json((keep / "replay-1" / "runspec.json").read_text())
    assert spec.limits == Limits(120, 600, 3600, 3600)


def test_a_green_bundle_that_fails_here_is_said_so(make_bundle: MakeBundle, bench: Bench) -> None:
    directory = make_bundle(*PASSING)
    bench.fake.does(*prints(*GOOD[:-1]), writes(BAD), *prints(GOOD[-1]))
    assert Verdict.FAILS.value in repro(directory).output


def test_a_bundle_of_a_refused_lowering_is_no_run(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match="is no bundle"):
        read_bundle(tmp_path / "empty", settings.cache)
