"""Row P4: many builders of one key. The lock, the marker and the processes are real; the compiler is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BUILDER = """
import sys
from dataclasses import replace
from pathlib import Path
from harness.firmware import build
from harness.flow import RunnerElf
from harness.targets import TARGETS

cache = Path(sys.argv[1])

def compile_it(request, chosen, toolchain, directory):
    with (cache / "builds").open("a") as stream:
        stream.write(".")
    (directory / "build").mkdir(exist_ok=True)
    (directory / "build" / "executor_runner").write_text("half")
    if sys.argv[2] == "dies":
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    (directory / "build" / "executor_runner").write_text("whole")

def accept(request, directory):
    return (directory / "build" / "executor_runner").read_text()

build._build, build._accept = compile_it, accept
print(build.build_runner(build.RunnerRequest(TARGETS["cortex-m55"], ()), cache))
"""


def start(cache: Path, how: str = "lives") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(cache), how], stdout=subprocess.PIPE, text=True
    )


def test_catalogue_P4_four_builders_of_one_key_build_once(tmp_path: Path) -> None:
    builders = [start(tmp_path) for _ in range(4)]
    assert [builder.communicate(timeout=120)[0].strip() for builder in builders] == ["whole"] * 4
    assert (tmp_path / "builds").read_text() == "."


def test_catalogue_P4_a_builder_that_ended_half_way_is_followed_by_the_next(tmp_path: Path) -> None:
    start(tmp_path, "dies").communicate(timeout=120)
    assert start(tmp_path).communicate(timeout=120)[0].strip() == "whole"
    assert (tmp_path / "builds").read_text() == ".."
