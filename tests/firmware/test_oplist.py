"""Operator lists of programs: merged names, and upstream's own format by upstream's own tools."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import torch
import yaml
from typer.testing import CliRunner

from harness import Case, Program
from harness.cli import app
from harness.oplist import operators_of, selected_operators
from harness.outcomes import HarnessError, OutcomeClass
from harness.session import Harness
from tests.ops.inputs import uniform


class Minimum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.minimum(x, y)


@pytest.fixture(scope="module")
def minimum(harness: Harness) -> Program:
    return harness.lower(Case(lambda rng: Minimum(), uniform((5,), (5,))))


@pytest.fixture(scope="module")
def linear(harness: Harness) -> Program:
    return harness.lower(Case(lambda rng: torch.nn.Linear(4, 3), uniform((2, 4))))


UNION = (
    "cortex_m::dequantize_per_tensor.out",
    "cortex_m::minimum.out",
    "cortex_m::quantize_per_tensor.out",
    "cortex_m::quantized_linear.out",
)


def bundle(program: Program) -> Path:
    assert program.bpte is not None
    return program.bpte


def test_union_of_a_program_and_a_bundle(minimum: Program, linear: Program) -> None:
    assert operators_of([minimum.pte, bundle(linear)]) == UNION
    done = CliRunner().invoke(app, ["ops", str(minimum.pte), str(bundle(linear))])
    assert (done.exit_code, done.stdout.split()) == (0, list(UNION))


def test_selected_operators_as_upstream_reads_them(minimum: Program, linear: Program, tmp_path: Path) -> None:
    files = [minimum.pte, bundle(linear)]
    path = tmp_path / "selected_operators.yaml"
    done = CliRunner().invoke(app, ["ops", *map(str, files), "--yaml", str(path)])
    assert (done.exit_code, done.stdout) == (0, "")
    selector = import_module("torchgen.selective_build.selector")
    builder = selector.SelectiveBuilder.from_yaml_path(str(path))
    assert set(builder.operators) == set(UNION)
    assert not builder.include_all_operators
    # int8 in plain order of rank 1, three times: two operands and the output, which is also returned.
    assert builder.et_kernel_metadata["cortex_m::minimum.out"] == ["v1/1;0|1;0|1;0|1;0"]
    content = yaml.safe_load(path.read_text())
    both = sorted(map(str, files))
    assert content["operators"]["cortex_m::quantize_per_tensor.out"]["debug_info"] == both
    assert content["operators"]["cortex_m::minimum.out"]["debug_info"] == [str(minimum.pte)]
    assert selected_operators(files) == path.read_text()


def test_no_program_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.pte").write_text("no program")
    for call in (operators_of, selected_operators):
        with pytest.raises(HarnessError) as failure:
            call([tmp_path / "text.pte"])
        assert failure.value.outcome.kind is OutcomeClass.BUNDLE_INVALID
