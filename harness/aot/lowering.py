"""Case -> Program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.aot import compiler, digest
from harness.aot.backends import lower_exported
from harness.aot.cache import Entry, durations_of, fetch, sha256
from harness.aot.graph import GRAPH_FILE
from harness.aot.steps import Steps, derived_seed, quiet, seeded
from harness.aot.values import dense, storage_bytes
from harness.flow import Case, Program, TensorSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.pte import ProgramFile, read_bundle, read_program


@dataclass(frozen=True)
class Lowering:
    """A lowered case and what it cost.

    `durations` are the seconds that this call spent, by step; "import" is torch and executorch.
    `original` are those of the call that made the cache entry. They differ if `cached`.
    """

    program: Program
    cached: bool
    durations: Mapping[str, float]
    original: Mapping[str, float]


@dataclass(frozen=True)
class _Prepared:
    """A case made concrete: exported program, example inputs, calibration samples, cache key."""

    case: Case
    exported: Any
    inputs: tuple[Any, ...]
    leaves: tuple[Any, ...]
    samples: tuple[tuple[Any, ...], ...]
    hashes: Mapping[str, str]
    key: str


def lower(case: Case, cache: Path, *, verbose: bool = False) -> Program:
    """Lower a case for its target, or find it lowered already.

    The module is put into eval mode. Module, inputs and calibration get generators of their own,
    all derived from `case.seed`. References are the outputs of the lowered program run in Python,
    operator by operator, with the dialect's own implementations; delegates are run by TOSA's
    reference model, with which the NPU has to agree to the bit.

    Args:
        case: what to lower.
        cache: directory of the content-addressed cache; made if it does not exist.
        verbose: let torch and executorch talk.

    Raises:
        HarnessError: phase lower: AOT/REFUSED (the compiler refuses, with the traceback in a file
            that the message names), AOT/CRASH (Vela crashes), AOT/UNDELEGATED (operators stay on the
            CPU), TIMEOUT (Vela does not end), CONFIG/INPUT (inputs or calibration of the case are
            unusable), CONFIG/OPTIONS (its module factory or another field is), CONFIG/TARGET (no such
            core or ISA); phase verify: REF_ERROR (the lowered program does not run in Python).
    """
    return lower_timed(case, cache, verbose=verbose).program


def lower_timed(case: Case, cache: Path, *, verbose: bool = False) -> Lowering:
    """As `lower`, and says how long each step took."""
    cache = cache.resolve()
    steps = Steps(cache / "failures", f"{case.name}-{case.target.name}-{case.seed}")
    try:
        with quiet(verbose):
            with steps.step("import", "importing torch"):
                compiler.import_torch()
                if not case.quantize:
                    compiler.import_executorch()  # such a module may call cortex_m operators
            with seeded(case.seed):
                prepared = _prepare(case, steps)
                program, cached = fetch(cache, prepared.key, lambda: _make(prepared, steps))
        return Lowering(program, cached, dict(steps.durations), durations_of(program))
    except OSError as error:
        summary = f"the cache {cache} cannot be used: {error.strerror or error}"
        raise HarnessError(Outcome(Phase.LOWER, OutcomeClass.CONFIG_OPTIONS, summary)) from error


def _check_options(case: Case) -> None:
    allowed = (8,) if case.target.npu is None else (8, 16)
    if case.activation_bits not in allowed:
        summary = f"{case.target.name} has no activations of {case.activation_bits} bits"
        hint = "Case(activation_bits=8); Ethos-U targets also have 16."
        raise HarnessError(Outcome(Phase.LOWER, OutcomeClass.CONFIG_OPTIONS, summary, hint))


def _prepare(case: Case, steps: Steps) -> _Prepared:
    import torch
    from torch.utils import _pytree

    _check_options(case)

    def generator(role: str) -> Any:
        return torch.Generator().manual_seed(derived_seed(case.seed, role))

    with steps.step("prepare", "the case's module factory", OutcomeClass.CONFIG_OPTIONS):
        module = case.module(generator("module"))
        if not isinstance(module, torch.nn.Module):
            raise _config(OutcomeClass.CONFIG_OPTIONS, f"the module factory returned {_kind(module)}")
    with steps.step("prepare", "the case's inputs factory", OutcomeClass.CONFIG_INPUT):
        inputs = _checked_sample(case.inputs(generator("inputs")), "the inputs factory")
    samples: tuple[tuple[Any, ...], ...] = (inputs,)
    if case.calibration is not None and case.quantize:
        with steps.step("prepare", "the case's calibration", OutcomeClass.CONFIG_INPUT):
            made = case.calibration(generator("calibration"))
            if not isinstance(made, (list, tuple)) or not made:
                raise _config(
                    OutcomeClass.CONFIG_INPUT, f"the calibration returned {_kind(made)}, not a list"
                )
            samples = tuple(_checked_sample(sample, "the calibration") for sample in made)
    with steps.step("export", "torch.export"):
        exported = compiler.export(module, inputs)
    with steps.step("key", "hashing"):
        leaves = tuple(_pytree.tree_leaves(inputs))
        hashes = {"exported": digest.digest_program(exported), "inputs": digest.digest_values(leaves)}
        key = digest.key_of(
            {
                **hashes,
                "calibration": [digest.digest_values(_pytree.tree_leaves(sample)) for sample in samples],
                "target": [case.target.name, case.target.cpu, case.target.isa.value],
                "quantize": [case.quantize, case.activation_bits],
                "delegated": case.delegated,
                "seed": case.seed,
                "versions": digest.versions(),
                "source": digest.source_hash(),
            }
        )
    return _Prepared(case, exported, inputs, leaves, samples, hashes, key)


def _make(prepared: _Prepared, steps: Steps) -> Entry:
    case, inputs = prepared.case, prepared.inputs
    lowered = lower_exported(case, prepared.exported, inputs, prepared.samples, steps)
    with steps.step("reference", "the reference run", OutcomeClass.REF_ERROR, Phase.VERIFY):
        references = lowered.run(inputs)
        accurate = compiler.run(lowered.quantized, inputs) if case.quantize else []
    with steps.step("hash", "hashing"):
        hashes = {
            **prepared.hashes,
            "quantized": digest.digest_program(lowered.quantized),
            "lowered": digest.digest_program(lowered.program),
        }
        if lowered.delegates:
            blobs, graphs = zip(*lowered.delegates, strict=True)
            hashes |= {"tosa": sha256(b"".join(graphs)), "command_stream": sha256(b"".join(blobs))}
        graph = compiler.graph_json(lowered.program)
    with steps.step("executorch", "serialization"):
        program = compiler.to_executorch(lowered.program)
        pte = bytes(program.buffer)
        described = read_program(pte)
    entry = _describe(prepared, pte, described, graph, references, accurate)
    entry = _with_delegates(entry, lowered.delegates)
    with steps.step("bundle", "bundling"):
        if _bundles(described, prepared.leaves):
            bpte = compiler.bundle(program, described, prepared.leaves, references)
            read_bundle(bpte)
            entry = replace(entry, bpte="program.bpte", files={**entry.files, "program.bpte": bpte})
            hashes["bpte"] = sha256(bpte)
    return replace(entry, hashes={**hashes, "pte": sha256(pte)}, durations=dict(steps.durations))


def _with_delegates(entry: Entry, delegates: tuple[tuple[bytes, bytes], ...]) -> Entry:
    files, names = dict(entry.files), []
    for i, contents in enumerate(delegates):
        pair = (f"delegate-{i}.bin", f"delegate-{i}.tosa")
        files.update(zip(pair, contents, strict=True))
        names.append(pair)
    return replace(entry, files=files, delegates=tuple(names))


def _describe(
    prepared: _Prepared,
    pte: bytes,
    described: ProgramFile,
    graph: bytes,
    references: list[Any],
    accurate: list[Any],
) -> Entry:
    method = described.method()
    inputs = _files("i", "input", OutcomeClass.CONFIG_INPUT, prepared.leaves, method.inputs)
    outputs = _files("ref-", "reference", OutcomeClass.REF_ERROR, references, method.outputs)
    quantized = {}
    if accurate:
        quantized = _files("quantized-", "output", OutcomeClass.REF_ERROR, accurate, method.outputs)
    return Entry(
        files={"program.pte": pte, GRAPH_FILE: graph, **inputs, **outputs, **quantized},
        pte="program.pte",
        bpte=None,
        inputs=tuple(inputs),
        references=tuple(outputs),
        quantized=tuple(quantized),
        input_specs=method.inputs,
        output_specs=method.outputs,
        operators=described.operators,
        target=prepared.case.target.name,
        seed=prepared.case.seed,
        hashes={},
        versions=digest.versions(),
    )


def _files(
    prefix: str, what: str, kind: OutcomeClass, values: Any, specs: tuple[TensorSpec, ...]
) -> dict[str, bytes]:
    """File name -> bytes of each value; a HarnessError of class `kind` if they do not fit the program."""
    phase = Phase.VERIFY if kind is OutcomeClass.REF_ERROR else Phase.LOWER
    if len(values) != len(specs):
        summary = f"the case has {len(values)} {what}s, the lowered program {len(specs)}"
        raise HarnessError(Outcome(phase, kind, summary))
    files = {}
    for i, (value, spec) in enumerate(zip(values, specs, strict=True)):
        try:
            files[f"{prefix}{i}.bin"] = storage_bytes(value, spec)
        except ValueError as error:
            raise HarnessError(Outcome(phase, kind, f"{what} {i} does not fit: {error}")) from error
    return files


def _bundles(described: ProgramFile, inputs: tuple[Any, ...]) -> bool:
    """The bundle format knows neither None nor outputs that are no tensors."""
    scalars = {"int", "float", "bool_", "none"}
    return all(value is not None for value in inputs) and not any(
        spec.dtype in scalars for spec in described.method().outputs
    )


def _checked_sample(sample: Any, what: str) -> tuple[Any, ...]:
    """A tuple of tensors, numbers and None (nested if need be), its tensors dense and on the CPU."""
    import torch
    from torch.utils import _pytree

    if not isinstance(sample, tuple):
        raise _config(OutcomeClass.CONFIG_INPUT, f"{what} returned {_kind(sample)}, not a tuple")
    for i, leaf in enumerate(_pytree.tree_leaves(sample)):
        if leaf is not None and not isinstance(leaf, (torch.Tensor, int, float, bool)):
            raise _config(OutcomeClass.CONFIG_INPUT, f"{what} returned {_kind(leaf)} as value {i}")
    copied: tuple[Any, ...] = _pytree.tree_map(dense, sample)
    return copied


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"


def _config(kind: OutcomeClass, summary: str) -> HarnessError:
    hint = "module(rng) makes a torch.nn.Module, inputs(rng) a tuple of tensors, numbers or None."
    return HarnessError(Outcome(Phase.LOWER, kind, summary, hint))
