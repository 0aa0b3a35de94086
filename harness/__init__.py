"""corstone-harness: lower, build, boot, compare and judge ExecuTorch programs for Arm's Corstone boards.

Tests import their vocabulary from here: `from harness import Case, Tolerance, cases`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.flow import Attempt, Case, Program, RunnerElf, TensorSpec, Tolerance
    from harness.plugin.cases import cases
    from harness.plugin.fixtures import Check, Lower, Run

__all__ = [
    "Attempt",
    "Case",
    "Check",
    "Lower",
    "Program",
    "Run",
    "RunnerElf",
    "TensorSpec",
    "Tolerance",
    "cases",
]

_PLUGIN = {
    "cases": "harness.plugin.cases",
    **dict.fromkeys(("Check", "Lower", "Run"), "harness.plugin.fixtures"),
}


def __getattr__(name: str) -> object:
    # Lazy, since the stand-in starts from this package in milliseconds.
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'harness' has no attribute '{name}'")
    return getattr(import_module(_PLUGIN.get(name, "harness.flow")), name)
