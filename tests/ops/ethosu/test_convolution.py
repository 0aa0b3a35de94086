"""Convolutions: 1-D to 3-D, strides, padding, dilation, groups, depthwise, transposed, activations fused."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from harness import Case, Check, cases
from tests.ops.inputs import channels_last, uniform

IMAGE = uniform((1, 4, 9, 11))


def conv(outputs: int = 6, kernel: Any = 3, *, inputs: Any = IMAGE, bits: int = 8, **options: Any) -> Case:
    return Case(lambda rng: nn.Conv2d(4, outputs, kernel, **options), inputs, activation_bits=bits)


def depthwise(multiplier: int = 1, kernel: Any = 3, *, bits: int = 8, **options: Any) -> Case:
    return conv(4 * multiplier, kernel, bits=bits, groups=4, **options)


def sequence(*layers: Any, inputs: Any = IMAGE) -> Case:
    """Layers made in order, each by its factory."""
    return Case(lambda rng: nn.Sequential(*(make() for make in layers)), inputs)


@cases(
    "u55 u65 u85",
    k3=conv(padding=1),
    k1=conv(kernel=1),
    stride2=conv(stride=2),
    dilation2=conv(dilation=2),
)
def test_conv2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    valid=conv(),
    k5=conv(kernel=5, padding=2),
    rectangular=conv(kernel=(1, 4), padding=(0, 2)),
    stride_unequal=conv(stride=(2, 1), padding=1),
    groups2=conv(groups=2),
    no_bias=conv(bias=False),
    wide=Case(lambda rng: nn.Conv2d(33, 17, 3, padding=1), uniform((1, 33, 4, 5))),
    batch=conv(padding=1, inputs=uniform((2, 4, 5, 6))),
    channels_last=conv(padding=1, inputs=channels_last(IMAGE)),
    int16=conv(padding=1, bits=16),
    relu=sequence(lambda: nn.Conv2d(4, 6, 3), nn.ReLU),
    relu6=sequence(lambda: nn.Conv2d(4, 6, 3), nn.ReLU6),
    two=sequence(lambda: nn.Conv2d(4, 6, 3, padding=1), nn.ReLU, lambda: nn.Conv2d(6, 5, 3, stride=2)),
)
def test_conv2d_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", k3=depthwise(padding=1), stride2=depthwise(stride=2))
def test_depthwise_conv2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    k5=depthwise(kernel=5, padding=2),
    multiplier2=depthwise(2, padding=1),
    dilation2=depthwise(dilation=2),
    int16=depthwise(padding=1, bits=16),
    separable=sequence(lambda: nn.Conv2d(4, 4, 3, groups=4), nn.ReLU6, lambda: nn.Conv2d(4, 7, 1), nn.ReLU6),
)
def test_depthwise_conv2d_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    k3=Case(lambda rng: nn.Conv1d(5, 7, 3, padding=1), uniform((1, 5, 12))),
    depthwise=Case(lambda rng: nn.Conv1d(5, 5, 3, groups=5), uniform((1, 5, 12))),
)
def test_conv1d(case: Case, check: Check) -> None:
    check(case)


@cases("u85", k3=Case(lambda rng: nn.Conv3d(2, 3, 3, padding=1), uniform((1, 2, 4, 5, 6))))
def test_conv3d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    stride2=Case(lambda rng: nn.ConvTranspose2d(4, 5, 2, stride=2), uniform((1, 4, 5, 6))),
    padding=Case(lambda rng: nn.ConvTranspose2d(4, 5, 3, stride=2, padding=1), uniform((1, 4, 5, 6))),
)
def test_transpose_conv2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    alone=Case(lambda rng: _statistics(nn.BatchNorm2d(4), rng), IMAGE),
    folded=Case(lambda rng: nn.Sequential(nn.Conv2d(4, 6, 3), _statistics(nn.BatchNorm2d(6), rng)), IMAGE),
)
def test_batch_norm(case: Case, check: Check) -> None:
    check(case)


def _statistics(norm: nn.BatchNorm2d, rng: torch.Generator) -> nn.BatchNorm2d:
    """Other ones than mean 0 and variance 1, with which the layer would do nothing."""
    for values, low, high in (
        (norm.running_mean, -0.5, 0.5),
        (norm.running_var, 0.5, 2.0),
        (norm.weight.data, 0.5, 2.0),
        (norm.bias.data, -1.0, 1.0),
    ):
        values.uniform_(low, high, generator=rng)
    return norm
