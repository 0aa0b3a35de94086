"""The attempt directory: private to one run, prepared before it, read after it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from harness.flow import Program, RunSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

if TYPE_CHECKING:
    from harness.compare.tensors import OutputState

SPEC_NAME = "runspec.json"
# Hashes of the directory's own files stand beside those of the stages that made them.
_FILE_PREFIX = "file:"


def prepare(spec: RunSpec, directory: Path, elf: Path, program: Program) -> RunSpec:
    """Fill `directory` with everything that `spec` names and with `runspec.json`.

    Files are copied: a run that goes astray must not reach the caches. Outputs of an earlier run are deleted.

    Returns:
        `spec` with the hashes of the files.

    Raises:
        HarnessError: CONFIG/INPUT, a file that `spec` names does not exist or `program` has no bundle.
    """
    directory.mkdir(parents=True, exist_ok=True)
    clear_outputs(spec, directory)
    hashes = dict(spec.hashes)
    for name, source in _sources(spec, elf, program).items():
        try:
            shutil.copy(source, directory / name)
        except OSError as error:
            raise _no_file(name, f"{source}: {error.strerror}") from error
        hashes[_FILE_PREFIX + name] = file_sha256(directory / name)
    complete = replace(spec, hashes=hashes)
    write_spec(complete, directory)
    return complete


def write_spec(spec: RunSpec, directory: Path) -> None:
    """Write `runspec.json`: with the files it names it is the reproduction bundle."""
    (directory / SPEC_NAME).write_text(spec.to_json() + "\n", encoding="utf-8")


def check_files(spec: RunSpec, directory: Path) -> None:
    """Refuse a directory that is not what `spec` describes.

    Raises:
        HarnessError: CONFIG/INPUT, a file is missing or has another hash; BUNDLE_INVALID, the program
            file is neither a program nor a bundle, or not the kind that its name says.
    """
    for name in (spec.elf, spec.program, *spec.inputs, *spec.references):
        if not (directory / name).is_file():
            if name in spec.references:
                continue  # the run itself can do without; the comparison says REF_ERROR
            raise _no_file(name, f"not in {directory}")
        expected = spec.hashes.get(_FILE_PREFIX + name)
        if expected is not None and expected != file_sha256(directory / name):
            raise _refused(
                Phase.LOAD if name in spec.inputs else Phase.LAUNCH,
                OutcomeClass.CONFIG_INPUT,
                f"{name} is not the file that {SPEC_NAME} describes (other SHA-256)",
                "prepare the attempt directory again",
            )
    _check_program(spec, directory)


def clear_outputs(spec: RunSpec, directory: Path) -> None:
    """Delete what an earlier run left, so that an output that exists was written by this one."""
    prefix = f"{spec.output_base}-"
    for path in directory.iterdir():
        if path.name.startswith(prefix) and path.name.endswith(".bin"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def output_states(spec: RunSpec, directory: Path) -> tuple[OutputState, ...]:
    """State of each output file that has to exist; an output that is no tensor has none."""
    # Imports numpy, for which no boot should wait.
    from harness.compare.tensors import has_file, inspect_output

    pairs = zip(spec.output_names, spec.output_specs, strict=True)
    return tuple(inspect_output(directory / name) for name, tensor in pairs if has_file(tensor))


def _sources(spec: RunSpec, elf: Path, program: Program) -> Mapping[str, Path]:
    bundled = spec.program.endswith(".bpte")
    file = program.bpte if bundled else program.pte
    if file is None:
        raise _no_file(spec.program, "this program has no bundle: BundleIO holds tensors only")
    return {
        spec.elf: elf,
        spec.program: file,
        **dict(zip(spec.inputs, program.inputs, strict=False)),
        **dict(zip(spec.references, program.references, strict=False)),
    }


def _check_program(spec: RunSpec, directory: Path) -> None:
    with (directory / spec.program).open("rb") as file:
        identifier = file.read(8)[4:8]
    wanted, kind = (b"BP", "bundle") if spec.program.endswith(".bpte") else (b"ET", "program")
    if identifier[:2] == wanted:
        return
    found = {b"BP": "a bundle", b"ET": "a program"}.get(
        identifier[:2], f"unknown (bytes 4-7: {identifier!r})"
    )
    raise _refused(
        Phase.LOAD,
        OutcomeClass.BUNDLE_INVALID,
        f"{spec.program} is not a {kind} but {found}",
        "bytes 4-5 of a program (.pte) are ET, of a bundle (.bpte) BP; write it again or use its right name",
    )


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return stream_sha256(file)


def stream_sha256(stream: BinaryIO) -> str:
    """SHA-256 of what is left of `stream`, in hex."""
    digest = hashlib.sha256()
    for block in iter(partial(stream.read, 1 << 20), b""):
        digest.update(block)
    return digest.hexdigest()


def _no_file(name: str, why: str) -> HarnessError:
    return _refused(
        Phase.LAUNCH, OutcomeClass.CONFIG_INPUT, f"no file {name} for the run: {why}", "lower and build again"
    )


def _refused(phase: Phase, kind: OutcomeClass, summary: str, hint: str) -> HarnessError:
    return HarnessError(Outcome(phase, kind, summary, hint))
