"""Commands that end with the process that starts them, whatever ends that one.

Run as a module this is the tether itself: it asks the kernel for it, then becomes the command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from harness.aot.child import end_with


def tethered(argv: Sequence[str]) -> list[str]:
    """`argv`, to be started by this process and to end with it."""
    return [sys.executable, "-m", "harness.tether", str(os.getpid()), *argv]


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
