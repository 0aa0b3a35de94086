"""`--shard K/N`: one of N parts of a session that take about the same time, the same on every machine."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import pytest

from harness.settings import SettingsError


class Shard:
    """Plugin that keeps the items of one shard, after all other selection."""

    def __init__(self, number: int, count: int, seconds: Mapping[str, float]) -> None:
        self._number = number
        self._count = count
        self._seconds = seconds

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Deselect the items of the other shards."""
        yield
        chosen = shards([item.nodeid for item in items], self._seconds, self._count)[self._number - 1]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]


def read_durations(path: Path) -> dict[str, float]:
    """Seconds by test id, from a JSON object.

    Raises:
        SettingsError: the file does not hold that.
    """
    try:
        raw = json.loads(path.read_text())
        return {str(name): float(seconds) for name, seconds in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SettingsError(f"--shard-durations {path}: {error}") from error


def shards(nodeids: Sequence[str], seconds: Mapping[str, float], count: int) -> list[set[str]]:
    """Split `nodeids` into `count` sets of about equal duration. Pure.

    Longest first, each to the emptiest set (Graham's LPT rule: at most 4/3 of the best split). A test
    without a recorded duration counts as the shortest of those with one: records leave out short tests.
    """
    usual = min((seconds[name] for name in nodeids if name in seconds), default=1.0)
    loads = [0.0] * count
    parts: list[set[str]] = [set() for _ in range(count)]
    for name in sorted(set(nodeids), key=lambda name: (-seconds.get(name, usual), name)):
        emptiest = loads.index(min(loads))
        parts[emptiest].add(name)
        loads[emptiest] += seconds.get(name, usual)
    return parts
