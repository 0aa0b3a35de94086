"""What upstream's tester compared outputs with, kept beside an attempt, so that anyone can compare again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.aot.values import storage_bytes
from harness.engines.attempt import judge
from harness.engines.directory import file_sha256, write_spec
from harness.flow import Attempt, Tolerance

Compare = Callable[..., None]


@dataclass(frozen=True)
class Compared:
    """One comparison of upstream's that failed: its reference and its limits."""

    references: tuple[Any, ...]
    tolerance: Tolerance


def watched(compare: Compare, failed: Callable[[Compared], None]) -> Compare:
    """Upstream's `_compare_outputs`, which also tells `failed` what it compared with."""

    def compare_outputs(
        reference_output: Any,
        stage_output: Any,
        quantization_scale: float | None = None,
        atol: float = 1e-3,
        rtol: float = 1e-3,
        qtol: float = 0,
        *arguments: Any,
        **options: Any,
    ) -> None:
        limits = (quantization_scale, atol, rtol, qtol)
        try:
            compare(reference_output, stage_output, *limits, *arguments, **options)
        except AssertionError:
            steps = qtol * quantization_scale if quantization_scale is not None else 0.0
            failed(Compared(_values(reference_output), Tolerance(atol=atol + steps, rtol=rtol)))
            raise

    return compare_outputs


def with_references(attempt: Attempt, compared: Compared) -> Attempt:
    """`attempt` with references in its directory and our own comparison of them; unchanged without.

    Unchanged too where ours does not fail as upstream's did: a comparison of another kind.
    """
    result = attempt.result
    if result is None:
        return attempt
    spec = result.spec
    try:
        contents = [
            storage_bytes(value, output)
            for value, output in zip(compared.references, spec.output_specs, strict=True)
        ]
    except ValueError:  # other types or shapes than the program's outputs
        return attempt
    names = tuple(f"ref-{index}.bin" for index in range(len(contents)))
    for name, content in zip(names, contents, strict=True):
        (result.directory / name).write_bytes(content)
    hashes = {f"file:{name}": file_sha256(result.directory / name) for name in names}
    spec = replace(spec, references=names, tolerance=compared.tolerance, hashes={**spec.hashes, **hashes})
    judged = judge(replace(result, spec=spec))
    if judged.outcome.kind is not attempt.outcome.kind:
        return attempt
    write_spec(spec, result.directory)
    return replace(attempt, result=judged.result, comparisons=judged.comparisons)


def _values(output: Any) -> tuple[Any, ...]:
    """Upstream compares a tensor, a mapping's values or a sequence."""
    if hasattr(output, "values") and hasattr(output, "keys"):
        return tuple(output.values())
    return tuple(output) if isinstance(output, Sequence) else (output,)
