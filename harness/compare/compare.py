"""Compares outputs with references, element by element, in the output's own dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.compare.message import describe
from harness.compare.tensors import Array, TensorError, decode_tensor, has_file, load_tensor
from harness.flow import Comparison, TensorSpec, Tolerance
from harness.outcomes import OutcomeClass

# Entries of a histogram: the most frequent differences.
HISTOGRAM_SIZE = 32
# Share of elements off by one LSB up to which rounding at ties explains the difference.
TIE_SHARE = 0.25
# Quantized integer types; an int32 or int64 that is off by one is an index or an accumulator.
_QUANTIZED = ("int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class Differences:
    """Element-wise differences of two tensors of one shape.

    `error` is |got - expected| in float64, inf where one of both is not finite and they are not the same;
    `limit` what it may be; `lsb` the signed difference in quantization steps, None where no step is known.
    """

    error: NDArray[np.float64]
    limit: NDArray[np.float64]
    lsb: NDArray[np.float64] | None

    @property
    def beyond(self) -> NDArray[np.bool_]:
        """True where an element fails."""
        # Not `error > limit`: a limit that is NaN must fail.
        return np.asarray(~(self.error <= self.limit))


def compare_outputs(
    directory: Path,
    names: Sequence[str],
    references: Sequence[str],
    specs: Sequence[TensorSpec],
    tolerance: Tolerance,
) -> tuple[Comparison, ...]:
    """Compare each output file that exists with its reference file; both in storage order.

    Outputs that are no tensors have no file and are passed over, and so is a missing output: the
    classifier reports it. A reference that cannot be used is REF_ERROR.
    """
    found = []
    for index, (name, reference, spec) in enumerate(zip(names, references, specs, strict=False)):
        path = directory / name
        if has_file(spec) and path.is_file() and not path.is_symlink():
            found.append(_compare_files(index, path, directory / reference, spec, tolerance))
    return tuple(found)


def _compare_files(
    index: int, path: Path, reference: Path, spec: TensorSpec, tolerance: Tolerance
) -> Comparison:
    try:
        expected = load_tensor(reference, spec)
    except (TensorError, OSError) as error:
        return _refused(index, OutcomeClass.REF_ERROR, f"output {index}: no usable reference: {error}")
    try:
        data = path.read_bytes()
        got = decode_tensor(data, spec, path.name)
    except TensorError as error:
        return _refused(index, error.problem, f"output {index}: {error}")
    result = compare_arrays(index, got, expected, spec, tolerance)
    if not result.ok and (order := _fitting_order(data, expected, spec, tolerance)):
        text = f"output {index} has storage order {order}, {spec.dim_order} expected: equal after reordering"
        return _refused(index, OutcomeClass.DIM_ORDER, text, result)
    return result


def compare_arrays(
    index: int, got: Array, expected: Array, spec: TensorSpec, tolerance: Tolerance
) -> Comparison:
    """Compare two tensors in logical order, same dtype and shape.

    An element passes if |got - expected| <= atol + rtol * |expected| + qtol * step. The step is 1 for
    integers (they are quantized values themselves), else the scale of `spec`; without a scale qtol has no
    effect. NaN equals NaN, an infinity equals itself only, and tolerances do not apply to either.
    """
    elements = int(got.size)
    if elements == 0:
        return Comparison(
            index,
            True,
            0,
            0,
            0.0,
            None,
            0.0,
            {},
            f"output {index}: 0 elements compared (shape {list(spec.shape)})",
        )
    differences = _differences(got, expected, spec, tolerance)
    beyond = differences.beyond
    mismatches = int(beyond.sum())
    ratio = _ratio(differences)
    most_critical = ratio == ratio.max()
    place = int(np.argmax(np.where(most_critical, differences.error, -1.0)))
    where = tuple(int(i) for i in np.unravel_index(place, got.shape))
    lsb = differences.lsb
    result = Comparison(
        index=index,
        ok=mismatches == 0,
        elements=elements,
        mismatches=mismatches,
        worst=float(differences.error.max()),
        worst_lsb=None if lsb is None else _worst_lsb(lsb),
        margin=float(ratio.max()),
        histogram={} if lsb is None else _histogram(lsb),
        message="",
        worst_index=where,
    )
    problem = None if result.ok else _problem(result, spec)
    return _replace(result, problem, describe(result, got, expected, beyond, differences.limit))


def _differences(got: Array, expected: Array, spec: TensorSpec, tolerance: Tolerance) -> Differences:
    if got.dtype.kind == "b":
        # No tolerance turns a false into a true.
        got, expected, tolerance = got.astype(np.int8), expected.astype(np.int8), Tolerance()
    if got.dtype.kind in "iu":
        # Exact for 64 bits: the magnitude of a difference always fits an unsigned word.
        high, low = np.maximum(got, expected), np.minimum(got, expected)
        error = (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)
        limit = tolerance.atol + tolerance.rtol * np.abs(expected.astype(np.float64)) + tolerance.qtol
        return Differences(error, limit, np.where(got < expected, -error, error))
    return _float_differences(got, expected, spec.scale, tolerance)


def _float_differences(got: Array, expected: Array, scale: float | None, tolerance: Tolerance) -> Differences:
    slack = 2.0 * float(np.finfo(got.dtype).eps)
    a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.isfinite(a) & np.isfinite(b)
        signed = np.where(same, 0.0, np.where(finite, a - b, inf))
        limit = np.where(finite, tolerance.atol + tolerance.rtol * np.abs(b), 0.0)
        if scale and tolerance.qtol:
            # A dequantized value is rounded to its float type, so a whole number of steps is not exactly one.
            rounding = slack * np.maximum(np.abs(a), np.abs(b))
            limit = np.where(finite, limit + tolerance.qtol * scale + rounding, 0.0)
        lsb = np.rint(signed / scale) if scale else None
    return Differences(np.abs(signed), limit, lsb)


def _ratio(differences: Differences) -> NDArray[np.float64]:
    """error / limit: 0 where equal, inf where the limit is 0 and the error is not."""
    error, limit = differences.error, differences.limit
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(error == 0, 0.0, np.where(limit > 0, error / limit, inf)))


def _worst_lsb(lsb: NDArray[np.float64]) -> float:
    return float(np.abs(lsb).max())


def _histogram(lsb: NDArray[np.float64]) -> dict[int, int]:
    """The most frequent differences in LSB with their counts, in ascending order."""
    values, counts = np.unique(lsb[np.isfinite(lsb)], return_counts=True)
    most = np.sort(np.argsort(-counts, kind="stable")[:HISTOGRAM_SIZE])
    return {int(values[i]): int(counts[i]) for i in most}


def _problem(result: Comparison, spec: TensorSpec) -> OutcomeClass:
    """LSB_TIE if rounding explains all differences, else WRONG."""
    quantized = spec.scale is not None or spec.dtype in _QUANTIZED
    few = result.mismatches <= max(1, TIE_SHARE * result.elements)
    if quantized and result.worst_lsb is not None and result.worst_lsb == 1 and few:
        return OutcomeClass.LSB_TIE
    return OutcomeClass.WRONG


def _fitting_order(
    data: bytes, expected: Array, spec: TensorSpec, tolerance: Tolerance
) -> tuple[int, ...] | None:
    """Another usual storage order under which the output passes, if there is one."""
    rank = len(spec.shape)
    if rank < 3:
        return None
    contiguous = tuple(range(rank))
    for order in (contiguous, (0, *contiguous[2:], 1)):
        if order == spec.dim_order:
            continue
        got = decode_tensor(data, TensorSpec(spec.dtype, spec.shape, order))
        if not _differences(got, expected, spec, tolerance).beyond.any():
            return order
    return None


def _refused(
    index: int, problem: OutcomeClass, message: str, measured: Comparison | None = None
) -> Comparison:
    if measured is None:
        measured = Comparison(index, False, 0, 0, inf, None, inf, {}, "")
    return _replace(measured, problem, message)


def _replace(result: Comparison, problem: OutcomeClass | None, message: str) -> Comparison:
    values: dict[str, Any] = {**vars(result), "problem": problem, "message": message}
    return Comparison(**values)
