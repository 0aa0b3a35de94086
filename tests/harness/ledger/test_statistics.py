"""Rates and trends against the numbers that the failure catalogue prints (its section 14)."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.ledger.statistics import (
    clean_runs,
    exact_upper,
    percent,
    wilson,
)
from harness.ledger.trends import (
    Seen,
    boundaries,
    change_at,
    discoveries,
    drift,
    entropy,
    flip_rate,
    infrastructure,
    onset,
    skewed_tests,
)

DAY = 86400.0


@pytest.mark.parametrize(
    ("failures", "runs", "low", "high", "exact"),
    [
        (0, 8, "0 %", "32 %", "31 %"),
        (0, 20, "0 %", "16 %", "14 %"),
        (0, 59, "0 %", "6.1 %", "5.0 %"),
        (0, 299, "0 %", "1.3 %", "1.0 %"),
        (1, 20, "0.9 %", "24 %", "22 %"),
        (5, 100, "2.2 %", "11 %", "10 %"),
    ],
)
def test_bounds_of_a_rate(failures: int, runs: int, low: str, high: str, exact: str) -> None:
    interval = wilson(failures, runs)
    assert (percent(interval.low), percent(interval.high)) == (low, high)
    assert percent(exact_upper(failures, runs)) == exact


def test_numbers_of_clean_runs() -> None:
    assert (clean_runs(0.05), clean_runs(0.01)) == (59, 299)


@given(st.integers(0, 400), st.integers(0, 400))
@settings(max_examples=60)
def test_bounds_hold_the_observed_rate(failures: int, passes: int) -> None:
    runs = failures + passes
    interval = wilson(failures, runs)
    assert 0 <= interval.low <= interval.high <= 1
    if runs:
        assert interval.low <= failures / runs <= interval.high
        assert failures / runs <= exact_upper(failures, runs) <= 1


def test_impossible_numbers_are_refused() -> None:
    for failures, runs in ((3, 2), (-1, 2)):
        with pytest.raises(ValueError, match="failures in"):
            wilson(failures, runs)
    with pytest.raises(ValueError, match="not between"):
        clean_runs(0)


def seen(colours: str, step: float = DAY, label: str = "") -> list[Seen]:
    """`.` passed, `F` failed, one a day."""
    return [Seen(i * step, colour == "F", label or f"r{i}") for i, colour in enumerate(colours)]


def test_flips_and_entropy() -> None:
    assert flip_rate(seen(".F.F.", 0), 0) == 1
    assert flip_rate(seen(".....", 0), 0) == flip_rate(seen(".", 0), 0) == 0
    assert flip_rate(seen("..FF", 0), 0) == pytest.approx(1 / 3)
    assert entropy(seen("..FF", 0), 0) == pytest.approx(1)
    assert entropy(seen("....", 0), 0) == entropy([], 0) == 0


def test_old_outcomes_weigh_less() -> None:
    history = [Seen(0, True), Seen(25 * DAY, False)]
    # One half-life apart: weights 1/2 and 1, so 1/3 of the weight is red.
    assert entropy(history, 25 * DAY) == pytest.approx(0.9183, abs=1e-4)
    recent = [*seen("........"), Seen(100 * DAY, False), Seen(100 * DAY, True)]
    old = [Seen(0, False), Seen(0, True), *(Seen((92 + i) * DAY, True) for i in range(9))]
    assert flip_rate(recent, 100 * DAY) > 0.2 > flip_rate(old, 100 * DAY)


def test_a_change_at_a_known_boundary() -> None:
    history = seen("." * 20 + "FF.FFF")
    point = change_at(history, 20)
    assert (point.last, point.first) == ("r19", "r20")
    assert point.p_value < 1e-4
    assert change_at(seen(".F" * 10), 10).p_value > 0.9
    with pytest.raises(ValueError, match="no change at 0"):
        change_at(history, 0)
    assert boundaries(["a", "a", "b", "b", "a"]) == [2, 4]


def test_the_p_value_is_that_of_chi_square() -> None:
    # 0 of 10 against 5 of 10: G = 2·(ln L1 - ln L0) = 8.6305, p = 0.003305 (chi-square, 1 degree).
    assert change_at(seen("." * 10 + "F." * 5), 10).p_value == pytest.approx(0.00331, abs=2e-5)


def test_benjamini_hochberg_on_the_published_example() -> None:
    # The 15 p-values of Benjamini and Hochberg (1995), table 1: four are discoveries at 0.05.
    values = [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0),
    ]
    assert discoveries(values) == [True] * 4 + [False] * 11
    assert discoveries(values[::-1])[::-1] == [True] * 4 + [False] * 11
    assert discoveries([]) == []


def test_tests_that_turned_red_at_a_version() -> None:
    def history(before: str, after: str) -> list[Seen]:
        return [*seen(before, label="vela 5.0"), *seen(after, label="vela 5.1")]

    histories = {
        "broken": history("." * 20, "FFFF"),
        "flaky": history("..F." * 5, ".F.."),
        "repaired": history("F" * 20, "...."),
        "fine": history("." * 20, "...."),
        "one version": seen("....FFFF", label="vela 5.0"),
    }
    assert list(skewed_tests(histories)) == ["broken"]


def test_catalogue_F9_a_jump_gives_a_range_of_revisions() -> None:
    point = onset(seen("." * 12 + "FFFFF"))
    assert point is not None
    assert (point.last, point.first) == ("r11", "r12")
    assert str(point.before).startswith("0 of 12 failed")
    assert onset(seen(".F..F.F...F..F")) is None
    assert onset(seen("....")) is None
    assert onset([]) is None


def test_catalogue_F8_a_drifting_margin_warns_before_red() -> None:
    margins = [0.2, 0.25, 0.6, 0.9]
    place = drift(margins)
    assert place is not None
    assert margins[place] < 1
    assert drift([0.2, 0.25, 0.22, 0.24, 0.21, 0.23]) is None
    assert drift([0.5] * 50) is None
    assert drift([0.9, 0.8, 0.4, 0.3, 0.2]) is None
    assert drift([0.1, inf, 0.12, inf, 0.7]) == 4
    assert drift([]) is None


def test_noise_is_no_drift() -> None:
    noisy = [0.3, 0.6, 0.35, 0.55, 0.4, 0.62, 0.31, 0.58] * 4
    assert drift(noisy) is None
    assert drift([*noisy, *[0.95] * 6]) is not None


@pytest.mark.parametrize(
    ("phases", "tests", "broken"),
    [
        (["boot"] * 8, 10, True),
        (["build", "launch"] * 4, 10, True),
        (["boot"] * 7, 10, False),
        (["verify"] * 10, 10, False),
        (["boot"] * 4, 4, False),
        ([], 10, False),
    ],
)
def test_the_infrastructure_guard(phases: list[str], tests: int, broken: bool) -> None:
    assert infrastructure(phases, tests) is broken
