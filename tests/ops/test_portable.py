"""aten::add, sub and mul in float32, not quantized: broadcasting, alpha, special values; bit-exact."""

from __future__ import annotations

import math

import torch

from harness import Case, Check, cases
from tests.ops.inputs import EDGE_SIZES, uniform


class Binary(torch.nn.Module):
    def __init__(self, name: str, alpha: float = 1) -> None:
        super().__init__()
        self.name, self.alpha = name, alpha

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if self.name == "mul":
            return torch.mul(x, y)
        return (torch.add if self.name == "add" else torch.sub)(x, y, alpha=self.alpha)


def special(rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    values = torch.tensor([0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 3e38, 1e-40])
    return values.repeat(9), values.repeat_interleave(9)


INPUTS = {
    **{f"n{n}": uniform((n,), (n,)) for n in EDGE_SIZES},
    "row": uniform((3, 5), (5,)),
    "column": uniform((3, 5), (3, 1)),
    "outer": uniform((4, 1), (1, 7)),
    "rank5": uniform((2, 1, 3, 1, 2), (1, 4, 1, 5, 2)),
    "special": special,
}


def binary(name: str, alpha: float = 1) -> dict[str, Case]:
    return {
        key: Case(lambda rng: Binary(name, alpha), inputs, quantize=False) for key, inputs in INPUTS.items()
    }


@cases("m55", **binary("add"))
def test_float_add(case: Case, check: Check) -> None:
    check(case)


@cases("m55", **binary("mul"))
def test_float_mul(case: Case, check: Check) -> None:
    check(case)


@cases("m55", **binary("sub"))
def test_float_sub(case: Case, check: Check) -> None:
    check(case)


@cases("m55", **{f"{k}": v for k, v in binary("add", 2.5).items() if k in ("n17", "row", "special")})
def test_float_add_alpha(case: Case, check: Check) -> None:
    check(case)
