"""How many workers `-n auto` means: as many as the machine has room for, not as it has cores."""

from __future__ import annotations

import os

import psutil
import pytest

# [bytes] of one worker that lowers: torch, executorch, a graph. Measured: 2.2 GiB after a long session.
NEED = 3 << 30


def worker_count(cores: int, memory: int, need: int = NEED) -> int:
    """The smaller of cores and what fits into `memory` bytes at `need` bytes each, at least 1. Pure."""
    return max(1, min(cores, memory // need))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Workers for `-n auto` and `-n logical`; xdist's own variable wins."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return worker_count(cores, psutil.virtual_memory().total)
