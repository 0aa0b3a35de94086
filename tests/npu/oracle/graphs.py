"""A graph as the differential tests keep it: what Vela was given, what it made of it, and for which NPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.npu.oracle.child import Child


@dataclass(frozen=True)
class Graph:
    """A delegated graph.

    Attributes:
        name: Where it comes from, e.g. a test id.
        target: Name of the NPU, e.g. "ethos-u55-128".
        flags: Vela's command line.
        tosa: TOSA flatbuffer.
        blob: The delegate's `processed_bytes`.
    """

    name: str
    target: str
    flags: tuple[str, ...]
    tosa: bytes
    blob: bytes

    def save(self, path: Path) -> None:
        """Write to a file, whole or not at all."""
        meta = json.dumps({"name": self.name, "target": self.target, "flags": self.flags})
        part = path.with_suffix(".part")
        with part.open("wb") as stream:
            np.savez_compressed(stream, meta=meta, tosa=_bytes(self.tosa), blob=_bytes(self.blob))
        part.rename(path)

    @staticmethod
    def load(path: Path) -> Graph:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            meta = json.loads(str(data["meta"]))
            flags = tuple(meta["flags"])
            return Graph(meta["name"], meta["target"], flags, data["tosa"].tobytes(), data["blob"].tobytes())


@contextmanager
def captured(name: str, vela: Child | None = None) -> Iterator[list[Graph]]:
    """Collect every graph that ExecuTorch's Ethos-U backend compiles within the context.

    Args:
        name: Of the graphs; a number is added.
        vela: Calls `run_vela`, to compile in a child process; None lets ExecuTorch do it.
    """
    from executorch.backends.arm.arm_vela import VelaCompileResult
    from executorch.backends.arm.ethosu.backend import EthosUBackend

    graphs: list[Graph] = []
    compile_tosa = EthosUBackend._compile_tosa_flatbuffer

    def record(tosa: bytes, spec: Any) -> Any:
        flags = tuple(spec.compiler_flags)  # Vela's front end appends paths to the list it gets
        result = VelaCompileResult(vela.call(tosa, flags)) if vela else compile_tosa(tosa, spec)
        graphs.append(Graph(f"{name}#{len(graphs)}", spec.target, flags, bytes(tosa), result.processed_bytes))
        return result

    with patch.object(EthosUBackend, "_compile_tosa_flatbuffer", staticmethod(record)):
        yield graphs


def _bytes(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)
