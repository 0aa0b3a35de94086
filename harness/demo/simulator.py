"""An executable with the command line of an FVP: boots the stand-in, and goes wrong now and then.

Run as `python simulator.py SETTINGS ARGUMENT…`; SETTINGS is a JSON file: `standin` is the launcher of the
stand-in, `seed` that of the fault generator, `flip` the rate of runs in which one bit of an output flips,
`burners` the number of processes that keep the host busy during the first run, and `forced` is true if the
first run is one that goes wrong. The stand-in itself runs unchanged.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

# Neither Arm's FVP nor the stand-in as it is: its results must not be taken for those of either.
VERSION = "Fast Models [demonstration: planted faults, not Arm's]"
_BURN = "while True: pass"


def main() -> int:
    """Boot once."""
    file = Path(sys.argv[1])
    arguments = sys.argv[2:]
    settings = json.loads(file.read_text())
    if "--version" in arguments:
        print(VERSION)
        return 0
    run = _count(file.with_suffix(".runs"))
    first = run == 1 and settings["forced"]
    burners = [
        subprocess.Popen([sys.executable, "-IS", "-c", _BURN])
        for _ in range(settings["burners"] if first else 0)
    ]
    try:
        status = subprocess.run([settings["standin"], *arguments], check=False).returncode
    finally:
        for burner in burners:
            burner.kill()
    chance = random.Random(f"{settings['seed']} {run}")
    if settings["flip"] and (first or chance.random() < settings["flip"]):
        _flip(_directory(arguments), chance)
    return status


def _count(file: Path) -> int:
    """Number of this run, from 1."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, b".")
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    finally:
        os.close(descriptor)


def _directory(arguments: list[str]) -> Path:
    """Where semihosting writes files."""
    found = [word.partition("=")[2] for word in arguments if "semihosting-cwd=" in word]
    return Path(found[0] if found else ".")


def _flip(directory: Path, chance: random.Random) -> None:
    """Flip one of the upper bits of one element of the first output."""
    output = directory / "out-0.bin"
    if not output.is_file() or not output.stat().st_size:
        return  # the run failed by itself
    data = bytearray(output.read_bytes())
    # Sign, exponent and top of the mantissa of a float32: the lowest bits would stay within any tolerance.
    place = 4 * chance.randrange(max(1, len(data) // 4)) + 3
    data[min(place, len(data) - 1)] ^= 1 << chance.randrange(8)
    output.write_bytes(bytes(data))


if __name__ == "__main__":
    sys.exit(main())
