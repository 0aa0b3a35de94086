"""Rules about the program: load, inputs, run, and what the runner itself says."""

from __future__ import annotations

from harness.console.events import Kind
from harness.console.evidence import LOG_NAME, Evidence
from harness.outcomes import Outcome, OutcomeClass, Phase

# Status codes of ExecuTorch's runtime (runtime/core/error.h) that tell more than "load failed".
_LOAD_STATUS = {
    0x14: (OutcomeClass.CONFIG_MISSING_OP, "build the runner with the program's operators"),
    0x21: (OutcomeClass.MEM, "raise the method allocator's pool"),
    0x25: (OutcomeClass.MEM, "raise the method allocator's pool"),
    0x30: (OutcomeClass.CONFIG_TARGET, "the delegate's program is for another NPU: lower it for this target"),
    0x31: (OutcomeClass.MEM, "raise the delegate's pool"),
}
_CHANNELS_LAST = "channels-last"  # what our kernels on images call the order that they need
_TO_CHANNELS_LAST = (
    "lower the model with inputs and weights in channels_last: .to(memory_format=torch.channels_last) "
    "on both (docs/writing-tests.md)"
)
_MALFORMED = "write the program again; if a fresh one fails too, the runner is at fault"


def missing_operators(evidence: Evidence) -> Outcome | None:
    """CONFIG/MISSING_OP: each operator once."""
    events = evidence.all(Kind.MISSING_OPERATOR)
    if not events:
        return None
    operators = list(dict.fromkeys(str(event.values["operator"]) for event in events))
    summary = f"the runner has no kernel for {', '.join(operators)}"
    hint = "build the runner with these operators (`--runner program` does it from the program's list)"
    return Outcome(Phase.LOAD, OutcomeClass.CONFIG_MISSING_OP, summary, hint, {"operators": operators})


def other_schema(evidence: Evidence) -> Outcome | None:
    """CONFIG/MISSING_OP: a kernel of that name exists, but for another schema."""
    event = evidence.first(Kind.OTHER_SCHEMA)
    if event is None:
        return None
    summary = f"the runner's kernel has another schema than the program's operator: {event.message.strip()}"
    hint = "lower the program and build the runner with one version of executorch"
    return Outcome(evidence.phase_before(event), OutcomeClass.CONFIG_MISSING_OP, summary, hint, event.values)


def memory(evidence: Evidence) -> Outcome | None:
    """MEM: needed and available bytes, and the pool."""
    event = evidence.first(Kind.MEMORY)
    if event is None:
        return None
    needed, available = event.values["needed"], event.values["available"]
    pool = str(event.values.get("pool", "")).partition(" of ")[0].strip().rstrip(".")
    where = f" in pool {pool}" if pool else ""
    summary = f"allocation failed{where}: {needed} bytes needed, {available} available"
    option = f"{pool.upper().replace(' ', '_')}_POOL_SIZE" if pool else "POOL_SIZE"
    hint = f"build the runner with the CMake option {option} ≥ {needed} (docs/runtime.md)"
    detail = {"needed": needed, "available": available, "pool": pool}
    return Outcome(evidence.phase_before(event), OutcomeClass.MEM, summary, hint, detail)


def strides(evidence: Evidence) -> Outcome | None:
    """DIM_ORDER: the device refuses to compare tensors of different strides."""
    event = evidence.first(Kind.STRIDES)
    if event is None:
        return None
    hint = "bundle the references in the dim order of the program's outputs"
    return Outcome(Phase.VERIFY, OutcomeClass.DIM_ORDER, f"dim orders differ: {event.message.strip()}", hint)


def usage(evidence: Evidence) -> Outcome | None:
    """CONFIG/CMDLINE: the runner does not understand its own command line."""
    event = evidence.first(Kind.USAGE)
    if event is None:
        return None
    hint = f"the runner was given: {evidence.spec.command_line}"
    return Outcome(Phase.LOAD, OutcomeClass.CONFIG_CMDLINE, event.message.strip(), hint)


def inputs(evidence: Evidence) -> Outcome | None:
    """CONFIG/INPUT: an input file is short or has another size than the program's input."""
    event = evidence.first(Kind.INPUT_REFUSED)
    if event is None:
        return None
    if evidence.bundled and evidence.first(Kind.MODEL):
        return Outcome(Phase.LOAD, OutcomeClass.BUNDLE_INVALID, event.message.strip(), _MALFORMED)
    hint = "input files hold raw elements in storage order, in the dtype of the program's input"
    return Outcome(Phase.LOAD, OutcomeClass.CONFIG_INPUT, event.message.strip(), hint)


def load_failed(evidence: Evidence) -> Outcome | None:
    """BUNDLE_INVALID, or what the runtime's status says."""
    event = evidence.first(Kind.LOAD_FAILED)
    if event is None:
        return None
    status = event.values["status"]
    kind, hint = _LOAD_STATUS.get(int(status), (OutcomeClass.BUNDLE_INVALID, _MALFORMED))
    summary = evidence.complaint() or event.message.strip()
    return Outcome(Phase.LOAD, kind, summary, hint, {"status": f"0x{status:02x}"})


def malformed(evidence: Evidence) -> Outcome | None:
    """BUNDLE_INVALID: the runner rejects the file, or gave up between finding and parsing it."""
    refused = evidence.first(Kind.BUNDLE_REFUSED)
    stopped = evidence.end_status not in (None, 0) or (
        evidence.end is None and evidence.exit_status not in (None, 0)
    )
    unparsed = evidence.first(Kind.MODEL) is not None and evidence.first(Kind.PARSED) is None
    if refused is None and not (stopped and unparsed):
        return None
    reason = evidence.complaint() or "no reason given"
    summary = f"{evidence.spec.program} is not a program that the runner accepts: {reason}"
    return Outcome(Phase.LOAD, OutcomeClass.BUNDLE_INVALID, summary, _MALFORMED)


def run_failed(evidence: Evidence) -> Outcome | None:
    """ABORT: a kernel or a delegate ended the inference with an error; DIM_ORDER if that is its reason."""
    event = evidence.first(Kind.RUN_FAILED)
    if event is None:
        return None
    summary = evidence.complaint() or event.message.strip()
    if _CHANNELS_LAST in summary:
        return Outcome(Phase.RUN, OutcomeClass.DIM_ORDER, summary, _TO_CHANNELS_LAST, event.values)
    hint = f"the first error line in {LOG_NAME} names the kernel and its reason"
    return Outcome(Phase.RUN, OutcomeClass.ABORT, summary, hint, event.values)


def gave_up(evidence: Evidence) -> Outcome | None:
    """EXIT_STATUS: the end marker says that the run failed."""
    if evidence.end_status in (None, 0) or evidence.only_device_objects:
        return None
    summary = (
        f"the runner ended with status {evidence.end_status}: {evidence.complaint() or 'no reason given'}"
    )
    return Outcome(
        _phase_of_failure(evidence),
        OutcomeClass.EXIT_STATUS,
        summary,
        f"see {LOG_NAME}",
        {"status": evidence.end_status},
    )


def no_verdict(evidence: Evidence) -> Outcome | None:
    """NO_VERDICT, or EXIT_STATUS: there is no end marker, or more than one."""
    markers = len(evidence.all(Kind.END))
    if markers == 1:
        return None
    if markers > 1:
        summary = f"{markers} end markers on one console"
        return Outcome(
            Phase.VERIFY, OutcomeClass.NO_VERDICT, summary, "a run has one; did the board restart?"
        )
    if evidence.exit_status != 0:
        summary = (
            f"status {evidence.exit_status} and no end marker: {evidence.complaint() or 'no reason given'}"
        )
        detail = {"status": evidence.exit_status}
        return Outcome(evidence.phase, OutcomeClass.EXIT_STATUS, summary, f"see {LOG_NAME}", detail)
    seen = "an empty console" if not evidence.spoke else "no end marker"
    hint = "build the runner with logging; a program that ends without the marker has proved nothing"
    return Outcome(Phase.VERIFY, OutcomeClass.NO_VERDICT, f"exit status 0, but {seen}", hint)


def _phase_of_failure(evidence: Evidence) -> Phase:
    assert evidence.end is not None
    return evidence.phase_before(evidence.end)
