"""A slice of ci/random_kills.py: each victim once. All 1,000 runs belong to the nightly job."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.random_kills import VICTIMS, plan, run_once


@pytest.mark.parametrize("number", range(len(VICTIMS)), ids=VICTIMS)
def test_nothing_is_left_over_lost_or_doubled(number: int, tmp_path: Path) -> None:
    made = plan(1, number)
    done = run_once(made, tmp_path)
    assert done.hit or not made.hangs, "an FVP that hangs waits for the blow"
