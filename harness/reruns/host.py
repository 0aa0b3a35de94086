"""The host as a factor: how busy it is, and turns, so that a run can have it alone."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

_PRESSURE = Path("/proc/pressure/cpu")
_SOME = re.compile(r"^some .*\btotal=(\d+)", re.MULTILINE)


class LoadMeter:
    """Measures from its making on: in which share of the time did tasks of this host wait for a core?

    Linux counts that (pressure stall information). Elsewhere the load average stands in: the share of
    tasks beyond the number of cores.
    """

    def __init__(self) -> None:
        self._started, self._stalled = monotonic(), _stalled()

    def share(self) -> float | None:
        """Between 0 and 1; None where the system tells nothing."""
        seconds, stalled = monotonic() - self._started, _stalled()
        if self._stalled is not None and stalled is not None and seconds > 0:
            return min(1.0, (stalled - self._stalled) / seconds)
        if not hasattr(os, "getloadavg"):
            return None
        return min(1.0, max(0.0, os.getloadavg()[0] / (os.cpu_count() or 1) - 1))


def _stalled() -> float | None:
    """Seconds since boot in which some task waited for a core."""
    try:
        found = _SOME.search(_PRESSURE.read_text())
    except OSError:
        return None
    return int(found[1]) / 1e6 if found else None


class Turns:
    """Lets the workers of a session run side by side, or one of them alone; files in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._gate, self._runs = directory / "gate.lock", directory / "runs.lock"

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run beside others; waits while one runs alone, or waits for it."""
        with _held(self._gate, fcntl.LOCK_SH):
            run = _lock(self._runs, fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(run)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run while no other does: waits for the runs that are under way, and no new one begins."""
        with _held(self._gate, fcntl.LOCK_EX), _held(self._runs, fcntl.LOCK_EX):
            yield


@contextmanager
def _held(path: Path, mode: int) -> Iterator[None]:
    descriptor = _lock(path, mode)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(path: Path, mode: int) -> int:
    """The system drops the lock with the descriptor, also if the process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, mode)
    return descriptor
