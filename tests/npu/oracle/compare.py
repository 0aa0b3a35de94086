"""Runs a graph on the TOSA reference model and on the NPU model, with the same inputs, and compares bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.container import parse_delegate
from harness.standin.npu.delegate import run_delegate
from harness.standin.npu.errors import NpuError
from tests.npu.oracle.child import Child, ChildError
from tests.npu.oracle.graphs import Graph
from tests.npu.oracle.tosa_graph import TosaGraph, random_inputs

# Some graphs overflow with large inputs, which TOSA leaves open: smaller numbers are tried then.
_MAGNITUDES = (1 << 28, 1 << 15, 1 << 7, 1 << 3, 4, 2, 1)


@dataclass(frozen=True)
class Result:
    """Of one graph.

    Attributes:
        name: The graph's.
        target: The NPU.
        outcome: "equal", "different", "unimplemented", "error" (the model raised otherwise) or "invalid" (the
            reference model has no answer).
        detail: Why, for people.
        operators: TOSA operators in the graph.
        magnitude: Of the inputs.
    """

    name: str
    target: str
    outcome: str
    detail: str
    operators: tuple[str, ...]
    magnitude: int


def compare(graph: Graph, reference: Child, seed: int = 0) -> Result:
    """Compare one graph with random inputs; `reference` calls `run_reference`."""
    tosa = TosaGraph(graph.tosa)
    operators = tuple(operator.name for operator in tosa.operators)
    result = Result(graph.name, graph.target, "invalid", "", operators, 0)
    for magnitude in _MAGNITUDES:
        inputs = random_inputs(tosa, seed, magnitude)
        try:
            expected = reference.call(graph.tosa, inputs)
            narrowed = _overflowing_cast(graph, tosa, inputs, reference)
        except ChildError as error:
            result = replace(result, magnitude=magnitude, detail=str(error))
            continue
        if narrowed:
            result = replace(result, magnitude=magnitude, detail=f"{narrowed} is out of range")
            continue
        outcome, detail = _on_npu(graph, tosa, inputs, expected)
        return replace(result, outcome=outcome, detail=detail, magnitude=magnitude)
    return result


def _overflowing_cast(
    graph: Graph, tosa: TosaGraph, inputs: tuple[NDArray[Any], ...], reference: Child
) -> str | None:
    """A CAST to a type that its input does not fit: TOSA wraps, what Vela emits for U55 and U65 clips."""
    if "u85" in graph.target:
        return None
    for operator in tosa.operators:
        if operator.name != "CAST":
            continue
        source, target = tosa.tensors[operator.inputs[0]], tosa.tensors[operator.outputs[0]]
        if target.dtype == np.bool_ or target.dtype.itemsize >= source.dtype.itemsize:
            continue
        (values,) = reference.call(tosa.ending_at(source.name), inputs)
        bounds = np.iinfo(target.dtype)
        if values.min() < bounds.min or values.max() > bounds.max:
            return f"the CAST to {target.kind} of {source.name}"
    return None


def _on_npu(
    graph: Graph,
    tosa: TosaGraph,
    inputs: tuple[NDArray[Any], ...],
    expected: tuple[NDArray[Any], ...],
) -> tuple[str, str]:
    try:
        delegate = parse_delegate(graph.blob)
        if len(delegate.inputs) < len(inputs):  # Vela drops what is not used
            named = zip(tosa.inputs, inputs, strict=True)
            inputs = tuple(value for tensor, value in named if tensor.name in tosa.used)
        got = run_delegate(delegate, [value.tobytes() for value in inputs], _fast_scratch(graph))
    except NpuError as error:
        return ("unimplemented" if error.kind == "unimplemented" else "error"), str(error)
    for index, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        problem = difference(ours, theirs)
        if problem:
            return "different", f"output {index}: {problem}"
    return "equal", ""


def difference(ours: bytes, theirs: NDArray[Any]) -> str | None:
    """How the NPU's output differs from the reference's, or None. Booleans are compared as such."""
    if len(ours) != theirs.nbytes:
        return f"{len(ours)} bytes instead of {theirs.nbytes}"
    values = np.frombuffer(ours, np.uint8 if theirs.dtype == np.bool_ else theirs.dtype).reshape(theirs.shape)
    wrong = np.argwhere((values != 0) != theirs if theirs.dtype == np.bool_ else values != theirs)
    if not len(wrong):
        return None
    first = tuple(int(place) for place in wrong[0])
    return (
        f"{len(wrong)} of {theirs.size} values differ, first at {first}: {values[first]}, not {theirs[first]}"
    )


def _fast_scratch(graph: Graph) -> int | None:
    """Size of the fast scratch buffer if the memory mode has one apart."""
    flags = " ".join(graph.flags)
    if "memory-mode=Dedicated_Sram" not in flags:
        return None
    size = re.search(r"arena-cache-size=(\d+)", flags)
    return int(size[1]) if size else 512 << 10
