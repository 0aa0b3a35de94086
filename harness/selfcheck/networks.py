"""The graphs of the ladder: one network, cut behind each of its operators, and a few graphs beside it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Residual(nn.Module):  # type: ignore[misc]
    """x + f(x)."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Any) -> Any:
        """One input, one output of its shape."""
        return x + self.body(x)


class Product(nn.Module):  # type: ignore[misc]
    """x * sigmoid(x), in 16 bits where the case says so."""

    def forward(self, x: Any) -> Any:
        """One input, one output of its shape."""
        return x * torch.sigmoid(x)


def layers() -> list[nn.Module]:
    """The network's operators in order; takes (1, 3, 12, 12)."""
    return [
        nn.Conv2d(3, 8, 3, padding=1),
        nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8),
        Residual(nn.Conv2d(8, 8, 1)),
        nn.Sigmoid(),
        nn.MaxPool2d(2),
        nn.AvgPool2d(3),
        nn.Flatten(),
        nn.Linear(8, 10),
        nn.Softmax(dim=-1),
    ]
