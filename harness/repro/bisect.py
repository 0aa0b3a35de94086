"""The stored TOSA graphs of a bundle, compiled by other versions of Vela or with other flags, and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.pte import BundleFile, read_bundle, read_program
from harness.pte.flat import MalformedError
from harness.pte.graft import replace_delegates
from harness.repro.bundle import Bundle
from harness.repro.confined import LARGEST_BUNDLE, BundleError, open_inside
from harness.repro.replay import Replayer
from harness.repro.vela import NotTestableError, Tool, compile_graph
from harness.reruns.trial import trial_of

NOT_TESTABLE = "not testable"
_COMPILES = "compiles"


@dataclass(frozen=True)
class Step:
    """What one version shows.

    Attributes:
        name: of the version or of the flags.
        outcome: class of the attempt; "compiles" for a graph without a run; "not testable".
        detail: one line: message of the outcome, or Vela's own.
        signature: what is compared between steps.
    """

    name: str
    outcome: str
    detail: str
    signature: str

    @property
    def testable(self) -> bool:
        """True if Vela compiled every graph."""
        return self.outcome != NOT_TESTABLE


def first_change(steps: Sequence[Step]) -> Step | None:
    """The first step whose outcome differs from that of the first step; None if there is none. Pure.

    Versions that are not testable tell nothing between two that are; if the first one is not testable,
    the first that compiles is the change.
    """
    if not steps:
        return None
    for step in steps[1:]:
        if step.testable and step.signature != steps[0].signature:
            return step
    return None


def conclusion(steps: Sequence[Step]) -> str:
    """One line: which version changes the outcome. Pure."""
    changed = first_change(steps)
    if changed is None:
        judged = [step for step in steps if step.testable]
        rest = ", ".join(step.name for step in steps if not step.testable)
        if len(judged) < 2:
            return f"nothing to compare; not testable: {rest}" if rest else "nothing to compare"
        shown = ", ".join(sorted({step.outcome for step in judged}))
        note = f"; not testable: {rest}" if rest else ""
        return f"no change: {shown} from {judged[0].name} to {judged[-1].name}{note}"
    before = steps[: list(steps).index(changed)]
    last = before[-1]
    if not steps[0].testable:
        return (
            f"first version that compiles it: {changed.name} ({changed.outcome}); {last.name}: {last.detail}"
        )
    skipped = [step.name for step in before if not step.testable]
    note = f"; not testable: {', '.join(skipped)}" if skipped else ""
    tested = next(step for step in reversed(before) if step.testable)
    return (
        f"first with another outcome: {changed.name} ({changed.outcome}); "
        f"{tested.name}: {tested.outcome}{note}"
    )


class Recompiler:
    """Compiles a bundle's graphs again and runs the program with the new delegates."""

    def __init__(self, bundle: Bundle, replayer: Replayer | None) -> None:
        self._bundle, self._replayer = bundle, replayer
        self._vela = bundle.vela
        self._graphs = [_read(bundle, name) for name in self._vela.graphs]
        self._blobs = [_read(bundle, name) for name in self._vela.blobs]
        if not self._graphs:
            raise BundleError("this bundle has no TOSA graph: nothing of its program was delegated")
        if replayer is not None and len(self._blobs) != len(self._graphs):
            raise BundleError("the bundle has not as many delegates as graphs")
        self._number = 0

    def step(self, name: str, make: Callable[[], Tool], flags: Sequence[str] = ()) -> Step:
        """Compile with a tool and further flags, then run; `name` is for people."""
        try:
            tool = make()
            blobs = [compile_graph(tool, graph, [*self._vela.flags, *flags]) for graph in self._graphs]
        except NotTestableError as error:
            return Step(name, NOT_TESTABLE, str(error), NOT_TESTABLE)
        if self._replayer is None:
            size = sum(map(len, blobs))
            return Step(name, _COMPILES, f"{len(blobs)} delegates, {size} bytes", _COMPILES)
        try:
            program = replace_delegates(self._program(), dict(zip(self._blobs, blobs, strict=True)))
        except MalformedError as error:
            raise BundleError(f"its program cannot take another delegate: {error}") from error
        read_program(program)
        self._number += 1
        attempt = self._replayer.once(self._number, program).attempt
        green = attempt.outcome.green
        messages = [comparison.message for comparison in attempt.comparisons if not comparison.ok]
        detail = " ".join((messages[0] if messages else attempt.outcome.summary).split("\n")[0].split())
        signature = "green" if green else trial_of(attempt).signature
        return Step(name, attempt.outcome.kind.value, detail, signature)

    def _program(self) -> bytes:
        spec = self._bundle.spec
        assert spec is not None
        data = _read(self._bundle, spec.program)
        if data[4:6] != b"BP":
            return data
        file: BundleFile = read_bundle(data)
        return bytes(file.program_bytes)


def _read(bundle: Bundle, name: str) -> bytes:
    with open_inside(bundle.directory, name) as file:
        data = file.read(LARGEST_BUNDLE + 1)
    if len(data) > LARGEST_BUNDLE:
        raise BundleError(f"{name} is larger than {LARGEST_BUNDLE} bytes")
    return data
