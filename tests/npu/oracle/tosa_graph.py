"""Reads of a TOSA flatbuffer what the comparison needs, and cuts a graph off at one of its tensors."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES: dict[str, type[np.generic]] = {
    "BOOL": np.bool_,
    "INT4": np.int8,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT48": np.int64,
    "INT64": np.int64,
}
_REARRANGING = ("RESHAPE", "CAST", "TILE", "CONCAT", "SLICE", "TRANSPOSE", "IDENTITY")
_ARITHMETIC = ("ADD", "MUL", "REDUCE_SUM")


@dataclass(frozen=True)
class Tensor:
    """A tensor of the main block."""

    name: str
    shape: tuple[int, ...]
    kind: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of numpy arrays of this tensor."""
        return np.dtype(_DTYPES[self.kind])


@dataclass(frozen=True)
class Operator:
    """An operator of the main block: its name and the tensors around it."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class TosaGraph:
    """The first block of a TOSA flatbuffer."""

    def __init__(self, data: bytes) -> None:
        from tosa.TosaGraph import TosaGraph as Root

        self._data = data
        self._block = Root.GetRootAs(data, 0).Regions(0).Blocks(0)

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        from tosa.DType import DType

        names = {value: name for name, value in vars(DType).items() if isinstance(value, int)}
        found = (self._block.Tensors(index) for index in range(self._block.TensorsLength()))
        return {
            tensor.Name().decode(): Tensor(
                tensor.Name().decode(),
                tuple(tensor.Shape(axis) for axis in range(tensor.ShapeLength())),
                names[tensor.Type()],
            )
            for tensor in found
        }

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        """Graph inputs in order."""
        return self._named(self._block.Inputs, self._block.InputsLength())

    @cached_property
    def used(self) -> frozenset[str]:
        """Tensors that the outputs depend on."""
        reached = {output.name for output in self.outputs}
        for operator in reversed(self.operators):
            if reached & set(operator.outputs):
                reached |= set(operator.inputs)
        return frozenset(reached)

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """Graph outputs in order."""
        return self._named(self._block.Outputs, self._block.OutputsLength())

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """Operators in topological order, without constants."""
        from tosa.Op import Op

        names = {value: name for name, value in vars(Op).items() if isinstance(value, int)}
        found = (self._block.Operators(index) for index in range(self._block.OperatorsLength()))
        listed = (
            Operator(
                names[operator.Op()],
                tuple(operator.Inputs(place).decode() for place in range(operator.InputsLength())),
                tuple(operator.Outputs(place).decode() for place in range(operator.OutputsLength())),
            )
            for operator in found
        )
        return tuple(operator for operator in listed if not operator.name.startswith("CONST"))

    def ending_at(self, name: str) -> bytes:
        """The same graph with tensor `name` as its only output.

        The list of outputs is shortened in place, and its first entry made to point to a string at the end.
        """
        data = bytearray(self._data)
        table = self._block._tab
        start = table.Vector(table.Offset(12))
        struct.pack_into("<I", data, start - 4, 1)
        data += bytes(-len(data) % 4)
        struct.pack_into("<I", data, start, len(data) - start)
        data += struct.pack("<I", len(name)) + name.encode() + bytes(4)
        return bytes(data)

    def _named(self, item: Any, count: int) -> tuple[Tensor, ...]:
        return tuple(self.tensors[item(index).decode()] for index in range(count))


def random_inputs(graph: TosaGraph, seed: int, magnitude: int) -> tuple[NDArray[Any], ...]:
    """Random values up to `magnitude`, or over the whole range of a narrower type.

    Inputs that index another tensor (GATHER, SCATTER) or say how far to shift, also through operators that
    only rearrange, stay within what TOSA allows.
    """
    rng = np.random.default_rng(seed)
    return tuple(_random(graph, tensor, rng, magnitude) for tensor in graph.inputs)


def _random(graph: TosaGraph, tensor: Tensor, rng: np.random.Generator, magnitude: int) -> NDArray[Any]:
    if tensor.dtype == np.bool_:
        return rng.integers(0, 2, tensor.shape).astype(np.bool_)
    bounds = np.iinfo(tensor.dtype)
    low, high = max(bounds.min, -magnitude), min(bounds.max, magnitude)
    role, largest = _role(graph, tensor.name)
    if role == "index":
        return _indices(rng, tensor, largest)
    if role == "part of an index":
        return _indices(rng, tensor, high)
    if role == "shift":
        low, high = 0, min(largest, magnitude)
    return rng.integers(low, high, tensor.shape, endpoint=True).astype(tensor.dtype)


def _indices(rng: np.random.Generator, tensor: Tensor, largest: int) -> NDArray[Any]:
    """Different along the last axis where possible: SCATTER must not write an element twice."""
    width = tensor.shape[-1] if tensor.shape else 1
    rows = int(np.prod(tensor.shape, dtype=int)) // max(width, 1)
    distinct = width <= largest + 1
    values = [rng.choice(largest + 1, width, replace=not distinct) for _ in range(rows)]
    return np.array(values).reshape(tensor.shape).astype(tensor.dtype)


def _role(graph: TosaGraph, name: str) -> tuple[str, int]:
    """What an input is for, and the largest value that TOSA allows there (0: unknown)."""
    reached, exact = {name}, True
    for operator in graph.operators:
        if not reached & set(operator.inputs):
            continue
        if operator.name in ("GATHER", "SCATTER") and operator.inputs[1] in reached:
            largest = graph.tensors[operator.inputs[0]].shape[1] - 1
            return ("index", largest) if exact else ("part of an index", 0)
        if operator.name.endswith("_SHIFT") and operator.inputs[1] in reached:
            return "shift", 8 * graph.tensors[operator.inputs[0]].dtype.itemsize - 1
        if operator.name in _REARRANGING + _ARITHMETIC and graph.tensors[operator.outputs[0]].kind == "INT32":
            reached |= set(operator.outputs)
            exact = exact and operator.name in _REARRANGING
    return "value", 0
