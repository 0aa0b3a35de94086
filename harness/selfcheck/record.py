"""What a self-check found out: values, JSON, and a short table for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from harness.flow import EngineIdentity

VERSION = 1
NOT_MEASURED = "not measured on an FVP: this is the stand-in, and says nothing about Arm's"


@dataclass(frozen=True)
class Boot:
    """One boot of the probe.

    `status` is the process's exit status, None if the harness had to end it; then `stopped_by` names the
    limit. `seconds` is wall time. `facts` are what the probe found out, `lines` what the simulator printed.
    """

    name: str
    status: int | None
    stopped_by: str
    seconds: float
    facts: dict[str, int]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Rung:
    """One graph of the ladder: class of its run, and whether its bytes equal the references.

    `as_reference` compares with the TOSA reference model, `as_standin` with the stand-in; None where there
    is nothing to compare with. `output` is the SHA-256 of the first output.
    """

    name: str
    outcome: str
    output: str | None
    as_reference: bool | None
    as_standin: bool | None


@dataclass(frozen=True)
class BoardCheck:
    """All about one simulator and one target; `problem` says why there is nothing more."""

    target: str
    engine: EngineIdentity | None
    boots: tuple[Boot, ...] = ()
    ladder: tuple[Rung, ...] = ()
    problem: str = ""

    @property
    def first_different(self) -> Rung | None:
        """The first graph of the ladder that failed or has other bytes than a reference."""
        return next((rung for rung in self.ladder if different(rung)), None)


def different(rung: Rung) -> bool:
    """True unless all that it was compared with is equal."""
    return rung.outcome != "PASS" or False in (rung.as_reference, rung.as_standin)


@dataclass(frozen=True)
class SelfCheck:
    """A whole self-check, and the versions and machine that it ran on."""

    boards: tuple[BoardCheck, ...]
    environment: dict[str, str]

    @property
    def good(self) -> bool:
        """True if some NPU was checked, and no graph failed or differed on any."""
        ran = [board for board in self.boards if board.engine is not None]
        return bool(ran) and all(
            board.ladder and not board.problem and board.first_different is None for board in ran
        )

    def to_json(self) -> str:
        """JSON text with sorted keys."""
        measured = any(board.engine is not None and board.engine.kind == "fvp" for board in self.boards)
        note = {} if measured else {"note": NOT_MEASURED}
        return json.dumps({"version": VERSION, **note, **asdict(self)}, indent=2, sort_keys=True) + "\n"

    def table(self) -> Iterator[str]:
        """Lines for people."""
        for board in self.boards:
            yield from _board(board)


def _board(board: BoardCheck) -> Iterator[str]:
    if board.engine is None:
        yield f"{board.target}: {board.problem}"
        return
    yield f"{board.target} on {board.engine.name}: {board.engine.kind}, {board.engine.version}"
    if board.engine.kind != "fvp":
        yield f"  {NOT_MEASURED}"
    for boot in board.boots:
        end = f"status {boot.status}" if boot.status is not None else f"ended by the {boot.stopped_by} limit"
        told = next((line for line in reversed(boot.lines) if not line.startswith(("probe", "fact "))), "")
        yield f"  {boot.name:<24} {end:<12} {boot.seconds:6.2f} s  {told[:80]}".rstrip()
        for name, value in boot.facts.items():
            yield f"    {name} = {value:#x}"
    for rung in board.ladder:
        yield f"  {rung.name:<24} {rung.outcome:<12} {_equal(rung)}"
    if board.ladder:
        first = board.first_different
        yield "  first graph that differs: " + ("none" if first is None else first.name)
    if board.problem:
        yield f"  {board.problem}"


def _equal(rung: Rung) -> str:
    words = {True: "equal", False: "DIFFERENT", None: "not compared"}
    return f"reference model: {words[rung.as_reference]}; stand-in: {words[rung.as_standin]}"
