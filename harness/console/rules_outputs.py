"""Rules about the outputs: files, fill pattern, comparisons, the device's own verdict, the exit status."""

from __future__ import annotations

from harness.console.events import Kind
from harness.console.evidence import LOG_NAME, Evidence
from harness.flow import Comparison
from harness.outcomes import Outcome, OutcomeClass, Phase

_NOT_COMPARABLE = (OutcomeClass.REF_ERROR, OutcomeClass.DTYPE, OutcomeClass.SHAPE, OutcomeClass.DIM_ORDER)
_HINTS = {
    OutcomeClass.REF_ERROR: "the device is not to blame: make the reference files again",
    OutcomeClass.DTYPE: "program and reference differ in dtype: were both written by one lowering?",
    OutcomeClass.SHAPE: "program and reference differ in shape: were both written by one lowering?",
    OutcomeClass.DIM_ORDER: "the values are right in another storage order: check the output's dim order",
    OutcomeClass.WRONG: "look at the elements named above; `harness repro` boots the same bytes again",
    OutcomeClass.LSB_TIE: "rounding of ties differs; qtol=1 accepts it, with a reason in the change",
}


def missing(evidence: Evidence) -> Outcome | None:
    """NO_OUTPUT: an expected file does not exist, or the runner could not write it."""
    lost = evidence.first(Kind.OUTPUT_LOST)
    absent = [state.name for state in evidence.outputs if state.size is None]
    claimed = None if evidence.end is None else int(evidence.end.values["outputs"])
    if lost is not None:
        summary = f"the runner could not write an output: {lost.message.strip()}"
    elif absent:
        summary = f"output not written: {', '.join(absent)}"
    elif claimed is not None and claimed < len(evidence.outputs):
        summary = f"the runner wrote {claimed} outputs, {len(evidence.outputs)} expected"
    else:
        return None
    return Outcome(Phase.VERIFY, OutcomeClass.NO_OUTPUT, summary, f"see {LOG_NAME}", {"missing": absent})


def not_comparable(evidence: Evidence) -> Outcome | None:
    """REF_ERROR, DTYPE, SHAPE, DIM_ORDER."""
    return _worst(evidence, _NOT_COMPARABLE)


def untouched(evidence: Evidence) -> Outcome | None:
    """OUTPUT_NOT_WRITTEN: only the fill pattern, unless that is exactly what the reference has."""
    exact = {
        evidence.spec.output_names[entry.index]
        for entry in evidence.comparisons
        if entry.ok and entry.worst == 0
    }
    names = [state.name for state in evidence.outputs if state.unwritten and state.name not in exact]
    if not names:
        return None
    summary = (
        f"nothing was written into the output buffer: {', '.join(names)} holds only the fill pattern 0xA5"
    )
    hint = "a kernel or the NPU wrote somewhere else, or did not run at all"
    return Outcome(Phase.VERIFY, OutcomeClass.OUTPUT_NOT_WRITTEN, summary, hint, {"outputs": names})


def wrong(evidence: Evidence) -> Outcome | None:
    """WRONG before LSB_TIE."""
    return _worst(evidence, (OutcomeClass.WRONG, OutcomeClass.LSB_TIE))


def not_compared(evidence: Evidence) -> Outcome | None:
    """NO_VERDICT: an output without a reference, or no output that can be compared at all."""
    if not evidence.comparisons and not evidence.outputs:
        summary = "the run ended well, but no output is a tensor: nothing was compared"
        return Outcome(Phase.VERIFY, OutcomeClass.NO_VERDICT, summary, "return a tensor from the module")
    compared = {evidence.spec.output_names[entry.index] for entry in evidence.comparisons}
    rest = [state.name for state in evidence.outputs if state.name not in compared]
    if not rest:
        return None
    summary = f"the run ended well, but there is nothing to compare {', '.join(rest)} with"
    return Outcome(
        Phase.VERIFY, OutcomeClass.NO_VERDICT, summary, "give a reference, or a bundle that has one"
    )


def device_verdict(evidence: Evidence) -> Outcome | None:
    """The device's verdict on a bundle must be complete, and must not contradict equal bytes."""
    if not evidence.bundled:
        return None
    indices = tuple(sorted(index for index, _ in evidence.device_verdicts))
    expected = tuple(range(evidence.tests))
    if indices != expected:
        summary = f"device verdicts for tests {list(indices)}, {list(expected)} expected"
        return Outcome(Phase.VERIFY, OutcomeClass.NO_VERDICT, summary, f"see Test_result in {LOG_NAME}")
    later = [index for index, good in evidence.device_verdicts if index > 0 and not good]
    if later:
        summary = f"the device's comparison fails for test {later[0]}, which the host does not compare"
        return Outcome(
            Phase.VERIFY, OutcomeClass.WRONG, summary, f"see the lines before Test_result in {LOG_NAME}"
        )
    if evidence.tests > 1:
        summary = f"the bundle has {evidence.tests} test cases, and the host compares the first only"
        hint = "bundle one test case a file: the device's own comparison is no proof"
        return Outcome(Phase.VERIFY, OutcomeClass.NO_VERDICT, summary, hint, {"tests": evidence.tests})
    failed = any(not good for _, good in evidence.device_verdicts)
    if failed and all(entry.worst == 0 for entry in evidence.comparisons):
        summary = "the device's comparison fails although the outputs equal the host's references"
        hint = "the references in the bundle are others than those beside it: bundle again"
        return Outcome(Phase.VERIFY, OutcomeClass.WRONG, summary, hint, {"device": "FAIL", "host": "equal"})
    return None


def exit_status(evidence: Evidence) -> Outcome | None:
    """EXIT_STATUS: everything was right, and then the process ended badly."""
    if evidence.exit_status == 0:
        return None
    if evidence.only_device_objects and evidence.exit_status == evidence.end_status:
        return None
    summary = f"outputs are right, but the exit status is {evidence.exit_status}"
    detail = {"status": evidence.exit_status}
    return Outcome(Phase.EXIT, OutcomeClass.EXIT_STATUS, summary, f"see the end of {LOG_NAME}", detail)


def passed(evidence: Evidence) -> Outcome:
    """PASS, with the numbers that prove it."""
    elements = sum(entry.elements for entry in evidence.comparisons)
    margin = max((entry.margin for entry in evidence.comparisons), default=0.0)
    worst = max((entry.worst for entry in evidence.comparisons), default=0.0)
    agreement = "equal" if worst == 0 else f"within limits, {100 * margin:.3g} % of the limit used"
    notes = []
    if elements == 0:
        notes.append("note: 0 elements compared")
    if evidence.bundled and not all(ok for _, ok in evidence.device_verdicts):
        notes.append("note: the device's exact comparison says FAIL; the host's limits allow the difference")
    summary = "; ".join([f"{len(evidence.comparisons)} outputs, {elements} elements {agreement}", *notes])
    detail = {"elements": elements, "margin": margin, "worst": worst}
    return Outcome(Phase.EXIT, OutcomeClass.PASS, summary, detail=detail)


def _worst(evidence: Evidence, order: tuple[OutcomeClass, ...]) -> Outcome | None:
    for problem in order:
        entries = [entry for entry in evidence.comparisons if entry.problem is problem]
        if entries:
            return Outcome(
                Phase.VERIFY,
                problem,
                entries[0].message.replace("\n", "; "),
                _HINTS[problem],
                _numbers(evidence, entries),
            )
    return None


def _numbers(evidence: Evidence, entries: list[Comparison]) -> dict[str, object]:
    first = entries[0]
    detail: dict[str, object] = {
        "outputs": [entry.index for entry in entries],
        "mismatches": first.mismatches,
        "elements": first.elements,
        "worst": first.worst,
        "worst_lsb": first.worst_lsb,
        "worst_index": list(first.worst_index),
        "histogram": dict(first.histogram),
    }
    state = next((s for s in evidence.outputs if s.name == evidence.spec.output_names[first.index]), None)
    if state is not None and state.untouched > 1:
        detail["untouched_bytes"] = state.untouched
    return detail
