"""Arm's tools, to be run in a `Child`: the TOSA reference model dies of some graphs, and so does Vela."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
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
    """Delegate blob of a TOSA graph, as ExecuTorch packs it."""
    compiled: bytes = _packer().vela_compile(tosa, list(flags)).processed_bytes
    return compiled


@cache
def _packer() -> Any:
    """ExecuTorch's module for Vela by its path: the packages around it would import torch."""
    package = importlib.util.find_spec("executorch")
    if package is None or not package.submodule_search_locations:
        raise ImportError("executorch is not installed")
    path = Path(next(iter(package.submodule_search_locations))) / "backends/arm/arm_vela.py"
    spec = importlib.util.spec_from_file_location("arm_vela", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
