"""Which engine runs a target, under `--engine auto|fvp|standin|host`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from harness.engines.base import Engine
from harness.engines.fvp import FvpEngine
from harness.engines.host import HostEngine
from harness.engines.identity import identify
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import Target


def select_engine(name: str, target: Target, search_path: str | None = None) -> Engine:
    """The engine called `name` for `target`.

    `auto` is Arm's FVP if one is on the search path (default: PATH), else the stand-in. A launcher of the
    stand-in on the path is not Arm's FVP.

    Raises:
        HarnessError: NOT_RUN, the engine is absent or does not run the target; ENV/*, the FVP does not start.
        ValueError: no engine of this name.
    """
    if name == "host":
        return HostEngine()
    if name not in ("auto", "fvp", "standin"):
        raise ValueError(f"unknown engine '{name}': auto, fvp, standin or host")
    found = None if name == "standin" else find_fvp(target, search_path)
    if found is None and name == "fvp":
        raise _not_run(
            f"--engine fvp, but there is no {target.fvp} of Arm's on PATH",
            "install Arm's FVP and put its directory on PATH, or use --engine standin",
        )
    engine = FvpEngine(found or _standin(target))
    reason = engine.capabilities(target).reason
    if reason:
        raise _not_run(f"{target.name} cannot run: {reason}", "put Arm's FVP for this board on PATH")
    return engine


def find_fvp(target: Target, search_path: str | None = None) -> Path | None:
    """The first executable on the search path with the FVP's name that is not the stand-in.

    Raises:
        HarnessError: it is there, but does not start or is something else.
    """
    for candidate in _candidates(target.fvp, search_path):
        if identify(candidate).kind == "fvp":
            return candidate
    return None


def _candidates(name: str, search_path: str | None) -> Iterator[Path]:
    text = os.environ.get("PATH", "") if search_path is None else search_path
    for entry in text.split(os.pathsep):
        # An empty entry would mean the current directory, which is no place to look for a simulator.
        path = Path(entry, name)
        if entry and path.is_file() and os.access(path, os.X_OK):
            yield path.absolute()


def _standin(target: Target) -> Path:
    from harness.standin.launchers import launcher_directory

    try:
        return launcher_directory() / target.fvp
    except OSError as error:
        raise _not_run(
            f"the stand-in's launchers cannot be written: {error}", "make the cache writable"
        ) from error


def _not_run(summary: str, hint: str) -> HarnessError:
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.NOT_RUN, summary, hint))
