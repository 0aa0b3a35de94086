"""One self-check: every simulator that is there, from its boots to its NPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.engines.environment import fingerprint
from harness.flow import EngineIdentity
from harness.outcomes import HarnessError, OutcomeClass
from harness.selfcheck.facts import ask, build_probe
from harness.selfcheck.ladder import climb
from harness.selfcheck.record import BoardCheck, SelfCheck
from harness.session import Harness
from harness.targets import Target


def examine(harness: Harness, targets: Sequence[Target], directory: Path) -> SelfCheck:
    """Check the simulators of `targets`; one that is absent or fails is part of the result."""
    boards = tuple(_examine(harness, target, directory / target.name) for target in targets)
    return SelfCheck(boards, fingerprint())


def _examine(harness: Harness, target: Target, directory: Path) -> BoardCheck:
    identity: EngineIdentity | None = None
    check = BoardCheck(target.name, None)
    try:
        identity = harness.engine(target).identity()
        executable = Path(identity.path)
        directory.mkdir(parents=True, exist_ok=True)
        harness.progress(f"{target.name}: boots of the probe")
        boots = ask(executable, target, build_probe(target.board, directory), directory)
        check = BoardCheck(target.name, identity, boots)
        harness.progress(f"{target.name}: graphs on the NPU")
        rungs = tuple(climb(harness, target, directory / "ladder"))
        return BoardCheck(target.name, identity, boots, rungs)
    except HarnessError as error:
        absent = error.outcome.kind is OutcomeClass.NOT_RUN
        problem = f"not run: {error.outcome.summary}" if absent else str(error.outcome)
        return BoardCheck(target.name, identity, check.boots, problem=problem)
