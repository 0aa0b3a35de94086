"""A failing attempt on the fake FVP, made into a bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from harness.engines import FvpEngine, run_attempt
from harness.repro.bundle import Source, complete, run_files
from harness.settings import Settings, resolve
from tests.harness.bench import GOOD, Bench, Step, prints, writes

BAD = bytes([1, 2, 3, 250])
FAILING = (*prints(*GOOD[:-1]), writes(BAD), *prints(GOOD[-1]))
PASSING = (*prints(*GOOD[:-1]), writes(), *prints(GOOD[-1]))

MakeBundle = Callable[..., Path]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return resolve(lambda option: str(tmp_path / "cache") if option.name == "cache" else None, environment={})


@pytest.fixture
def make_bundle(bench: Bench, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> MakeBundle:
    """Runs the fake FVP once with `steps` and makes its directory a bundle; it stays on PATH."""
    monkeypatch.setenv("PATH", str(bench.fake.executable.parent), prepend=":")
    monkeypatch.setenv("CORSTONE_CACHE", str(settings.cache))

    def make(*steps: Step, **source: object) -> Path:
        bench.fake.does(*(steps or FAILING))
        names = run_files(bench.spec)
        hashes = {f"file:{n}": sha256((bench.directory / n).read_bytes()).hexdigest() for n in names}
        attempt = run_attempt(
            FvpEngine(bench.fake.executable), replace(bench.spec, hashes=hashes), bench.directory
        )
        made = complete(attempt, Source(nodeid="t.py::test_x[m55]", **source), settings.cache)  # type: ignore[arg-type]
        assert made == bench.directory
        return made

    return make
