"""A demonstration: planted faults below the public interfaces, and the verdicts that they get."""

from harness.demo.verdicts import FAULTS, Shown, show

__all__ = ["FAULTS", "Shown", "show"]
