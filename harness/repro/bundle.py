"""The bundle of an attempt: its directory, completed by `bundle.json`; and a zip file of it, redacted.

In the directory: runspec.json, program, inputs, references, ELF, console.log and outputs (written by the
attempt itself), bundle.json, origin, and for Ethos-U each delegate's bytes and TOSA graph. An attempt that
Vela refused has no run: its bundle is the graph and Vela's log.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.aot.cache import delegates
from harness.aot.ethosu import vela_flags
from harness.engines.directory import SPEC_NAME, file_sha256
from harness.engines.environment import fingerprint
from harness.firmware.elf import read_elf
from harness.flow import Attempt, Program, RunSpec
from harness.outcomes import HarnessError, OutcomeClass
from harness.redact import redact, redact_paths
from harness.repro.confined import LARGEST_BUNDLE, BundleError, checked_name, copy_inside, read_text, unzip
from harness.repro.manifest import MANIFEST_NAME, BundleRecord, VelaRecord
from harness.repro.origin import ORIGIN_NAME, is_own, sign
from harness.reruns.trial import hashes_of, trial_of
from harness.targets import TARGETS, Target

GRAPH_NAME = "graph.tosa"  # what a refused lowering keeps
_TEXTS = (".json", ".log", ".txt", ".md")


@dataclass(frozen=True)
class Source:
    """Where an attempt comes from.

    Attributes:
        nodeid: of the test.
        session: command line.
        modules: that were collected, in order.
        target: what it was lowered for.
        program: that it ran; None if lowering failed.
    """

    nodeid: str = ""
    session: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    target: Target | None = None
    program: Program | None = None


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read and checked.

    Attributes:
        directory: of its files.
        spec: of the run; None if the attempt failed in lowering.
        record: what was recorded; None in a directory that only has a run.
        own: made by this user on this machine, and unchanged since.
    """

    directory: Path
    spec: RunSpec | None
    record: BundleRecord | None
    own: bool

    @property
    def target(self) -> Target:
        """The target; names in a bundle were checked when it was read."""
        return TARGETS[self.spec.target if self.spec is not None else self._recorded.target]

    @property
    def _recorded(self) -> BundleRecord:
        if self.record is None:
            raise BundleError(f"{self.directory} has neither {SPEC_NAME} nor {MANIFEST_NAME}")
        return self.record

    @property
    def vela(self) -> VelaRecord:
        """How its delegates were compiled.

        Raises:
            BundleError: it has none.
        """
        if self.record is None or self.record.vela is None:
            raise BundleError("this bundle has no TOSA graph: it is not of an Ethos-U target, or too old")
        return self.record.vela


def complete(attempt: Attempt, source: Source, cache: Path) -> Path | None:
    """Make the directory of a red attempt a bundle.

    Returns:
        The directory; None if the attempt left nothing that could be replayed.
    """
    result = attempt.result
    if result is None:
        return _complete_refused(attempt, source, cache)
    directory = result.directory
    vela = _keep_graphs(source.program, directory) if source.program is not None else None
    trial = trial_of(attempt)
    paths = {str(directory): "DIRECTORY", result.engine.path: "FVP"}
    record = BundleRecord(
        nodeid=source.nodeid,
        session=source.session,
        modules=source.modules,
        target=result.spec.target,
        phase=attempt.outcome.phase.value,
        kind=attempt.outcome.kind.value,
        summary=attempt.outcome.summary,
        signature="" if attempt.outcome.green else trial.signature,
        engine=result.engine.kind,
        engine_version=result.engine.version,
        argv=tuple(_without(word, paths) for word in result.argv),
        seed=result.spec.seed,
        hashes=hashes_of(attempt),
        elf_manifest=_elf_manifest(directory / result.spec.elf),
        environment=result.environment,
        comparisons=tuple(comparison.message for comparison in attempt.comparisons),
        durations=result.durations,
        vela=vela,
    )
    write_manifest(record, directory)
    sign(directory, _signed(result.spec, record), cache)
    return directory


def _complete_refused(attempt: Attempt, source: Source, cache: Path) -> Path | None:
    log = attempt.outcome.detail.get("log")
    directory = Path(str(log)).parent if log else None
    if directory is None or source.target is None or not (directory / GRAPH_NAME).is_file():
        return None
    environment = fingerprint()
    version = environment.get("ethos-u-vela", "unknown")
    record = BundleRecord(
        nodeid=source.nodeid,
        session=source.session,
        modules=source.modules,
        target=source.target.name,
        phase=attempt.outcome.phase.value,
        kind=attempt.outcome.kind.value,
        summary=attempt.outcome.summary,
        signature=trial_of(attempt).signature,
        engine=None,
        engine_version=None,
        argv=(),
        seed=None,
        hashes={"tosa": file_sha256(directory / GRAPH_NAME)},
        elf_manifest={},
        environment=environment,
        comparisons=(),
        durations=attempt.durations,
        vela=VelaRecord(version, vela_flags(source.target), (GRAPH_NAME,), ()),
    )
    write_manifest(record, directory)
    sign(directory, [MANIFEST_NAME, GRAPH_NAME], cache)
    return directory


def write_manifest(record: BundleRecord, directory: Path) -> None:
    """Write `bundle.json`, redacted."""
    text = json.dumps(json.loads(redact(record.to_json())), indent=2, sort_keys=True)
    (directory / MANIFEST_NAME).write_text(text + "\n", encoding="utf-8")


def _keep_graphs(program: Program, directory: Path) -> VelaRecord | None:
    if TARGETS[program.target].npu is None:
        return None
    try:
        found = delegates(program)
    except HarnessError:  # a program that was not made by our lowering
        return None
    for delegate in found:
        for file in (delegate.blob, delegate.tosa):
            shutil.copyfile(file, directory / file.name)
    version = program.versions.get("ethos-u-vela", "unknown")
    flags = vela_flags(TARGETS[program.target])
    names = zip(*((d.tosa.name, d.blob.name) for d in found), strict=True) if found else iter(((), ()))
    graphs, blobs = names
    return VelaRecord(version, flags, tuple(graphs), tuple(blobs))


def _elf_manifest(elf: Path) -> Mapping[str, str]:
    try:
        manifest = read_elf(elf).manifest or {}
    except HarnessError:
        return {}
    return {name: v if isinstance(v, str) else json.dumps(v) for name, v in sorted(manifest.items())}


def _without(word: str, paths: Mapping[str, str]) -> str:
    for path, name in paths.items():
        if path:
            word = word.replace(path, name)
    return word


@contextmanager
def opened(path: Path, cache: Path) -> Iterator[Bundle]:
    """A bundle from a directory or a zip file, for the time of the block.

    Raises:
        BundleError: it is none, or something in it is not what it should be.
    """
    if path.is_dir():
        yield read_bundle(path, cache)
        return
    if not path.is_file():
        raise BundleError(f"{path} is neither a directory nor a zip file")
    with tempfile.TemporaryDirectory(prefix="harness-bundle-") as name:
        unzip(path, Path(name))
        yield read_bundle(Path(name), cache)


def read_bundle(directory: Path, cache: Path) -> Bundle:
    """Read and check the bundle in `directory`; nothing of it is executed.

    Raises:
        BundleError: as `opened`.
    """
    directory = directory.absolute()
    record = _read_record(directory) if (directory / MANIFEST_NAME).exists() else None
    spec = _read_spec(directory) if (directory / SPEC_NAME).exists() else None
    if record is None and spec is None:
        raise BundleError(f"{directory} is no bundle: it has neither {SPEC_NAME} nor {MANIFEST_NAME}")
    names = _signed(spec, record) if spec is not None else [MANIFEST_NAME, GRAPH_NAME]
    return Bundle(directory, spec, record, is_own(directory, names, cache))


def _read_record(directory: Path) -> BundleRecord:
    try:
        record = BundleRecord.from_json(read_text(directory, MANIFEST_NAME))
    except BundleError:
        raise
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{MANIFEST_NAME} cannot be read: {error}") from error
    _check_target(record.target)
    if record.kind not in {kind.value for kind in OutcomeClass}:
        raise BundleError(f"{MANIFEST_NAME} has the class {record.kind!r:.60}, which does not exist")
    for name in (*record.vela.graphs, *record.vela.blobs) if record.vela is not None else ():
        checked_name(name, "a graph")
    return record


def _read_spec(directory: Path) -> RunSpec:
    try:
        spec = RunSpec.from_json(read_text(directory, SPEC_NAME))
        return _checked(spec)
    except BundleError:
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError(f"{SPEC_NAME} cannot be read: {error}") from error


def _checked(spec: RunSpec) -> RunSpec:
    names = [spec.elf, spec.program, *spec.inputs, *spec.references]
    names += [spec.npu_trace] if spec.npu_trace else []
    for name in (*names, spec.output_base):
        checked_name(name, "a file of the run")
    if not all(isinstance(word, str) for word in spec.extra_args):
        raise BundleError(f"{SPEC_NAME}: the simulator's arguments are no words")
    reserved = {SPEC_NAME, MANIFEST_NAME, ORIGIN_NAME, *spec.output_names}
    if len({*names}) != len(names) or reserved & {*names}:
        raise BundleError(f"{SPEC_NAME} uses one file name twice")
    if _check_target(spec.target).board.name != spec.board:
        raise BundleError(f"{SPEC_NAME}: {spec.target} is not on board {spec.board!r:.60}")
    return spec


def _check_target(name: str) -> Target:
    if name not in TARGETS:
        raise BundleError(f"unknown target {name!r:.60}")
    return TARGETS[name]


def run_files(spec: RunSpec) -> tuple[str, ...]:
    """Names of the files that a run needs."""
    return (spec.elf, spec.program, *spec.inputs, *spec.references)


def _signed(spec: RunSpec, record: BundleRecord | None) -> list[str]:
    """What decides what a replay does; outputs and console are only evidence."""
    names = [SPEC_NAME, *run_files(spec)]
    if record is not None:
        names.append(MANIFEST_NAME)
        if record.vela is not None:
            names += [*record.vela.graphs, *record.vela.blobs]
    return names


def pack(path: Path, archive: Path, cache: Path) -> None:
    """Write the bundle at `path` as a zip file, without home directories and secrets.

    Texts are redacted; in the ELF, the home directory in its debug information is overwritten in place.

    Raises:
        BundleError: `path` is no bundle.
        FileExistsError: `archive` exists.
    """
    bundle = read_bundle(path, cache)
    with tempfile.TemporaryDirectory(prefix="harness-pack-") as name:
        copy = Path(name)
        room = LARGEST_BUNDLE
        for file in sorted(path.iterdir()):
            if file.is_file() and not file.is_symlink() and file.name != ORIGIN_NAME:
                room = copy_inside(path, file.name, copy, room)
        for file in copy.iterdir():
            if file.suffix in _TEXTS:
                text = file.read_text(encoding="utf-8", errors="replace")
                file.write_text(redact(text), encoding="utf-8")
        spec = bundle.spec
        if spec is not None:
            elf = copy / spec.elf
            elf.write_bytes(redact_paths(elf.read_bytes()))
            spec = _read_spec(copy)
            hashes = {
                f"file:{file}": file_sha256(copy / file) for file in run_files(spec) if (copy / file).exists()
            }
            spec = replace(spec, hashes={**spec.hashes, **hashes})
            (copy / SPEC_NAME).write_text(spec.to_json() + "\n", encoding="utf-8")
            if bundle.record is not None:  # a replay of the copy compares with the copy
                digests = {**bundle.record.hashes, "elf": hashes[f"file:{spec.elf}"]}
                write_manifest(replace(bundle.record, hashes=digests), copy)
        if bundle.own:  # a foreign bundle stays foreign
            names = _signed(spec, bundle.record) if spec is not None else [MANIFEST_NAME, GRAPH_NAME]
            sign(copy, names, cache)
        with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED) as packed:
            for file in sorted(copy.iterdir()):
                packed.write(file, f"{archive.stem}/{file.name}")
