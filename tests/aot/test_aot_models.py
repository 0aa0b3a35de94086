"""The models built in by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree

from harness.aot import delegates, lower, lowered_graph
from harness.aot.models import MODELS, model_case
from harness.aot.steps import seeded
from harness.flow import Case
from harness.targets import target_named

U85 = target_named("ethos-u85-256")
OUTPUTS = {
    "lstm": [(5, 3, 20), (2, 3, 20), (2, 3, 20)],
    "mlp": [(1, 10)],
    "autoencoder": [(1, 640)],
    "ds_cnn": [(1, 12)],
    "resnet8": [(1, 10)],
    "mobilenet_v2": [(1, 1000)],
    "mobilenet_v2_small": [(1, 100)],
}


def evaluated(case: Case) -> list[Any]:
    with seeded(case.seed), torch.no_grad():
        inputs = case.inputs(torch.Generator().manual_seed(case.seed))
        return list(_pytree.tree_leaves(case.module(None).eval()(*inputs)))


@pytest.mark.parametrize("name", MODELS)
def test_shapes_seeds_and_sizes(name: str) -> None:
    case = model_case(name, U85)
    outputs = evaluated(case)
    assert [tuple(output.shape) for output in outputs] == OUTPUTS[name]
    for output, again, other in zip(outputs, evaluated(case), evaluated(replace(case, seed=1)), strict=True):
        assert torch.equal(output, again)
        assert not torch.equal(output, other)
        assert 0.05 < output.std() < 50


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(KeyError, match="unknown model 'lsmt'; known: lstm, "):
        model_case("lsmt", U85)


def test_a_model_is_lowered_whole(tmp_path: Path) -> None:
    program = lower(model_case("mlp", U85), tmp_path)
    assert len(delegates(program)) == 1
    assert lowered_graph(program).counts == {
        "cortex_m::quantize_per_tensor": 1,
        "cortex_m::dequantize_per_tensor": 1,
    }
