"""Modules of one operator: a case's factory from a plain function of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Function(torch.nn.Module):
    """Calls `function` with its inputs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def of(function: Callable[..., Any], /, *more: Any, **options: Any) -> Callable[[torch.Generator], Function]:
    """A factory of the module that computes `function(*inputs, *more, **options)`."""
    return lambda rng: Function(lambda *inputs: function(*inputs, *more, **options))
