"""Compares the NPU model with the TOSA reference model on graphs of upstream's operator tests.

    ci/env python ci/npu_differential.py [--limit N] [--slice K/N] [--select EXPR] [--jobs N] [--graphs DIR]
                                         [--random N] [--all-npus]

Method. ExecuTorch's own Ethos-U operator tests run in child processes up to the compilation; the TOSA graph
that Vela was given and the command stream that it made are kept in DIR. Then each graph runs on both models
with random inputs, and the output bytes must be equal. Where they are not, the graph is compiled again up
to each operator, to name the first one that differs. --random takes N random networks for each of two
families of NPUs (tests/npu/oracle/networks.py) instead of upstream's tests; --all-npus compiles each graph
for every NPU of its family too; with --no-capture the graphs in DIR are compared again. The result is 1 if
any graph differs, or the model raised, outside the list of known differences.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.npu.oracle.child import Child  # noqa: E402
from tests.npu.oracle.compare import Result, compare  # noqa: E402
from tests.npu.oracle.culprit import first_difference  # noqa: E402
from tests.npu.oracle.graphs import Graph  # noqa: E402
from tests.npu.oracle.recompile import for_family  # noqa: E402
from tests.npu.oracle.tools import run_reference, run_vela  # noqa: E402

OUTCOMES = ("equal", "different", "unimplemented", "error", "invalid")

# Share of the graphs that the reference model may refuse or crash on.
MOST_INVALID = 0.02

# Test name up to the parameters: why the stream, executed as written, is not what TOSA says.
KNOWN: dict[str, str] = {}


def main() -> int:
    """Capture, compare, report."""
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.graphs or Path(scratch) / "graphs"
        directory.mkdir(parents=True, exist_ok=True)
        if not options.no_capture:
            capture(directory, options)
        started = perf_counter()
        results = compare_all(sorted(directory.glob("*.npz")), options)
    print_table(results)
    print(f"compared in {perf_counter() - started:.0f} s")
    invalid = sum(result.outcome == "invalid" for result in results)
    if invalid > len(results) * MOST_INVALID:
        print(f"the reference model has no answer for {invalid} of {len(results)} graphs: is it broken?")
        return 1
    bad = [result for result in results if result.outcome in OUTCOMES[1:4] and not known(result)]
    if not results:
        print("no graphs: nothing was compared")
    return 1 if bad or not results else 0


def capture(directory: Path, options: argparse.Namespace) -> None:
    """Run upstream's tests, or our random networks, for their graphs."""
    if options.random:
        environment = os.environ | {"GRAPHS": str(directory.resolve()), "RANDOM_GRAPHS": str(options.random)}
        suite = "tests/npu/oracle/test_random_graphs.py"
        if run_pytest(["-n", str(options.jobs), "-rP", suite], ROOT, environment):
            raise SystemExit(f"random networks differ, or too few were compared: run {suite}")
        return
    spec = importlib.util.find_spec("executorch")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("executorch is not installed")
    package = Path(next(iter(spec.submodule_search_locations)))
    environment = os.environ | {
        "GRAPHS": str(directory.resolve()),
        "SLICE": options.slice,
        "PYTHONPATH": str(ROOT),
    }
    if options.limit:
        environment["LIMIT"] = str(options.limit)
    # xdist replaces a worker that Vela took down with it.
    arguments = ["-n", str(options.jobs), "--tb=line", "-c", os.devnull, f"--rootdir={package}"]
    arguments += ["-p", "no:cacheprovider", "-p", "no:harness.plugin", "-p", "tests.npu.oracle.capture"]
    arguments += ["-k", options.select]
    arguments += [str(package / "backends/arm/test" / part) for part in options.suites]
    with tempfile.TemporaryDirectory() as work:
        run_pytest(arguments, Path(work), environment)


def run_pytest(arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Run pytest in a child process and print its last line; 1 if tests failed, which may be no matter."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-W", "ignore", *arguments]
    finished = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    last = finished.stdout.strip().rpartition("\n")[2]
    print(f"tests, up to compilation: {last}", flush=True)
    drawn = finished.stdout.count("drawn again, ")
    if drawn:
        print(f"{drawn} networks could not be lowered, others were drawn", flush=True)
    if finished.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {finished.returncode}:\n{finished.stdout}\n{finished.stderr}")
    return finished.returncode


def compare_all(paths: Sequence[Path], options: argparse.Namespace) -> list[Result]:
    """Compare graphs, and print those that are not equal at once."""
    results = []
    with Child(run_reference) as reference, Child(run_vela) as vela:
        for path in paths:
            loaded = Graph.load(path)
            for graph in for_family(loaded, vela) if options.all_npus else (loaded,):
                result = compare(graph, reference, options.seed)
                results.append(result)
                if result.outcome != "equal":
                    print(describe(result, path, graph, reference, vela, options.seed), flush=True)
                if result.outcome == "invalid":
                    break  # the reference has no answer for any NPU
    return results


def describe(result: Result, path: Path, graph: Graph, reference: Child, vela: Child, seed: int) -> str:
    """What to print of a graph that is not equal."""
    lines = [f"{result.outcome}: {result.name} [{result.target}] {path.name}: {result.detail}"]
    reason = known(result)
    if reason:
        lines.append(f"    known: {reason}")
    elif result.outcome == "different":
        lines.append(f"    first: {first_difference(graph, reference, vela, seed)}")
    return "\n".join(lines)


def known(result: Result) -> str | None:
    """Why a difference is no surprise."""
    return next((reason for name, reason in KNOWN.items() if result.name.startswith(name)), None)


def print_table(results: Sequence[Result]) -> None:
    """Counts by NPU; then, for operators in graphs that are not equal, in how many graphs of each outcome."""
    rows = [
        (target, [r for r in results if r.target == target]) for target in sorted({r.target for r in results})
    ]
    print(f"{'':24}{'graphs':>8}" + "".join(f"{outcome:>15}" for outcome in OUTCOMES))
    for title, group in [*rows, ("all", list(results))]:
        counts = Counter(result.outcome for result in group)
        print(f"{title:24}{len(group):8}" + "".join(f"{counts[outcome]:15}" for outcome in OUTCOMES))
    by_operator = {
        name: Counter(result.outcome for result in results if name in result.operators)
        for name in sorted({name for result in results for name in result.operators})
    }
    for name, counts in by_operator.items():
        if set(counts) != {"equal"}:
            print(f"{name:24}{counts.total():8}" + "".join(f"{counts[outcome]:15}" for outcome in OUTCOMES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=int, default=0, help="number of upstream tests, evenly spread")
    parser.add_argument("--slice", default="0/1", help="K/N: only the K-th of N parts")
    parser.add_argument("--select", default="u55 or u65 or u85", help="pytest's -k for upstream's tests")
    parser.add_argument(
        "--suites", nargs="*", default=["ops"], help="folders or files below backends/arm/test"
    )
    parser.add_argument("--random", type=int, default=0, help="random networks instead of upstream's tests")
    parser.add_argument("--all-npus", action="store_true", help="each graph for all NPUs of its family")
    parser.add_argument("--jobs", type=int, default=2, help="processes that lower graphs")
    parser.add_argument("--graphs", type=Path, help="keep the graphs here")
    parser.add_argument("--no-capture", action="store_true", help="compare what --graphs holds")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
