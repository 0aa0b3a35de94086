"""What the harness adds to a run, over the bare process."""

from __future__ import annotations

import statistics
import subprocess
from time import perf_counter, process_time

from harness.engines import FvpEngine, run_attempt
from harness.engines.command import command_for
from harness.outcomes import OutcomeClass
from harness.targets import TARGETS
from tests.harness.bench import GOOD, Bench, prints, writes

PAIRS = 30
ROUNDS = 3
LIMIT = 0.015  # [s]


def test_overhead(bench: Bench) -> None:
    """Bare process and whole attempt in turn; the difference of the medians.

    Other tests may keep the machine busy, which can only add to the difference: one quiet
    round of three is proof.
    """
    import torch  # noqa: F401 - a test worker has it loaded, which makes a fork slow

    bench.fake.does(writes(), *prints(*GOOD))
    engine = FvpEngine(bench.fake.executable)
    engine.identity()
    rounds: list[float] = []
    while len(rounds) < ROUNDS and not (rounds and min(rounds) <= LIMIT):
        rounds.append(median_overhead(engine, bench))
    print("harness overhead:", ", ".join(f"{1000 * seconds:.1f} ms" for seconds in rounds))
    assert min(rounds) <= LIMIT


def median_overhead(engine: FvpEngine, bench: Bench) -> float:
    argv = command_for(bench.fake.executable, TARGETS["cortex-m55"], bench.spec, bench.directory).argv()
    bare, whole, processor = [], [], []
    for _ in range(PAIRS):
        started = perf_counter()
        subprocess.run(argv, capture_output=True, check=True)
        middle, worked = perf_counter(), process_time()
        attempt = run_attempt(engine, bench.spec, bench.directory)
        processor.append(process_time() - worked)
        whole.append(perf_counter() - middle)
        bare.append(middle - started)
        assert attempt.outcome.kind is OutcomeClass.PASS
    assert statistics.median(processor) <= LIMIT
    return statistics.median(whole) - statistics.median(bare)
