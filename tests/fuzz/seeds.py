"""Makes the seed corpora of the fuzzers: `python -m tests.fuzz.seeds DIRECTORY`, one folder a reader.

Programs are small, and between them use every kind of value, instruction and segment.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import torch

from harness import Case
from harness.session import Harness
from harness.settings import resolve
from tests.ops.inputs import uniform
from tests.runner.ethosu.blobs import blob, driver_actions, placements
from tests.runtime.programs import PROGRAMS

# Of the programs of the runtime's tests those that differ in what a reader sees.
CHOSEN = (
    "branch",
    "delegate",
    "delegate_inline",
    "delegate_named",
    "dynamic",
    "external",
    "lists",
    "loop",
    "primitives",
    "state",
    "unplanned",
    "view",
)


class Mixed(torch.nn.Module):
    """The operators that the fuzzer registers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(5, 3)

    def forward(self, x: Any, y: Any) -> Any:
        return self.linear(x * y + x), torch.minimum(x, y)


def models() -> dict[str, dict[str, bytes]]:
    """Programs and bundles by name."""
    harness = Harness(resolve(lambda _: None))
    case = Case(lambda rng: Mixed(), uniform((2, 5), (2, 5)))
    programs = {}
    bundles = {}
    for name, made in (("mixed", case), ("linear", Case(lambda rng: torch.nn.Linear(3, 2), uniform((1, 3))))):
        program = harness.lower(made)
        assert program.bpte is not None
        programs[f"{name}.pte"] = program.pte.read_bytes()
        bundles[f"{name}.bpte"] = program.bpte.read_bytes()
    for name in CHOSEN:
        programs[f"{name}.pte"] = bytes(PROGRAMS[name]().buffer)
    return {"program": programs, "bundle": bundles}


def delegates() -> dict[str, bytes]:
    """Delegates by hand: whole, with several placements, with named data, and their driver actions alone."""
    several = placements((8, 1, 0, 1), (2, 4, 8, 1), (4, 2, 32, 1))
    return {
        "plain": blob(),
        "several": blob(inputs=several, outputs=several, scratch_size=struct.pack("<I", 4096)),
        "long": blob(cmd_data=driver_actions(commands=bytes(4 * 300))),
        "no_weights": blob(weight_data=None),
        "actions": driver_actions(),
    }


def main(directory: Path) -> None:
    """Writes all corpora."""
    for reader, files in {**models(), "delegate": delegates()}.items():
        (directory / reader).mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (directory / reader / name).write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
