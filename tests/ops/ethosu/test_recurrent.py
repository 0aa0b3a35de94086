"""Recurrent networks of one layer over two steps: the compiler unrolls them, step by step."""

from __future__ import annotations

import torch
from torch import nn

from harness import Case, Check, cases
from tests.ops.inputs import uniform

SEQUENCE = uniform((2, 1, 6))


class Recurrent(nn.Module):
    """The layer's outputs, without the state that it ends with."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


@cases("u55 u85", lstm=Case(lambda rng: Recurrent(nn.LSTM(6, 5)), SEQUENCE))
def test_lstm(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", gru=Case(lambda rng: Recurrent(nn.GRU(6, 5)), SEQUENCE))
def test_gru(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u85", rnn=Case(lambda rng: Recurrent(nn.RNN(6, 5)), SEQUENCE))
def test_rnn(case: Case, check: Check) -> None:
    check(case)
