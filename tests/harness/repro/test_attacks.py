"""Bundles from elsewhere: nothing of them is executed outside of a simulator, no path leads out of them."""

from __future__ import annotations

import json
import os
import stat
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness import pte
from harness.firmware import build
from harness.flow import Limits, RunnerElf
from harness.repro import replay as replay_module
from harness.repro.bundle import opened, pack, read_bundle
from harness.repro.confined import BundleError, unzip
from harness.repro.origin import ORIGIN_NAME
from harness.repro.replay import Options, Replayer
from harness.repro.vela import checked_flags
from harness.settings import Settings
from tests.harness.bench import Bench
from tests.harness.repro.conftest import MakeBundle
from tests.harness.repro.test_replay import change_spec, repro


@pytest.mark.parametrize(
    "changes",
    [
        {"program": "../program.pte"},
        {"program": "/etc/passwd"},
        {"elf": "sub/runner.elf"},
        {"inputs": ("../../i0.bin",)},
        {"inputs": ("-rf",)},
        {"references": ("a b",)},
        {"references": ("ref\x1b[2J",)},
        {"output_base": "../out"},
        {"output_base": "o;rm -rf ~"},
        {"inputs": ("i0.bin", "i0.bin")},
        {"elf": "bundle.json"},
        {"references": ("out-0.bin",)},
        {"target": "cortex-a77"},
        {"board": "corstone-320"},
        {"npu_trace": "/tmp/overwritten"},
        {"npu_trace": "../overwritten"},
        {"npu_trace": "runner.elf"},
        {"elf": 5},
        {"target": ["cortex-m55"]},
        {"extra_args": (1,)},
    ],
)
def test_a_run_that_names_anything_but_its_own_files_is_refused(
    make_bundle: MakeBundle, settings: Settings, changes: dict[str, object]
) -> None:
    directory = make_bundle()
    change_spec(directory, **changes)
    with pytest.raises(BundleError) as caught:
        read_bundle(directory, settings.cache)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("name", ["program.pte", "i0.bin", "runner.elf", "runspec.json"])
def test_a_link_in_a_bundle_is_not_followed(
    make_bundle: MakeBundle, settings: Settings, tmp_path: Path, name: str
) -> None:
    directory = make_bundle()
    (directory / name).rename(tmp_path / "outside")
    (directory / name).symlink_to(tmp_path / "outside")
    with pytest.raises(BundleError, match=r"cannot be read|a link"):
        Replayer(read_bundle(directory, settings.cache), settings, Options(trust_elf=True)).once()


def test_a_trace_is_not_written_for_a_bundle(make_bundle: MakeBundle, settings: Settings) -> None:
    directory = make_bundle()
    change_spec(directory, npu_trace="trace.jsonl")
    done = Replayer(_foreign(directory, settings), settings, Options(trust_elf=True)).once()
    assert done.attempt.result is not None
    assert done.attempt.result.spec.npu_trace == ""


def test_a_pipe_as_its_origin_does_not_hang(make_bundle: MakeBundle, settings: Settings) -> None:
    directory = make_bundle()
    (directory / ORIGIN_NAME).unlink()
    os.mkfifo(directory / ORIGIN_NAME)
    assert not read_bundle(directory, settings.cache).own


@pytest.mark.parametrize("given", [float("nan"), -1.0, 0.0, 1e9])
def test_a_limit_is_a_time_that_ends(given: float) -> None:
    limits = replay_module._capped(Limits(given, given, given, 1))
    assert limits == replace(replay_module._LONGEST, simulated=1)


def test_a_pipe_in_a_bundle_does_not_hang(make_bundle: MakeBundle, settings: Settings) -> None:
    directory = make_bundle()
    (directory / "i0.bin").unlink()
    os.mkfifo(directory / "i0.bin")
    with pytest.raises(BundleError, match="not a regular file"):
        Replayer(_foreign(directory, settings), settings, Options(trust_elf=True)).once()


def _foreign(directory: Path, settings: Settings):  # type: ignore[no-untyped-def]
    (directory / ORIGIN_NAME).unlink(missing_ok=True)
    return read_bundle(directory, settings.cache)


def archive_of(tmp_path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in entries:
            packed.writestr(name, data)
    return path


def _link() -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo("program.pte")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("../evil", "leads out"),
        ("/etc/evil", "leads out"),
        ("a/../../evil", "leads out"),
        ("a/b/evil", "leads out"),
        ("..\\evil", "leads out"),
        ("a\\evil", "leads out"),
        (_link(), "link or a device"),
        ("nul\x07l", "not that of a file"),
        ("-o", "not that of a file"),
    ],
)
def test_an_archive_cannot_write_outside(tmp_path: Path, entry: str | zipfile.ZipInfo, why: str) -> None:
    archive = archive_of(tmp_path, (entry, b"x"))
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(BundleError, match=why):
        unzip(archive, target)
    assert list(target.iterdir()) == []
    assert not (tmp_path / "evil").exists()


def test_an_archive_that_grows_too_large_is_stopped(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, *((f"zeros{i}.bin", bytes(1 << 20)) for i in range(8)))
    assert archive.stat().st_size < 20_000
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(BundleError, match="larger than"):
        unzip(archive, target, largest=5 << 20)
    assert sum(path.stat().st_size for path in target.iterdir()) <= 5 << 20


def test_an_archive_that_lies_about_sizes_is_stopped(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, ("zeros.bin", bytes(4 << 20)))
    data = bytearray(archive.read_bytes())
    where = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, where + 24, 10)  # promised size in the central directory
    archive.write_bytes(data)
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(BundleError):
        unzip(archive, target, largest=1 << 20)


def test_names_that_occur_twice_and_too_many_of_them_are_refused(tmp_path: Path) -> None:
    for number, entries in enumerate((["a/x", "b/x"], [f"f{i}" for i in range(5000)])):
        folder = tmp_path / str(number)
        (folder / "target").mkdir(parents=True)
        archive = archive_of(folder, *((name, b"") for name in entries))
        with pytest.raises(BundleError, match=r"twice|entries"):
            unzip(archive, folder / "target")


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x03\x04" + bytes(40), bytes(1000)])
def test_what_is_no_archive_is_refused(tmp_path: Path, settings: Settings, data: bytes) -> None:
    (tmp_path / "bundle.zip").write_bytes(data)
    with pytest.raises(BundleError, match="no zip file"), opened(tmp_path / "bundle.zip", settings.cache):
        pass


def test_a_damaged_archive_is_refused(tmp_path: Path, settings: Settings) -> None:
    archive = archive_of(tmp_path, ("runspec.json", bytes(range(256)) * 40))
    data = bytearray(archive.read_bytes())
    start = data.index(b"runspec.json") + len("runspec.json")
    data[start : start + 8] = bytes([0xFF] * 8)
    archive.write_bytes(data)
    with pytest.raises(BundleError, match="no zip file"), opened(archive, settings.cache):
        pass


@pytest.mark.parametrize("name", ["runspec.json", "bundle.json"])
@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 99}', '{"version": 1}', "[" * 100_000, "9" * 5_000_000],
    ids=["empty", "cut", "list", "null", "other-version", "no-fields", "deep", "long"],
)
def test_damaged_descriptions_are_refused(
    make_bundle: MakeBundle, settings: Settings, name: str, text: str
) -> None:
    directory = make_bundle()
    (directory / name).write_text(text)
    with pytest.raises(BundleError) as caught:
        read_bundle(directory, settings.cache)
    assert name in str(caught.value)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[build.RunnerRequest]:
    """The runners that a replay has built; none is really built."""
    requests: list[build.RunnerRequest] = []
    elf = tmp_path / "built.elf"
    elf.write_bytes(b"\x7fELF built here")

    def build_runner(request: build.RunnerRequest, *_: object) -> RunnerElf:
        requests.append(request)
        return RunnerElf(elf, request.target.name, "", request.operators, "", "", {})

    monkeypatch.setattr(replay_module, "build_runner", build_runner)
    monkeypatch.setattr(pte, "read_file", lambda path: _NoOperators)
    return requests


class _NoOperators:
    operators: tuple[str, ...] = ()


def elf_that_ran(bundle: object, settings: Settings, options: Options, keep: Path) -> bytes:
    Replayer(bundle, settings, Options(options.engine, options.trust_elf, keep)).once()  # type: ignore[arg-type]
    return (keep / "replay-1" / "runner.elf").read_bytes()


def test_an_own_elf_runs_on_arms_fvp_and_a_foreign_one_is_built_again(
    make_bundle: MakeBundle, settings: Settings, builds: list[build.RunnerRequest], tmp_path: Path
) -> None:
    directory = make_bundle()
    own = read_bundle(directory, settings.cache)
    assert elf_that_ran(own, settings, Options(), tmp_path / "own") == b"\x7fELF"
    assert builds == []
    foreign = _foreign(directory, settings)
    assert elf_that_ran(foreign, settings, Options(), tmp_path / "foreign") == b"\x7fELF built here"
    assert [request.platform for request in builds] == ["target"]
    assert elf_that_ran(foreign, settings, Options(trust_elf=True), tmp_path / "trusted") == b"\x7fELF"


def test_an_own_bundle_that_was_changed_is_foreign(make_bundle: MakeBundle, settings: Settings) -> None:
    directory = make_bundle()
    assert read_bundle(directory, settings.cache).own
    (directory / "runner.elf").write_bytes(b"\x7fELF evil")
    assert not read_bundle(directory, settings.cache).own


@pytest.mark.parametrize("origin", ["", "0" * 64, "é", "x\n" * 1000])
def test_a_forged_origin_is_not_believed(make_bundle: MakeBundle, settings: Settings, origin: str) -> None:
    directory = make_bundle()
    (directory / ORIGIN_NAME).write_text(origin)
    assert not read_bundle(directory, settings.cache).own


def test_the_key_is_readable_by_the_user_only(make_bundle: MakeBundle, settings: Settings) -> None:
    make_bundle()
    mode = (settings.cache / "bundle-key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_simulator_arguments_of_a_foreign_bundle_are_not_passed(
    make_bundle: MakeBundle, settings: Settings, builds: list[build.RunnerRequest], bench: Bench
) -> None:
    directory = make_bundle()
    change_spec(directory, extra_args=("--data", "/etc/passwd@0"))
    bench.fake.does(["arguments"])
    said: list[str] = []
    foreign = read_bundle(directory, settings.cache)
    assert not foreign.own
    ran = Replayer(foreign, settings, Options(), said.append).once()
    assert ran.attempt.result is not None
    assert "--data" not in ran.attempt.result.argv
    assert any("--data /etc/passwd@0" in line for line in said)


def test_recorded_command_lines_are_never_executed(
    make_bundle: MakeBundle, bench: Bench, tmp_path: Path
) -> None:
    directory = make_bundle()
    record = json.loads((directory / "bundle.json").read_text())
    record["argv"] = record["session"] = ["/bin/touch", str(tmp_path / "evil")]
    (directory / "bundle.json").write_text(json.dumps(record))
    repro(directory, "--trust-elf")
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "flag",
    [
        "--output-dir=/tmp",
        "--config=/etc/x",
        "--config=../x.ini",
        "x",
        "-h",
        "--a=b c",
        "--a=/abs",
        "--a=../up",
        "--enable-debug-db",
    ],
)
def test_flags_of_a_bundle_name_no_files(flag: str) -> None:
    with pytest.raises(BundleError, match="is not taken"):
        checked_flags([flag])
    assert checked_flags(["--config=Arm/vela.ini", "--disable-chaining"])


def test_a_console_cannot_control_the_terminal(make_bundle: MakeBundle, bench: Bench) -> None:
    directory = make_bundle()
    bench.fake.does(["print", "\x1b]0;evil\x07 E [executorch:x:1 f()] \x1b[2Jgone"], ["exit", 1])
    result = repro(directory, "--verbose")
    assert "\x1b" not in result.output
    assert "\x07" not in result.output


def test_catalogue_L5_a_packed_bundle_has_no_home_paths_and_no_secrets(
    make_bundle: MakeBundle, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bench: Bench
) -> None:
    from harness import redact

    monkeypatch.setenv("CI_TOKEN", "hunter2hunter2")
    monkeypatch.setenv("HOME", "/home/alice")
    redact.own_redactor.cache_clear()
    directory = make_bundle(
        ["print", "E [executorch:main.cpp:1 main()] /home/alice/x hunter2hunter2"],
        ["exit", 3],
        session=("pytest", "--token", "hunter2hunter2", "/home/alice/tests"),
    )
    (directory / "runner.elf").write_bytes(b"\x7fELF\0/home/alice/src/main.cpp\0")
    archive = tmp_path / "bundle.zip"
    pack(directory, archive, settings.cache)
    redact.own_redactor.cache_clear()
    with zipfile.ZipFile(archive) as packed:
        contents = {name: packed.read(name) for name in packed.namelist()}
    assert any(name.endswith("console.log") for name in contents)
    for name, data in contents.items():
        assert b"alice" not in data, name
        assert b"hunter2" not in data, name
