"""`--session-limit` and SIGTERM: the reporting process ends a session from outside, and still reports it.

A limit inside a worker is of no use when the worker itself hangs; this one is kept outside of them.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from math import inf
from time import monotonic
from types import FrameType

import psutil
import pytest

from harness.console.process import descendants

NAME = "corstone-deadline"
_TERMINATED = pytest.StashKey[bool]()


class Deadline:
    """Plugin of the process that reports."""

    def __init__(self, config: pytest.Config, seconds: float) -> None:
        self._config = config
        self._at = monotonic() + seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = False
        self.message = f"ended by the session limit of {seconds:g} s [--session-limit]"
        self.reached = False

    @property
    def left(self) -> float:
        """Seconds until the limit; 0 beyond it."""
        return max(0.0, self._at - monotonic())

    def pytest_sessionstart(self) -> None:
        """The clock begins."""
        self._timer.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """The session has ended: nothing may be interrupted any more."""
        with self._lock:
            self._over = True
        self._timer.cancel()

    def _end(self) -> None:
        """Kill everything below this process; xdist then sees its workers die, and starts no others."""
        with self._lock:
            if self._over:
                return
            self.reached = True
            xdist = self._config.pluginmanager.get_plugin("dsession")
            if xdist is None:
                # A signal, as a blocking call of the main thread sees nothing else.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                xdist.shouldstop = self.message
                xdist._max_worker_restart = 0
            for process in descendants(os.getpid()):
                with suppress(psutil.Error):
                    process.kill()


def end_on_sigterm(config: pytest.Config) -> None:
    """A session that is cancelled, as by CI, ends like one that is interrupted: with its reports."""

    def end(number: int, frame: FrameType | None) -> None:
        config.stash[_TERMINATED] = True
        raise KeyboardInterrupt

    def restore() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
        config.add_cleanup(restore)


def seconds_left(config: pytest.Config) -> float:
    """Until the session limit; infinite without one."""
    found = config.pluginmanager.get_plugin(NAME)
    return found.left if isinstance(found, Deadline) else inf


def reached(config: pytest.Config) -> str:
    """What ended the session from outside; "" if nothing did."""
    if config.stash.get(_TERMINATED, False):
        return "ended by SIGTERM"
    found = config.pluginmanager.get_plugin(NAME)
    return found.message if isinstance(found, Deadline) and found.reached else ""
