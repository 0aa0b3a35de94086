"""Networks of the built-in models, in torch: shapes of well-known ones, weights from the seed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn


def lstm() -> nn.Module:
    """Two quantizable LSTM layers of 20 units; takes (5, 3, 10) and the two initial states."""
    return torch.ao.nn.quantizable.LSTM(10, 20, 2)


def mlp() -> nn.Module:
    """Three linear layers with ReLU; takes (1, 64)."""
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


def autoencoder() -> nn.Module:
    """Fully connected auto-encoder of MLPerf Tiny's shape (anomaly detection); takes (1, 640)."""
    sizes = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return _initialized(nn.Sequential(*layers, nn.Linear(128, 640)))


def ds_cnn() -> nn.Module:
    """Depthwise-separable CNN of MLPerf Tiny's shape (keyword spotting); takes (1, 1, 49, 10)."""
    layers = [*_convolution(1, 64, (10, 4), stride=2, padding=(5, 1))]
    for _ in range(4):
        layers += [*_convolution(64, 64, 3, groups=64), *_convolution(64, 64, 1)]
    return _initialized(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12)))


def resnet8() -> nn.Module:
    """ResNet of MLPerf Tiny's shape (image classification); takes (1, 3, 32, 32)."""
    blocks = [_Residual(16, 16, 1), _Residual(16, 32, 2), _Residual(32, 64, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return _initialized(nn.Sequential(*_convolution(3, 16, 3), *blocks, *head))


def mobilenet_v2(width: float = 1.0, classes: int = 1000) -> nn.Module:
    """MobileNetV2's shape at a width multiplier; takes images with three channels."""

    def scaled(channels: int) -> int:
        return max(8, int(channels * width + 4) // 8 * 8)

    # (expansion, channels, repeats, stride) of each stage.
    stages = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    channels, last = scaled(32), max(1280, scaled(1280))
    layers = [*_convolution(3, channels, 3, stride=2, activation=nn.ReLU6)]
    for expansion, outputs, repeats, stride in stages:
        for repeat in range(repeats):
            layers.append(_Inverted(channels, scaled(outputs), stride if repeat == 0 else 1, expansion))
            channels = scaled(outputs)
    layers += _convolution(channels, last, 1, activation=nn.ReLU6)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes)]
    return _initialized(nn.Sequential(*layers))


class _Residual(nn.Module):  # type: ignore[misc]
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        first = _convolution(inputs, outputs, 3, stride=stride)
        self.body = nn.Sequential(*first, *_convolution(outputs, outputs, 3, activation=None))
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x) + self.shortcut(x))


class _Inverted(nn.Module):  # type: ignore[misc]
    """Expansion, depthwise convolution, projection; a shortcut where the shape stays."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = []
        if expansion != 1:
            layers += _convolution(inputs, hidden, 1, activation=nn.ReLU6)
        layers += _convolution(hidden, hidden, 3, stride=stride, groups=hidden, activation=nn.ReLU6)
        self.body = nn.Sequential(*layers, *_convolution(hidden, outputs, 1, activation=None))
        self.shortcut = inputs == outputs and stride == 1

    def forward(self, x: Any) -> Any:
        return x + self.body(x) if self.shortcut else self.body(x)


def _convolution(
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int],
    *,
    stride: int = 1,
    padding: tuple[int, int] | None = None,
    groups: int = 1,
    activation: Any = nn.ReLU,
) -> list[nn.Module]:
    """Convolution, batch normalization and activation; padded to keep the size if nothing else is said."""
    if padding is None:
        side = kernel if isinstance(kernel, int) else kernel[0]
        padding = (side // 2, side // 2)
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
    layers: list[nn.Module] = [convolution, nn.BatchNorm2d(outputs)]
    return layers if activation is None else [*layers, activation()]


def _initialized(module: nn.Module) -> nn.Module:
    """Weights that keep the size of activations through the layers, statistics of a plausible training."""
    for layer in module.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight)
        elif isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(layer.weight, 0.8, 1.2)
            nn.init.normal_(layer.bias, std=0.1)
            nn.init.normal_(layer.running_mean, std=0.1)
            nn.init.uniform_(layer.running_var, 0.8, 1.2)
    return module
