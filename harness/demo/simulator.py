"""An executable with the command line of an FVP: boots the stand-in, and goes wrong now and then.

Run as `python simulator.py SETTINGS ARGUMENT…`; SETTINGS is a JSON file: `standin` is the launcher of the
stand-in, `seed` that of the fault generator, `flip` the rate of runs in which one bit of an output flips,
`burners` the number of processes that keep the host busy during the first run, from the first line of the
program on the board on, and `forced` is true if the first run is one that goes wrong. The stand-in itself
runs unchanged.
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
# Burns until its parent is gone.
_BURN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
_LOG_LINE = b"[executorch:"


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
    argv = [settings["standin"], *arguments]
    if first and settings["burners"]:
        status = _starved(argv, settings["burners"])
    else:
        status = subprocess.run(argv, check=False).returncode
    chance = random.Random(f"{settings['seed']} {run}")
    if settings["flip"] and (first or chance.random() < settings["flip"]):
        _flip(_directory(arguments), chance)
    return status


def _starved(argv: list[str], burners: int) -> int:
    """Boot while the host is busy with others, once the program has begun."""
    burning: list[subprocess.Popen[bytes]] = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
                if _LOG_LINE in line and not burning:
                    # Each in a session of its own: Linux may share a core between sessions, not processes.
                    burn = [sys.executable, "-IS", "-c", _BURN]
                    burning = [subprocess.Popen(burn, start_new_session=True) for _ in range(burners)]
        finally:
            for burner in burning:
                burner.kill()
                burner.wait()
    return process.returncode


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
    """Flip one bit of one element of the first output."""
    output = directory / "out-0.bin"
    if not output.is_file() or not output.stat().st_size:
        return  # the run failed by itself
    data = bytearray(output.read_bytes())
    # The top of a float32's exponent, 64 steps of an int8: other bits may stay within a tolerance.
    place = 4 * chance.randrange(max(1, len(data) // 4)) + 3
    data[min(place, len(data) - 1)] ^= 0x40
    output.write_bytes(bytes(data))


if __name__ == "__main__":
    sys.exit(main())
