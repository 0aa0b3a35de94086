"""Arm's tools, to be run in a `Child`: the TOSA reference model dies of some graphs, and so does Vela."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def run_reference(tosa: bytes, inputs: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Outputs of a TOSA graph, computed by the reference model.

    Raises:
        ValueError: the graph is invalid, or its result with these inputs is unpredictable.
    """
    import tosa_reference_model as model

    outputs, status = model.run(tosa, list(inputs), initialize_variable_tensor_from_numpy=1)
    if status != model.GraphStatus.TOSA_VALID:
        raise ValueError(f"the reference model says {status.name}")
    return tuple(np.asarray(output) for output in outputs)


def run_vela(tosa: bytes, flags: Sequence[str]) -> bytes:
    """Delegate blob of a TOSA graph."""
    from executorch.backends.arm.arm_vela import vela_compile

    compiled: bytes = vela_compile(tosa, list(flags)).processed_bytes
    return compiled
