"""What a comparison says to people: a few lines with numbers and places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.compare.tensors import Array
from harness.flow import Comparison

# Entries of the histogram that a message shows.
SHOWN = 9


def describe(
    result: Comparison,
    got: Array,
    expected: Array,
    beyond: NDArray[np.bool_],
    limit: NDArray[np.float64],
) -> str:
    """One line for a comparison that passed, up to four for one that failed."""
    if result.ok:
        return f"output {result.index}: {result.elements} elements, {_agreement(result)}"
    at = result.worst_index
    steps = "" if result.worst_lsb is None else f" ({_number(result.worst_lsb)} LSB)"
    share = 100.0 * result.mismatches / result.elements
    lines = [
        f"output {result.index}: {result.mismatches} of {result.elements} elements beyond the limit "
        f"({share:.3g} %)",
        f"worst error {_number(result.worst)}{steps}; at {list(at)}: got {got[at]}, expected {expected[at]}, "
        f"limit {_number(float(limit[at]))}",
    ]
    if result.histogram:
        lines.append(f"LSB differences: {_histogram(result)}")
    if pattern := _shift(got, expected) or _pattern(beyond):
        lines.append(pattern)
    return "\n".join(lines)


def _agreement(result: Comparison) -> str:
    if result.worst == 0:
        return "equal"
    steps = "" if result.worst_lsb is None else f" ({_number(result.worst_lsb)} LSB)"
    return f"worst error {_number(result.worst)}{steps}, {100 * result.margin:.3g} % of the limit"


def _histogram(result: Comparison) -> str:
    entries = sorted(result.histogram.items(), key=lambda entry: -entry[1])[:SHOWN]
    parts = [
        f"{steps:+d}: {100.0 * count / result.elements:.3g} %"
        if steps
        else f"0: {100.0 * count / result.elements:.3g} %"
        for steps, count in sorted(entries)
    ]
    rest = len(result.histogram) - len(parts)
    return ", ".join(parts) + (f" and {rest} more values" if rest > 0 else "")


def _pattern(beyond: NDArray[np.bool_]) -> str:
    """Names an axis if all failing elements share one index of it: a channel, a row, a vector tail."""
    if beyond.sum() < 2:
        return ""
    places = np.nonzero(beyond)
    for axis, indices in enumerate(places):
        if beyond.shape[axis] > 1 and (indices == indices[0]).all():
            return f"all of them have index {int(indices[0])} on axis {axis} (of size {beyond.shape[axis]})"
    first = min(int(i) for i in np.flatnonzero(beyond))
    if beyond.sum() == beyond.size - first and beyond.sum() < beyond.size:
        return f"all of them lie at the end: from flat index {first} on"
    return ""


def _shift(got: Array, expected: Array) -> str:
    """Names the axis along which all values stand one place too far: an index or a padding is off by one."""
    axes = {-1: "column", -2: "row"} if got.ndim > 1 else {-1: "element"}
    for axis in range(-1, -got.ndim - 1, -1):
        size = got.shape[axis]
        if size < 3:
            continue
        low, high = (np.take(a, range(size - 1), axis) for a in (got, expected))
        later, before = (np.take(a, range(1, size), axis) for a in (got, expected))
        for moved, source, step in ((later, high, 1), (low, before, -1)):
            # A constant tensor looks the same wherever it stands.
            if np.array_equal(moved, source) and not np.array_equal(low, later):
                name = axes.get(axis, f"axis-{got.ndim + axis}")
                return f"{name}-shift pattern: every value stands {step:+d} along axis {got.ndim + axis}"
    return ""


def _number(value: float) -> str:
    return f"{value:.6g}"
