"""Fuzzes the readers: `python -m tests.fuzz.campaign [--runs N] [--seed N] [--keep DIRECTORY]`.

Builds the fuzzers with clang, makes the seeds, executes every reader N times, prints executions, findings
and seconds, and exits with 1 if there is a finding; its input is then in the directory that is named.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.firmware import registration
from harness.firmware.sources import executorch_root, source_root
from harness.firmware.toolchain import find_tool

HERE = Path(__file__).parent
READERS = ("program", "bundle", "delegate")
_FUZZERS: Mapping[str, str] = {"program": "fuzz_model", "bundle": "fuzz_model"}
OPERATORS = (
    "cortex_m::dequantize_per_tensor.out",
    "cortex_m::minimum.out",
    "cortex_m::quantize_per_tensor.out",
    "cortex_m::quantized_add.out",
    "cortex_m::quantized_linear.out",
    "cortex_m::quantized_mul.out",
)
LONGEST_EXECUTION = 10  # [s]
LONGEST_INPUT = 16384  # [bytes]


@dataclass(frozen=True)
class Campaign:
    """What one reader went through; `finding` is the sanitizer's report, empty if there is none."""

    reader: str
    executions: int
    seconds: float
    covered: int
    finding: str
    directory: Path


def build(directory: Path) -> Path:
    """Build the fuzzers in `directory`.

    Raises:
        HarnessError: ENV/TOOLCHAIN, a tool is absent.
        RuntimeError: the build fails, with its output.
    """
    directory.mkdir(parents=True, exist_ok=True)
    root = source_root()
    known = registration.load_operators(root / "kernels" / "operators.yaml")
    chosen = registration.generate(known, OPERATORS)
    generated = directory / "registration.cpp"
    generated.write_text(chosen.source)
    options = {
        "CMAKE_CXX_COMPILER": find_tool("clang++").path,
        "CMAKE_MAKE_PROGRAM": find_tool("ninja").path,
        "EXECUTORCH_ROOT": str(executorch_root()),
        "RUNNER_DIR": str(root / "runner_app"),
        "KERNELS_DIR": str(root / "kernels"),
        "KERNEL_SOURCES": ";".join(chosen.kernel_sources),
        "REGISTRATION": str(generated),
    }
    configure = [find_tool("cmake").path, "-G", "Ninja", "-S", str(HERE), "-B", str(directory)]
    configure += [f"-D{name}={value}" for name, value in options.items()]
    for argv in (configure, [find_tool("cmake").path, "--build", str(directory)]):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
    return directory


def make_seeds(directory: Path) -> Path:
    """Make the corpora in a process of their own: torch stays out of this one."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.seeds", str(directory)]
    subprocess.run(command, cwd=HERE.parents[1], check=True, stdout=subprocess.DEVNULL)
    return directory


def _finding(report: str) -> str:
    """The sanitizer's report without what comes before it; the end of the log where there is none."""
    start = report.find("ERROR: ")
    return report[start : start + 6000] if start >= 0 else report[-6000:]


def fuzz(reader: str, fuzzers: Path, seeds: Path, work: Path, runs: int, seed: int = 1) -> Campaign:
    """Execute one reader `runs` times; what it finds interesting goes to `work`, and so does a finding."""
    corpus = work / reader
    corpus.mkdir(parents=True, exist_ok=True)
    command = [
        str(fuzzers / _FUZZERS.get(reader, f"fuzz_{reader}")),
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={LONGEST_INPUT}",
    ]
    command += [f"-timeout={LONGEST_EXECUTION}", "-print_final_stats=1", f"-artifact_prefix={work}/finding-"]
    # Without this, most executions of a short campaign go into the shortest inputs.
    command += ["-len_control=0", "-rss_limit_mb=1024", str(corpus), str(seeds / reader)]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    seconds = time.monotonic() - started
    report = done.stderr
    (work / f"{reader}.log").write_text(report)
    executed = re.search(r"stat::number_of_executed_units:\s+(\d+)", report)
    coverage = re.findall(r"\bcov: (\d+)", report)
    return Campaign(
        reader,
        int(executed[1]) if executed else 0,
        seconds,
        int(coverage[-1]) if coverage else 0,
        _finding(report) if done.returncode else "",
        work,
    )


def main() -> int:
    """Run the whole campaign; the exit status is 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000, help="executions of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="directory for fuzzers, seeds, corpora and findings")
    options = parser.parse_args()
    place = options.keep or Path(tempfile.mkdtemp(prefix="harness-fuzz-"))
    fuzzers, seeds = build(place / "build"), make_seeds(place / "seeds")
    found = False
    for reader in READERS:
        result = fuzz(reader, fuzzers, seeds, place / "work", options.runs, options.seed)
        findings = 1 if result.finding else 0
        print(
            f"{reader:<9} {result.executions:>8} executions  {findings} findings  {result.seconds:6.1f} s  "
            f"{result.covered} edges",
            flush=True,
        )
        if result.finding:
            print(f"{result.finding}\ninput and log: {result.directory}")
            found = True
    if options.keep is None and not found:
        shutil.rmtree(place)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
