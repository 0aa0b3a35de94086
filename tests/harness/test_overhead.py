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
LIMIT = 0.015  # [s]


def test_overhead(bench: Bench) -> None:
    """Bare process and whole attempt in turn.

    Other tests may keep the machine busy, so the limit is on what they cannot change: the processor time
    of an attempt, and the quickest of 30 attempts against the quickest bare run.
    """
    import torch  # noqa: F401 - a test worker has it loaded, which makes a fork slow

    bench.fake.does(writes(), *prints(*GOOD))
    engine = FvpEngine(bench.fake.executable)
    engine.identity()
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
    median = statistics.median(whole) - statistics.median(bare)
    print(f"harness overhead: {1000 * median:.1f} ms (difference of the medians of {PAIRS} runs)")
    assert statistics.median(processor) <= LIMIT
    assert min(whole) - min(bare) <= LIMIT
