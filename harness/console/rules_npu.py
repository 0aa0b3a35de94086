"""Rules about the NPU: which one is there, and how a job on it failed.

Two sources tell it. The runner's driver speaks on every engine, and its lines suffice for the class. The
stand-in's model speaks too, before the driver: it names the operation and the reason, and it alone knows
that not the program but the model is at fault.
"""

from __future__ import annotations

from harness.console.events import Event, Kind
from harness.console.evidence import LOG_NAME, Evidence
from harness.outcomes import Outcome, OutcomeClass

_DISASSEMBLE = "`harness npu disasm` prints the program's command stream with offsets"
_HINTS = {
    OutcomeClass.NPU_PARSE: f"{_DISASSEMBLE}: it is damaged, or compiled for another kind of NPU",
    OutcomeClass.NPU_BUS: f"{_DISASSEMBLE}: an address lies outside the memory that the NPU reaches; the "
    "runner's CMake options NPU_SCRATCH_SIZE and NPU_FAST_SCRATCH_SIZE give it more",
    OutcomeClass.NPU_FAULT: f"{_DISASSEMBLE}; STATUS is explained in docs/npu.md",
    OutcomeClass.NPU_TIMEOUT: "either the job takes longer than the runner's CMake option NPU_WAIT_TICKS, or "
    "the NPU's interrupt does not arrive",
    OutcomeClass.NPU_UNIMPLEMENTED: "the stand-in's model cannot do this, which says nothing about the "
    "program: run it on Arm's FVP, and report the line",
}
_BY_DRIVER = {
    "command parse error": OutcomeClass.NPU_PARSE,
    "bus error": OutcomeClass.NPU_BUS,
    "time-out": OutcomeClass.NPU_TIMEOUT,
    "stop without interrupt": OutcomeClass.NPU_TIMEOUT,
}
_BY_MODEL = {
    "parse": OutcomeClass.NPU_PARSE,
    "bus": OutcomeClass.NPU_BUS,
    "unimplemented": OutcomeClass.NPU_UNIMPLEMENTED,
    "internal": OutcomeClass.NPU_UNIMPLEMENTED,
}


def unsuitable(evidence: Evidence) -> Outcome | None:
    """CONFIG/TARGET: there is no NPU, or not the one that the program was compiled for."""
    event = evidence.first(Kind.NO_NPU, Kind.OTHER_NPU)
    if event is None:
        return None
    if event.kind is Kind.OTHER_NPU:
        hint = "lower for the NPU that the simulator has, or give it the program's with num_macs (--target)"
    else:
        hint = "run it on a board with an NPU: `--engine auto`, and a runner built for the program's target"
    return Outcome(evidence.phase_before(event), OutcomeClass.CONFIG_TARGET, event.message.strip(), hint)


def failed(evidence: Evidence) -> Outcome | None:
    """NPU/*: a job failed, in the words of the model if it spoke, else in the driver's."""
    driver, model = evidence.first(Kind.NPU_FAILED), evidence.first(Kind.NPU_MODEL_FAILED)
    event = model or driver
    if event is None:
        return None
    what = str(event.values["what"])
    kind = _BY_MODEL[what] if event is model else _BY_DRIVER.get(what, OutcomeClass.NPU_FAULT)
    detail: dict[str, object] = {"error": what}
    for source in (driver, model):
        if source is not None:
            detail.update(_numbers(source))
    hint = f"{_HINTS[kind]}; see {LOG_NAME}"
    return Outcome(evidence.phase_before(event), kind, _text(event), hint, detail)


def _numbers(event: Event) -> dict[str, object]:
    """Offset in bytes, size of the stream, operation, STATUS."""
    values = {name: value for name, value in event.values.items() if name != "what"}
    return {name: f"0x{value:x}" if name == "status" else value for name, value in values.items()}


def _text(event: Event) -> str:
    return event.message.strip().removeprefix("Error: stand-in: ")
