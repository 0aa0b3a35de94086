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
from dataclasses import dataclass
from pathlib import Path

import psycopg

_INSTALLED = Path("/usr/lib/postgresql")
# The server refuses to run as root.
_USER = "postgres"
_READY = "database system is ready to accept connections"


@dataclass(frozen=True)
class Server:
    """A running server."""

    socket: Path
    user: str

    def emptied(self) -> str:
        """URL of the one database, without a table."""
        host, database = str(self.socket), "postgres"
        with psycopg.connect(host=host, user=self.user, dbname=database, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        return f"postgresql://{self.user}@/{database}?host={host}"


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
                # Nobody reads its log after the start, and a full pipe would stop it.
                *("-c", "log_min_messages=log", "-c", "log_checkpoints=off"),
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
