"""Growing networks on the NPU of a simulator: the first whose output differs names the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.flow import Attempt, Case
from harness.selfcheck.record import Rung
from harness.session import Harness
from harness.targets import Target

_IMAGE = (1, 3, 12, 12)
# Operators of `networks.layers`; a reshape alone computes nothing.
_LAYERS = (
    "convolution",
    "depthwise",
    "pointwise and add",
    "sigmoid",
    "max pool",
    "average pool",
    "",
    "linear",
    "softmax",
)


@dataclass(frozen=True)
class Graph:
    """A graph of the ladder: the first `layers` of the network, or, for 0, the 16-bit product."""

    name: str
    layers: int

    def case(self, target: Target) -> Case:
        """What to lower."""

        def module(rng: Any) -> Any:
            from torch import nn

            from harness.selfcheck import networks

            return nn.Sequential(*networks.layers()[: self.layers]) if self.layers else networks.Product()

        def inputs(rng: Any) -> tuple[Any, ...]:
            import torch

            return (torch.randn(_IMAGE, generator=rng),)

        return Case(module, inputs, target, activation_bits=8 if self.layers else 16, name=self.name)


GRAPHS = (
    *(Graph(f"… {name}" if layer else name, layer + 1) for layer, name in enumerate(_LAYERS) if name),
    Graph("x * sigmoid(x), 16 bits", 0),
)


def climb(
    harness: Harness, target: Target, directory: Path, graphs: Sequence[Graph] = GRAPHS
) -> Iterator[Rung]:
    """Run each graph on the engine of `harness`, and on the stand-in if that is another one.

    Raises:
        HarnessError: a graph cannot be lowered.
    """
    measures_itself = harness.engine(target).identity().kind == "standin"
    standin = replace(harness, settings=replace(harness.settings, engine="standin"))
    for number, graph in enumerate(graphs):
        program = harness.lower(graph.case(target))
        attempt = harness.run(program, directory / f"{number}-engine")
        output = _output(attempt)
        other = None if measures_itself else _output(standin.run(program, directory / f"{number}-standin"))
        yield Rung(
            name=graph.name,
            outcome=attempt.outcome.kind.value,
            output=output,
            as_reference=_as_reference(attempt),
            as_standin=None if other is None or output is None else output == other,
        )


def _output(attempt: Attempt) -> str | None:
    """Hash of the first output, None if there is none."""
    if attempt.result is None:
        return None
    return attempt.result.outputs.get(attempt.result.spec.output_names[0])


def _as_reference(attempt: Attempt) -> bool | None:
    if not attempt.comparisons:
        return None
    return all(comparison.ok and comparison.worst == 0 for comparison in attempt.comparisons)
