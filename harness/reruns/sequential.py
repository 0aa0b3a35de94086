"""Wald's sequential test: does a test fail now and then, or often? (failure-catalogue.md §14.3)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import log


class Decision(str, Enum):
    """What the reruns so far say of the rate of failure."""

    OPEN = "open"
    OFTEN = "fails often"
    SELDOM = "fails seldom"


@dataclass(frozen=True)
class SequentialTest:
    """Wald's test of the rate `p0` against the rate `p1` with error probabilities `alpha` and `beta`.

    The defaults stop at the first failure of the first rerun, and after five passes without a failure.
    """

    p0: float = 0.02
    p1: float = 0.5
    alpha: float = 0.05
    beta: float = 0.05

    def score(self, failed: Sequence[bool]) -> float:
        """Log likelihood ratio of p1 to p0 after reruns that `failed` or passed, in order.

        The failure that triggered the reruns must not be among them: it was selected for failing.
        """
        worse, better = log(self.p1 / self.p0), log((1 - self.p1) / (1 - self.p0))
        return sum(worse if entry else better for entry in failed)

    def decide(self, failed: Sequence[bool]) -> Decision:
        """The decision at the first rerun at which a limit is crossed, OPEN before."""
        upper, lower = log((1 - self.beta) / self.alpha), log(self.beta / (1 - self.alpha))
        for count in range(1, len(failed) + 1):
            score = self.score(failed[:count])
            if score >= upper:
                return Decision.OFTEN
            if score <= lower:
                return Decision.SELDOM
        return Decision.OPEN
