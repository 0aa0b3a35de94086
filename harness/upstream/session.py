"""Runs one of ExecuTorch's own suites, and says what changed against what is known of it.

Upstream looks up fixed ELFs below EXECUTORCH_ROOT and the FVP by name on PATH; both are laid out for
it, and its test files stay untouched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from harness.cache import mark_used
from harness.engines import select_engine
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.firmware.sources import executorch_root
from harness.ledger.quarantine import DEFAULT_FILE
from harness.plugin.exits import NOTHING_RAN, ONLY_FLAKY
from harness.settings import OPTIONS, Settings
from harness.tether import tethered
from harness.upstream import expectations
from harness.upstream.expectations import Expectations
from harness.upstream.recorder import RECORDS, SLICE, Record, read_records
from harness.upstream.suites import Placement, Suite, options_error, suite_named

Progress = Callable[[str], None]
# Options of pytest that name a place; relative ones are the caller's, not pytest's directory.
_PLACES = (
    "--ledger",
    "--report-dir",
    "--artifacts",
    "--shard-durations",
    "--quarantine",
    "--junitxml",
    "--junit-xml",
    "--basetemp",
)
# Statuses of pytest that say how tests went; all others mean that the session itself did not.
_OUTCOMES = (0, 1, ONLY_FLAKY, NOTHING_RAN)


@dataclass(frozen=True)
class SuiteRun:
    """How a suite is run.

    Attributes:
        name: of the suite.
        arguments: further ones for pytest.
        slice: "K/N" runs every N-th of the selected tests, from the K-th on; empty runs all.
        cortex_m_qdq: quantize and dequantize at the borders of delegates on the cortex_m operators.
        records: file to keep the records of the tests in, one JSON line each.
        vanilla: upstream's tests as they are; otherwise their runs go through this project's engine, and
            failures get verdicts (`harness.upstream.plugin`).
    """

    name: str
    arguments: tuple[str, ...] = ()
    slice: str = ""
    cortex_m_qdq: bool = False
    records: Path | None = None
    vanilla: bool = False


def run_suite(run: SuiteRun, settings: Settings, progress: Progress) -> int:
    """Run a suite and print what became of it; returns an exit status.

    The status is 0 if every result is as known (`expectations`), 1 if one is not, else pytest's own.

    Raises:
        HarnessError: unknown suite or target, a build that fails, an absent engine.
        ValueError: a slice that is none, a faulty file of expectations.
    """
    suite = suite_named(run.name)
    if settings.engine == "host":
        raise options_error("upstream's tests start an FVP; --engine host has none", "use --engine standin")
    _check_slice(run.slice)
    known = expectations.load(run.name)  # a faulty file must not cost a run
    root = lay_out(run.name, suite.placements(run.arguments), settings, progress)
    with tempfile.TemporaryDirectory(prefix="corstone-upstream-") as scratch:
        path = run.records.resolve() if run.records else Path(scratch) / "records.jsonl"
        path.unlink(missing_ok=True)
        status = _pytest(run, root, path, suite, settings)
        records = read_records(path)
    if status not in _OUTCOMES or _only_collected(run.arguments):
        return status
    return _report(run, records, known, suite.parts, progress)


def lay_out(
    name: str, placements: Sequence[Placement], settings: Settings, progress: Progress = lambda _: None
) -> Path:
    """Build the runners and put them, and the simulators, where upstream looks; returns EXECUTORCH_ROOT."""
    simulators = [Path(select_engine(settings.engine, p.target).identity().path) for p in placements]
    elves = [
        build_runner(RunnerRequest(p.target, known_operators()), settings.cache, progress) for p in placements
    ]
    # One folder for each set of runners and simulators: two checkouts never see each other's.
    parts = [*(elf.sha256 for elf in elves), *map(str, simulators)]
    root = settings.cache / "upstream" / f"{name}-{sha256(' '.join(parts).encode()).hexdigest()[:16]}"
    for placement, elf, simulator in zip(placements, elves, simulators, strict=True):
        for directory in placement.directories:
            _place(elf.path, root / "arm_test" / directory / "arm_executor_runner")
        _link(simulator, root / "bin")
    # An own root directory and configuration: upstream's tests must not see those of this project.
    (root / "pytest.ini").write_text("[pytest]\n")
    mark_used(root)
    return root


def _pytest(run: SuiteRun, root: Path, records: Path, suite: Suite, settings: Settings) -> int:
    command = [sys.executable, "-m", "pytest", "--rootdir", str(root), "-c", str(root / "pytest.ini")]
    command += ["-p", "no:cacheprovider", "-p", "harness.upstream.recorder"]
    command += ["-p", "no:harness.plugin"] if run.vanilla else ["-p", "harness.upstream.plugin"]
    if run.cortex_m_qdq:
        command += ["-p", "harness.upstream.cortex_m_qdq"]
    command += [*suite.arguments(executorch_root()), *_placed(run.arguments)]
    environment = {
        **os.environ,
        "EXECUTORCH_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        RECORDS: str(records),
        SLICE: run.slice,
        "CORSTONE_ENGINE": settings.engine,
        "CORSTONE_CACHE": str(settings.cache),
    }
    environment |= _of_the_caller()
    # Workers share the cores already.
    environment.setdefault("OMP_NUM_THREADS", "1")
    return subprocess.run(tethered(command), cwd=root, env=environment, check=False).returncode


def _of_the_caller() -> dict[str, str]:
    """What the session has to know of the directory that the command was called in."""
    names = [option.environment for option in OPTIONS if option.flag in _PLACES]
    found = {name: _absolute(os.environ[name]) for name in names if os.environ.get(name)}
    if Path(DEFAULT_FILE).is_file():
        found.setdefault("CORSTONE_QUARANTINE", _absolute(DEFAULT_FILE))
    return {"CORSTONE_CHECKOUT": str(Path.cwd()), **found}


def _absolute(value: str) -> str:
    """A path from the caller's directory; a ledger may be a URL, or off."""
    return value if value == "off" or "://" in value else str(Path(value).absolute())


def _placed(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments, with absolute paths."""
    before = ""
    for word in arguments:
        option, equals, value = word.partition("=")
        if before in _PLACES:
            yield _absolute(word)
        elif equals and option in _PLACES:
            yield f"{option}={_absolute(value)}"
        else:
            yield word
        before = word


def _report(
    run: SuiteRun, records: Sequence[Record], known: Expectations, parts: Sequence[str], progress: Progress
) -> int:
    for name, counts in expectations.table(records, parts):
        progress(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    changes = expectations.changes(records, known)
    if known.executorch and known.executorch != (installed := version("executorch")):
        changes.append(
            f"executorch {installed} is installed, the expectations are those of {known.executorch}"
        )
    for line in changes:
        progress(f"changed: {line}")
    if changes:
        progress(f"{len(changes)} changes against harness/upstream/expectations/{run.name}.yaml")
    return 1 if changes or not records else 0


def _check_slice(text: str) -> None:
    first, _, count = text.partition("/")
    if text and not (first.isdigit() and count.isdigit() and int(first) < int(count)):
        raise ValueError(f"--slice {text}: expected K/N with 0 <= K < N, e.g. 0/64")


def _only_collected(arguments: Sequence[str]) -> bool:
    return any(word in ("--collect-only", "--co", "--help", "-h", "--version") for word in arguments)


def _place(elf: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(f".{os.getpid()}")
    shutil.copyfile(elf, fresh)
    fresh.replace(place)


def _link(simulator: Path, folder: Path) -> None:
    """Only the chosen executables are on PATH: a folder of launchers holds the names of all boards."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{simulator.name}.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(simulator)
    fresh.replace(folder / simulator.name)
