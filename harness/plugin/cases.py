"""The declarative face: `@cases("m55", rank1=Case(...))` makes `test_add[m55-rank1]`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.flow import Case
from harness.targets import target_named


def cases(targets: str, /, **declared: Case) -> pytest.MarkDecorator:
    """Parametrize a test by `targets` (blank-separated names or short ids) and by declared cases.

    The test takes a `case` argument; its id reads `[m55-rank1]`. Use as a decorator:

        @cases("m55", rank1=Case(Add, lambda rng: (torch.rand(5, generator=rng),)))
        def test_add(case, check):
            check(case)

    Raises:
        KeyError: an unknown target.
        ValueError: no target or no case, which pytest would turn into a silent skip.
    """
    if not targets.split() or not declared:
        raise ValueError("cases(...) needs at least one target and one case")
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(replace(case, target=target, name=name), id=f"{target.short_id}-{name}")
            for target in map(target_named, targets.split())
            for name, case in declared.items()
        ],
    )
