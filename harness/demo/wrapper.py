"""Folders for PATH with simulators that boot the stand-in and go wrong now and then (`simulator.py`)."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from harness.standin.launchers import launcher_directory

_PROGRAM = Path(__file__).with_name("simulator.py")


def install(
    folder: Path, fvp: str, *, seed: int, flip: float = 0.0, burners: int = 0, forced: bool = False
) -> Path:
    """Write an executable with the name of an FVP into `folder`; returns the folder.

    Args:
        folder: made if it is not there.
        fvp: the executable's name.
        seed: of the fault generator.
        flip: rate of the runs in which one bit of the first output flips, 0 … 1.
        burners: number of processes that keep the host busy during the first run.
        forced: the first run is one that goes wrong.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "standin": str(launcher_directory() / fvp),
        "seed": seed,
        "flip": flip,
        "burners": burners,
        "forced": forced,
    }
    file = folder / f"{fvp}.json"
    file.write_text(json.dumps(settings))
    file.with_suffix(".runs").unlink(missing_ok=True)
    launcher = folder / fvp
    words = [shlex.quote(word) for word in (sys.executable, "-I", str(_PROGRAM), str(file.absolute()))]
    launcher.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    launcher.chmod(0o755)
    return folder
