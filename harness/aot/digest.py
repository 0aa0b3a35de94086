"""Hashes of exported programs and of what else decides the result of lowering."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("executorch", "torch", "torchao", "numpy", "flatbuffers", "ethos-u-vela", "tosa-tools")


def digest_program(exported: Any) -> str:
    """SHA-256 of an ExportedProgram: graphs, signature, parameters, buffers and constants.

    Stack traces and other metadata do not count, so the same module hashes alike in every process.
    """
    import torch

    hasher = hashlib.sha256()
    for name, module in exported.graph_module.named_modules():
        if isinstance(module, torch.fx.GraphModule):
            hasher.update(f"{name}\n{module.graph}\n".encode())
    hasher.update(f"{exported.graph_signature}\n{exported.range_constraints}\n".encode())
    for values in (exported.state_dict, exported.constants):
        for name in sorted(values):
            hasher.update(f"{name} ".encode())
            _update(hasher, values[name])
    return hasher.hexdigest()


def digest_values(values: Iterable[Any]) -> str:
    """SHA-256 of a flat sequence of tensors, numbers and None, with types and layouts."""
    hasher = hashlib.sha256()
    for value in values:
        _update(hasher, value)
    return hasher.hexdigest()


def key_of(options: dict[str, Any]) -> str:
    """First half of the SHA-256 of a dictionary of plain values: the name of a cache entry."""
    return hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:32]


def _update(hasher: Any, value: Any) -> None:
    import torch

    if not isinstance(value, torch.Tensor):
        hasher.update(f"{type(value).__name__} {value!r}\n".encode())
        return
    hasher.update(f"{value.dtype} {tuple(value.shape)} {value.stride()}\n".encode())
    flat = value.detach().cpu().contiguous().reshape(-1)
    hasher.update(flat.view(torch.uint8).numpy().tobytes())


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that take part in lowering."""
    found = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


@lru_cache(maxsize=1)
def source_hash() -> str:
    """SHA-256 of this package's sources and of the reader of programs, so that an edit voids the cache."""
    hasher = hashlib.sha256()
    here = Path(__file__).parent
    for directory in (here, here.parent / "pte"):
        for path in sorted(directory.glob("*.py")):
            hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()
