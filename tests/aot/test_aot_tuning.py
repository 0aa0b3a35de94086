"""Tuning changes when torch works, not what comes out; test_processes_agree judges whole programs."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torchao.quantization.pt2e.observer import HistogramObserver

from harness.aot.histogram import search
from harness.aot.tuning import tune_export, tune_quantization

tune_export()
tune_quantization()


def traced() -> Any:
    return torch.fx.symbolic_trace(lambda x, y: x + y)


def multiplying() -> Any:
    """Of `x + y`, edited to `x * y` but not compiled again."""
    module = traced()
    (node,) = (n for n in module.graph.nodes if n.op == "call_function")
    node.target = torch.mul
    return module


TWO, THREE = torch.tensor(2.0), torch.tensor(3.0)


def by_call(module: Any) -> Any:
    return module(TWO, THREE)


def by_forward(module: Any) -> Any:
    return module.forward(TWO, THREE)


def by_copy(module: Any) -> Any:
    return copy.deepcopy(module)(TWO, THREE)


def by_pickle(module: Any) -> Any:
    return pickle.loads(pickle.dumps(module))(TWO, THREE)


def inside(module: Any) -> Any:
    root, graph = torch.nn.Module(), torch.fx.Graph()
    root.inner = module
    graph.output(graph.call_module("inner", (graph.placeholder("x"), graph.placeholder("y"))))
    return torch.fx.GraphModule(root, graph)(TWO, THREE)


@pytest.mark.parametrize("use", [by_call, by_forward, by_copy, by_pickle, inside])
def test_a_recompiled_graph_computes_what_it_says(use: Callable[[Any], Any]) -> None:
    assert use(traced()) == 5
    module = multiplying()
    module.recompile()
    assert use(module) == 6


def test_a_recompiled_graph_shows_its_code() -> None:
    module = multiplying()
    source = module.recompile()
    assert "mul" in module.code
    assert "mul" in str(module)
    assert "mul" in source.src
    assert list(inspect.signature(module.forward).parameters) == ["x", "y"]


def test_an_unused_graph_is_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    generate = torch.fx.Graph.python_code

    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        made.append(self)
        return generate(self, *arguments, **options)

    monkeypatch.setattr(torch.fx.Graph, "python_code", counted)
    module = multiplying()
    module.recompile()
    assert not made
    by_call(module)
    by_call(module)
    assert len(made) == 1


def test_an_operator_takes_one_kernel_a_key() -> None:
    key = torch._C.DispatchKey.AutogradXPU
    operator = torch.ops.aten.hardshrink.default
    operator.py_impl(key)(by_call)
    try:
        assert operator.py_kernels[key] is by_call
        with pytest.raises(RuntimeError, match="override"):
            operator.py_impl(key)(by_forward)
    finally:
        del operator.py_kernels[key]


def test_a_node_remembers_where_it_comes_from() -> None:
    first = traced()
    for node in first.graph.nodes:
        node.meta["seen"] = 1  # provenance is kept for nodes that have metadata
    with torch.fx.traceback.preserve_node_meta():
        second = torch.fx.Transformer(first).transform()
        third = torch.fx.Transformer(second).transform()
    (node,) = (n for n in third.graph.nodes if n.op == "call_function")
    (source,) = copy.deepcopy(node.meta["from_node"])
    assert source == node.meta["from_node"][0]
    assert source.graph_id == id(second.graph)
    assert source.from_node[0].graph_id == id(first.graph)


SAMPLES = {
    "uniform": lambda rng: torch.rand(100, generator=rng) * 5 - 2,
    "normal": lambda rng: torch.randn(1000, generator=rng),
    "few": lambda rng: torch.randn(3, generator=rng),
    "constant": lambda rng: torch.full((7,), -3.25),
    "half_zero": lambda rng: torch.relu(torch.randn(200, generator=rng)),
    "outlier": lambda rng: torch.cat((torch.rand(500, generator=rng), torch.tensor([1e4]))),
}


def observer_of(name: str, dtype: torch.dtype) -> HistogramObserver:
    rng = torch.Generator().manual_seed(len(name))
    observer = HistogramObserver(dtype=dtype, qscheme=torch.per_tensor_affine)
    observer(SAMPLES[name](rng))
    observer(SAMPLES[name](rng) * 1.5)
    return observer


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.int8) for name in SAMPLES), ("normal", torch.int16)]
)
def test_the_search_finds_the_bounds_of_torchao(name: str, dtype: torch.dtype) -> None:
    observer = observer_of(name, dtype)
    ours, theirs = observer._non_linear_param_search(), search.original(observer)
    assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(ours, theirs, strict=True))


def test_what_is_no_histogram_is_left_to_torchao(monkeypatch: pytest.MonkeyPatch) -> None:
    observer = observer_of("few", torch.int8)
    observer.histogram[3] = torch.nan
    monkeypatch.setattr(search, "original", lambda given: (given, "theirs"))
    assert search(observer) == (observer, "theirs")
