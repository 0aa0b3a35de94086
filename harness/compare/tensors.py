"""Raw tensor files: little-endian elements in storage order, no header."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.flow import TensorSpec
from harness.outcomes import OutcomeClass

# Values that are no tensors; a runner writes no file for them.
_NO_TENSOR = ("none", "int", "float", "bool_")

# The runner fills outputs with this byte before it loads the method.
FILL = 0xA5

Array = NDArray[Any]


@dataclass(frozen=True)
class OutputState:
    """What is known of one expected output file after a run.

    `size` in bytes, None if the file does not exist. `untouched` counts the bytes at the end of the file that
    still hold the fill pattern; a file that holds nothing else was not written by the program.
    """

    name: str
    size: int | None
    sha256: str = ""
    untouched: int = 0

    @property
    def unwritten(self) -> bool:
        """True if the file exists and every byte is the fill pattern."""
        return bool(self.size) and self.untouched == self.size


class TensorError(ValueError):
    """A file is not the tensor it should be; `problem` is SHAPE, DTYPE or DIM_ORDER."""

    def __init__(self, problem: OutcomeClass, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def has_file(spec: TensorSpec) -> bool:
    """True if a runner writes an output of this type to a file."""
    return spec.dtype not in _NO_TENSOR


def inspect_output(path: Path) -> OutputState:
    """State of the file at `path`. A link or a directory in its place counts as missing."""
    if path.is_symlink() or not path.is_file():
        return OutputState(path.name, None)
    data = path.read_bytes()
    untouched = len(data) - len(data.rstrip(bytes([FILL])))
    return OutputState(path.name, len(data), hashlib.sha256(data).hexdigest(), untouched)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Little-endian element type of a file; bfloat16 is stored as its 16 bits.

    Raises:
        TensorError: DTYPE, no such type.
    """
    try:
        return np.dtype("uint16" if name == "bfloat16" else name).newbyteorder("<")
    except TypeError as error:
        raise TensorError(OutcomeClass.DTYPE, f"unknown dtype '{name}'") from error


def load_tensor(path: Path, spec: TensorSpec) -> Array:
    """The tensor in the file at `path`, in logical order. bfloat16 becomes float32.

    Raises:
        TensorError: DTYPE if the size fits another element width, else SHAPE; DIM_ORDER if the
            order is no permutation.
        OSError: the file cannot be read.
    """
    return decode_tensor(path.read_bytes(), spec, path.name)


def decode_tensor(data: bytes, spec: TensorSpec, name: str = "tensor") -> Array:
    """Like `load_tensor`, from bytes; `name` is for messages."""
    dtype = numpy_dtype(spec.dtype)
    elements = prod(spec.shape)
    if len(data) != elements * dtype.itemsize:
        raise _size_error(name, len(data), elements, dtype.itemsize, spec)
    flat = np.frombuffer(data, dtype)
    if spec.dtype == "bfloat16":
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    return to_logical(flat, spec.shape, spec.dim_order)


def to_logical(flat: Array, shape: tuple[int, ...], dim_order: tuple[int, ...]) -> Array:
    """View elements in storage order as a tensor of logical `shape`.

    `dim_order` lists the logical dimensions from the outermost in storage to the innermost:
    (0, 2, 3, 1) is channels-last.

    Raises:
        TensorError: DIM_ORDER, not a permutation of the dimensions.
    """
    if sorted(dim_order) != list(range(len(shape))):
        raise TensorError(OutcomeClass.DIM_ORDER, f"dim order {dim_order} does not fit shape {shape}")
    stored = flat.reshape([shape[dim] for dim in dim_order])
    return stored.transpose(np.argsort(dim_order)) if shape else stored


def to_storage(array: Array, dim_order: tuple[int, ...]) -> bytes:
    """Bytes of a logical `array` in the storage order `dim_order`: the inverse of `decode_tensor`."""
    return array.transpose(dim_order).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def _size_error(name: str, size: int, elements: int, width: int, spec: TensorSpec) -> TensorError:
    text = (
        f"{name} has {size} bytes, {elements * width} expected for {spec.dtype}{list(spec.shape)} "
        f"({elements} elements of {width} bytes)"
    )
    if elements and size in {elements * other for other in (1, 2, 4, 8)}:
        return TensorError(OutcomeClass.DTYPE, f"{text}: elements of {size // elements} bytes")
    return TensorError(OutcomeClass.SHAPE, text)
