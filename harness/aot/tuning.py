"""Makes exporting and lowering cheaper in a process that does it often, without changing what they compute.

Torch and torchao do some work again for every graph, every node or every pass; here each is done once
or only when somebody asks for its result.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def tune_export() -> None:
    """Tune torch for the rest of the process."""
    import torch
    import torch._export.utils as utils
    from torch.fx.traceback import NodeSource

    # Graphs are small and short-lived, the modules behind them are not: collect them rarely.
    gc.set_threshold(50_000, 20, 50)
    gc.freeze()
    utils._materialize_cpp_cia_ops = _OncePerRegistry(utils._materialize_cpp_cia_ops)
    torch._ops.OperatorBase.py_impl = _quick_registration(torch._ops.OperatorBase.py_impl)
    # The history of a node is never edited, but every pass copies all of it for every node.
    NodeSource.__deepcopy__ = lambda self, memo: self
    _compile_graphs_on_demand()


@lru_cache(maxsize=1)
def tune_quantization() -> None:
    """Tune torchao for the rest of the process; imports it."""
    from harness.aot import histogram

    histogram.search.install()


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


def _quick_registration(original: Any) -> Any:
    """`py_impl` for dispatch keys, of which every decomposition registers thousands; else `original`.

    Torch's own evaluates the annotations of a nested function for each of them.
    """
    import torch

    key_type, python = torch._C.DispatchKey, torch._C.DispatchKey.Python

    def py_impl(operator: Any, key: Any) -> Any:
        if type(key) is not key_type or key == python or key in operator.py_kernels:
            return original(operator, key)

        def register(kernel):  # type: ignore[no-untyped-def]
            operator.py_kernels[key] = kernel
            operator._dispatch_cache.clear()
            return kernel

        return register

    return py_impl


def _compile_graphs_on_demand() -> None:
    """Have graph modules generate and compile their code when it is asked for: few ever are.

    Torch has a class of its own for this, which most passes do not use.
    """
    from torch.fx import GraphModule
    from torch.fx._lazy_graph_module import _LazyGraphModule
    from torch.fx.graph import _PyTreeCodeGen

    compile_now = GraphModule.recompile

    def recompile(self: Any) -> Any:
        if isinstance(self, _LazyGraphModule):
            return compile_now(self)
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            info = self._graph._codegen.pytree_info
            self._in_spec, self._out_spec = info.in_spec, info.out_spec
        self._recompile_submodules()
        module = weakref.ref(self)  # or the module and its class would keep each other
        type(self).forward = _Forward(lambda: compile_now(module()))
        return _Code(lambda: compile_now(module()))

    def with_code(original: Any) -> Any:
        def method(self: Any, *arguments: Any) -> Any:
            _ = self.forward  # compiles
            return original(self, *arguments)

        return method

    GraphModule.recompile = recompile
    GraphModule.code = property(with_code(GraphModule.code.fget))
    for name in ("__str__", "__reduce__", "__reduce_package__"):
        setattr(GraphModule, name, with_code(getattr(GraphModule, name)))


class _Forward:
    """The method `forward` of the class of one graph module, until it is first looked at."""

    def __init__(self, compile_now: Callable[[], Any]) -> None:
        self._compile_now = compile_now

    def __get__(self, instance: Any, owner: Any) -> Any:
        self._compile_now()  # puts the method in this place
        return owner.forward if instance is None else instance.forward


class _Code:
    """What `recompile` returns, for the few callers that look at it."""

    def __init__(self, compile_now: Callable[[], Any]) -> None:
        self._compile_now = compile_now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compile_now(), name)
