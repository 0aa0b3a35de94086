"""Values of a program as bytes: the runner's input and output files."""

from __future__ import annotations

import struct
from typing import Any

from harness.flow import TensorSpec


def storage_bytes(value: Any, spec: TensorSpec) -> bytes:
    """`value` as the runner reads or writes it: little-endian, in the storage order of `spec`.

    Args:
        value: a tensor, int, float, bool or None.
        spec: what the program says of it.

    Raises:
        ValueError: `value` is not what `spec` describes.
    """
    import torch

    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype != spec.dtype or tuple(value.shape) != spec.shape:
            raise ValueError(
                f"it is {dtype} {list(value.shape)}, the program has {spec.dtype} {list(spec.shape)}"
            )
        stored = value.detach().cpu().permute(spec.dim_order).contiguous()
        return bytes(stored.reshape(-1).view(torch.uint8).numpy().tobytes())
    packed = {
        "int": (int, "<q", value),
        "float": (float, "<d", value),
        "bool_": (bool, "<?", value),
        "none": (type(None), "<q", 0),
    }
    kind, code, content = packed.get(spec.dtype, (object(), "", None))
    if type(value) is not kind:
        raise ValueError(f"it is a {type(value).__name__}, the program has {spec.dtype} {list(spec.shape)}")
    return struct.pack(code, content)


def dense(value: Any) -> Any:
    """A copy of a tensor without gaps or overlaps, on the CPU, with the dim order it had."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone(memory_format=torch.preserve_format)
    return value
