"""quantized_conv2d, quantized_depthwise_conv2d, quantized_transpose_conv2d and their nhwc forms
against the device formula, on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.kernels.driver import CHANNELS_LAST, INVALID_ARGUMENT, OK, Tensor, run
from tests.kernels.images import KINDS, as_image, check, draw, image, image_output
from tests.kernels.operators import output


@pytest.mark.parametrize("extreme", [False, True], ids=["usual", "extreme"])
@pytest.mark.parametrize("kind", KINDS)
def test_channels(tmp_path: Path, kind: str, extreme: bool) -> None:
    rng = np.random.default_rng(31)
    made = []
    for channels in range(1, 34):
        if kind == "depthwise_conv2d":
            pairs = [(channels, channels), (channels, channels * int(rng.integers(2, 6))), (1, channels)]
        else:
            pairs = [(channels, int(rng.integers(1, 34))), (int(rng.integers(1, 34)), channels)]
        made += [draw(rng, kind, inputs, outputs, extreme) for inputs, outputs in pairs]
    check(made, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_geometry(tmp_path: Path, kind: str) -> None:
    """Every combination of stride, padding and dilation of a kernel that is not square."""
    rng = np.random.default_rng(32)
    pairs = [(1, 1), (2, 1), (1, 3)]
    made = [
        draw(rng, kind, 4, 8, kernel=(3, 2), stride=stride, padding=padding, dilation=dilation)
        for stride in pairs
        for padding in ((0, 0), (1, 0), (0, 1))
        for dilation in pairs
    ]
    if kind != "transpose_conv2d":
        # Windows altogether in the padding.
        made += [draw(rng, kind, 3, 3, kernel=(2, 1), padding=p) for p in ((4, 0), (0, 5), (7, 7))]
    check(made, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("zero_point", [-128, -3, 0, 9, 127])
def test_zero_points(tmp_path: Path, kind: str, zero_point: int) -> None:
    """The border of the image counts as the zero point of the input."""
    rng = np.random.default_rng(33)
    made = [draw(rng, kind, 6, 12, offsets=(-zero_point, z)) for z in (-128, -1, 0, 64, 127)]
    check(made, tmp_path)


def test_groups(tmp_path: Path) -> None:
    rng = np.random.default_rng(34)
    shapes = [(4, 4, 2), (6, 9, 3), (8, 8, 8), (8, 24, 8), (34, 6, 2), (5, 10, 5), (64, 8, 2)]
    made = [draw(rng, "conv2d", i, o, groups=g, batches=b) for i, o, g in shapes for b in (1, 2)]
    check(made, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_independent(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(35)
    whole = draw(rng, kind, 5, 10, batches=3)
    single = [replace(whole, x=whole.x[b : b + 1]) for b in range(3)]
    check([whole, *single], tmp_path)
    np.testing.assert_array_equal(whole.expected(), np.concatenate([s.expected() for s in single]))


def test_output_padding(tmp_path: Path) -> None:
    rng = np.random.default_rng(36)
    made = [
        draw(rng, "transpose_conv2d", 3, 5, stride=(3, 2), dilation=(1, 2), output_padding=extra)
        for extra in ((0, 0), (1, 0), (2, 1))
    ]
    check(made, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_empty(tmp_path: Path, kind: str) -> None:
    """No batch; no output channels."""
    rng = np.random.default_rng(37)
    made = [draw(rng, kind, 4, 4, batches=0)]
    if kind != "depthwise_conv2d":
        made.append(draw(rng, kind, 4, 0))
    check(made, tmp_path)


def test_one_channel_or_one_pixel_leaves_the_order_open(tmp_path: Path) -> None:
    rng = np.random.default_rng(38)
    one_channel = draw(rng, "conv2d", 1, 1)
    pixel = draw(rng, "conv2d", 7, 5, kernel=(1, 1), padding=(0, 0), stride=(1, 1))
    pixel = replace(pixel, x=pixel.x[:, :1, :1])
    made = []
    for c in (one_channel, pixel):
        plain = Tensor(c.x.transpose(0, 3, 1, 2))
        plain_out = output(tuple(np.array(c.expected().shape)[[0, 3, 1, 2]]), "int8")
        made.append(replace(c, changes={"input": plain, "out": plain_out}))
    for c, result in zip(made, run([c.call() for c in made], tmp_path), strict=True):
        assert result.status == OK, result.log
        np.testing.assert_array_equal(as_image(result.out, False), c.expected())


BASE = {
    kind: draw(
        np.random.default_rng(39),
        kind,
        4,
        8,
        kernel=(3, 2),
        stride=(1, 1),
        padding=(0, 0),
        dilation=(1, 1),
        batches=1,
        bounds=(-128, 127),
    )
    for kind in KINDS
}


def int32(*values: int) -> Tensor:
    return Tensor(np.array(values, np.int32))


PIXELS = np.zeros((1, 5, 5, 4), np.int8)
WIDE = np.zeros((8, 3, 2, 4), np.int16)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"stride": [1]}, "stride is 1, expected 2"),
    ({"stride": [0, 1]}, "stride is 0"),
    ({"padding": [0, -1]}, "padding is -1"),
    ({"dilation": [1, 2**40]}, "dilation is"),
    ({"input_offset": 129}, "input_offset is 129"),
    ({"input_offset": -128}, "input_offset is -128"),
    ({"output_offset": -129}, "output_offset is -129"),
    ({"activation_min": 5, "activation_max": 4}, "activation_max is 4"),
    ({"activation_max": 128}, "activation_max is 128"),
    ({"input": Tensor(PIXELS)}, "input or out is not channels-last"),
    ({"input": Tensor(PIXELS.astype(np.int16))}, "input is Short"),
    ({"input": Tensor(PIXELS[0])}, "four dimensions"),
    ({"input": Tensor(PIXELS.transpose(0, 3, 1, 2), CHANNELS_LAST, has_data=False)}, "input has no data"),
    ({"input": Tensor(PIXELS.transpose(0, 3, 1, 2), (0, 2, 1, 3))}, "not channels-last"),
    ({"weight": Tensor(WIDE)}, "weight is Short"),
    ({"weight": Tensor(WIDE[0].astype(np.int8))}, "four dimensions"),
    ({"weight": Tensor(WIDE.astype(np.int8), CHANNELS_LAST)}, "weight is not in plain dim order"),
    ({"weight": Tensor(np.zeros((8, 0, 2, 8), np.int8))}, "height of weight is 0"),
    ({"bias": int32(1, 2, 3)}, "length of bias is 3, expected 8"),
    ({"bias": Tensor(np.zeros(8, np.int64))}, "bias is Long"),
    ({"requantize_multipliers": int32(1)}, "length of requantize_multipliers is 1, expected 8"),
    ({"requantize_multipliers": Tensor(np.zeros(8, np.float32))}, "requantize_multipliers is Float"),
    ({"requantize_shifts": int32(0, 0, 0, 0, 0, 0, 0, 32)}, "requantize_shifts is 32"),
    ({"requantize_shifts": int32(0, 0, 0, 0, 0, 0, 0, -32)}, "requantize_shifts is -32"),
    ({"requantize_shifts": int32()}, "length of requantize_shifts is 0"),
    ({"out": image_output((1, 1, 1, 1), False)}, "out cannot take the shape"),
]
OWN_REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("conv2d", {"weight": Tensor(np.zeros((8, 3, 2, 3), np.int8))}, "input channels modulo depth"),
    ("conv2d", {"weight": Tensor(np.zeros((8, 3, 2, 0), np.int8))}, "depth of weight is 0"),
    ("conv2d", {"weight": Tensor(np.zeros((8, 3, 2, 5), np.int8))}, "depth of weight is 5"),
    ("conv2d", {"scratch": Tensor(np.zeros(3, np.int32))}, "scratch is Int"),
    ("conv2d", {"dilation": [9, 1]}, "the kernel is larger than the padded input"),
    ("depthwise_conv2d", {"depth_multiplier": 1}, "output channels of weight is 8, expected 4"),
    ("depthwise_conv2d", {"depth_multiplier": 0}, "depth_multiplier is 0"),
    ("depthwise_conv2d", {"weight": Tensor(np.zeros((2, 3, 2, 8), np.int8))}, "first dimension of weight"),
    ("transpose_conv2d", {"weight": Tensor(np.zeros((8, 3, 2, 2), np.int8))}, "depth of weight is 2"),
    ("transpose_conv2d", {"output_padding": [1, 0]}, "output_padding is 1, expected 0...0"),
    ("transpose_conv2d", {"padding": [40, 0]}, "height of the result is -"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_refused(tmp_path: Path, kind: str) -> None:
    listed = REFUSED + [(changes, message) for owner, changes, message in OWN_REFUSED if owner == kind]
    calls = [replace(BASE[kind], changes=changes).call() for changes, _ in listed]
    for (changes, message), result in zip(listed, run(calls, tmp_path), strict=True):
        assert result.status == INVALID_ARGUMENT, (changes, message)
        assert f"quantized_{kind}: " in result.log
        assert message in result.log
        assert (result.out == 0x55).all()


@pytest.mark.parametrize("kind", KINDS)
def test_nhwc_needs_plain_dim_order(tmp_path: Path, kind: str) -> None:
    base = BASE[kind]
    refused = replace(base, changes={"input": Tensor(base.x, CHANNELS_LAST)}).call(nhwc=True)
    channels_last_out = image(base.expected().astype(np.int8), False)
    other = replace(base, changes={"out": channels_last_out}).call(nhwc=True)
    first, second = run([refused, other], tmp_path)
    assert first.status == second.status == INVALID_ARGUMENT
    assert f"quantized_{kind}_nhwc: input or out is not in plain dim order" in first.log
    assert "out cannot take the shape" in second.log
