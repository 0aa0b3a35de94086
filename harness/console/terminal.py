"""Starts a process on a pseudo-terminal of its own: pexpect's `spawn` without its delays and without a fork.

A fork copies the page tables of the whole process, which takes 20 ms where torch is loaded; `posix_spawn`
copies nothing.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Mapping, Sequence
from typing import Any

import pexpect
from ptyprocess import PtyProcess  # type: ignore[import-untyped]

# (rows, columns): nothing wraps at this width.
WINDOW = (24, 32767)
# Python ignores the first two, nohup and background jobs the others; a simulator must be ended by them.
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


class _Spawn(pexpect.spawn):  # type: ignore[type-arg]  # generic in the stubs only
    """pexpect's process, started by `posix_spawn`."""

    def _spawnpty(
        self, args: list[str], *, env: dict[str, str], echo: bool, dimensions: tuple[int, int], **_: Any
    ) -> Any:
        master, slave = os.openpty()
        try:
            _set_up(slave, echo, dimensions)
            # A session leader that opens a terminal gets it as its controlling one: the process is
            # hung up when ours dies and the terminal closes.
            name = os.ttyname(slave)
            opened = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0)]
            copied = [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
            pid = os.posix_spawn(
                args[0],
                args,
                env,
                file_actions=opened + copied,
                setsid=True,
                setsigmask=(),
                setsigdef=_RESTORED,
            )
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        return PtyProcess(pid, master)


def spawn(argv: Sequence[str], env: Mapping[str, str]) -> Any:
    """Start `argv` on a new pseudo-terminal, leading a session of its own.

    Args:
        argv: absolute path of the executable, then at least one argument; pexpect splits a lone command.
        env: the whole environment.

    Raises:
        pexpect.ExceptionPexpect: there is no such executable.
        OSError: the system refused to start it.
    """
    child: Any = _Spawn(argv[0], list(argv[1:]), env=dict(env), echo=False, dimensions=WINDOW, timeout=None)
    # pexpect sleeps 0.1 s each time it closes or ends a process; nothing here relies on that.
    child.delaybeforesend = None
    child.delayafterclose = child.delayafterterminate = 0.0
    child.ptyproc.delayafterclose = child.ptyproc.delayafterterminate = 0.0
    return child


def _set_up(terminal: int, echo: bool, dimensions: tuple[int, int]) -> None:
    rows, columns = dimensions
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    if not echo:
        attributes = termios.tcgetattr(terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
