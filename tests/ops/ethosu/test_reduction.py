"""Reductions along one or several dimensions, and the normalizations that are made of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from harness import Case, Check, cases
from tests.ops.inputs import uniform
from tests.ops.modules import of

INPUT = uniform((1, 4, 5, 7), low=-1.0, high=3.0)


def reduced(function: Any, *more: Any, bits: int = 8, **options: Any) -> Case:
    return Case(of(function, *more, **options), INPUT, activation_bits=bits)


@cases(
    "u55 u65 u85",
    mean=reduced(torch.mean, (2, 3), keepdim=True),
    sum=reduced(torch.sum, -1),
)
def test_reduction(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    mean_last=reduced(torch.mean, -1),
    mean_int16=reduced(torch.mean, (2, 3), bits=16),
    sum_several=reduced(torch.sum, (1, 3)),
    amax=reduced(torch.amax, 1),
    # Without keepdim Vela 5.1.0 reads what it stored in bricks as if it were linear: docs/claims.md.
    amin=reduced(torch.amin, 2, keepdim=True),
    var=reduced(torch.var, dim=-1, correction=0),
    norm=reduced(torch.linalg.vector_norm, dim=-1),
)
def test_reduction_of_other_forms(case: Case, check: Check) -> None:
    check(case)


def layer_norm(rng: torch.Generator) -> nn.Module:
    norm = nn.LayerNorm(12)
    norm.weight.data.uniform_(0.5, 2.0, generator=rng)
    norm.bias.data.uniform_(-1.0, 1.0, generator=rng)
    return norm


@cases(
    "u55 u85",
    affine=Case(layer_norm, uniform((3, 12))),
    plain=Case(lambda rng: nn.LayerNorm(12, elementwise_affine=False), uniform((2, 3, 12))),
)
def test_layer_norm(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u85", two=Case(lambda rng: nn.GroupNorm(2, 4), uniform((1, 4, 3, 5))))
def test_group_norm(case: Case, check: Check) -> None:
    check(case)
