"""Functions that may crash the interpreter, called in a child process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

_SECONDS = 300.0


class ChildError(Exception):
    """The call raised, crashed its process or gave no answer in time."""


class Child:
    """A process that calls one function again and again; started when needed, and anew after a crash."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def call(self, *arguments: Any) -> Any:
        """The function's result.

        Raises:
            ChildError: there is none.
        """
        pipe = self._started()
        try:
            pipe.send(arguments)
            if not pipe.poll(_SECONDS):
                self.stop()
                raise ChildError(f"no answer within {_SECONDS:.0f} s")
            value, problem = pipe.recv()
        except (EOFError, OSError):
            self.stop()
            raise ChildError(f"{self._function.__name__} crashed its process") from None
        if problem is not None:
            raise ChildError(problem)
        return value

    def stop(self) -> None:
        """End the process; the next call starts another."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._pipe = self._process = None

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._function), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe


def _serve(pipe: Connection, function: Callable[..., Any]) -> None:
    """The child: answer until the parent is gone. What native code prints would only disturb."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    while True:
        try:
            arguments = pipe.recv()
        except (EOFError, OSError):
            return
        value, problem = None, None
        try:
            value = function(*arguments)
        except (Exception, SystemExit) as error:
            problem = f"{type(error).__name__}: {error}"
        pipe.send((value, problem))
