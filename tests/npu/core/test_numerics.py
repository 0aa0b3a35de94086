from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.standin.npu.errors import NpuError
from harness.standin.npu.numerics import Scaling, scale

MODES = ("NATURAL", "DBL", "DOUBLE_SYMMETRIC", "TRUNCATE_TO_LOWER")


def exact(value: int, multiplier: int, shift: int, mode: str) -> int:
    """The definition, in Python's unbounded integers."""
    offset = 0
    if shift and mode != "TRUNCATE_TO_LOWER":
        offset = 1 << (shift - 1)
        if mode != "NATURAL" and shift > 31:
            offset += 1 << 30 if value >= 0 else -(1 << 30)
    return (value * multiplier + offset) >> shift


@settings(max_examples=200)
@given(
    st.lists(st.integers(-(1 << 47), (1 << 47) - 1), min_size=1, max_size=5),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, 63),
    st.sampled_from(MODES),
)
def test_scale_is_exact(values: list[int], multiplier: int, shift: int, mode: str) -> None:
    wanted = [exact(value, multiplier, shift, mode) for value in values]
    got = scale(np.array(values, np.int64), Scaling(multiplier, shift, mode))
    assert [int(value) for value in got] == [(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in wanted]


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, (1 << 32) - 1), st.integers(0, 63)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(MODES),
)
def test_scale_per_channel(triples: list[tuple[int, int, int]], mode: str) -> None:
    values, multipliers, shifts = (np.array(column, np.int64) for column in zip(*triples, strict=True))
    got = scale(values.astype(np.int32), Scaling(multipliers, shifts, mode))
    assert got.tolist() == [exact(*triple, mode) for triple in triples]


def test_the_modes_differ() -> None:
    """Negative control: -0.5 and -1.5 tell the modes apart."""
    values = np.array([-1, -3, 1, 3])
    assert scale(values, Scaling(1, 1, "NATURAL")).tolist() == [0, -1, 1, 2]
    assert scale(values, Scaling(1, 1, "TRUNCATE_TO_LOWER")).tolist() == [-1, -2, 0, 1]
    wide = np.array([-3 << 30, 3 << 30])
    natural, double = (scale(wide, Scaling(1, 33, mode)).tolist() for mode in ("NATURAL", "DBL"))
    assert natural == [0, 0]
    assert double == [0, 1] or natural != double


@pytest.mark.parametrize("mode", ["SYMMETRIC", "DOUBLE_ASYMMETRIC", "TRUNCATE_TO_ZERO", "TRUNCATE"])
def test_unknown_rounding_is_refused(mode: str) -> None:
    with pytest.raises(NpuError, match=mode) as caught:
        scale(np.array([1]), Scaling(1, 1, mode))
    assert caught.value.kind == "unimplemented"
