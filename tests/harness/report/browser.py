"""Opens a file in headless Chromium and tells what happened."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Page:
    """A page after its load event: document, console messages, and what opening it took.

    `loaded` is in milliseconds of wall time; `processor` in seconds of
    processor time, the start of the browser included.
    """

    document: str
    console: tuple[str, ...]
    loaded: int
    processor: float


def open_page(file: Path, profile: Path) -> Page:
    """Open `file` in a browser without a window.

    Raises:
        AssertionError: no browser, or it fails.
    """
    browser = next(filter(None, map(shutil.which, _NAMES)), None)
    assert browser is not None, "Chromium is one of the packages of ci/env"
    # Root cannot use the sandbox; the page is ours.
    words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    words += ["--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
    words += ["--enable-logging=stderr", "--dump-dom", file.as_uri()]
    before = _used()
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = re.search(r'data-loaded="(\d+)"', done.stdout)
    assert found is not None, f"the page's script did not run: {done.stderr[-2000:]}"
    console = tuple(line for line in done.stderr.splitlines() if ":CONSOLE" in line)
    return Page(done.stdout, console, int(found[1]), _used() - before)


def _used() -> float:
    """Seconds of processor time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
