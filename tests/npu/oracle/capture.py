"""Pytest plugin for upstream's tests: keep the graphs they compile, leave out what follows the compilation.

The directory is taken from the environment variable GRAPHS. LIMIT=n runs n tests, evenly spread over those
selected; SLICE=k/n one of n parts of them, each again spread evenly.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.npu.oracle.graphs import captured

_LOWERED = ("to_edge_transform_and_lower", "partition")


def pytest_configure() -> None:
    """Shorten upstream's pipelines."""
    from executorch.backends.arm.test.tester.test_pipeline import BasePipeline

    def run(self: Any) -> None:
        names = [stage.id for stage in self._stages]
        last = max(names.index(name) for name in _LOWERED if name in names)
        for stage in self._stages[: last + 1]:
            stage()

    BasePipeline.run = run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the chosen part. Order does not depend on it."""
    first, _, count = os.environ.get("SLICE", "0/1").partition("/")
    items[:] = items[int(first) :: int(count)]
    limit = int(os.environ.get("LIMIT", len(items)))
    if limit < len(items):
        items[:] = [items[index * len(items) // limit] for index in range(limit)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test and save its graphs, whatever became of it."""
    name = item.nodeid.rpartition("/")[2]
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    directory = Path(os.environ["GRAPHS"])
    with captured(name) as graphs:
        try:
            yield
        finally:
            for index, graph in enumerate(graphs):
                graph.save(directory / f"{digest}-{index}.npz")
