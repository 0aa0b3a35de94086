"""Linear layers and products of matrices."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from harness import Case, Check, cases
from tests.ops.inputs import uniform
from tests.ops.modules import of


def linear(inputs: int, outputs: int, *rows: int, bits: int = 8, **options: Any) -> Case:
    return Case(
        lambda rng: nn.Linear(inputs, outputs, **options), uniform((*rows, inputs)), activation_bits=bits
    )


@cases("u55 u65 u85", batch=linear(37, 11, 3), int16=linear(37, 11, 3, bits=16))
def test_linear(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    vector=linear(20, 6),
    no_bias=linear(19, 7, 1, bias=False),
    rank3=linear(12, 6, 2, 3),
    wide=linear(130, 70, 1),
    relu=Case(lambda rng: nn.Sequential(nn.Linear(24, 10), nn.ReLU()), uniform((3, 24))),
    two=Case(lambda rng: nn.Sequential(nn.Linear(24, 10), nn.Tanh(), nn.Linear(10, 5)), uniform((3, 24))),
)
def test_linear_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    mm=Case(of(torch.mm), uniform((5, 7), (7, 4))),
    addmm=Case(of(torch.addmm), uniform((5, 4), (5, 7), (7, 4))),
    bmm=Case(of(torch.bmm), uniform((2, 5, 7), (2, 7, 4))),
    rank4=Case(of(torch.matmul), uniform((1, 2, 5, 7), (1, 2, 7, 4))),
)
def test_matmul(case: Case, check: Check) -> None:
    check(case)


@cases("u85", bmm=Case(of(torch.bmm), uniform((2, 5, 7), (2, 7, 4)), activation_bits=16))
def test_matmul_int16(case: Case, check: Check) -> None:
    check(case)


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(query, key, value)


@cases("u55 u85", sdpa=Case(of(attention), uniform(*[(1, 2, 3, 4)] * 3)))
def test_attention(case: Case, check: Check) -> None:
    check(case)
