"""From a module and its inputs to a program on disk: export, quantize, lower, bundle.

Only this package imports torch and executorch, and only when something has to be lowered:
importing it, reading a cached program and looking at its graph need neither.
"""

from __future__ import annotations

from harness.aot.cache import Delegate, delegates, load_program, quantized_references
from harness.aot.graph import Graph, Node, lowered_graph
from harness.aot.lowering import Lowering, lower, lower_timed

__all__ = [
    "Delegate",
    "Graph",
    "Lowering",
    "Node",
    "delegates",
    "load_program",
    "lower",
    "lower_timed",
    "lowered_graph",
    "quantized_references",
]
