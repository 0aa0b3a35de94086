"""`harness run FILE`: turn a module file, a program or a bundle into one judged attempt."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import pte
from harness.engines.directory import file_sha256
from harness.flow import Attempt, Case, Program, TensorSpec, Tolerance
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.repro.bundle import Source, complete
from harness.session import Harness
from harness.targets import Target
from harness.whole import whole

_MODEL, _INPUTS = "ModelUnderTest", "ModelInputs"


def run_file(
    harness: Harness,
    file: Path,
    target: Target,
    directory: Path,
    *,
    bundleio: bool,
    inputs: Sequence[Path],
    qtol: float,
    atol: float,
) -> tuple[Attempt, Path | None]:
    """Run `file` once in `directory`. Failures of any stage are an Attempt, not an exception.

    Returns:
        The attempt, and its bundle: a directory that `harness repro` replays, None if nothing is left for it.
    """
    tolerance = Tolerance(atol=atol, qtol=qtol)
    try:
        with whole("`harness run`"):
            attempt, program = _run(harness, file, target, directory, tolerance, bundleio, inputs)
    except HarnessError as error:
        return Attempt(1, error.outcome), None
    source = Source(session=("harness", *sys.argv[1:]), target=target, program=program)
    return attempt, complete(attempt, source, harness.settings.cache)


def _run(
    harness: Harness,
    file: Path,
    target: Target,
    directory: Path,
    tolerance: Tolerance,
    bundleio: bool,
    inputs: Sequence[Path],
) -> tuple[Attempt, Program | None]:
    if not file.suffix and not file.exists():
        case = replace(_built_in(str(file), target), tolerance=tolerance)
        return harness.check_case(harness.seeded(case), directory, bundleio)
    if file.suffix == ".py":
        if inputs:
            raise _contradiction("--input", "a module file brings its own ModelInputs")
        case = _module_case(file, target, tolerance)
        return harness.check_case(harness.seeded(case), directory, bundleio)
    unpacked = directory / "program"
    unpacked.mkdir(parents=True, exist_ok=True)
    content = pte.read_file(file)
    if isinstance(content, pte.BundleFile):
        if inputs:
            raise _contradiction("--input", "a bundle brings its own inputs")
        program = _from_bundle(content, file, unpacked, target)
        return harness.run(program, directory, tolerance, bundled=True), program
    if bundleio:
        raise _contradiction("--bundleio", f"{file.name} is a program without inputs and references")
    program = _from_program(content, file, inputs, target)
    return harness.run(program, directory, tolerance), program


def _built_in(name: str, target: Target) -> Case:
    from harness.aot.models import MODELS, model_case

    if name not in MODELS:
        raise _refused(f"'{name}' is neither a file nor a built-in model ({', '.join(MODELS)})")
    return model_case(name, target)


def _module_case(file: Path, target: Target, tolerance: Tolerance) -> Case:
    try:
        namespace = runpy.run_path(str(file), run_name="__harness__")
    except FileNotFoundError as error:
        raise _refused(f"cannot read {file}: {error.strerror}") from error
    except (Exception, SystemExit) as error:
        raise _refused(f"{file} raises {type(error).__name__}: {error}") from error
    absent = [name for name in (_MODEL, _INPUTS) if name not in namespace]
    if absent:
        raise _refused(f"{file} defines no {' and no '.join(absent)}")
    model, inputs = namespace[_MODEL], namespace[_INPUTS]
    return Case(
        module=lambda rng: model() if isinstance(model, type) else model,
        inputs=lambda rng: _tuple(inputs() if callable(inputs) else inputs),
        target=target,
        tolerance=tolerance,
        name=file.stem,
    )


def _tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _forward(program: pte.ProgramFile) -> pte.Method:
    try:
        return program.method("forward")
    except KeyError as error:
        names = ", ".join(method.name for method in program.methods)
        raise _invalid(f"the program has no method 'forward', only: {names}") from error


def _from_bundle(bundle: pte.BundleFile, file: Path, directory: Path, target: Target) -> Program:
    method = _forward(bundle.program)
    cases = [case for case in bundle.cases if case.method == "forward"]
    if not cases:
        raise _invalid(f"{file.name} has no test case for method 'forward'")
    (directory / "program.pte").write_bytes(bundle.program_bytes)
    return Program(
        directory=directory,
        pte=directory / "program.pte",
        bpte=file,
        inputs=_written(directory, "i", [value.data for value in cases[0].inputs]),
        references=_written(directory, "ref-", [value.data for value in cases[0].expected]),
        input_specs=method.inputs,
        output_specs=method.outputs,
        operators=bundle.program.operators,
        target=target.name,
        seed=0,
        hashes={"bpte": file_sha256(file)},
    )


def _from_program(program: pte.ProgramFile, file: Path, inputs: Sequence[Path], target: Target) -> Program:
    method = _forward(program)
    if len(inputs) != len(method.inputs):
        shown = ", ".join(_shown(spec) for spec in method.inputs) or "none"
        raise _invalid(
            f"{file.name} takes {len(method.inputs)} inputs ({shown}), {len(inputs)} given with --input"
        )
    for path, spec in zip(inputs, method.inputs, strict=True):
        size = path.stat().st_size if path.is_file() else -1
        if size != pte.byte_size(spec) and spec.dtype != "none":
            have = "is no file" if size < 0 else f"has {size} bytes"
            raise _invalid(f"{path} {have}; {_shown(spec)} takes {pte.byte_size(spec)} bytes")
    return Program(
        directory=file.parent,
        pte=file,
        bpte=None,
        inputs=tuple(inputs),
        references=(),
        input_specs=method.inputs,
        output_specs=method.outputs,
        operators=program.operators,
        target=target.name,
        seed=0,
        hashes={"pte": file_sha256(file)},
    )


def _written(directory: Path, stem: str, contents: list[bytes]) -> tuple[Path, ...]:
    paths = tuple(directory / f"{stem}{index}.bin" for index in range(len(contents)))
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def _shown(spec: TensorSpec) -> str:
    return f"{spec.dtype}{list(spec.shape)}"


def _contradiction(option: str, why: str) -> HarnessError:
    summary = f"{option} does not fit: {why}"
    return HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, summary, f"leave out {option}"))


def _refused(summary: str) -> HarnessError:
    hint = f"a module file defines {_MODEL} (an nn.Module) and {_INPUTS} (a tuple of tensors)"
    return HarnessError(Outcome(Phase.LOWER, OutcomeClass.CONFIG_INPUT, summary, hint))


def _invalid(summary: str) -> HarnessError:
    return HarnessError(Outcome(Phase.LOAD, OutcomeClass.CONFIG_INPUT, summary))
