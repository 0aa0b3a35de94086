"""Makes torch.export cheaper in a process that lowers many programs, without changing what it computes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any


def tune_export() -> None:
    """Apply once, after torch is imported. Measured by `ci/benchmark.py --export`."""
    import torch._export.utils as utils

    # Graphs are small and short-lived, the modules behind them are not: collect them rarely.
    gc.set_threshold(50_000, 20, 50)
    gc.freeze()
    original = utils._materialize_cpp_cia_ops
    if not isinstance(original, _OncePerRegistry):
        utils._materialize_cpp_cia_ops = _OncePerRegistry(original)


class _OncePerRegistry:
    """Torch's walk over all composite operators, made again only when operators were registered since."""

    def __init__(self, walk: Callable[[], None]) -> None:
        self._walk = walk
        self._seen: tuple[str, ...] | None = None

    def __call__(self) -> None:
        registered = tuple(_composite_operators())
        if registered != self._seen:
            self._walk()
            self._seen = registered


def _composite_operators() -> Any:
    import torch

    return torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
