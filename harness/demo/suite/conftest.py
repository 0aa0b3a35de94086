"""Plants the fault that CORSTONE_DEMO_FAULT names, below everything that the harness offers or tests call."""

import os
import signal
from pathlib import Path
from typing import Any

FAULT = os.environ.get("CORSTONE_DEMO_FAULT", "")


def plant_sources() -> None:
    """Build runners from the tree with the planted branch, through the normal build."""
    from harness.firmware import sources

    tree = Path(os.environ["CORSTONE_DEMO_SOURCES"])

    def root() -> Path:
        return tree

    sources.source_root = root


def plant_hash_order() -> None:
    """Change all weights in the order of a set of strings: another one in each process."""
    import torch

    from harness.aot import compiler

    serialize = compiler.to_executorch

    def wrong(lowered: Any) -> Any:
        order = [int(name.rpartition("_")[2]) for name in {f"constant_{i}" for i in range(8)}]
        for values in (lowered.state_dict, lowered.constants):
            for tensor in values.values():
                if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.int8 and tensor.numel() >= 8:
                    flat = tensor.data.view(-1)
                    for place, index in enumerate(order):
                        flat[index::8] ^= 16 * (place % 7 + 1)
        return serialize(lowered)

    compiler.to_executorch = wrong


def plant_crash() -> None:
    """End the process in the middle of lowering, once."""
    from harness.aot import compiler

    marker, export = Path(os.environ["CORSTONE_DEMO_MARKER"]), compiler.export

    def crash(module: Any, inputs: Any) -> Any:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return export(module, inputs)

    compiler.export = crash


if FAULT == "kernel":
    plant_sources()
elif FAULT == "lowering":
    plant_hash_order()
elif FAULT == "worker":
    plant_crash()
