"""What a session may spend on reruns: seconds, and number of failures; shared by all its processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from filelock import FileLock


@dataclass(frozen=True)
class Spent:
    """Seconds and failures so far, and boots that the reruns made."""

    seconds: float = 0.0
    failures: int = 0
    runs: int = 0


@dataclass(frozen=True)
class Budget:
    """Limits of one session; `file` is in its directory and is shared under a lock.

    `seconds` counts the time of the reruns of all workers together, `failures` the tests that are rerun;
    nothing is if not `allowed`.
    """

    file: Path
    seconds: float
    failures: int
    allowed: bool = True

    def spent(self) -> Spent:
        """What is used so far."""
        with self._locked() as spent:
            return spent

    def claim(self) -> str:
        """Take one of the failures; why not, or "" if there was one left."""
        if not self.allowed:
            return "reruns are off (--no-reruns)"
        with self._locked() as spent:
            if spent.failures >= self.failures:
                return f"{self.failures} failures of this session are rerun already (--reruns-failures)"
            self._store(Spent(spent.seconds, spent.failures + 1, spent.runs))
        return self.exhausted()

    def exhausted(self) -> str:
        """Why no further second may be spent; "" if one may."""
        if self.spent().seconds >= self.seconds:
            return f"the {self.seconds:g} s for reruns of this session are used up (--reruns-budget)"
        return ""

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of one rerun."""
        started = monotonic()
        try:
            yield
        finally:
            with self._locked() as spent:
                seconds = spent.seconds + monotonic() - started
                self._store(Spent(seconds, spent.failures, spent.runs + 1))

    @contextmanager
    def _locked(self) -> Iterator[Spent]:
        with FileLock(self.file.with_suffix(".lock")):
            yield Spent(**json.loads(self.file.read_text())) if self.file.exists() else Spent()

    def _store(self, spent: Spent) -> None:
        # The lock is held; a worker that dies here leaves the old file or the new one.
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(vars(spent)))
        fresh.replace(self.file)
