"""Which simulator an executable is: by what `--version` prints and by its hash, not by its name."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from pathlib import Path

from harness.console.events import Kind, read_line
from harness.engines.directory import file_sha256
from harness.engines.environment import simulator_environment
from harness.flow import ConsoleLine, EngineIdentity
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

_VERSION_LIMIT = 30.0  # [s]
_ARM = re.compile(r"Fast Models \[(?P<version>[^\]]+)\]")
_STANDIN = re.compile(r"\bstand-in\b", re.IGNORECASE)
_SOURCES = re.compile(r"sources sha256:(?P<hash>[0-9a-f]+)")
_COMPLAINTS = {
    Kind.LICENCE: OutcomeClass.ENV_LICENCE,
    Kind.EXECSTACK: OutcomeClass.ENV_EXECSTACK,
    Kind.LOADER: OutcomeClass.ENV_LOADER,
}


def identify(executable: Path) -> EngineIdentity:
    """Identity of a simulator; asked once per file and process.

    Raises:
        HarnessError: ENV/* if `--version` fails for a known reason, NOT_RUN if the file is neither
            Arm's FVP nor the stand-in.
    """
    status = executable.stat()
    return _identify(executable, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _identify(executable: Path, _mtime: int, _size: int) -> EngineIdentity:
    text = _version_text(executable)
    digest = file_sha256(executable)
    if _STANDIN.search(text):
        # The launcher is a few lines of shell: the hash of the sources behind it is the one that counts.
        sources = _SOURCES.search(text)
        lines = [line for line in text.splitlines() if line.strip() and not _SOURCES.search(line)]
        return EngineIdentity(
            "standin",
            executable.name,
            "; ".join(lines),
            str(executable),
            sources["hash"] if sources else digest,
        )
    if arm := _ARM.search(text):
        return EngineIdentity("fvp", executable.name, arm["version"], str(executable), digest)
    raise HarnessError(_stranger(executable, text))


def _version_text(executable: Path) -> str:
    try:
        done = subprocess.run(
            [str(executable), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_VERSION_LIMIT,
            env=simulator_environment(executable),
            check=False,
        )
        return done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return f"no answer to --version within {_VERSION_LIMIT:g} s"
    except OSError as error:
        return str(error)


def _stranger(executable: Path, text: str) -> Outcome:
    for line in text.splitlines():
        event = read_line(ConsoleLine(0.0, line))
        if event is not None and event.kind in _COMPLAINTS:
            summary = f"{executable} does not start: {line.strip()}"
            hint = "repair this installation, or use --engine standin"
            return Outcome(Phase.LAUNCH, _COMPLAINTS[event.kind], summary, hint)
    said = text.strip().splitlines()[0][:200] if text.strip() else "nothing"
    summary = f"{executable} is neither Arm's FVP nor the stand-in; its --version says: {said}"
    return Outcome(Phase.LAUNCH, OutcomeClass.NOT_RUN, summary, "take it off PATH, or use --engine standin")
