"""What surrounds every step of lowering: time, silence, seeds, and errors that people can read."""

from __future__ import annotations

import hashlib
import logging
import random
import re
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase


@dataclass
class Steps:
    """Runs named steps: adds their seconds to `durations` and turns exceptions into outcomes.

    `failures` is the directory for tracebacks, `label` names the case in it.
    """

    failures: Path
    label: str
    durations: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(
        self,
        name: str,
        what: str,
        kind: OutcomeClass = OutcomeClass.AOT_REFUSED,
        phase: Phase = Phase.LOWER,
    ) -> Iterator[None]:
        """Time a step; an exception in it becomes a HarnessError that says that `what` failed.

        Raises:
            HarnessError: of class `kind`, with the traceback in a file named in the message.
        """
        start = time.perf_counter()
        try:
            yield
        except HarnessError:
            raise
        except (Exception, SystemExit) as error:
            text = "".join(traceback.format_exception(error))
            log = self.keep({"lower.log": text.encode()}) / "lower.log"
            summary = f"{what} failed: {_first_line(error)}"
            outcome = Outcome(phase, kind, summary, f"Traceback: {log}", {"step": name, "log": str(log)})
            raise HarnessError(outcome) from error
        finally:
            self.durations[name] = self.durations.get(name, 0.0) + time.perf_counter() - start

    def keep(self, files: Mapping[str, bytes]) -> Path:
        """Write evidence of a failure; its directory bears the label and a digest of the files."""
        digest = hashlib.sha256(b"".join(files.values())).hexdigest()[:8]
        label = re.sub(r"[^\w.-]+", "_", self.label)[:80]
        directory = self.failures / f"{label}-{digest}"
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (directory / name).write_bytes(content)
        return directory


def _first_line(error: BaseException, limit: int = 400) -> str:
    """First line of the error at the root: pass managers wrap the reason in "a pass failed"."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


@contextmanager
def quiet(verbose: bool) -> Iterator[None]:
    """Keep warnings and log records of torch and executorch off the terminal; errors are raised anyway."""
    if verbose:
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def swapped(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Give the attribute `name` of a module another value for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python, numpy and torch; restore them afterwards."""
    import numpy as np
    import torch

    python, numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed % 2**32)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


def derived_seed(seed: int, role: str) -> int:
    """A seed for `role` ("module", "inputs", "calibration"): the streams must not resemble each other."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{role}".encode()).digest()[:7], "big")
