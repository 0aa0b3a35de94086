"""Lookup tables: the LUT memory and the table activations (reference section 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.config import NpuConfig
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.numerics import Ints

LUT_BYTES = 2048


class LutMemory:
    """2 KB of tables, addressed modulo 2 KB; contents persist between operations."""

    def __init__(self) -> None:
        self.data: NDArray[np.uint8] = np.zeros(LUT_BYTES, np.uint8)
        self._loaded: NDArray[np.bool_] = np.zeros(LUT_BYTES, np.bool_)

    def load(self, destination: int, content: NDArray[np.uint8]) -> None:
        """Store what a DMA brings to an internal address.

        Raises:
            NpuError: it does not fit.
        """
        start = destination % LUT_BYTES
        end = start + len(content)
        if end > LUT_BYTES:
            raise parse_error(f"{len(content)} bytes at {destination:#x} do not fit the LUT memory")
        self.data[start:end] = content
        self._loaded[start:end] = True

    def table(self, number: int, size: int) -> NDArray[np.uint8]:
        """Table `number` of tables of `size` bytes.

        Raises:
            NpuError: it lies outside the LUT memory, or nothing was loaded there.
        """
        start = number * size
        if start + size > LUT_BYTES:
            raise parse_error(f"table {number} of {size} bytes does not exist")
        if not self._loaded[start : start + size].all():
            raise parse_error(f"table {number} of {size} bytes is used but was never loaded")
        return self.data[start : start + size]


def table_of(config: NpuConfig, function: str, table: int, ofm_bits: int) -> tuple[str, int] | None:
    """Kind and number of the table that an activation uses; None if it uses none.

    Args:
        config: the NPU.
        function: the name of ACTIVATION.activation_function.
        table: ACTIVATION.table (U85).
        ofm_bits: width of an OFM element; it selects the kind of table on U55.

    Raises:
        NpuError: a function that no TOSA graph needs and about which too little is known.
    """
    if function in ("RELU", "LUT_NONE"):
        return None
    if config.is_u85:
        if function not in ("LUT_S8_S8", "LUT_S16_S16", "LUT_S16_S32"):
            raise unimplemented(f"activation {function}")
        return function, table
    if not function.startswith("TABLE_") or ofm_bits > 16:
        raise unimplemented(f"activation {function} with an OFM of {ofm_bits} bits")
    return ("LUT_S8_S8" if ofm_bits == 8 else "LUT_S16_S16"), int(function.removeprefix("TABLE_"))


def input_bits(kind: str) -> int:
    """Width of a table's input: 8 or 16."""
    return 8 if kind == "LUT_S8_S8" else 16


def look_up(memory: LutMemory, kind: str, number: int, values: Ints) -> Ints:
    """Apply a table to signed values; 16-bit tables interpolate linearly between 512 points.

    Raises:
        NpuError: a value outside the table's input range, or the table was never loaded.
    """
    limit = 1 << (input_bits(kind) - 1)
    if values.size and (values.min() < -limit or values.max() >= limit):
        raise unimplemented(f"{kind} of a value outside {-limit}..{limit - 1}")
    if kind == "LUT_S8_S8":
        entries = memory.table(number, 256).view(np.int8)
        return np.take(entries, values + 128)
    points = memory.table(number, LUT_BYTES).view("<i2").reshape(512, 2).astype(np.int32)
    index, fraction = (values + 32768) >> 7, values & 127
    base, step = points[index, 0], points[index, 1] * fraction
    result: Ints = base + ((step + 64) >> 7) if kind == "LUT_S16_S16" else (base << 7) + step
    return result
