"""One process on a pseudo-terminal: booted through pexpect, read to its end, always waited for.

pexpect starts the process; reading is done here, because a search over pexpect's growing buffer
takes minutes on a long log, and because text behind a matched marker must not be lost.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import pexpect
import psutil

from harness.console.recorder import Recorder
from harness.console.terminal import spawn
from harness.flow import ConsoleLine, Limits

# [s] How long a process may take to end after SIGTERM before SIGKILL follows.
TERMINATE_GRACE = 0.3
# [s] How long left-over processes may hold the terminal open after the first one has gone.
DRAIN_GRACE = 0.5
# [s] Interval of looking at the process where the system has no pidfd.
EXIT_POLL = 0.02


@dataclass(frozen=True)
class ProcessRecord:
    """What one process left on its console.

    `stopped_by` is "exit", or the limit that ended it: "launch", "silence" or "total".
    `exit_status` is negative for a signal and None if a limit ended the process. `lines` is a bounded
    record, the log file has all `total_lines`. Durations in seconds: "total", and "first_byte" if one came.
    """

    argv: tuple[str, ...]
    lines: tuple[ConsoleLine, ...]
    total_lines: int
    total_bytes: int
    stopped_by: str
    exit_status: int | None
    durations: Mapping[str, float]


class LaunchError(Exception):
    """The process could not be started; the message is the system's."""


def run_process(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    log: Path,
    limits: Limits,
    significant: Callable[[bytes], str | None] = lambda _: None,
) -> ProcessRecord:
    """Run `argv` to its end, or to a limit, with its console streamed to the file `log`.

    Standard output and error arrive on one pseudo-terminal. The process leads a session and a
    group of its own, which is gone when this returns, also by an exception. Its working directory is ours.

    Args:
        argv: absolute path of the executable, then its arguments.
        env: its whole environment.
        log: one line per console line, "[ seconds] text"; grows while the process runs.
        limits: first byte, silence between bytes, whole run.
        significant: names the kind of a line that must be kept however long the console gets.

    Raises:
        LaunchError: not executable, or the system refused to start it.
    """
    started = monotonic()
    with log.open("wb", buffering=0) as stream:
        recorder = Recorder(stream, significant)
        try:
            child = spawn(argv, env)
        except (pexpect.ExceptionPexpect, OSError) as error:
            raise LaunchError(str(error).strip()) from error
        watch = _Watch(child, recorder, limits, started)
        try:
            stopped_by = watch.follow()
        finally:
            status = watch.close()
        recorder.finish(monotonic() - started)
    durations = {"total": monotonic() - started}
    if watch.first_byte is not None:
        durations["first_byte"] = watch.first_byte
    return ProcessRecord(
        tuple(argv),
        recorder.lines,
        recorder.total_lines,
        recorder.total_bytes,
        stopped_by,
        status if stopped_by == "exit" else None,
        durations,
    )


class _Watch:
    """Follows one process until it has ended and its terminal is drained."""

    def __init__(self, child: Any, recorder: Recorder, limits: Limits, started: float) -> None:
        self._child, self._recorder, self._limits, self._started = child, recorder, limits, started
        self._pid: int = child.pid
        self._last_byte = started
        self.first_byte: float | None = None
        self._terminal_open, self._ended = True, False
        self._selector = selectors.DefaultSelector()
        self._selector.register(child.child_fd, selectors.EVENT_READ)
        self._pidfd = _open_pidfd(self._pid)
        if self._pidfd is not None:
            self._selector.register(self._pidfd, selectors.EVENT_READ)

    def follow(self) -> str:
        """Read until the process has ended; "exit" or the name of the limit that fired."""
        while not self._ended:
            reason, deadline = self._deadline()
            if self._step(deadline - monotonic()):
                reason, deadline = "total", self._started + self._limits.total
            if not self._ended and monotonic() >= deadline:
                return reason
        self._drain(DRAIN_GRACE)
        return "exit"

    def close(self) -> int:
        """End every process of the group, read what is left, and return the status (negative: signal)."""
        try:
            if not self._ended:
                self._terminate()
            # The first process is still a zombie here, so its number cannot belong to another group yet.
            _kill_group(self._pid, signal.SIGKILL)
            self._drain(DRAIN_GRACE)
        finally:
            if not self._ended:
                _kill_group(self._pid, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            self._selector.close()
            if self._pidfd is not None:
                os.close(self._pidfd)
            self._child.ptyproc.fileobj.close()
            self._child.closed = self._child.ptyproc.closed = True
            self._child.terminated = self._child.ptyproc.terminated = True
        return status

    def _deadline(self) -> tuple[str, float]:
        total = ("total", self._started + self._limits.total)
        if self.first_byte is None:
            near = ("launch", self._started + self._limits.launch)
        else:
            near = ("silence", self._last_byte + self._limits.silence)
        return min(near, total, key=lambda limit: limit[1])

    def _step(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for bytes or the end of the process; True if bytes came."""
        if self._pidfd is None:
            timeout = min(timeout, EXIT_POLL)
        got = False
        for key, _ in self._selector.select(max(timeout, 0.0)):
            if key.fd == self._child.child_fd:
                got = self._read()
        # Does not reap: the number of the process stays ours until close().
        self._ended = self._ended or (
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        )
        if self._ended and self._pidfd is not None and self._pidfd in self._selector.get_map():
            self._selector.unregister(self._pidfd)
        return got

    def _read(self) -> bool:
        try:
            data = os.read(self._child.child_fd, 1 << 16)
        except OSError:  # Linux reports the end of a pseudo-terminal as EIO
            data = b""
        if not data:
            self._terminal_open = False
            self._selector.unregister(self._child.child_fd)
            return False
        now = monotonic()
        self._last_byte = now
        if self.first_byte is None:
            self.first_byte = now - self._started
        self._recorder.feed(data, now - self._started)
        return True

    def _drain(self, grace: float) -> None:
        """Read to the end of the terminal, for at most `grace` seconds."""
        deadline = monotonic() + grace
        while self._terminal_open and (left := deadline - monotonic()) > 0:
            self._step(left)

    def _terminate(self) -> None:
        """SIGTERM to everything the process has started, then SIGKILL."""
        family = descendants(self._pid)
        _kill_group(self._pid, signal.SIGTERM)
        deadline = monotonic() + TERMINATE_GRACE
        while not self._ended and (left := deadline - monotonic()) > 0:
            self._step(left)
        _kill_group(self._pid, signal.SIGKILL)
        for process in family:
            with suppress(psutil.Error):
                process.kill()
        while not self._ended:
            self._step(EXIT_POLL)


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def descendants(pid: int) -> list[psutil.Process]:
    """All processes below `pid`; none if it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def _kill_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
