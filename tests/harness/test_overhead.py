"""What the harness adds to a run, over the bare process."""

from __future__ import annotations

import statistics
import subprocess
import sys
from time import perf_counter

from harness.engines import identify
from harness.engines.command import command_for
from harness.outcomes import OutcomeClass
from harness.targets import TARGETS
from tests.harness.bench import GOOD, Bench, prints, writes

PAIRS = 30
LIMIT = 0.015  # [s]


def test_median_overhead(bench: Bench) -> None:
    """Bare process and whole attempt in turn, so that a busy machine slows both."""
    import torch  # noqa: F401 - a test worker has it loaded, which makes a fork slow

    steps = [writes(), *prints(*GOOD)]
    bench.fake.does(*steps)
    identify(bench.fake.executable)
    argv = command_for(bench.fake.executable, TARGETS["cortex-m55"], bench.spec, bench.directory).argv()
    added = []
    for _ in range(PAIRS):
        started = perf_counter()
        subprocess.run(argv, capture_output=True, check=True)
        bare = perf_counter()
        attempt = bench.attempt(*steps)
        added.append((perf_counter() - bare) - (bare - started))
        assert attempt.outcome.kind is OutcomeClass.PASS
    median = statistics.median(added)
    print(f"harness overhead: median {1000 * median:.1f} ms of {PAIRS} runs", file=sys.stderr)
    assert median <= LIMIT
