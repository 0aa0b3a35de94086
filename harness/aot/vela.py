"""Vela behind executorch's Arm backend, in a child process, and what it compiled."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from harness.aot.child import run_tool
from harness.aot.steps import Steps, swapped
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

# [s] For one delegate; the largest of upstream's test models takes less than a tenth of it.
TIME_LIMIT = 900.0


@dataclass
class Vela:
    """Runs Vela for each delegate and remembers which TOSA graph a compiled blob comes from."""

    steps: Steps
    _graphs: dict[bytes, bytes] = field(default_factory=dict)

    def graph_of(self, blob: bytes) -> bytes:
        """The TOSA graph (FlatBuffers) that `blob`, a delegate's bytes in the program, was compiled from."""
        return self._graphs[blob]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Have executorch's Arm backend call this instead of its own Vela."""
        from executorch.backends.arm import arm_vela
        from executorch.backends.arm.ethosu import backend

        theirs = backend.vela_compile

        def compile_graph(graph: bytes, *arguments: Any, **options: Any) -> Any:
            result = theirs(graph, *arguments, **options)
            self._graphs[result.processed_bytes] = graph
            return result

        # vela_compile writes the graph, calls vela.main with a command line and packs what that leaves.
        with swapped(arm_vela, "vela", self), swapped(backend, "vela_compile", compile_graph):
            yield

    def main(self, arguments: Sequence[str]) -> int:
        """Vela's command line, in a child.

        Raises:
            HarnessError: AOT/CRASH, a signal ended Vela; AOT/REFUSED, it reports an error;
                TIMEOUT, it does not end. Its log and its input are kept in a directory that is named.
        """
        started = perf_counter()
        graph = Path(arguments[-1])
        ended = run_tool("vela", arguments, graph.parent, TIME_LIMIT)
        durations = self.steps.durations
        durations["vela"] = durations.get("vela", 0.0) + perf_counter() - started
        if ended.status == 0:
            return 0
        kind = OutcomeClass.TIMEOUT if ended.status is None else OutcomeClass.AOT_REFUSED
        summary = f"Vela {ended.how}: {ended.last_line[:300]}"
        if ended.crashed:
            kind = OutcomeClass.AOT_CRASH
            summary = f"Vela {ended.how} while it compiled a delegate"
        place = self.steps.keep({"vela.log": ended.text.encode(), "graph.tosa": graph.read_bytes()})
        flags = [word for word in arguments[:-1] if not word.startswith("--output-dir")]
        again = shlex.join(["vela", *flags, str(place / "graph.tosa")])
        detail = {"step": "vela", "log": str(place / "vela.log")}
        raise HarnessError(
            Outcome(Phase.LOWER, kind, summary, f"Log and graph: {place}; again: {again}", detail)
        )
