"""corstone-harness: lower, build, boot, compare and judge ExecuTorch programs for Arm's Corstone boards.

Tests import their vocabulary from here: `from harness import Case, Tolerance, cases`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.flow import Attempt, Case, Program, RunnerElf, TensorSpec, Tolerance
    from harness.plugin.cases import cases

__all__ = ["Attempt", "Case", "Program", "RunnerElf", "TensorSpec", "Tolerance", "cases"]


def __getattr__(name: str) -> object:
    # Lazy, since the stand-in starts from this package in milliseconds.
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'harness' has no attribute '{name}'")
    return getattr(import_module("harness.plugin.cases" if name == "cases" else "harness.flow"), name)
