"""Boots what a bundle holds once more, and says whether it shows what was recorded. Never imports torch."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from harness import pte
from harness.engines import Engine, run_attempt, select_engine
from harness.engines.directory import write_spec
from harness.engines.environment import fingerprint
from harness.firmware.build import RunnerRequest, build_runner, known_operators
from harness.firmware.elf import read_elf
from harness.flow import Attempt, Limits, RunSpec
from harness.outcomes import HarnessError
from harness.pte import BundleFile
from harness.redact import redact
from harness.repro.bundle import Bundle
from harness.repro.confined import LARGEST_BUNDLE, BundleError, copy_inside
from harness.reruns.trial import hashes_of, trial_of
from harness.settings import Settings

Progress = Callable[[str], None]

# [s] The longest limits that are taken from a bundle: its author must not decide how long we wait.
_LONGEST = Limits(launch=120.0, silence=600.0, total=3600.0, simulated=3600)
# Names that say nothing about why two runs differ.
_UNTELLING = ("load", "cpus")
_SHOWN = 16  # characters of a hash


class Verdict(str, Enum):
    """A replay against the record."""

    SAME = "same signature"
    DIFFERENT = "different"
    PASSES = "passes here"
    FAILS = "fails here, but passed when it was recorded"
    UNKNOWN = "nothing was recorded to compare with"


@dataclass(frozen=True)
class Options:
    """How to replay.

    Attributes:
        engine: auto, fvp, standin or host; "" for the recorded one.
        trust_elf: run the bundle's ELF and its simulator arguments, wherever they come from.
        keep: directory for the runs' evidence; None for a temporary one that is deleted.
    """

    engine: str = ""
    trust_elf: bool = False
    keep: Path | None = None


@dataclass(frozen=True)
class Replayed:
    """One replay.

    Attributes:
        attempt: as judged here.
        verdict: against the record.
        signature: shown here, "" if green.
        same_outputs: whether the output bytes are those that were recorded; None if unknown.
        started_at: when the simulator was started, seconds since the epoch.
        processor: seconds of processor time that this process had used by then.
    """

    attempt: Attempt
    verdict: Verdict
    signature: str
    same_outputs: bool | None
    started_at: float
    processor: float


class Replayer:
    """Prepares a bundle's run once, then boots it as often as wanted."""

    def __init__(
        self, bundle: Bundle, settings: Settings, options: Options, progress: Progress = lambda _: None
    ) -> None:
        if bundle.spec is None:
            raise BundleError("this attempt failed in lowering and booted nothing; try --vela or --bisect")
        self._bundle, self._settings, self._options = bundle, settings, options
        self._progress = progress
        recorded = bundle.record.engine if bundle.record is not None else None
        self._engine: Engine = select_engine(options.engine or recorded or "auto", bundle.target)
        limits = _capped(bundle.spec.limits)
        if limits != bundle.spec.limits:
            progress(
                f"the recorded limits are longer than a replay waits; here: {limits.total:g} s in all, "
                f"{limits.silence:g} s of silence"
            )
        self._runner = self._rebuilt()

    @property
    def engine(self) -> Engine:
        """What boots it."""
        return self._engine

    def once(self, number: int = 1, program: bytes | None = None) -> Replayed:
        """Boot once, in a directory of its own.

        Args:
            number: of the attempt.
            program: bytes of a program to boot in place of the bundle's.
        """
        with self._directory(number) as directory:
            spec = self._prepare(directory, program)
            clocks = time.time(), time.process_time()
            attempt = run_attempt(self._engine, spec, directory, number)
        return self._judged(attempt, *clocks)

    @contextmanager
    def _directory(self, number: int) -> Iterator[Path]:
        if self._options.keep is not None:
            directory = self._options.keep / f"replay-{number}"
            directory.mkdir(parents=True, exist_ok=False)
            yield directory
            return
        with tempfile.TemporaryDirectory(prefix="harness-replay-") as name:
            yield Path(name)

    def _prepare(self, directory: Path, program: bytes | None) -> RunSpec:
        """Copy what the run needs; links and everything else in the bundle stay behind."""
        source, spec = self._bundle.directory, self._bundle.spec
        assert spec is not None
        room = LARGEST_BUNDLE
        names = [spec.program, *spec.inputs]
        names += [name for name in spec.references if (source / name).exists()]
        if self._runner is None:
            names.append(spec.elf)
        for name in names:
            room = copy_inside(source, name, directory, room)
        hashes = dict(spec.hashes)
        if self._runner is not None:
            (directory / spec.elf).write_bytes(self._runner.read_bytes())
            hashes.pop(f"file:{spec.elf}", None)
        (directory / spec.elf).chmod(0o755)
        spec = replace(
            spec,
            hashes=hashes,
            limits=_capped(spec.limits),
            extra_args=spec.extra_args if self._trusted else (),
            npu_trace="",
        )
        if program is not None:
            spec = _with_program(spec, program, directory)
        write_spec(spec, directory)
        return spec

    @property
    def _trusted(self) -> bool:
        return self._bundle.own or self._options.trust_elf

    def _rebuilt(self) -> Path | None:
        """A runner built here in place of the bundle's ELF; None to run that one.

        The stand-in confines whatever ELF it runs. Arm's FVP and the host do not: there the ELF of a
        bundle from elsewhere is built again from this checkout.
        """
        spec, identity = self._bundle.spec, self._engine.identity()
        assert spec is not None
        if spec.extra_args and not self._trusted:
            self._progress(
                f"ignored, since the bundle is not from here: --fvp-arg {' '.join(spec.extra_args)}"
            )
        try:
            for_board = read_elf(self._bundle.directory / spec.elf).machine == "EM_ARM"
        except HarnessError:
            for_board = True  # not an ELF at all: the simulator says so
        fits = for_board == (identity.kind != "host")
        if fits and (identity.kind == "standin" or self._trusted):
            return None
        why = "the bundle is not from here" if fits else f"engine {identity.kind} needs another one"
        self._progress(f"building the runner, since {why}")
        file = pte.read_file(self._bundle.directory / spec.program)
        described = file.program if isinstance(file, BundleFile) else file
        operators = tuple(sorted({*known_operators(), *described.operators}))
        platform = "host" if identity.kind == "host" else "target"
        request = RunnerRequest(self._bundle.target, operators, platform=platform)
        return build_runner(request, self._settings.cache, self._progress).path

    def _judged(self, attempt: Attempt, started_at: float, processor: float) -> Replayed:
        trial = trial_of(attempt)
        signature = "" if attempt.outcome.green else redact(trial.signature)
        record = self._bundle.record
        if record is None:
            return Replayed(attempt, Verdict.UNKNOWN, signature, None, started_at, processor)
        if attempt.outcome.green:
            verdict = Verdict.SAME if not record.signature else Verdict.PASSES
        elif not record.signature:
            verdict = Verdict.FAILS
        else:
            verdict = Verdict.SAME if signature == record.signature else Verdict.DIFFERENT
        known, found = record.hashes.get("outputs"), hashes_of(attempt).get("outputs")
        same = known == found if known and found else None
        return Replayed(attempt, verdict, signature, same, started_at, processor)


def _capped(limits: Limits) -> Limits:
    return Limits(
        launch=_at_most(limits.launch, _LONGEST.launch),
        silence=_at_most(limits.silence, _LONGEST.silence),
        total=_at_most(limits.total, _LONGEST.total),
        simulated=int(_at_most(limits.simulated, _LONGEST.simulated)),
    )


def _at_most(given: float, longest: float) -> float:
    """`given` seconds, or `longest` if they are more, none or no number."""
    return given if 0 < given <= longest else longest


def _with_program(spec: RunSpec, program: bytes, directory: Path) -> RunSpec:
    """Put `program` in the place of the one in `directory`; the inputs in a `.bpte` become files."""
    hashes = {name: digest for name, digest in spec.hashes.items() if name != f"file:{spec.program}"}
    inputs = spec.inputs
    old = pte.read_file(directory / spec.program)
    if isinstance(old, BundleFile):
        inputs = tuple(f"i{i}.bin" for i in range(len(old.cases[0].inputs)))
        for name, value in zip(inputs, old.cases[0].inputs, strict=True):
            (directory / name).write_bytes(value.data)
    (directory / spec.program).unlink()
    (directory / "program.pte").write_bytes(program)
    return replace(spec, program="program.pte", inputs=inputs, hashes=hashes)


def differences(recorded: Mapping[str, str], replayed: Mapping[str, str]) -> tuple[str, ...]:
    """`name: recorded -> here` for everything that tells two environments apart. Pure."""
    lines = []
    for name in sorted(recorded.keys() | replayed.keys()):
        before, here = recorded.get(name), replayed.get(name)
        # A name that one side does not know says nothing about a difference.
        if before is not None and here is not None and before != here and name not in _UNTELLING:
            lines.append(f"{name}: {_short(before)} -> {_short(here)}")
    return tuple(lines)


def environment_of(replayed: Replayed) -> dict[str, str]:
    """The environment of a replay, with what identifies engine, ELF and program."""
    found = dict(replayed.attempt.result.environment if replayed.attempt.result else fingerprint())
    if replayed.attempt.result is not None:
        identity = replayed.attempt.result.engine
        found |= {"engine": identity.kind, "engine version": identity.version}
    hashes = hashes_of(replayed.attempt)
    found |= {name: hashes[name] for name in ("elf", "program", "inputs") if hashes.get(name)}
    return found


def recorded_environment(bundle: Bundle) -> dict[str, str]:
    """The same of the recorded attempt; empty without a record."""
    record = bundle.record
    if record is None:
        return {}
    found = dict(record.environment)
    if record.engine is not None:
        found |= {"engine": record.engine, "engine version": record.engine_version or ""}
    return found | {n: record.hashes[n] for n in ("elf", "program", "inputs") if record.hashes.get(n)}


def _short(text: str) -> str:
    is_hash = len(text) >= 40 and all(character in "0123456789abcdef" for character in text)
    return text[:_SHOWN] if is_hash else " ".join(text.split())[:200]
