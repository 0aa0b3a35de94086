"""Compiles a graph for other NPUs that take the same TOSA: U55 and U65, or U85, with any number of MACs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.npu.oracle.child import Child
from tests.npu.oracle.graphs import Graph

# NPU: its entry in Vela's system configurations, memory mode, cache in bytes.
_MEMORIES = {
    "u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram", 2097152),
    "u65": ("Ethos_U65_High_End", "Dedicated_Sram_384KB", 393216),
    "u85": ("Ethos_U85_SYS_DRAM_Mid", "Shared_Sram", 2097152),
}
FAMILIES = {
    "u55": (
        "ethos-u55-32",
        "ethos-u55-64",
        "ethos-u55-128",
        "ethos-u55-256",
        "ethos-u65-256",
        "ethos-u65-512",
    ),
    "u85": ("ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"),
}


def family(target: str) -> tuple[str, ...]:
    """All NPUs that take the TOSA graphs made for `target`."""
    return next(members for members in FAMILIES.values() if target in members)


def recompiled(graph: Graph, target: str, vela: Child) -> Graph:
    """The graph for another NPU of its family.

    Raises:
        ChildError: Vela failed.
    """
    system, memory, cache = _MEMORIES[target.split("-")[1]]
    flags = (
        f"--arena-cache-size={cache}",
        f"--accelerator-config={target}",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        f"--system-config={system}",
        f"--memory-mode={memory}",
    )
    return replace(graph, target=target, flags=flags, blob=vela.call(graph.tosa, flags))


def for_family(graph: Graph, vela: Child) -> Iterator[Graph]:
    """The graph itself, and compiled for the others of its family."""
    for target in family(graph.target):
        yield graph if target == graph.target else recompiled(graph, target, vela)
