"""Bounded executions of every reader under libFuzzer; `tests.fuzz.campaign` runs as many as one likes."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from harness.firmware.sources import executorch_version, source_hash, source_root
from harness.firmware.toolchain import find_tool
from harness.session import Harness
from tests.fuzz.campaign import HERE, build, fuzz, make_seeds

# Executions, and edges that the seeds alone reach: fewer mean that they are refused at once.
RUNS = {"program": (10_000, 1_300), "bundle": (10_000, 1_000), "delegate": (40_000, 100)}


@pytest.fixture(scope="session")
def place(harness: Harness) -> Path:
    """Fuzzers and seeds, made once for these sources and this compiler."""
    parts = [source_hash(source_root()), find_tool("clang++").version, executorch_version()]
    parts += [
        path.read_text() for path in sorted(HERE.iterdir()) if path.suffix in (".py", ".cpp", ".h", ".txt")
    ]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    directory = harness.settings.cache / "fuzz" / name
    directory.mkdir(parents=True, exist_ok=True)
    with FileLock(directory / "lock"):
        if not (directory / "done").exists():
            for part in ("build", "seeds"):
                shutil.rmtree(directory / part, ignore_errors=True)
            build(directory / "build")
            make_seeds(directory / "seeds")
            (directory / "done").touch()
    return directory


@pytest.mark.parametrize("reader", RUNS)
def test_reader_survives(reader: str, place: Path, tmp_path: Path) -> None:
    runs, edges = RUNS[reader]
    result = fuzz(reader, place / "build", place / "seeds", tmp_path, runs)
    assert not result.finding, result.finding
    assert result.executions >= runs
    assert result.covered >= edges


def test_fault_is_found(place: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds" / "broken"
    seeds.mkdir(parents=True)
    (seeds / "sound").write_bytes(b"L\2abc")
    result = fuzz("broken", place / "build", tmp_path / "seeds", tmp_path, 20_000)
    assert "ERROR: AddressSanitizer" in result.finding
    assert list(tmp_path.glob("finding-crash-*"))
