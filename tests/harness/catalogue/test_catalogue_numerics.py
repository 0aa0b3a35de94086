"""Rows F: numerics and tolerance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.flow import Case, TensorSpec, Tolerance
from harness.outcomes import HarnessError
from harness.targets import TARGETS, target_named
from tests.harness.bench import GOOD, Bench, prints, writes
from tests.harness.catalogue.expect import Reruns, expect


@pytest.mark.parametrize(
    ("step", "kind", "reruns"), [(1, "LSB_TIE", 0), (40, "WRONG", "ladder")], ids=["±1: 3 %", "±40: 3 %"]
)
def test_catalogue_F3_differences_are_counted_in_steps(
    bench: Bench, step: int, kind: str, reruns: Reruns
) -> None:
    expected = np.zeros(100, np.int8)
    got = expected.copy()
    got[[5, 50]], got[77] = step, -step
    (bench.directory / "ref-0.bin").write_bytes(expected.tobytes())
    specs = (TensorSpec("int8", (100,), (0,)),)
    outcome = bench.attempt(writes(got.tobytes()), *prints(*GOOD), output_specs=specs).outcome
    expect(outcome, kind, "verify", reruns)
    assert outcome.detail["histogram"] == {-step: 1, 0: 97, step: 2}


def test_catalogue_F4_a_reference_that_cannot_be_computed_is_not_the_devices_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from harness import aot

    def broken(*_: Any) -> Any:
        raise RuntimeError("max_pool2d: unsupported memory format")

    monkeypatch.setattr("harness.aot.compiler.run", broken)

    class Double(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + x

    case = Case(lambda _: Double(), lambda rng: (torch.rand(2, generator=rng),), TARGETS["cortex-m55"])
    with pytest.raises(HarnessError) as caught:
        aot.lower(case, tmp_path)
    expect(caught.value.outcome, "REF_ERROR", "verify", 0)
    assert "unsupported memory format" in caught.value.outcome.summary


def test_catalogue_F4_a_missing_reference_is_not_the_devices_fault(bench: Bench) -> None:
    outcome = bench.attempt(writes(), *prints(*GOOD), references=("ref-9.bin",)).outcome
    expect(outcome, "REF_ERROR", "verify", 0)


@pytest.mark.parametrize(
    ("axis", "step", "name"),
    [
        (2, 1, "row-shift pattern"),
        (2, -1, "row-shift pattern"),
        (3, 1, "column-shift pattern"),
        (1, 1, "axis-1"),
    ],
)
def test_catalogue_F5_rows_that_are_shifted_by_one_are_named(
    bench: Bench, axis: int, step: int, name: str
) -> None:
    expected = np.random.default_rng(5).integers(-128, 128, (1, 3, 6, 5), np.int8)
    got = np.roll(expected, step, axis)
    (bench.directory / "ref-0.bin").write_bytes(expected.tobytes())
    specs = (TensorSpec("int8", expected.shape, (0, 1, 2, 3)),)
    outcome = bench.attempt(writes(got.tobytes()), *prints(*GOOD), output_specs=specs).outcome
    expect(outcome, "WRONG", "verify", "ladder")
    assert name in outcome.summary
    assert f"{step:+d} along axis {axis}" in outcome.summary


def test_catalogue_F11_a_program_without_inputs_runs(bench: Bench) -> None:
    attempt = bench.attempt(["arguments"], writes(), *prints(*GOOD), inputs=())
    assert attempt.outcome.green, attempt.outcome
    assert " -i " not in bench.console()


@pytest.mark.parametrize(("target", "zero"), [("m55", 0), ("u55", -128), ("u85", -128)])
def test_catalogue_F10_each_backend_rounds_ties_in_its_own_way(
    target: str, zero: int, tmp_path: Path
) -> None:
    """Means of two neighbours: a Cortex-M rounds away from raw zero, an Ethos-U away from the zero point."""
    import torch

    from harness.session import Harness
    from harness.settings import resolve

    low = np.arange(200)
    values = np.stack([low, low + 1], axis=1).reshape(1, 1, 1, -1).astype(np.float32) / 16

    def inputs(_: torch.Generator) -> tuple[torch.Tensor, ...]:
        return (torch.from_numpy(values).contiguous(memory_format=torch.channels_last),)

    case = Case(
        lambda _: torch.nn.AvgPool2d((1, 2)), inputs, target_named(target), tolerance=Tolerance(qtol=1)
    )
    settings = resolve(lambda option: "standin" if option.name == "engine" else None, environment={})
    attempt, program = Harness(settings).check_case(case, tmp_path)
    assert attempt.outcome.green, attempt.outcome
    assert program is not None
    spec = program.output_specs[0]
    assert spec.scale is not None
    assert spec.zero_point == -128
    got = np.rint(np.fromfile(tmp_path / "out-0.bin", np.float32) / spec.scale) - 128
    raw = np.clip(np.rint(values.ravel() / spec.scale) - 128, -128, 127).reshape(-1, 2).mean(axis=1)
    assert np.count_nonzero(raw % 1) > 100
    away = np.copysign(np.floor(np.abs(raw - zero) + 0.5), raw - zero) + zero
    np.testing.assert_array_equal(got, away)
