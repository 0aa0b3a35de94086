"""A command that was not carried out must not end like one that was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

# As of a process that a defect has ended.
CUT_SHORT = 70


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@contextmanager
def whole(what: str, say: Callable[[str], object] = _say) -> Iterator[None]:
    """Turn `os._exit(0)` by code under test, which would end `what` as a success, into a failure.

    A child that was forked here may end as it likes.

    Args:
        what: is to be carried out.
        say: takes the message before the process ends.
    """
    leave, owner = os._exit, os.getpid()

    def guarded(status: int) -> NoReturn:
        if status == 0 and os.getpid() == owner:
            say(f"Error: os._exit(0) was called before {what} had ended; nothing is proven\n")
            status = CUT_SHORT
        leave(status)

    os._exit = guarded
    try:
        yield
    finally:
        os._exit = leave
