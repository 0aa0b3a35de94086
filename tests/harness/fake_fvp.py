"""A scriptable FVP: a real process that does what `behaviour.json` beside it says.

The file holds {"version": text, "steps": [[name, argument…], …]}; the steps are the functions below. With
"runs", a list of such lists, the first run does the first, the second the second, later ones the last.
It imports nothing that would slow its start, and waits for nothing but signals.
"""

import json
import os
import signal
import sys

DIRECTORY = "."


def out(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def step_print(text: str) -> None:
    out(text.encode() + b"\n")


def step_raw(digits: str) -> None:
    out(bytes.fromhex(digits))


def step_repeat(text: str, count: int) -> None:
    block = b"".join(f"{text} {i}\n".encode() for i in range(1000))
    for _ in range(count // 1000):
        out(block)


def step_chunk(character: str, size: int) -> None:
    out(character.encode() * size)


def step_write(name: str, digits: str) -> None:
    path = f"{DIRECTORY}/{name}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(descriptor, bytes.fromhex(digits))
    os.close(descriptor)


def step_environment(name: str) -> None:
    out(f"{name}={os.environ.get(name)}\n".encode())


def step_arguments() -> None:
    out(b"".join(word.encode() + b"\n" for word in sys.argv[1:]))


def step_terminal() -> None:
    size = os.get_terminal_size(1)
    leader, group = os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()
    controlling = os.open("/dev/tty", os.O_RDWR) >= 0
    out(f"columns={size.columns} leader={leader} group={group} controlling={controlling}\n".encode())


def step_exit(status: int) -> None:
    os._exit(status)


def step_kill(number: int) -> None:
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)


def step_ignore(number: int) -> None:
    signal.signal(number, signal.SIG_IGN)


def step_on_signal(number: int, text: str) -> None:
    """Print `text` when the signal comes, and go on waiting."""
    signal.signal(number, lambda *_: out(text.encode() + b"\n"))


def step_hang() -> None:
    while True:
        signal.pause()


def step_close() -> None:
    """Close the terminal and keep running."""
    for descriptor in (0, 1, 2):
        os.close(descriptor)


def step_offspring(own_session: bool) -> None:
    """Start a process that holds the terminal and waits; print its number."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        if own_session:
            os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.write(writer, b"x")
        step_hang()
    os.read(reader, 1)
    out(f"offspring {pid}\n".encode())


def count_run() -> int:
    """Number of this run, from 1: a byte in a file for each one."""
    counter = f"{__file__.rpartition('/')[0]}/runs.count"
    descriptor = os.open(counter, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(descriptor, b".")
    number = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.close(descriptor)
    return number


def main() -> None:
    global DIRECTORY
    # pathlib is slow to import
    with open(f"{__file__.rpartition('/')[0]}/behaviour.json") as file:  # noqa: PTH123
        behaviour = json.load(file)
    if "--version" in sys.argv:
        print(behaviour["version"])
        sys.exit(behaviour.get("version_status", 0))
    for word in sys.argv:
        name, _, value = word.partition("=")
        if name.endswith("semihosting-cwd"):
            DIRECTORY = value
    steps = behaviour["steps"]
    if runs := behaviour.get("runs"):
        steps = runs[min(count_run(), len(runs)) - 1]
    for name, *arguments in steps:
        globals()["step_" + name](*arguments)


main()
