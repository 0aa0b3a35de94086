"""cortex_m::quantized_div: float division, one step from the reference where a quotient is a tie."""

from __future__ import annotations

import torch

from harness import Case, Check, Tolerance, cases
from harness.aot.graph import lowered_graph
from harness.session import Harness
from tests.ops.inputs import ranges

# The reference rounds half to even, the device half away from zero.
TIES = Tolerance(qtol=1)


class Divide(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a / b


class DivideInt16(torch.nn.Module):
    """The operator itself, at a factor that leaves no tie."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.ops.cortex_m.quantized_div(a, -300, b, 17, 5, 911.3)


def int16s(rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = (torch.randint(-32768, 32768, (2, 45), generator=rng, dtype=torch.int16) for _ in range(2))
    b[0, ::7] = 17  # a divisor of zero
    return a, b


@cases(
    "m55 m85",
    n1=Case(lambda rng: Divide(), ranges(((1,), 1.0, 5.0), ((1,), 1.0, 2.0)), tolerance=TIES),
    n33=Case(lambda rng: Divide(), ranges(((33,), -9.0, 9.0), ((33,), 1.0, 5.0)), tolerance=TIES),
    small=Case(lambda rng: Divide(), ranges(((3, 20), 1.0, 10.0), ((3, 20), 0.02, 2.5)), tolerance=TIES),
    rank4=Case(lambda rng: Divide(), ranges(((2, 3, 4, 5), -8, 8), ((2, 3, 4, 5), -5, -1)), tolerance=TIES),
    int16=Case(lambda rng: DivideInt16(), int16s, quantize=False),
)
def test_div(case: Case, check: Check, harness: Harness) -> None:
    check(case)
    assert lowered_graph(harness.lower(case)).counts["cortex_m::quantized_div"] == 1
