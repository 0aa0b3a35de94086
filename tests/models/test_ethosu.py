"""Whole networks on Ethos-U: computed by the NPU alone, 0 LSB against the TOSA reference model."""

from __future__ import annotations

from harness import Case, Check, cases
from harness.aot.graph import lowered_graph
from harness.aot.models import model_case
from harness.session import Harness
from harness.targets import target_named

NAMES = ("mlp", "autoencoder", "ds_cnn", "resnet8", "mobilenet_v2_small")
MODELS = {name: model_case(name, target_named("u85")) for name in NAMES}


@cases("u55 u85", **MODELS)
def test_model(case: Case, check: Check) -> None:
    check(case)


@cases("u65", ds_cnn=MODELS["ds_cnn"])
def test_model_on_u65(case: Case, check: Check) -> None:
    check(case)


@cases("u85-256", **MODELS)
def test_whole_networks_are_one_delegate(case: Case, harness: Harness) -> None:
    graph = lowered_graph(harness.lower(case))
    assert len(graph.named("executorch_call_delegate")) == 1
    assert sum(graph.counts.values()) == 2
