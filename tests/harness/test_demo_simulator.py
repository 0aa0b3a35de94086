"""The demonstration's simulator: what it plants is beyond any tolerance, and nothing of it stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from harness.demo import simulator

STAND_IN = """#!/bin/sh
echo 'I [executorch:arm_executor_runner.cpp:1 main()] begun'
exit 3
"""


def boot(directory: Path, **settings: object) -> subprocess.CompletedProcess[bytes]:
    stand_in = directory / "stand-in"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    file = directory / "settings.json"
    plain = {"standin": str(stand_in), "seed": 1, "flip": 0.0, "burners": 0, "forced": True}
    file.write_text(json.dumps({**plain, **settings}))
    command = [sys.executable, "-I", str(simulator.__file__), str(file), f"semihosting-cwd={directory}"]
    return subprocess.run(command, capture_output=True, check=False)


@pytest.mark.parametrize("value", [0.0, -0.0, 0.01, -1.0, 1.5, 3.0, 1e6])
def test_a_forced_flip_is_beyond_any_tolerance(tmp_path: Path, value: float) -> None:
    output = tmp_path / "out-0.bin"
    output.write_bytes(np.full(4, value, np.float32).tobytes())
    assert boot(tmp_path, flip=1e-9).returncode == 3
    changed = np.frombuffer(output.read_bytes(), np.float32)
    assert np.sum(~(np.abs(changed - np.float32(value)) < 0.5)) == 1


def test_a_starved_run_keeps_console_and_status_and_leaves_no_burner(tmp_path: Path) -> None:
    done = boot(tmp_path, burners=3)
    assert done.returncode == 3
    assert b"begun" in done.stdout
    found = [process for process in psutil.process_iter(["cmdline"]) if process.info["cmdline"]]
    assert not [process for process in found if process.info["cmdline"][-1] == simulator._BURN]
