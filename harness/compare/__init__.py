"""Host comparison: raw output files against raw references, each output in its own dtype."""

from harness.compare.compare import compare_arrays, compare_outputs
from harness.compare.tensors import FILL, OutputState, TensorError, inspect_output, load_tensor

__all__ = [
    "FILL",
    "OutputState",
    "TensorError",
    "compare_arrays",
    "compare_outputs",
    "inspect_output",
    "load_tensor",
]
