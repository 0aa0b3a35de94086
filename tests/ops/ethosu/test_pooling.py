"""Pools and resizes."""

from __future__ import annotations

from typing import Any

from torch.nn import functional

from harness import Case, Check, cases
from tests.ops.inputs import uniform
from tests.ops.modules import of

IMAGE = uniform((1, 4, 9, 11), low=-1.0, high=3.0)


def pool(function: Any, *more: Any, bits: int = 8, inputs: Any = IMAGE, **options: Any) -> Case:
    return Case(of(function, *more, **options), inputs, activation_bits=bits)


@cases("u55 u65 u85", k2=pool(functional.max_pool2d, 2))
def test_max_pool2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    k3_stride2=pool(functional.max_pool2d, 3, 2, 1),
    ceil=pool(functional.max_pool2d, 2, ceil_mode=True),
    int16=pool(functional.max_pool2d, 2, bits=16),
)
def test_max_pool_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases("u55 u65 u85", k2=pool(functional.avg_pool2d, 2))
def test_avg_pool2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    padding=pool(functional.avg_pool2d, 3, 1, 1),
    padding_not_counted=pool(functional.avg_pool2d, 3, 1, 1, count_include_pad=False),
    rectangular=pool(functional.avg_pool2d, (2, 3), (1, 2)),
    int16=pool(functional.avg_pool2d, 2, bits=16),
)
def test_avg_pool2d_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    to_1=pool(functional.adaptive_avg_pool2d, 1),
    to_3x2=pool(functional.adaptive_avg_pool2d, (3, 2), inputs=uniform((1, 4, 9, 10))),
)
def test_adaptive_avg_pool2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u65 u85",
    x2=pool(functional.interpolate, scale_factor=2.0, mode="nearest", inputs=uniform((1, 3, 4, 5))),
)
def test_upsample_nearest2d(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u55 u85",
    x4=pool(functional.interpolate, scale_factor=4.0, mode="nearest", inputs=uniform((1, 3, 2, 3))),
)
def test_upsample_nearest2d_of_other_forms(case: Case, check: Check) -> None:
    check(case)


@cases(
    "u85",
    x2=pool(functional.interpolate, scale_factor=2.0, mode="bilinear", inputs=uniform((1, 3, 4, 5))),
    corners=pool(
        functional.interpolate, size=(7, 9), mode="bilinear", align_corners=True, inputs=uniform((1, 3, 4, 5))
    ),
)
def test_upsample_bilinear2d(case: Case, check: Check) -> None:
    check(case)
