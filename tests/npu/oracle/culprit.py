"""Finds the first TOSA operator whose result differs, by compiling the graph again up to each operator."""

from __future__ import annotations

from dataclasses import replace

from tests.npu.oracle.child import Child, ChildError
from tests.npu.oracle.compare import compare
from tests.npu.oracle.graphs import Graph
from tests.npu.oracle.tosa_graph import TosaGraph

_COMPARABLE = ("BOOL", "INT8", "INT16", "INT32")


def first_difference(graph: Graph, reference: Child, vela: Child, seed: int = 0) -> str:
    """A line about the first operator, in the graph's order, at which the NPU leaves the reference.

    Vela fuses operators, so a graph that ends early can be compiled differently: the line says if all the
    shorter graphs are equal.
    """
    tosa = TosaGraph(graph.tosa)
    for index, operator in enumerate(tosa.operators):
        output = tosa.tensors[operator.outputs[0]]
        if output.kind not in _COMPARABLE:
            continue
        shorter = tosa.ending_at(output.name)
        try:
            blob = vela.call(shorter, graph.flags)
        except ChildError:
            continue  # Vela refuses some operators at the end of a graph
        result = compare(replace(graph, tosa=shorter, blob=blob), reference, seed)
        if result.outcome not in ("equal", "invalid"):
            what = f"{operator.name} {output.kind} {list(output.shape)} {output.name}"
            return f"operator {index} of {len(tosa.operators)}, {what}: {result.detail}"
    return "no operator differs when the graph ends with it: look at fusing, chaining or memory"
