"""Native tools in processes of their own: a tool that crashes must not take the test worker along.

Run as a file, not as a module, this is the child: it ends with its parent, then becomes the tool.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit status (negative for a signal, None at the time limit), all that it printed."""

    status: int | None
    text: str

    @property
    def crashed(self) -> bool:
        """True if a signal ended it."""
        return self.status is not None and self.status < 0

    @property
    def how(self) -> str:
        """The end in words: "was ended by SIGSEGV", "exited with status 1", "did not end in time"."""
        if self.status is None:
            return "did not end in time"
        if self.status >= 0:
            return f"exited with status {self.status}"
        try:
            return f"was ended by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"was ended by signal {-self.status}"

    @property
    def last_line(self) -> str:
        """The last line that is not blank: of a Python traceback, its reason."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[-1] if lines else "it printed nothing"


def run_tool(
    tool: str, arguments: Sequence[str], directory: Path, limit: float, python: str = sys.executable
) -> Ended:
    """Run a tool of `TOOLS` in `directory`, its printed lines collected, for at most `limit` seconds.

    `python` is that of another virtual environment, to run another version of the tool.
    """
    argv = [python, __file__, str(os.getpid()), tool, *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            argv,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return Ended(None, (error.stdout or b"").decode("utf-8", "replace"))
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace"))


def end_with(parent: int) -> None:
    """Have the kernel end this process with its parent (Linux), and leave no core dump."""
    import ctypes
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent is gone")


def _vela(arguments: list[str]) -> int:
    from ethosu.vela.vela import main

    return int(main(arguments))


def _tosa(arguments: list[str]) -> int:
    """Run graph.tosa on inputs.npz (arrays "0", "1", …); the outputs go to outputs.npz likewise."""
    import numpy as np
    import tosa_reference_model

    with np.load("inputs.npz", allow_pickle=False) as stored:
        inputs = [stored[str(i)] for i in range(len(stored.files))]
    outputs, status = tosa_reference_model.run(Path("graph.tosa").read_bytes(), inputs)
    if status != tosa_reference_model.GraphStatus.TOSA_VALID:
        sys.exit(f"the reference model says {status}")
    np.savez("outputs.npz", **{str(i): np.asarray(output) for i, output in enumerate(outputs)})
    return 0


TOOLS = {"vela": _vela, "tosa": _tosa}


def main() -> int:
    """The child: `child.py PARENT TOOL ARGUMENT…`."""
    parent, tool, *arguments = sys.argv[1:]
    end_with(int(parent))
    sys.path.pop(0)  # this file's own directory, whose modules are no top-level ones
    return TOOLS[tool](arguments)


if __name__ == "__main__":
    sys.exit(main())
