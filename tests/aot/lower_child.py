"""Lowers one case in its own process, prints JSON: `lower_child.py CACHE [executorch-first] [TARGET]`.

Nothing is tuned here, so that a comparison with what another process lowers judges the tuning too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness.aot import compiler, lower_timed
from harness.aot.steps import quiet
from harness.flow import Case
from harness.targets import target_named


def main() -> None:
    for name in ("tune_export", "tune_quantization"):
        setattr(compiler, name, lambda: None)
    words = sys.argv[2:]
    if "executorch-first" in words:
        words.remove("executorch-first")
        with quiet(False):
            compiler.import_executorch()

    import torch

    case = Case(
        lambda rng: torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)),
        lambda rng: (torch.randn(3, 8, generator=rng),),
        target_named(words[0] if words else "m55"),
        seed=7,
    )
    lowering = lower_timed(case, Path(sys.argv[1]))
    print(
        json.dumps(
            {
                "key": lowering.program.directory.name,
                "cached": lowering.cached,
                "hashes": dict(lowering.program.hashes),
                "steps": sorted(lowering.durations),
            }
        )
    )


main()
