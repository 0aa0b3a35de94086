"""A record of every operation with checksums of what it read and wrote (`--npu-trace`).

One JSON object a line. Two records of the same program, from two machines or two versions of the model,
differ first at the operation that went wrong: see `harness.standin.npu.trace_diff`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import TextIO

import numpy as np

from harness.standin.npu.numerics import Ints


class Trace:
    """Writes records to a text stream; `run` counts command streams, `index` operations of one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.run = -1
        self.index = 0

    def begin(self, npu: str) -> None:
        """A command stream starts on the NPU of that name."""
        self.run += 1
        self.index = 0
        self._write({"run": self.run, "npu": npu})

    def operation(
        self, name: str, offset: int, inputs: Sequence[tuple[str, Ints]], output: Ints | None
    ) -> None:
        """An operation ended.

        Args:
            name: of the operation and its mode.
            offset: of its command in the stream, in words.
            inputs: operands by name, as read.
            output: as written; None if there is none.
        """
        record = {
            "run": self.run,
            "index": self.index,
            "offset": offset,
            "operation": name,
            "inputs": [{"name": operand, **_checksum(values)} for operand, values in inputs],
            "output": None if output is None else _checksum(output),
        }
        self.index += 1
        self._write(record)

    def _write(self, record: dict[str, object]) -> None:
        self.stream.write(json.dumps(record) + "\n")
        self.stream.flush()


def _checksum(values: Ints) -> dict[str, object]:
    crc = zlib.crc32(np.ascontiguousarray(values).tobytes())
    return {"shape": list(values.shape), "type": values.dtype.name, "crc32": f"{crc:08x}"}
