"""Vector kernels: bytes equal to the scalar reference on a simulated Cortex-M55, and clean builds."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from harness.firmware import sources
from harness.firmware.registration import load_operators
from harness.firmware.toolchain import arm_toolchain, find_tool
from tests.kernels.driver import ROOT

KERNELS = ROOT / "kernels"
SELFTEST = ROOT / "tests" / "kernels" / "mve"
WARNINGS = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti", "-mthumb"]
M55 = ["-mcpu=cortex-m55", "-mfloat-abi=hard"]
FUNCTIONS = {
    "quantize int8",
    "quantize int16",
    "dequantize int8",
    "dequantize int16",
    "add",
    "mul",
    "minimum",
    "maximum",
    "linear",
    "divide int8",
    "divide int16",
    "lookup",
    "batch_matmul",
    "softmax",
    "transpose",
    "pad",
    "conv2d",
    "transpose_conv2d",
    "depthwise_conv2d",
    "avg_pool2d",
    "max_pool2d",
}


def compile_for_arm(arguments: list[str | Path]) -> None:
    done = subprocess.run(
        [arm_toolchain().compiler.path, *WARNINGS, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert not done.stderr, done.stderr[-6000:]


def run_selftest(directory: Path, *defines: str) -> subprocess.CompletedProcess[str]:
    elf = directory / "selftest.elf"
    # Without the vectorizer, so that the scalar reference is scalar.
    build: list[str | Path] = [*M55, "-fno-tree-vectorize", *defines, f"-I{KERNELS}"]
    link: list[str | Path] = [
        "-nostartfiles",
        "--specs=nano.specs",
        "-T",
        SELFTEST / "selftest.ld",
        "-o",
        elf,
    ]
    compile_for_arm([*build, *link, *sorted(SELFTEST.glob("*.cpp"))])
    qemu = [find_tool("qemu-system-arm").path, "-M", "mps3-an547", "-nographic", "-monitor", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native", "-kernel", str(elf)]
    return subprocess.run(
        [*qemu, *semihosting], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )


def reports(text: str) -> dict[str, tuple[int, int]]:
    lines = re.findall(r"^(.*): (\d+) comparisons, (\d+) mismatches$", text, re.MULTILINE)
    return {name: (int(compared), int(different)) for name, compared, different in lines}


def test_vector_and_scalar_give_the_same_bytes(tmp_path: Path) -> None:
    done = run_selftest(tmp_path)
    found = reports(done.stdout + done.stderr)
    assert set(found) == FUNCTIONS, done.stdout + done.stderr
    assert all(compared >= 1500 for compared, _ in found.values()), found
    assert {name: different for name, (_, different) in found.items() if different} == {}
    assert done.returncode == 0


def test_the_selftest_can_fail(tmp_path: Path) -> None:
    done = run_selftest(tmp_path, "-DBREAK=1")
    found = reports(done.stdout + done.stderr)
    assert done.returncode == 1
    assert set(found) == FUNCTIONS
    assert all(different == compared for compared, different in found.values())


@pytest.mark.parametrize(
    "core",
    [
        M55,
        [*M55, "-DKERNELS_SCALAR_ONLY=1"],
        ["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        ["-mcpu=cortex-m0plus"],
    ],
    ids=["mve", "scalar-only", "m4", "m0plus"],
)
def test_vector_kernels_compile_without_a_message(tmp_path: Path, core: list[str]) -> None:
    """In one translation unit; every build of a runner compiles the portable ones, which have no vectors."""
    unity = tmp_path / "all.cpp"
    files = sorted(path.name for path in KERNELS.glob("op_*.cpp"))
    listed = {operator.source for operator in load_operators(KERNELS / "operators.yaml")}
    assert files == sorted(source for source in listed if "/" not in source)
    unity.write_text("".join(f'#include "{name}"\n' for name in files))
    headers = sources.executorch_root() / "include"
    includes: list[str | Path] = ["-isystem", headers, "-DC10_USING_CUSTOM_GENERATED_MACROS", f"-I{KERNELS}"]
    c10: list[str | Path] = ["-isystem", headers / "executorch/runtime/core/portable_type/c10"]
    compile_for_arm([*core, *includes, *c10, "-c", unity, "-o", tmp_path / "all.o"])
