"""Accumulators of convolutions against plain integer loops, at the extremes of the operands."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.standin.npu import conv
from harness.standin.npu.config import NpuConfig
from harness.standin.npu.errors import NpuError
from harness.standin.npu.memory import ArrayMemory, Regions
from harness.standin.npu.registers import RegisterState

Array = NDArray[Any]
NO_MEMORY = Regions(ArrayMemory(0, np.zeros(0, np.uint8)), (0,))
EXTREMES = {8: (255, 255), 16: (65535, 255)}

axes = st.fixed_dictionaries(
    {
        "out": st.integers(1, 5),
        "kernel": st.integers(1, 4),
        "stride": st.integers(1, 3),
        "dilation": st.integers(1, 2),
        "before": st.integers(0, 2),
        "after": st.integers(0, 2),
    }
)


def registers(y: dict[str, int], x: dict[str, int], depth: int) -> RegisterState:
    state = RegisterState(NpuConfig("u85", 256))
    for name, value in {
        "OFM_HEIGHT_M1": y["out"] - 1,
        "OFM_WIDTH_M1": x["out"] - 1,
        "OFM_DEPTH_M1": depth - 1,
        "KERNEL_HEIGHT_M1": (y["kernel"] - 1) * y["dilation"],
        "KERNEL_WIDTH_M1": (x["kernel"] - 1) * x["dilation"],
        "IFM_PAD_TOP": y["before"],
        "IFM_PAD_BOTTOM": y["after"],
        "IFM_PAD_LEFT": x["before"],
        "IFM_PAD_RIGHT": x["after"],
    }.items():
        state.set(name, value)
    fields: dict[str, int] = {}
    for axis, values in (("y", y), ("x", x)):
        stride = values["stride"] - 1
        fields |= {f"stride_{axis}_lsb": stride & 1, f"stride_{axis}_msb": stride >> 1}
        fields[f"dilation_{axis}"] = values["dilation"] - 1
    state.set("KERNEL_STRIDE", **fields)
    return state


def extent(axis: dict[str, int]) -> int:
    reach = (axis["out"] - 1) * axis["stride"] + (axis["kernel"] - 1) * axis["dilation"] + 1
    return reach - axis["before"] - axis["after"]


def plain(ifm: Array, weights: Array, y: dict[str, int], x: dict[str, int], *, apart: bool) -> Array:
    """The definition, one product at a time along the kernel."""
    out = np.zeros((y["out"], x["out"], weights.shape[0]), np.int64)
    for oy, ox, ky, kx in product(range(y["out"]), range(x["out"]), range(y["kernel"]), range(x["kernel"])):
        iy = oy * y["stride"] + ky * y["dilation"] - y["before"]
        ix = ox * x["stride"] + kx * x["dilation"] - x["before"]
        if 0 <= iy < ifm.shape[0] and 0 <= ix < ifm.shape[1]:
            taps = weights[:, ky, kx].astype(np.int64)
            out[oy, ox] += ifm[iy, ix] * taps[:, 0] if apart else (taps * ifm[iy, ix]).sum(axis=1)
    return out


@settings(derandomize=True, deadline=None, max_examples=100)
@given(axes, axes, st.integers(1, 5), st.integers(1, 4), st.sampled_from([8, 16]), st.booleans())
def test_windows(
    y: dict[str, int], x: dict[str, int], channels: int, depth: int, bits: int, apart: bool
) -> None:
    if extent(y) < 1 or extent(x) < 1:
        return
    rng = np.random.default_rng(depth)
    largest, weight = EXTREMES[bits]
    inputs, outputs = (1, channels) if apart else (channels, depth)
    ifm = rng.integers(-largest, largest, (extent(y), extent(x), channels), endpoint=True)
    weights = rng.integers(-weight, weight, (outputs, y["kernel"], x["kernel"], inputs), endpoint=True)
    with patch.object(conv, "operation_weights", return_value=weights.astype(np.int16)):
        operation = conv.depthwise if apart else conv.convolve
        got = operation(registers(y, x, outputs), ifm, NO_MEMORY)
    np.testing.assert_array_equal(got, plain(ifm, weights, y, x, apart=apart))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("terms", [1, 191, 192, 258, 259, 1000, 5000])
def test_long_sums_are_exact(bits: int, terms: int) -> None:
    """All operands at their extremes: partial sums are as large as they can be, and one is odd."""
    largest, weight = EXTREMES[bits]
    one = {"out": 1, "kernel": 1, "stride": 1, "dilation": 1, "before": 0, "after": 0}
    ifm = np.full((1, 1, terms), -largest)
    ifm2 = np.full((1, 3, terms), weight)
    ifm2[0, 1, ::2] = -weight
    ifm2[0, 2, -1] = 1
    got = conv.convolve_ifm2(registers(one, one, 3), ifm, ifm2)
    np.testing.assert_array_equal(got[0, 0], (ifm[0] * ifm2[0]).sum(axis=1))


def test_matrix_product_of_two_16_bit_operands_is_exact() -> None:
    one = {"out": 1, "kernel": 1, "stride": 1, "dilation": 1, "before": 0, "after": 0}
    ifm, ifm2 = np.full((1, 1, 4097), 65535), np.full((1, 1, 4097), 65535)
    assert conv.convolve_ifm2(registers(one, one, 1), ifm, ifm2)[0, 0, 0] == 4097 * 65535**2


def test_large_images_are_cut_into_stripes() -> None:
    rng = np.random.default_rng(0)
    y = {"out": 80, "kernel": 3, "stride": 1, "dilation": 1, "before": 1, "after": 1}
    ifm = rng.integers(-255, 256, (80, 80, 64))
    weights = rng.integers(-128, 128, (2, 3, 3, 64))
    assert ifm.size * 9 > conv.COLUMNS_LIMIT
    with patch.object(conv, "operation_weights", return_value=weights.astype(np.int16)):
        got = conv.convolve(registers(y, y, 2), ifm, NO_MEMORY)
    np.testing.assert_array_equal(got, plain(ifm, weights, y, y, apart=False))


def test_operands_that_do_not_fit_are_an_error() -> None:
    one = {"out": 1, "kernel": 1, "stride": 1, "dilation": 1, "before": 0, "after": 0}
    with pytest.raises(NpuError, match="channels"):
        conv.convolve_ifm2(registers(one, one, 2), np.zeros((1, 1, 3), int), np.zeros((1, 2, 4), int))
