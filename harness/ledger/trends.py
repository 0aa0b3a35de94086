"""What changes over time: flips, entropy, change points, drifting margins, broken infrastructure. Pure.

Sources: S. S. Wilks, Annals of Mathematical Statistics 9 (1938), for the likelihood ratio; Y. Benjamini,
Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995); E. S. Page, Biometrika 41 (1954), for
CUSUM, with the usual slack of half a deviation and a limit of five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import erfc, isfinite, log2, sqrt
from statistics import median, pstdev

from harness.ledger.statistics import Rate, log_likelihood
from harness.outcomes import Phase

# [days] Weight of an outcome halves in this time; 21 to 30 are usual.
HALF_LIFE = 25.0
# Share of a session's tests that fail before the program runs, from which on the machine is to blame.
INFRASTRUCTURE_SHARE = 0.8
# A session of fewer tests than this says nothing about infrastructure by their share.
INFRASTRUCTURE_TESTS = 5
# In units of the limit: CUSUM ignores changes below the slack and warns at the limit.
DRIFT_SLACK = 0.05
DRIFT_LIMIT = 0.25

_EARLY = {Phase.BUILD.value, Phase.LAUNCH.value, Phase.BOOT.value}


@dataclass(frozen=True)
class Seen:
    """One outcome of a test: seconds since the epoch, whether red, under which version or revision."""

    time: float
    red: bool
    label: str = ""


def weights(times: Sequence[float], now: float, half_life: float = HALF_LIFE) -> list[float]:
    """Weights by age: 1 now, 1/2 after `half_life` days."""
    return [0.5 ** (max(0.0, now - time) / 86400 / half_life) for time in times]


def flip_rate(history: Sequence[Seen], now: float, half_life: float = HALF_LIFE) -> float:
    """Share of neighbouring outcomes that differ, weighted by age; 0 for fewer than two."""
    pairs = list(pairwise(history))
    weight = weights([later.time for _, later in pairs], now, half_life)
    flips = sum(w for w, (a, b) in zip(weight, pairs, strict=True) if a.red != b.red)
    return flips / sum(weight) if pairs else 0.0


def entropy(history: Sequence[Seen], now: float, half_life: float = HALF_LIFE) -> float:
    """Shannon entropy of the outcomes in bits, weighted by age: 0 = always the same, 1 = half and half."""
    weight = weights([seen.time for seen in history], now, half_life)
    total = sum(weight)
    red = sum(w for w, seen in zip(weight, history, strict=True) if seen.red) / total if total else 0.0
    return sum(share * log2(1 / share) for share in (red, 1 - red) if share > 0)


@dataclass(frozen=True)
class ChangePoint:
    """The rate before and after one place in a history, and how surprising the difference is.

    `index` is the first outcome after the change; `last` and `first` are the labels on its two sides.
    """

    index: int
    before: Rate
    after: Rate
    p_value: float
    last: str
    first: str


def change_at(history: Sequence[Seen], index: int) -> ChangePoint:
    """Binomial likelihood ratio between `history[:index]` and `history[index:]` (chi-square, 1 degree).

    Raises:
        ValueError: nothing on one of the sides.
    """
    if not 0 < index < len(history):
        raise ValueError(f"no change at {index} in a history of {len(history)}")
    before, after = (_rate(part) for part in (history[:index], history[index:]))
    gain = (
        log_likelihood(before.failures, before.runs)
        + log_likelihood(after.failures, after.runs)
        - log_likelihood(before.failures + after.failures, len(history))
    )
    # 2·gain is chi-square with one degree of freedom: P(X > x) = erfc(sqrt(x/2)).
    p_value = erfc(sqrt(max(0.0, gain)))
    return ChangePoint(index, before, after, p_value, history[index - 1].label, history[index].label)


def boundaries(labels: Sequence[str]) -> list[int]:
    """Places where the label (a version, say) changes: the first index of each new stretch."""
    return [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]


def onset(history: Sequence[Seen]) -> ChangePoint | None:
    """The most likely unknown place of a change; None if it may be chance.

    The p-value is that of the best of all places, corrected for their number (Bonferroni).
    """
    points = [change_at(history, index) for index in range(1, len(history))]
    if not points:
        return None
    best = min(points, key=lambda point: point.p_value)
    corrected = min(1.0, best.p_value * len(points))
    if corrected > 0.05:
        return None
    return ChangePoint(best.index, best.before, best.after, corrected, best.last, best.first)


def discoveries(p_values: Sequence[float], rate: float = 0.05) -> list[bool]:
    """Benjamini–Hochberg: which of many tests to believe, with at most `rate` false ones among them."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    accepted = 0
    for rank, index in enumerate(order, start=1):
        if p_values[index] <= rate * rank / len(p_values):
            accepted = rank
    chosen = set(order[:accepted])
    return [i in chosen for i in range(len(p_values))]


def skewed_tests(histories: Mapping[str, Sequence[Seen]], rate: float = 0.05) -> dict[str, ChangePoint]:
    """Tests whose failure rate rose at the last change of their labels, believed over all tests at once."""
    points = {}
    for name, history in histories.items():
        places = boundaries([seen.label for seen in history])
        if places:
            points[name] = change_at(history, places[-1])
    believed = discoveries([point.p_value for point in points.values()], rate)
    return {
        name: point
        for (name, point), real in zip(points.items(), believed, strict=True)
        if real
        and point.after.failures * max(1, point.before.runs)
        > point.before.failures * max(1, point.after.runs)
    }


def drift(margins: Sequence[float]) -> int | None:
    """Index of the margin (error/limit) at which a rising trend is certain; None without one.

    One-sided CUSUM against the median of the first half (at most 20 values). Slack and limit grow with the
    noise of that half, and have a floor because seeded tests have none. Infinite margins are left out.
    """
    finite = [(index, margin) for index, margin in enumerate(margins) if isfinite(margin)]
    base = [margin for _, margin in finite[: min(20, max(2, len(finite) // 2))]]
    if len(base) < 2:
        return None
    noise = pstdev(base)
    target, total = median(base) + max(DRIFT_SLACK, noise / 2), 0.0
    for index, margin in finite[len(base) :]:
        total = max(0.0, total + margin - target)
        if total > max(DRIFT_LIMIT, 5 * noise):
            return index
    return None


def infrastructure(red_phases: Sequence[str], tests: int, share: float = INFRASTRUCTURE_SHARE) -> bool:
    """True if so many of a session's tests fail in build to boot that the machine is to blame.

    Args:
        red_phases: phase of each red test.
        tests: how many ran.
        share: of the tests, from which on it counts.
    """
    early = sum(phase in _EARLY for phase in red_phases)
    return tests >= INFRASTRUCTURE_TESTS and early >= share * tests


def _rate(part: Sequence[Seen]) -> Rate:
    return Rate(sum(seen.red for seen in part), len(part))
