"""TOSA's reference model, in a child process: what a delegate has to compute, to the bit."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.aot.child import run_tool

# [s] For one delegate.
TIME_LIMIT = 900.0


class ReferenceModelError(Exception):
    """The reference model did not evaluate a graph; the message says why."""


def evaluate(graph: bytes, inputs: Sequence[Any]) -> list[Any]:
    """Outputs of a TOSA graph (FlatBuffers) as numpy arrays.

    Args:
        graph: the serialized graph.
        inputs: numpy arrays in the order of the graph's inputs.

    Raises:
        ReferenceModelError: the model crashed, does not end, or finds the graph invalid.
    """
    import numpy as np

    with tempfile.TemporaryDirectory(prefix="tosa-") as name:
        directory = Path(name)
        (directory / "graph.tosa").write_bytes(graph)
        np.savez(directory / "inputs.npz", **{str(i): array for i, array in enumerate(inputs)})
        ended = run_tool("tosa", (), directory, TIME_LIMIT)
        if ended.status != 0:
            raise ReferenceModelError(f"TOSA's reference model {ended.how}: {ended.last_line[:300]}")
        with np.load(directory / "outputs.npz", allow_pickle=False) as stored:
            return [stored[str(i)] for i in range(len(stored.files))]


def evaluate_delegate(
    graph: bytes, inputs: Sequence[Any], like_inputs: Sequence[Any], like_outputs: Sequence[Any]
) -> list[Any]:
    """Outputs of a delegate as torch tensors.

    The arrays of a TOSA graph are the storage of the program's tensors: a channels-last tensor is seen
    with its channels in the last dimension.

    Args:
        graph: TOSA graph of the delegate.
        inputs: tensors, one per input of the graph.
        like_inputs: tensors (fake ones will do) with the dim orders that the program gives the inputs.
        like_outputs: likewise, with shapes and dim orders of the outputs.

    Raises:
        ReferenceModelError: see `evaluate`; or its outputs are not those of the program.
    """
    import torch

    arrays = [
        tensor.detach().permute(like.dim_order()).contiguous().numpy()
        for tensor, like in zip(inputs, like_inputs, strict=True)
    ]
    results = evaluate(graph, arrays)
    if [array.size for array in results] != [like.numel() for like in like_outputs]:
        shapes = [list(array.shape) for array in results], [list(like.shape) for like in like_outputs]
        raise ReferenceModelError(f"the outputs have the shapes {shapes[0]}, the program expects {shapes[1]}")
    outputs = []
    for array, like in zip(results, like_outputs, strict=True):
        order = like.dim_order()
        stored = torch.from_numpy(array).reshape([like.shape[i] for i in order])
        outputs.append(stored.permute([order.index(i) for i in range(len(order))]))
    return outputs
