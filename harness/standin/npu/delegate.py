"""Runs a delegate blob as ExecuTorch's runtime does, in memory of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.standin.npu.container import Delegate, Tensor
from harness.standin.npu.errors import parse_error
from harness.standin.npu.machine import run
from harness.standin.npu.memory import ArrayMemory, RegionMemory
from harness.standin.npu.trace import Trace

_BASES = (0x1000_0000, 0x4000_0000, 0x8000_0000)
_UNUSED = 0xFFFF_FFFF_0000


def run_delegate(
    delegate: Delegate, inputs: Sequence[bytes], fast_scratch: int | None = None, trace: Trace | None = None
) -> list[bytes]:
    """Execute a delegate.

    Args:
        delegate: the parsed blob.
        inputs: raw bytes of each input.
        fast_scratch: bytes of region 2 where it is memory of its own; None if it is the scratch arena.
        trace: records every operation, if given.

    Returns:
        Raw bytes of each output.

    Raises:
        NpuError: the blob or its command stream is malformed or needs what is not modelled.
    """
    constants = np.frombuffer(delegate.weights, np.uint8).copy()
    scratch = np.full(delegate.scratch_size, 0xA5, np.uint8)
    blocks = [ArrayMemory(_BASES[0], constants), ArrayMemory(_BASES[1], scratch)]
    bases = [*_BASES[:2], _BASES[1], *([_UNUSED] * 5)]
    if fast_scratch is not None:
        blocks.append(ArrayMemory(_BASES[2], np.full(fast_scratch, 0xA5, np.uint8)))
        bases[2] = _BASES[2]
    if len(inputs) != len(delegate.inputs):
        raise parse_error(f"{len(inputs)} inputs for a delegate with {len(delegate.inputs)}")
    for tensor, content in zip(delegate.inputs, inputs, strict=True):
        if len(content) != tensor.size:
            raise parse_error(f"an input of {len(content)} bytes for a tensor of {tensor.size}")
        _place(scratch, tensor)[:] = np.frombuffer(content, np.uint8)
    run(delegate.payload.config, delegate.payload.commands, bases, RegionMemory(blocks), trace)
    return [_place(scratch, tensor).tobytes() for tensor in delegate.outputs]


def _place(
    scratch: np.ndarray[tuple[int], np.dtype[np.uint8]], tensor: Tensor
) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    if tensor.region != 1 or tensor.offset + tensor.size > len(scratch):
        raise parse_error("an input or output lies outside the scratch arena")
    return scratch[tensor.offset : tensor.offset + tensor.size]
