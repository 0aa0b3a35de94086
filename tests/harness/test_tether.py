"""A command that was started through a tether does not outlive the one that started it."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from harness.tether import tethered

PARENT = """
import subprocess, sys
from harness.tether import tethered
sleeper = "import time; print('up', flush=True); time.sleep(600)"
child = subprocess.Popen(tethered([sys.executable, "-c", sleeper]))
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert parent.stdout.readline() == "up\n"
        parent.send_signal(number)
        parent.wait()
        child.wait(30)  # raises if it does not end


def test_status_and_arguments_are_those_of_the_command() -> None:
    command = [sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(7)", "a b", "--c"]
    done = subprocess.run(tethered(command), capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert done.stdout == "['a b', '--c']\n"
