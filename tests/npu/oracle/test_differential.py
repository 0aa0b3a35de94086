"""The comparison itself: it finds equal what is equal, and every change of the model that it should find."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import nn

from harness.standin.npu import numerics, weights_order
from harness.standin.npu.weights import WeightCache
from tests.npu.oracle.child import Child, ChildError
from tests.npu.oracle.compare import compare, difference
from tests.npu.oracle.culprit import first_difference
from tests.npu.oracle.graphs import Graph
from tests.npu.oracle.lowering import lower
from tests.npu.oracle.tools import run_reference, run_vela
from tests.npu.oracle.tosa_graph import TosaGraph


class Net(nn.Module):
    """A convolution, a rescale that rounds, a sum and a table."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.conv = nn.Conv2d(5, 12, 3, padding=1)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        return torch.sigmoid(x + self.depthwise(x))


@pytest.fixture(scope="module")
def reference() -> Iterator[Child]:
    with Child(run_reference) as child:
        yield child


@pytest.fixture(scope="module")
def vela() -> Iterator[Child]:
    with Child(run_vela) as child:
        yield child


@pytest.fixture(scope="module", params=["ethos-u55-128", "ethos-u85-256"])
def graph(request: pytest.FixtureRequest, vela: Child) -> Graph:
    inputs = (torch.randn(1, 5, 9, 7, generator=torch.Generator().manual_seed(1)),)
    (lowered,) = lower(Net().eval(), inputs, request.param, vela, name="net")
    return lowered


def test_equal(graph: Graph, reference: Child) -> None:
    result = compare(graph, reference)
    assert (result.outcome, result.detail) == ("equal", "")
    assert {"CONV2D", "DEPTHWISE_CONV2D", "ADD", "TABLE"} <= set(result.operators)


def floor(values: Any, shift: Any, scaling: Any) -> Any:
    return np.zeros_like(shift)


def test_rounding_down_is_found(graph: Graph, reference: Child, vela: Child) -> None:
    with patch.object(numerics, "_rounding_offset", floor):
        assert compare(graph, reference).outcome == "different"
        assert first_difference(graph, reference, vela).startswith("operator ")


def test_another_weight_order_is_found(graph: Graph, reference: Child) -> None:
    ordered = weights_order.block_order

    def reversed_order(*arguments: Any) -> Any:
        return ordered(*arguments)[::-1]

    with (
        patch("harness.standin.npu.weights.block_order", reversed_order),
        patch("harness.standin.npu.weights._cache", WeightCache()),
    ):
        assert compare(graph, reference).outcome in ("error", "different")


def test_changed_constants_are_found(graph: Graph, reference: Child) -> None:
    blob = bytearray(graph.blob)
    at = blob.index(b"weight_data") + 32
    size = int.from_bytes(blob[at - 16 : at - 12], "little")
    blob[at + size // 2 : at + size] = bytes(byte ^ 0x10 for byte in blob[at + size // 2 : at + size])
    assert compare(replace(graph, blob=bytes(blob)), reference).outcome in ("error", "different")


def test_graphs_survive_a_file(graph: Graph, tmp_path: Path) -> None:
    graph.save(tmp_path / "graph.npz")
    assert Graph.load(tmp_path / "graph.npz") == graph


def test_a_graph_can_end_anywhere(graph: Graph) -> None:
    tosa = TosaGraph(graph.tosa)
    for operator in tosa.operators:
        assert [output.name for output in TosaGraph(tosa.ending_at(operator.outputs[0])).outputs] == [
            operator.outputs[0]
        ]


def test_differences_are_located() -> None:
    theirs = np.array([[1, 2], [3, 4]], np.int16)
    assert difference(theirs.tobytes(), theirs) is None
    assert difference(np.array([1, 2, 5, 4], np.int16).tobytes(), theirs) == (
        "1 of 4 values differ, first at (1, 0): 5, not 3"
    )
    assert difference(b"12", theirs) == "2 bytes instead of 8"
    truth = np.array([True, False])
    assert difference(b"\xff\x00", truth) is None
    assert difference(b"\x00\x00", truth) is not None


def crash(how: str) -> str:
    if how == "abort":
        os.abort()
    if how == "exit":
        raise SystemExit(3)
    return how


def test_a_child_survives_crashes() -> None:
    with Child(crash) as child:
        assert child.call("first") == "first"
        with pytest.raises(ChildError, match="crashed"):
            child.call("abort")
        with pytest.raises(ChildError, match="SystemExit: 3"):
            child.call("exit")
        assert child.call("last") == "last"
