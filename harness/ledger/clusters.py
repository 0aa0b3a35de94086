"""Failures of one session that have one cause: grouped by signature. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.ledger.signature import specific


@dataclass(frozen=True)
class Cluster:
    """Tests that fail alike. `scope` is the test function if the signature alone names no cause."""

    signature: str
    scope: str
    nodeids: tuple[str, ...]


def cluster(failures: Iterable[tuple[str, str]]) -> tuple[Cluster, ...]:
    """Group (node id, signature) pairs; the largest group first.

    A signature that names a cause groups across all tests. One that does not ("outputs [0] beyond the limit",
    a time limit) groups the cases of one test function only.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for nodeid, signature in failures:
        scope = "" if specific(signature) else nodeid.partition("[")[0]
        groups.setdefault((signature, scope), []).append(nodeid)
    found = [Cluster(key[0], key[1], tuple(nodeids)) for key, nodeids in groups.items()]
    return tuple(sorted(found, key=lambda group: -len(group.nodeids)))
