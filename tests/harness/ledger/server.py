"""A PostgreSQL server for tests: started from Debian's package, gone with the test process."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

_INSTALLED = Path("/usr/lib/postgresql")
# The server refuses to run as root.
_USER = "postgres"
_READY = "database system is ready to accept connections"


@dataclass
class Server:
    """A running server; each database is new and empty."""

    socket: Path
    user: str
    _numbers: Iterator[int] = field(default_factory=count)

    def new_database(self) -> str:
        """URL of an empty database."""
        name = f"ledger{next(self._numbers)}"
        with psycopg.connect(
            host=str(self.socket), user=self.user, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://{self.user}@/{name}?host={self.socket}"


@contextmanager
def start_server() -> Iterator[Server]:
    """Make a cluster in a temporary directory and run it until the end of the block."""
    user = _USER if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    programs = max(_INSTALLED.glob("*/bin"), key=lambda path: int(path.parent.name))
    # A socket's path must be short, and pytest's directories are private to the user.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        if os.getuid() == 0:
            shutil.chown(home, user, user)
        home.chmod(0o755)
        subprocess.run(
            [*_as(user), programs / "initdb", "-D", home / "data", "--no-sync", "-A", "trust", "-E", "UTF8"],
            cwd=home,
            check=True,
            capture_output=True,
        )
        process = subprocess.Popen(
            [
                *_as(user),
                *(programs / "postgres", "-D", home / "data", "-k", home, "-h", ""),
                *("-c", "fsync=off", "-c", "shared_buffers=16MB"),
            ],
            cwd=home,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        try:
            _wait(process)
            yield Server(home, user)
        finally:
            process.send_signal(signal.SIGQUIT)  # at once, without waiting for clients
            process.communicate()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _as(user: str) -> list[str]:
    """Prefix of a command: as this user, and ended by the kernel when this process is gone."""
    prefix = ["setpriv", "--pdeathsig", "INT"]
    return [*prefix, f"--reuid={user}", f"--regid={user}", "--clear-groups"] if os.getuid() == 0 else prefix


def _wait(process: subprocess.Popen[str]) -> None:
    """Read the server's log until it says that it is ready."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if _READY in line:
            return
    raise RuntimeError("PostgreSQL did not start:\n" + "".join(seen))
