"""`harness demo verdicts`: sessions of the real plugin on a small real suite with one planted fault each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.demo import planted, wrapper
from harness.engines.directory import file_sha256
from harness.records import TestRecord
from harness.report.jsonl import read_journal
from harness.settings import default_cache
from harness.targets import target_named
from harness.tether import tethered

_SUITE = Path(__file__).with_name("suite")
_TARGET = target_named("m55")
# Enough processes that a run of a second takes many: 16 to a core.
_BURNERS = 16
# Variables of an outer session, which must not reach the inner one.
_OUTER = ("CORSTONE_", "PYTEST_")


@dataclass(frozen=True)
class Fault:
    """One planted fault and what has to be said of it.

    Attributes:
        name: as CORSTONE_DEMO_FAULT and `--fault` have it; "none" for the suite without one.
        plant: in words.
        verdict: expected; "" where everything passes.
        kind: class of the first attempt; "" where everything passes.
        case: of the suite.
        arguments: further ones for pytest.
        wrapped: boots the wrapper around the stand-in.
    """

    name: str
    plant: str
    verdict: str
    kind: str
    case: str = "small"
    arguments: tuple[str, ...] = ()
    wrapped: bool = False


FAULTS = (
    Fault(
        "kernel",
        "a kernel that is wrong for 1 % of its inputs",
        "SEED_SENSITIVE",
        "WRONG",
    ),
    Fault(
        "engine",
        "a simulator that flips a bit in 3 % of its runs",
        "ENGINE_NONDETERMINISTIC",
        "WRONG",
        wrapped=True,
    ),
    Fault("lowering", "a lowering that depends on the order of hashes", "AOT_NONDETERMINISTIC", "WRONG"),
    Fault("host", "a busy host", "HOST_SLOW", "CPU_LIMIT", "large", ("--timelimit", "3"), wrapped=True),
    Fault("worker", "a lowering that ends its process", "UNRESOLVED", "WORKER_CRASH", arguments=("-n", "1")),
    Fault("none", "nothing", "", "", arguments=("-n", "1")),
)


@dataclass(frozen=True)
class Shown:
    """What became of one session. `right`: verdict and class are the expected ones."""

    fault: Fault
    seed: int
    right: bool
    result: str
    verdict: str
    reason: str
    runs: int


def show(work: Path, seeds: int, names: tuple[str, ...] = ()) -> Iterator[Shown]:
    """Run a session for each fault and each seed, in `work`; programs and runners stay there.

    The planted event is forced: the first run of a session is one that goes wrong, because the seed of
    the fault generator is chosen so. Whether later runs go wrong is left to their rates.
    """
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    for seed in range(seeds):
        for fault in chosen:
            yield _session(work, fault, seed)


def _session(work: Path, fault: Fault, seed: int) -> Shown:
    place = work / f"{fault.name}-{seed}"
    place.mkdir(parents=True)
    cache = _cache(work, place, fault)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(_OUTER)},
        "CORSTONE_DEMO_FAULT": fault.name,
        "CORSTONE_DEMO_SEED": str(seed),
        "CORSTONE_DEMO_MARKER": str(place / "crashed"),
        "PYTHONHASHSEED": str(seed + 100),
    }
    engine = ["--engine", "standin"]
    if fault.wrapped:
        environment["PATH"] = f"{_wrapper(place, fault, seed)}{os.pathsep}{environment['PATH']}"
        engine = ["--engine", "fvp"]
    if fault.name == "kernel":
        environment["CORSTONE_DEMO_SOURCES"] = str(planted.planted_sources(work / "sources"))
        _aim(work, place, seed, environment)
    test = _run(place, cache, [*engine, "-k", fault.case, *fault.arguments], environment)
    return _judge(fault, seed, test)


def _cache(work: Path, place: Path, fault: Fault) -> Path:
    """A cache that no program of another session is in, nor a runner with the planted branch but its own."""
    if fault.name == "kernel":
        cache = work / "cache"
        cache.mkdir(exist_ok=True)
        return cache
    cache = place / "cache"
    cache.mkdir()
    firmware = default_cache() / "firmware"
    firmware.mkdir(parents=True, exist_ok=True)
    (cache / "firmware").symlink_to(firmware)
    return cache


def _run(place: Path, cache: Path, arguments: list[str], environment: Mapping[str, str]) -> TestRecord:
    """One pytest session; returns the record of its only test.

    Raises:
        ValueError: it left none.
    """
    place.mkdir(exist_ok=True)
    reports = place / "reports"
    command = [sys.executable, "-m", "pytest", str(_SUITE), "--rootdir", str(_SUITE), "-c", os.devnull]
    command += ["-p", "no:cacheprovider", "--import-mode", "importlib", "--report-dir", str(reports)]
    command += ["--cache", str(cache), "--ledger", "off", "--runner", "program"]
    command += ["--reruns-budget", "900", *arguments]
    log = place / "session.log"
    with log.open("wb") as stream:
        subprocess.run(
            tethered(command), cwd=place, env=environment, stdout=stream, stderr=stream, check=False
        )
    journals = sorted(reports.glob("*.jsonl"))
    tests = read_journal(journals[-1]).session.tests if journals else ()
    if len(tests) != 1:
        raise ValueError(f"the session left {len(tests)} records of tests, 1 expected: see {log}")
    return tests[0]


def _aim(work: Path, place: Path, seed: int, environment: Mapping[str, str]) -> None:
    """Patch the runner with the planted branch so that it is wrong for the inputs of `seed`."""
    runners = work / "cache" / "planted.txt"
    if not runners.exists():
        # A session with a fault for no input builds the runner, and proves that it is right otherwise.
        test = _run(
            place / "build",
            work / "cache",
            ["--engine", "standin", "-k", "small"],
            environment,
        )
        digest = test.attempts[0].hashes["elf"]
        (elf,) = [path for path in _runners(work) if file_sha256(path) == digest]
        runners.write_text(str(elf))
    planted.choose_bucket(Path(runners.read_text()), planted.bucket_of(_input(seed)))


def _input(seed: int) -> bytes:
    """The input of the suite's small case, as the device gets it."""
    import torch

    from harness.aot.steps import derived_seed

    generator = torch.Generator().manual_seed(derived_seed(seed, "inputs"))
    return bytes(torch.randn(1, 32, generator=generator).numpy().tobytes())


def _runners(work: Path) -> list[Path]:
    return sorted((work / "cache" / "firmware").glob("*/build/executor_runner"))


def _wrapper(place: Path, fault: Fault, seed: int) -> Path:
    """A folder for PATH with a simulator that goes wrong."""
    return wrapper.install(
        place / "bin",
        _TARGET.fvp,
        seed=seed,
        flip=0.03 if fault.name == "engine" else 0.0,
        burners=_BURNERS * (os.cpu_count() or 1) if fault.name == "host" else 0,
        forced=True,
    )


def _judge(fault: Fault, seed: int, test: TestRecord) -> Shown:
    red = [attempt.kind for attempt in test.attempts if attempt.kind != "PASS"]
    verdict = test.verdict.verdict if test.verdict else ""
    shown = Shown(
        fault=fault,
        seed=seed,
        right=(verdict, red[0] if red else "") == (fault.verdict, fault.kind),
        result=test.result,
        verdict=verdict,
        reason=test.verdict.reason if test.verdict else "",
        runs=len(test.attempts),
    )
    return shown if fault.verdict or test.result == "passed" else replace(shown, right=False)
