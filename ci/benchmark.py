"""Prints, in one run: overhead of the harness, time per stage cold and warm, sizes, a model on an NPU.

    ci/env python ci/benchmark.py [--runs 30]
    ci/env python ci/benchmark.py --only-model [--model mobilenet_v2] [--target ethos-u85-256]

Method. The boot of one add program is repeated, the bare simulator process (same argv, subprocess)
and the harness's whole attempt (boot, classify, compare) in turn; medians of both, and the median
of the pairwise differences. Stages: a child process with an empty cache, then the same again with
what the first one left; "import" is torch and executorch. The model is lowered and its runner
built once with an empty cache; "run" is the boot with the inference, "compare" its verdict.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from harness.engines import prepare, run_attempt
from harness.flow import Program, Tolerance
from harness.session import Harness, run_spec
from harness.settings import Settings, resolve
from harness.targets import TARGETS

TARGET = TARGETS["cortex-m55"]


def settings(cache: Path, engine: str) -> Settings:
    """Default settings with this cache and engine."""
    given = {"cache": str(cache), "engine": engine}
    return resolve(lambda option: given.get(option.name), environment={})


def stages(cache: Path, engine: str) -> dict[str, float]:
    """Seconds for each stage of one add case, in this process."""
    import torch

    from harness import Case
    from harness.aot import lower_timed

    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y

    def inputs(rng: torch.Generator) -> tuple[torch.Tensor, ...]:
        return torch.rand(1000, generator=rng), torch.rand(1000, generator=rng)

    harness = Harness(settings(cache, engine))
    lowering = lower_timed(Case(lambda rng: Add(), inputs), cache)
    imported = lowering.durations.get("import", 0.0)
    spent = {"import": imported, "lower": sum(lowering.durations.values()) - imported}
    started = perf_counter()
    harness.runner(TARGET, lowering.program.operators)
    spent["build"] = perf_counter() - started
    attempt = harness.run(lowering.program, cache / "attempt")
    if not attempt.outcome.green:
        raise SystemExit(f"not green: {attempt.outcome}")
    spent["run"] = attempt.durations["run"]
    spent["compare"] = attempt.durations["compare"]
    (cache / "program").write_text(str(lowering.program.directory))
    return spent


def overhead(cache: Path, engine_name: str, runs: int) -> dict[str, float]:
    """Medians in milliseconds: bare process, harness attempt, difference in pairs."""
    from harness.aot import load_program

    program: Program = load_program(Path((cache / "program").read_text()))
    harness = Harness(settings(cache, engine_name))
    engine, elf = harness.engine(TARGET), harness.runner(TARGET)
    bare, whole = [], []
    for number in range(runs + 1):
        directory = cache / "runs" / str(number)
        spec = run_spec(program, TARGET, elf, harness.settings, Tolerance(), bundled=False)
        spec = prepare(spec, directory, elf.path, program)
        started = perf_counter()
        attempt = run_attempt(engine, spec, directory, 1)
        middle = perf_counter()
        if not attempt.outcome.green or attempt.result is None:
            raise SystemExit(f"not green: {attempt.outcome}")
        subprocess.run(attempt.result.argv, cwd=directory, capture_output=True, check=True)
        if number:  # the first pair warms the file cache
            whole.append(1000 * (middle - started))
            bare.append(1000 * (perf_counter() - middle))
    differences = [w - b for w, b in zip(whole, bare, strict=True)]
    median = statistics.median
    return {"bare": median(bare), "harness": median(whole), "overhead": median(differences)}


def print_model(cache: Path, engine: str, name: str, target: str) -> None:
    """Seconds for each stage of one built-in model."""
    from harness.aot.models import model_case

    case = model_case(name, TARGETS[target])
    attempt, _ = Harness(settings(cache, engine)).check_case(case, cache / "model")
    if not attempt.outcome.green:
        raise SystemExit(f"not green: {attempt.outcome}")
    spent = "; ".join(
        f"{stage} {attempt.durations[stage]:.2f}" for stage in ("lower", "build", "run", "compare")
    )
    print(f"{name} on {target}, seconds: {spent}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--model", default="mobilenet_v2")
    parser.add_argument("--target", default="ethos-u85-256")
    parser.add_argument("--only-model", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(stages(options.child, options.engine)))
        return
    with tempfile.TemporaryDirectory(prefix="corstone benchmark ") as name:
        cache = Path(name)
        if options.only_model:
            print_model(cache, options.engine, options.model, options.target)
            return
        command = [sys.executable, __file__, "--engine", options.engine, "--child", str(cache)]
        rows = {}
        for kind in ("cold", "warm"):
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            rows[kind] = json.loads(run.stdout.splitlines()[-1])
        print("| stage, seconds | " + " | ".join(rows["cold"]) + " |")
        print("|---|" + "---|" * len(rows["cold"]))
        for kind, row in rows.items():
            print(f"| {kind} | " + " | ".join(f"{seconds:.3f}" for seconds in row.values()) + " |")
        medians = overhead(cache, options.engine, options.runs)
        identity = Harness(settings(cache, options.engine)).engine(TARGET).identity()
        print(f"\nboot to verdict, median of {options.runs}, engine {identity.name} {identity.version}:")
        print("; ".join(f"{what} {value:.1f} ms" for what, value in medians.items()))
        elf = Harness(settings(cache, options.engine)).runner(TARGET)
        print(f"\nsections of the runner with {len(elf.operators)} operators, bytes:")
        for section, size in elf.sizes.items():
            print(f"  {section:<28}{size:>10}")
        print()
        print_model(cache, options.engine, options.model, options.target)


if __name__ == "__main__":
    main()
