"""Rates of failure, and what a number of runs can prove. Pure; numbers and the standard library only.

Sources: L. D. Brown, T. T. Cai, A. DasGupta, "Interval estimation for a binomial proportion", Statistical
Science 16 (2001), for the Wilson and the Jeffreys interval; C. J. Clopper, E. S. Pearson, Biometrika 26
(1934), for the exact bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """Two bounds of a rate, both in 0 … 1."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.low)} to {percent(self.high)}"


@dataclass(frozen=True)
class Rate:
    """Failures in runs, with what they say of the rate behind them.

    Raises:
        ValueError: a negative number, or more failures than runs.
    """

    failures: int
    runs: int

    def __post_init__(self) -> None:
        if not 0 <= self.failures <= self.runs:
            raise ValueError(f"{self.failures} failures in {self.runs} runs")

    @property
    def interval(self) -> Interval:
        """Wilson's, two-sided, 95 %."""
        return wilson(self.failures, self.runs)

    def __str__(self) -> str:
        if not self.runs:
            return "no runs"
        return (
            f"{self.failures} of {self.runs} failed: {percent(self.failures / self.runs)} ({self.interval})"
        )


def wilson(failures: int, runs: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson score interval: the rates that a normal test at this confidence would not reject."""
    Rate(failures, runs)
    if not runs:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, width = failures / runs, z * z / runs
    centre = (share + width / 2) / (1 + width)
    half = z * sqrt(share * (1 - share) / runs + width / (4 * runs)) / (1 + width)
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if failures == 0 else max(0.0, centre - half)
    return Interval(low, 1.0 if failures == runs else min(1.0, centre + half))


def exact_upper(failures: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """One-sided exact upper bound: the largest rate that gives so few failures with probability 1 - c."""
    Rate(failures, runs)
    if failures == runs:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(failures, runs, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def clean_runs(rate: float, confidence: float = CONFIDENCE) -> int:
    """Runs without a failure that exclude `rate`: 59 for 5 %, 299 for 1 %."""
    if not 0 < rate < 1:
        raise ValueError(f"rate {rate} is not between 0 and 1")
    return ceil(log1p(-confidence) / log1p(-rate))


def percent(share: float) -> str:
    """A share for people: two digits, more near 0 and 1 ("16 %", "0.9 %", "99.8 %")."""
    value = 100 * share
    distance = min(value, 100 - value)
    digits = 0 if distance >= 10 or distance < 0.005 else (1 if distance >= 0.095 else 2)
    return f"{value:.{digits}f} %"


def log_likelihood(failures: int, runs: int) -> float:
    """Binomial log-likelihood at the observed rate, without the constant term."""
    passes = runs - failures
    return sum(count * log(count / runs) for count in (failures, passes) if count)


def _at_most(failures: int, runs: int, rate: float) -> float:
    """P(X <= failures) for X ~ Binomial(runs, rate)."""
    if rate <= 0:
        return 1.0
    if rate >= 1:
        return 0.0
    terms = [
        lgamma(runs + 1) - lgamma(k + 1) - lgamma(runs - k + 1) + k * log(rate) + (runs - k) * log1p(-rate)
        for k in range(failures + 1)
    ]
    top = max(terms, default=-inf)
    return min(1.0, exp(top) * sum(exp(term - top) for term in terms))
