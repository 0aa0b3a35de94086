"""Random networks, compiled for every NPU: the NPU model's bytes are the TOSA reference model's.

RANDOM_GRAPHS sets the number of networks for each family of NPUs; GRAPHS names a directory to keep them in.
The networks are the same in every run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings

from tests.npu.oracle.child import Child
from tests.npu.oracle.compare import compare
from tests.npu.oracle.culprit import first_difference
from tests.npu.oracle.graphs import Graph
from tests.npu.oracle.lowering import lower
from tests.npu.oracle.networks import Network, networks
from tests.npu.oracle.recompile import for_family
from tests.npu.oracle.tools import run_reference, run_vela

COUNT = int(os.environ.get("RANDOM_GRAPHS", "3"))
TARGETS = ("ethos-u55-128", "ethos-u85-256")


@pytest.fixture(scope="module")
def reference() -> Iterator[Child]:
    with Child(run_reference) as child:
        yield child


@pytest.fixture(scope="module")
def vela() -> Iterator[Child]:
    with Child(run_vela) as child:
        yield child


def keep(graph: Graph) -> None:
    directory = os.environ.get("GRAPHS")
    if directory:
        digest = hashlib.sha256(graph.tosa).hexdigest()[:16]
        graph.save(Path(directory) / f"random-{graph.target}-{digest}.npz")


def lowered(network: Network, target: str, vela: Child) -> list[Graph]:
    """The network's graphs; another network is drawn in place of one that ExecuTorch or Vela cannot lower."""
    name = f"random {network.seed}"
    try:
        return lower(network.module, network.inputs(), target, vela, int16=network.int16, name=name)
    except Exception as error:
        print(f"drawn again, {type(error).__name__} in lowering: {network}")
        reject()


@pytest.mark.parametrize("target", TARGETS)
def test_random_networks(target: str, reference: Child, vela: Child) -> None:
    compared = 0

    @settings(
        derandomize=True,
        deadline=None,
        max_examples=COUNT,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(networks())
    def check(network: Network) -> None:
        nonlocal compared
        for made in lowered(network, target, vela):
            keep(made)
            for graph in for_family(made, vela):
                result = compare(graph, reference, network.seed)
                if result.outcome not in ("equal", "invalid"):
                    first = first_difference(graph, reference, vela, network.seed)
                    pytest.fail(f"{result.outcome} on {graph.target}: {result.detail}\n{first}\n{network}")
                compared += result.outcome == "equal"

    check()
    assert compared >= COUNT, f"only {compared} graphs of {COUNT} networks could be compared"
