"""Convolutions and pools: device formulas in numpy and calls of the operators.

Arrays of images are [batches, height, width, channels] throughout; `image` gives them the layout of
an operator. The formulas are written by kernel position, and the transposed one by scattering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.driver import CHANNELS_LAST, OK, Call, Tensor, run
from tests.kernels.operators import int8, output
from tests.kernels.oracle import Ints, requantize, wrap32

Pair = tuple[int, int]
KINDS = ("conv2d", "depthwise_conv2d", "transpose_conv2d")
SCRATCH = np.zeros(0, np.uint8)


def image(array: npt.NDArray[Any], nhwc: bool) -> Tensor:
    """As `_nhwc` operators take it, or logical NCHW stored channels-last."""
    return Tensor(array) if nhwc else Tensor(array.transpose(0, 3, 1, 2), CHANNELS_LAST)


def image_output(shape: tuple[int, ...], nhwc: bool) -> Tensor:
    return image(output(shape, "int8").array, nhwc)


def as_image(logical: npt.NDArray[Any], nhwc: bool) -> npt.NDArray[Any]:
    """The inverse of `image`, for a result."""
    return logical if nhwc else logical.transpose(0, 2, 3, 1)


def windows(size: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil: bool = False) -> int:
    """Number of outputs along one axis."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = room // stride + 1
    if ceil and room % stride and count * stride < size + padding:
        count += 1
    return count


@dataclass(frozen=True)
class Convolution:
    """One call of a convolution. `kind` is one of KINDS; `w` is [outputs, height, width, depth], for
    depthwise [1, height, width, outputs]."""

    kind: str
    x: npt.NDArray[Any]
    w: npt.NDArray[Any]
    bias: npt.NDArray[Any] | None
    multipliers: npt.NDArray[Any]
    shifts: npt.NDArray[Any]
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    output_padding: Pair = (0, 0)
    offsets: Pair = (0, 0)
    bounds: Pair = (-128, 127)
    changes: dict[str, Any] = field(default_factory=dict)

    def call(self, nhwc: bool = False) -> Call:
        """`changes` replaces arguments by their name in the schema."""
        shape = self.accumulate().shape
        values: dict[str, Any] = {
            "input": image(self.x, nhwc),
            "weight": Tensor(self.w),
            "bias": None if self.bias is None else Tensor(self.bias),
            "stride": list(self.stride),
            "padding": list(self.padding),
            "output_padding": list(self.output_padding),
            "dilation": list(self.dilation),
            "depth_multiplier": self.w.shape[3] // max(self.x.shape[3], 1),
            "input_offset": self.offsets[0],
            "output_offset": self.offsets[1],
            "requantize_multipliers": Tensor(self.multipliers),
            "requantize_shifts": Tensor(self.shifts),
            "activation_min": self.bounds[0],
            "activation_max": self.bounds[1],
            "scratch": Tensor(SCRATCH),
            "output_scratch": Tensor(SCRATCH),
            "out": image_output(shape, nhwc),
        }
        if self.kind != "transpose_conv2d":
            del values["output_padding"], values["output_scratch"]
        if self.kind != "depthwise_conv2d":
            del values["depth_multiplier"]
        assert set(self.changes) <= set(values)
        suffix = "_nhwc" if nhwc else ""
        return Call(f"cortex_m::quantized_{self.kind}{suffix}.out", tuple((values | self.changes).values()))

    def accumulate(self) -> Ints:
        """The sums before requantization."""
        x = self.x.astype(np.int64) + self.offsets[0]
        if self.kind == "transpose_conv2d":
            return self._scatter(x)
        w = self.w.astype(np.int64)
        if self.kind == "depthwise_conv2d":
            w = w.transpose(3, 1, 2, 0)
        return self._gather(x, w)

    def _gather(self, x: Ints, w: Ints) -> Ints:
        (ph, pw), (sh, sw), (dh, dw) = self.padding, self.stride, self.dilation
        outputs, kh, kw, depth = w.shape
        groups = x.shape[3] // depth
        height = windows(x.shape[1], kh, sh, ph, dh)
        width = windows(x.shape[2], kw, sw, pw, dw)
        padded = np.pad(x, ((0, 0), (ph, ph), (pw, pw), (0, 0)))
        acc = np.zeros((x.shape[0], height, width, groups, outputs // groups), np.int64)
        for ky in range(kh):
            for kx in range(kw):
                rows = padded[:, ky * dh :][:, : (height - 1) * sh + 1 : sh]
                part = rows[:, :, kx * dw :][:, :, : (width - 1) * sw + 1 : sw]
                grouped = part.reshape(*part.shape[:3], groups, depth)
                acc += np.einsum("bhwgd,god->bhwgo", grouped, w[:, ky, kx].reshape(groups, -1, depth))
        return acc.reshape(*acc.shape[:3], outputs)

    def _scatter(self, x: Ints) -> Ints:
        (ph, pw), (sh, sw), (dh, dw) = self.padding, self.stride, self.dilation
        outputs, kh, kw, _ = self.w.shape
        batches, in_height, in_width, _ = x.shape
        height = (in_height - 1) * sh + dh * (kh - 1) + 1 + self.output_padding[0]
        width = (in_width - 1) * sw + dw * (kw - 1) + 1 + self.output_padding[1]
        acc = np.zeros((batches, height, width, outputs), np.int64)
        for ky in range(kh):
            for kx in range(kw):
                part = np.einsum("bhwc,oc->bhwo", x, self.w[:, ky, kx].astype(np.int64))
                rows = slice(ky * dh, ky * dh + (in_height - 1) * sh + 1, sh)
                columns = slice(kx * dw, kx * dw + (in_width - 1) * sw + 1, sw)
                acc[:, rows, columns] += part
        return acc[:, ph : height - ph, pw : width - pw]

    def expected(self) -> Ints:
        """clamp(rq(acc + bias) + output offset), by channel."""
        acc = wrap32(self.accumulate() + (0 if self.bias is None else self.bias.astype(np.int64)))
        channels = [
            requantize(acc[..., c], int(m), int(s))
            for c, (m, s) in enumerate(zip(self.multipliers, self.shifts, strict=True))
        ]
        scaled = np.stack(channels, -1) if channels else acc
        return np.clip(scaled + self.offsets[1], *self.bounds)


def per_channel(rng: np.random.Generator, channels: int, extreme: bool) -> tuple[Ints, Ints]:
    """Multipliers and shifts; `extreme` ones reach all bounds."""
    multipliers = rng.integers(2**30, 2**31, channels)
    shifts = rng.integers(-12, -4, channels)
    if extreme:
        bounds = [-(2**31), -(2**31) + 1, -1, 0, 1, 2**30, 2**31 - 1]
        multipliers = np.where(rng.random(channels) < 0.6, rng.choice(bounds, channels), multipliers)
        shifts = rng.choice([-31, -30, -9, -1, 0, 1, 7, 30, 31], channels)
    return multipliers.astype(np.int32), shifts.astype(np.int32)


def draw(
    rng: np.random.Generator, kind: str, inputs: int, outputs: int, extreme: bool = False, **fixed: Any
) -> Convolution:
    """A convolution from `inputs` to `outputs` channels; parameters that are not `fixed` are drawn."""
    kernel: Pair = fixed.pop("kernel", None) or tuple(int(v) for v in rng.integers(1, 4, 2))
    groups = fixed.pop("groups", 1)
    batches = fixed.pop("batches", int(rng.integers(1, 3)))
    dilation: Pair = fixed.pop("dilation", None) or tuple(int(v) for v in rng.integers(1, 3, 2))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if kind == "transpose_conv2d":
        padding: Pair = fixed.pop("padding", None) or tuple(int(rng.integers(0, (r + 1) // 2)) for r in reach)
        # At least one output.
        sides = [int(rng.integers(1 if 2 * p < r else 2, 4)) for r, p in zip(reach, padding, strict=True)]
    else:
        padding = fixed.pop("padding", None) or tuple(int(v) for v in rng.integers(0, 3, 2))
        sides = [max(1, r - 2 * p) + int(rng.integers(0, 4)) for r, p in zip(reach, padding, strict=True)]
    shape = (1, *kernel, outputs) if kind == "depthwise_conv2d" else (outputs, *kernel, inputs // groups)
    bias = None if rng.random() < 0.2 else rng.integers(-20000, 20000, outputs).astype(np.int32)
    if extreme and bias is not None:
        bias[rng.random(outputs) < 0.3] = 2**31 - 1
    multipliers, shifts = per_channel(rng, outputs, extreme)
    low = int(rng.integers(-128, 0)) if rng.random() < 0.3 else -128
    values: dict[str, Any] = {
        "stride": tuple(int(v) for v in rng.integers(1, 4, 2)),
        "offsets": (int(rng.choice([-127, -1, 0, 5, 77, 128])), int(rng.integers(-128, 128))),
        "bounds": (low, int(rng.integers(low, 128)) if rng.random() < 0.3 else 127),
    }
    return Convolution(
        kind,
        int8(rng, batches, sides[0], sides[1], inputs),
        int8(rng, *shape),
        bias,
        multipliers,
        shifts,
        padding=padding,
        dilation=dilation,
        **(values | fixed),
    )


@dataclass(frozen=True)
class Pool:
    """One call of a pool. `kind` is avg_pool2d or max_pool2d; bounds are those of the maximum."""

    kind: str
    x: npt.NDArray[Any]
    kernel: Pair = (2, 2)
    stride: Pair = (2, 2)
    padding: Pair = (0, 0)
    ceil_mode: bool = False
    zero_point: int = 0
    rescale: Pair = (2**30, 1)
    bounds: Pair = (-128, 127)
    changes: dict[str, Any] = field(default_factory=dict)

    def shape(self) -> tuple[int, ...]:
        height, width = (
            windows(self.x.shape[1 + i], self.kernel[i], self.stride[i], self.padding[i], 1, self.ceil_mode)
            for i in range(2)
        )
        return self.x.shape[0], height, width, self.x.shape[3]

    def call(self, nhwc: bool = False) -> Call:
        """`changes` replaces arguments by their name in the schema."""
        values: dict[str, Any] = {
            "input": image(self.x, nhwc),
            "kernel_size": list(self.kernel),
            "stride": list(self.stride),
            "padding": list(self.padding),
        }
        if self.kind == "avg_pool2d":
            values |= {
                "ceil_mode": self.ceil_mode,
                "zero_point": self.zero_point,
                "multiplier": self.rescale[0],
                "shift": self.rescale[1],
                "scratch": Tensor(SCRATCH),
            }
        else:
            values |= {
                "dilation": [1, 1],
                "ceil_mode": self.ceil_mode,
                "input_zero_point": self.zero_point,
                "output_zero_point": self.zero_point,
                "activation_min": self.bounds[0],
                "activation_max": self.bounds[1],
            }
        values["out"] = image_output(self.shape(), nhwc)
        assert set(self.changes) <= set(values)
        suffix = "_nhwc" if nhwc else ""
        return Call(f"cortex_m::quantized_{self.kind}{suffix}.out", tuple((values | self.changes).values()))

    def expected(self) -> Ints:
        """By window, of the elements inside of the image."""
        made = np.zeros(self.shape(), np.int64)
        for y in range(made.shape[1]):
            for x in range(made.shape[2]):
                made[:, y, x] = self._window(self._inside(y, 0), self._inside(x, 1))
        return made

    def _inside(self, index: int, axis: int) -> slice:
        start = index * self.stride[axis] - self.padding[axis]
        return slice(max(start, 0), start + self.kernel[axis])

    def _window(self, rows: slice, columns: slice) -> Ints:
        window = self.x[:, rows, columns].astype(np.int64)
        if self.kind == "max_pool2d":
            largest: Ints = np.clip(window.max(axis=(1, 2)), *self.bounds)
            return largest
        count = window.shape[1] * window.shape[2]
        total = window.sum(axis=(1, 2))
        # Rounded half away from zero.
        return np.asarray(np.sign(total) * ((np.abs(total) + count // 2) // count))


def check(made: Sequence[Convolution | Pool], directory: Path) -> None:
    """Both layouts give what the formula gives."""
    calls = [image.call(nhwc) for image in made for nhwc in (False, True)]
    results = iter(run(calls, directory))
    for image in made:
        want = image.expected()
        for nhwc in (False, True):
            result = next(results)
            assert result.status == OK, result.log
            np.testing.assert_array_equal(as_image(result.out, nhwc), want)
