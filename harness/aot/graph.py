"""The lowered graph as plain data, for assertions about what the compiler did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.flow import Program

GRAPH_FILE = "graph.json"


@dataclass(frozen=True)
class Node:
    """One operator call, placeholder or output of the lowered graph.

    Attributes:
        name: of the value that it makes.
        op: schema name and overload, e.g. "cortex_m::quantized_add" or "aten::add.Tensor";
            "placeholder", "output" or "get_attr" for the others.
        arguments: by their names in the schema; another node is "%" and its name, absent is None.
        dtype: of the result, e.g. "int8"; None if it is no tensor.
        shape: of the result; None if it is no tensor.
    """

    name: str
    op: str
    arguments: Mapping[str, Any]
    dtype: str | None
    shape: tuple[int, ...] | None

    def has(self, argument: str) -> bool:
        """True if the call passes a value other than None for `argument`."""
        return self.arguments.get(argument) is not None

    def __str__(self) -> str:
        shape = "" if self.shape is None else f": {self.dtype}{list(self.shape)}"
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"%{self.name}{shape} = {self.op}({arguments})"


@dataclass(frozen=True)
class Graph:
    """The nodes in order of execution."""

    nodes: tuple[Node, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of calls by operator; 0 for any other name."""
        return Counter(node.op for node in self.nodes if "::" in node.op)

    def named(self, op: str) -> tuple[Node, ...]:
        """The calls of operator `op`."""
        return tuple(node for node in self.nodes if node.op == op)

    def __str__(self) -> str:
        return "\n".join(map(str, self.nodes))


def lowered_graph(program: Program) -> Graph:
    """The graph of `program` in the edge dialect, after the backend's passes."""
    return read_graph(program.directory / GRAPH_FILE)


def read_graph(path: Path) -> Graph:
    """Read a graph written next to a program."""
    return Graph(
        tuple(
            Node(**{**node, "shape": None if node["shape"] is None else tuple(node["shape"])})
            for node in json.loads(path.read_text(encoding="utf-8"))
        )
    )
