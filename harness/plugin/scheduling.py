"""Xdist's schedulers, mended where a worker dies.

Those by scope put the whole unfinished scope back, the crashed test included, so that it ends one worker
after the other; the one for `--dist each` fails when two workers are replaced at once, and runs all again
when a worker dies in its last test. The rerun of a crashed test is ours: one, in a process of its own, at
the end of the session.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdist.remote import Producer
from xdist.scheduler import (
    EachScheduling,
    LoadFileScheduling,
    LoadGroupScheduling,
    LoadScopeScheduling,
    Scheduling,
)
from xdist.workermanage import WorkerController


class _GiveUp(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    def remove_node(self, node: WorkerController) -> str | None:
        """Remove a dead or finished worker; the test that it was running counts as completed."""
        units = self.assigned_work[node].values()
        crashed = next(((unit, nodeid) for unit in units for nodeid, done in unit.items() if not done), None)
        if crashed is None:
            last: str | None = super().remove_node(node)
            return last
        unit, nodeid = crashed
        unit[nodeid] = True
        super().remove_node(node)  # takes the next test for the crashed one, and puts the rest back
        crashing: str = nodeid
        return crashing

    def schedule(self) -> None:
        """Distribute; a worker begins its last known test only when it hears of another, or of the end."""
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)


class _LoadScope(_GiveUp):
    pass


class _LoadFile(_GiveUp, LoadFileScheduling):  # type: ignore[misc]
    pass


class _LoadGroup(_GiveUp, LoadGroupScheduling):  # type: ignore[misc]
    pass


class _Each(EachScheduling):  # type: ignore[misc]
    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Take what a worker collected; one that replaces another gets what that one left, be it nothing."""
        replaces = self.collection_is_completed
        super().add_node_collection(node, collection)
        self.node2collection[node] = list(collection)
        if replaces and not self.node2pending[node]:
            self._started.append(node)
            node.shutdown()

    def schedule(self) -> None:
        """Start the workers that have collected; the others follow when they have."""
        collecting = {
            node: self.node2pending.pop(node) for node in self.nodes if node not in self.node2collection
        }
        super().schedule()
        self.node2pending.update(collecting)


_KINDS = {"each": _Each, "loadscope": _LoadScope, "loadfile": _LoadFile, "loadgroup": _LoadGroup}


def scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """The scheduler for `--dist`; None where xdist's own does."""
    kind = _KINDS.get(config.getvalue("dist"))
    return kind(config, log) if kind is not None else None
