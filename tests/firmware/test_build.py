"""Builds: one per key, classes of failure, refusal of a foreign ELF. The compiler is real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.firmware import build, elf, registration
from harness.firmware.build import RunnerRequest, build_runner, explain_failure
from harness.flow import RunnerElf
from harness.outcomes import HarnessError, OutcomeClass
from harness.settings import default_cache
from harness.targets import CORSTONE_320, TARGETS

M55 = TARGETS["cortex-m55"]
ADD = ("cortex_m::quantized_add.out",)


@pytest.fixture(scope="module")
def runner() -> RunnerElf:
    return build_runner(RunnerRequest(M55, build.known_operators()), default_cache())


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        (
            "ld: region 'iram0_0_seg' overflowed by 12 bytes",
            OutcomeClass.BUILD_OVERFLOW,
            {"region": "iram0_0_seg", "bytes": 12},
        ),
        (
            "ld: region `DDR4_6_NS' overflowed by 4096 bytes",
            OutcomeClass.BUILD_OVERFLOW,
            {"region": "DDR4_6_NS", "bytes": 4096},
        ),
        (
            "ld: libfoo.a: archive member 'old.o' is not an object",
            OutcomeClass.BUILD_STALE_DIR,
            {"file": "old.o"},
        ),
        (
            "ld: build/libx.a: file format not recognized",
            OutcomeClass.BUILD_STALE_DIR,
            {"file": "build/libx.a"},
        ),
        ("c++: fatal error: Killed signal terminated program cc1plus", OutcomeClass.INFRA_OOM, {}),
        ("kernel.cpp:3:1: error: 'x' was not declared", OutcomeClass.BUILD_COMPILE, {}),
        ("", OutcomeClass.BUILD_COMPILE, {}),
    ],
)
def test_failed_build_has_its_class(text: str, kind: OutcomeClass, detail: dict[str, object]) -> None:
    outcome = explain_failure(text, "build.log")
    assert outcome.kind is kind
    assert (
        dict(outcome.detail).items() >= {k: v for k, v in detail.items() if not str(v).endswith(":")}.items()
    )


def test_second_build_starts_no_compiler(runner: RunnerElf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_run", lambda *_: pytest.fail("a compiler was started"))
    again = build_runner(RunnerRequest(M55, build.known_operators()), default_cache())
    assert again == runner


def test_sizes_are_read_without_a_size_tool(runner: RunnerElf) -> None:
    assert runner.sizes[".text"] > 1000


def test_manifest_names_target_operators_and_sources(runner: RunnerElf) -> None:
    assert (runner.target, runner.board) == ("cortex-m55", "corstone-300")
    assert set(ADD) <= set(runner.operators)
    assert len(runner.source_hash) == 64


def test_fewer_operators_make_a_smaller_runner(runner: RunnerElf) -> None:
    small = build_runner(RunnerRequest(M55, ADD), default_cache())
    assert small.operators == ADD
    assert small.sizes[".text"] < runner.sizes[".text"]


def test_unknown_operators_are_one_error_that_lists_them() -> None:
    wanted = ("aten::erfinv.out", "cortex_m::teleport.out", *ADD)
    with pytest.raises(HarnessError) as failure:
        build_runner(RunnerRequest(M55, wanted), default_cache())
    outcome = failure.value.outcome
    assert outcome.kind is OutcomeClass.CONFIG_MISSING_OP
    assert "aten::erfinv.out" in str(outcome)
    assert "cortex_m::teleport.out" in str(outcome)
    assert ADD[0] not in str(outcome)


def test_operators_of_the_runtime_need_no_kernel() -> None:
    names = ("executorch_prim::add.Scalar", "aten::sym_size.int", *ADD)
    assert registration.generate(build._load_operators(), names).operators == ADD


def test_empty_path_is_a_toolchain_error_with_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HarnessError) as failure:
        build_runner(RunnerRequest(M55, ADD), tmp_path)
    assert failure.value.outcome.kind is OutcomeClass.ENV_TOOLCHAIN
    assert "gcc-arm-none-eabi" in failure.value.outcome.hint


def test_old_compiler_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "arm-none-eabi-g++"
    fake.write_text("#!/bin/sh\necho 'arm-none-eabi-g++ (GNU) 9.2.1 20191025'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(HarnessError) as failure:
        build_runner(RunnerRequest(M55, ADD), tmp_path)
    assert "9.2.1" in failure.value.outcome.summary
    assert str(fake) in failure.value.outcome.summary


def test_elf_of_another_board_is_refused_by_its_memory_map(runner: RunnerElf) -> None:
    with pytest.raises(HarnessError) as failure:
        elf.check_memory_map("runner", elf.read_elf(runner.path), CORSTONE_320)
    assert failure.value.outcome.kind is OutcomeClass.CONFIG_TARGET
    assert "corstone-300" in failure.value.outcome.summary


def test_elf_without_manifest_is_refused(runner: RunnerElf, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    section = elf.MANIFEST_SECTION
    subprocess.run(
        ["arm-none-eabi-objcopy", "--remove-section", section, str(runner.path), str(stripped)], check=True
    )
    with pytest.raises(HarnessError) as failure:
        elf.check_runner(stripped, M55)
    assert failure.value.outcome.kind is OutcomeClass.BUILD_LAYOUT


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF" + bytes(200)])
def test_no_elf_is_refused_without_a_traceback(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "runner.elf"
    path.write_bytes(content)
    with pytest.raises(HarnessError) as failure:
        elf.check_runner(path, M55)
    assert failure.value.outcome.kind is OutcomeClass.BUILD_LAYOUT


def test_host_elf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as failure:
        elf.check_runner(Path(sys.executable).resolve(), M55)
    assert failure.value.outcome.kind is OutcomeClass.BUILD_LAYOUT


RACER = """
import sys
from pathlib import Path
from harness.firmware.build import RunnerRequest, build_runner
from harness.targets import TARGETS
started = []
request = RunnerRequest(TARGETS["cortex-m55"], ("cortex_m::minimum.out",))
elf = build_runner(request, Path(sys.argv[1]), started.append)
print(len(started), elf.sha256)
"""


def test_four_builders_of_one_key_build_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    results = [racer.communicate(timeout=300)[0].split() for racer in racers]
    assert sum(int(built) for built, _ in results) == 1
    assert len({sha for _, sha in results}) == 1


def test_half_finished_build_is_made_again(tmp_path: Path) -> None:
    request = RunnerRequest(M55, ("cortex_m::maximum.out",))
    first = build_runner(request, tmp_path)
    directory = first.path.parents[1]
    (directory / "done").unlink()
    first.path.unlink()
    (directory / "build" / "CMakeFiles").mkdir()
    assert build_runner(request, tmp_path).sha256 == first.sha256
    left = {path.name for path in (directory / "build").iterdir()}
    assert left == {"executor_runner", "executor_runner.map", "compile_commands.json"}
