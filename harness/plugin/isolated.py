"""One test in a process of its own, with the options of this session: to run it again, or to lower its case.

The child is what an xdist worker is: it gets this session's parsed options, not its command line. Run as a
module it is the child: `python -m harness.plugin.isolated REQUEST`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.aot.child import end_with
from harness.plugin.workspace import hand_over

# What changes for a case that is lowered again.
OTHER_PROCESS = "new process, other hash seed"
# Belongs to the parent: distribution, terminal, files that a second process must not write.
_RESET = {
    "looponfail": False,
    "usepdb": False,
    "dist": "no",
    "distload": False,
    "numprocesses": None,
    "maxprocesses": None,
    "basetemp": None,
    "maxfail": 0,
    "collectonly": False,
    "file_or_dir": [],
    "keyword": "",
    "markexpr": "",
    "deselect": None,
}


@dataclass(frozen=True)
class Request:
    """What the child does.

    Attributes:
        nodeid: the test.
        argument: the same as an argument of pytest.
        options: of the session, as far as they are plain values.
        worker: what an xdist worker would be told.
        results: file to write: serialized reports, one a line.
        lower_into: cache directory for a lowering; None to run the test.
        parent: process that the child ends with.
    """

    nodeid: str
    argument: str
    options: dict[str, Any]
    worker: dict[str, Any]
    results: str
    lower_into: str | None
    parent: int


def other_hash_seed() -> str:
    """A hash seed for a child that is not this process's, where that is random or given."""
    return "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"


@dataclass(frozen=True)
class Ended:
    """How the child ended: status (negative for a signal, None at the limit), its results, its log."""

    status: int | None
    results: tuple[dict[str, Any], ...]
    log: Path


def run_isolated(
    config: pytest.Config,
    nodeid: str,
    path: Path,
    directory: Path,
    limit: float,
    *,
    attempts: int = 0,
    lower_into: Path | None = None,
    hash_seed: str | None = None,
    environment: Mapping[str, str] | None = None,
    reruns: bool = True,
    artifacts: Path | None = None,
) -> Ended:
    """Run one test in a new process, or lower its case there.

    Args:
        config: of this session.
        nodeid: the test.
        path: its file; the id names it relative to one of several directories.
        directory: for the request, the results and the log.
        limit: seconds.
        attempts: number of attempts that the test has had.
        lower_into: lower into this cache, and run nothing.
        hash_seed: for PYTHONHASHSEED of the child.
        environment: further variables for it.
        reruns: False if it may not rerun anything by itself.
        artifacts: for the evidence of its attempts; None for where this session has its own.
    """
    directory.mkdir(parents=True, exist_ok=True)
    results, log = directory / "results.jsonl", directory / "isolated.log"
    given: dict[str, Any] = {"workerid": directory.name, "workercount": 1, "mainargv": sys.argv[:1]}
    given |= {"testrunuid": directory.name, "corstone_attempts": attempts}
    hand_over(config, given)
    if getattr(config.option, "dist", "no") == "loadgroup":
        nodeid = nodeid.rpartition("@")[0] or nodeid  # xdist puts the group behind the id
    _, separator, rest = nodeid.partition("::")
    options = _options(config)
    options |= {} if reruns else {"no_reruns": "yes"}
    options |= {} if artifacts is None else {"artifacts": str(artifacts)}
    request = Request(
        nodeid=nodeid,
        argument=f"{path}{separator}{rest}",
        options=options,
        worker=given,
        results=str(results),
        lower_into=str(lower_into) if lower_into else None,
        parent=os.getpid(),
    )
    file = directory / "request.json"
    file.write_text(json.dumps(asdict(request)))
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **(environment or {})}
    if hash_seed is not None:
        variables["PYTHONHASHSEED"] = hash_seed
    status = _run([sys.executable, "-m", "harness.plugin.isolated", str(file)], variables, log, limit)
    return Ended(status, _read(results), log)


def _read(results: Path) -> tuple[dict[str, Any], ...]:
    """The lines that the child wrote; one that it died in is none."""
    text = results.read_text() if results.exists() else ""
    return tuple(json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n"))


def _options(config: pytest.Config) -> dict[str, Any]:
    found = {name: value for name, value in vars(config.option).items() if _is_plain(value)}
    found |= {name: value for name, value in _RESET.items() if name in found}
    found |= {"rootdir": str(config.rootpath), "inifilename": str(config.inipath) if config.inipath else None}
    found["plugins"] = [*found.get("plugins", []), "no:terminal"]
    return found


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, int, float, bool))


def _run(argv: list[str], environment: dict[str, str], log: Path, limit: float) -> int | None:
    """Exit status of a process group that does not outlive `limit`; None if it was ended."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class _Child:
    """Plugin of the child: writes down the reports, or lowers in place of running."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the report of one phase."""
        from _pytest.reports import pytest_report_to_serializable

        self._write(pytest_report_to_serializable(report) or {})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Lower the case of the one test."""
        if self._request.lower_into is None:
            return None
        from harness.plugin.options import SETTINGS, item_case
        from harness.session import Harness

        cases = [item_case(item) for item in session.items]
        if len(cases) != 1 or cases[0] is None:
            raise pytest.UsageError(f"no case: {self._request.nodeid}")
        harness = Harness(session.config.stash[SETTINGS])
        program = harness.lower_into(harness.seeded(cases[0]), Path(self._request.lower_into))
        self._write({"program": str(program.directory)})
        return True

    def _write(self, line: dict[str, Any]) -> None:
        with Path(self._request.results).open("a") as stream:
            stream.write(json.dumps(line) + "\n")


def main() -> int:
    """The child."""
    request = Request(**json.loads(Path(sys.argv[1]).read_text()))
    end_with(request.parent)
    config = pytest.Config.fromdictargs(request.options, [request.argument])
    config.workerinput = request.worker  # type: ignore[attr-defined]
    config.pluginmanager.register(_Child(request), "corstone-isolated")
    return int(config.hook.pytest_cmdline_main(config=config))


if __name__ == "__main__":
    sys.exit(main())
