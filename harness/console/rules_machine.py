"""Rules about the machine: the simulator, its host, limits, faults of the CPU."""

from __future__ import annotations

import signal

from harness.console.events import Event, Kind
from harness.console.evidence import LOG_NAME, Evidence
from harness.outcomes import Outcome, OutcomeClass, Phase

_CRASHES = (Kind.FAULT, Kind.LOCKUP, Kind.ASSERTION, Kind.SANITIZER)
# Status of a shell or of exec for a program that cannot be executed or found.
_NOT_EXECUTABLE = (126, 127)
# Where each limit of the host comes from.
_LIMITS = {
    "launch": "the launch limit (fixed, Limits.launch)",
    "silence": "the silence limit (--silence-limit)",
    "total": "the total limit (--timelimit plus --silence-limit)",
}
_CRASH_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def environment(evidence: Evidence) -> Outcome | None:
    """ENV/*: the simulator complains about this machine before the runner has spoken."""
    if evidence.runner_spoke:
        return None
    rows = (
        (
            Kind.LICENCE,
            OutcomeClass.ENV_LICENCE,
            "the simulator has no licence",
            "activate the licence or use --engine standin",
        ),
        (
            Kind.EXECSTACK,
            OutcomeClass.ENV_EXECSTACK,
            "a library of the simulator asks for an executable stack",
            "clear the flag with `patchelf --clear-execstack` on the library that the line names, "
            "or use --engine standin",
        ),
        (
            Kind.LOADER,
            OutcomeClass.ENV_LOADER,
            "the simulator cannot be loaded",
            "install the library that the line names; `harness doctor` shows which executable was chosen",
        ),
    )
    for kind, outcome, summary, hint in rows:
        if event := evidence.first(kind):
            return Outcome(Phase.LAUNCH, outcome, f"{summary}: {event.message.strip()}", hint)
    if evidence.exit_status in _NOT_EXECUTABLE:
        summary = f"the simulator cannot be executed (status {evidence.exit_status})"
        return Outcome(Phase.LAUNCH, OutcomeClass.ENV_LOADER, summary, f"see {LOG_NAME}")
    return None


def refused(evidence: Evidence) -> Outcome | None:
    """CONFIG/OPTIONS, CONFIG/TARGET: the simulator refuses its command line or the ELF."""
    if evidence.runner_spoke:
        return None
    if event := evidence.first(Kind.BAD_OPTION):
        hint = "correct --fvp-arg; `--list-params` of the simulator shows what it knows"
        return Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, _text(event), hint)
    if event := evidence.first(Kind.BAD_IMAGE):
        hint = f"build the runner for {evidence.spec.board}, or run it on the board it was built for"
        return Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_TARGET, _text(event), hint)
    return None


def late_crash(evidence: Evidence) -> Outcome | None:
    """LATE_FAULT: a crash behind the end marker."""
    event = evidence.behind_end(*_CRASHES)
    if event is None:
        return None
    summary = f"crash behind the end marker: {_text(event)}{_place(evidence, event)}"
    hint = f"something runs on after main(): interrupts, exit handlers; see the end of {LOG_NAME}"
    return Outcome(Phase.EXIT, OutcomeClass.LATE_FAULT, summary, hint, _registers(evidence, event))


def crash(evidence: Evidence) -> Outcome | None:
    """FAULT, LOCKUP, ABORT: the first crash on the console."""
    event = evidence.first(*_CRASHES)
    if event is None:
        return None
    phase = evidence.phase_before(event)
    if event.kind is Kind.LOCKUP:
        hint = "a fault in the fault handler, or no handler at all: check vector table and stack"
        summary = _text(event) + _place(evidence, event)
        return Outcome(phase, OutcomeClass.LOCKUP, summary, hint, _registers(evidence, event))
    if event.kind is Kind.ASSERTION:
        return Outcome(phase, OutcomeClass.ABORT, f"assertion failed: {_text(event)}", f"see {LOG_NAME}")
    cause = evidence.first(Kind.FAULT_CAUSE)
    why = str(cause.values["cause"]) if cause else ""
    summary = (f"{why}: " if why else "") + _text(event) + _place(evidence, event)
    hint = "run the same program with `--engine host --host-runner sanitized` to find memory errors"
    if "stack overflow" in why:
        summary = f"stack exhausted: {_text(event)}{_place(evidence, event)}"
        hint = f"the core's stack limit was reached: enlarge .stack in the board's linker script, or {hint}"
    return Outcome(phase, OutcomeClass.FAULT, summary, hint, _registers(evidence, event))


def semihosting(evidence: Evidence) -> Outcome | None:
    """CONFIG/SEMIHOSTING: the runner says so."""
    if evidence.first(Kind.NO_SEMIHOSTING) is None:
        return None
    return _semihosting("the runner needs semihosting and the simulator has it off")


def own_limit(evidence: Evidence) -> Outcome | None:
    """CPU_LIMIT: the simulator's own time limit."""
    event = evidence.first(Kind.CPU_LIMIT)
    if event is None:
        return None
    seconds = evidence.spec.limits.simulated
    hint = "raise --timelimit if the program is only slow"
    if not evidence.runner_spoke:
        hint = "the runner printed nothing: it hangs before main(), or semihosting is off"
    stopped = evidence.first(Kind.STOPPED_AT)
    place = _place(evidence, stopped) if stopped else ""
    summary = f"the simulator stopped at its own limit (--timelimit {seconds}){place}"
    return Outcome(evidence.phase_before(event), OutcomeClass.CPU_LIMIT, summary, hint, {"limit": seconds})


def absent(evidence: Evidence) -> Outcome | None:
    """NOT_RUN: the stand-in has no QEMU, or does not know the board."""
    event = evidence.first(Kind.NOT_SIMULATED)
    if event is None:
        return None
    hint = "`harness doctor` says what is missing; Arm's FVP on PATH is used in place of the stand-in"
    return Outcome(Phase.LAUNCH, OutcomeClass.NOT_RUN, _text(event), hint)


def simulator_lost(evidence: Evidence) -> Outcome | None:
    """EXIT_STATUS: the stand-in gave up; its QEMU crashed or was killed."""
    event = evidence.first(Kind.SIMULATOR_LOST)
    if event is None:
        return None
    detail = {"status": evidence.exit_status}
    return Outcome(evidence.phase, OutcomeClass.EXIT_STATUS, _text(event), f"see {LOG_NAME}", detail)


def host_limit(evidence: Evidence) -> Outcome | None:
    """TIMEOUT, or CONFIG/SEMIHOSTING for a boot without a line of the runner."""
    limits = evidence.spec.limits
    seconds = {"launch": limits.launch, "silence": limits.silence, "total": limits.total}.get(
        evidence.stopped_by
    )
    if seconds is None:
        return None
    if evidence.stopped_by == "silence" and not evidence.runner_spoke and evidence.engine != "host":
        return _semihosting(f"the simulator started, but the runner printed nothing for {seconds:g} s")
    what = {
        "launch": f"no byte within {seconds:g} s of the launch",
        "silence": f"no output for {seconds:g} s",
        "total": f"not finished within {seconds:g} s",
    }[evidence.stopped_by]
    hint = f"{LOG_NAME} shows how far it came; raise {_LIMITS[evidence.stopped_by]} only if it made progress"
    detail: dict[str, object] = {"limit": evidence.stopped_by, "seconds": seconds}
    if evidence.phase is Phase.RUN and (buffers := evidence.misaligned()):
        hint = f"not 16-byte aligned: {', '.join(buffers[:3])}; kernels and the NPU rely on it. {hint}"
        detail["misaligned"] = list(buffers)
    return Outcome(
        evidence.phase,
        OutcomeClass.TIMEOUT,
        f"ended by the {evidence.stopped_by} limit: {what}",
        hint,
        detail,
    )


def killed(evidence: Evidence) -> Outcome | None:
    """EXIT_STATUS for a simulator that a signal ended; FAULT or ABORT for a runner on the host."""
    if evidence.exit_status is None or evidence.exit_status >= 0:
        return None
    number = -evidence.exit_status
    name = signal.Signals(number).name if number in set(signal.Signals) else "unknown"
    detail = {"status": evidence.exit_status, "signal": name}
    if evidence.engine == "host" and number in _CRASH_SIGNALS:
        return Outcome(
            evidence.phase,
            OutcomeClass.FAULT,
            f"the host runner died of {name}",
            "build it with sanitizers",
            detail,
        )
    if evidence.engine == "host" and number == signal.SIGABRT:
        return Outcome(
            evidence.phase, OutcomeClass.ABORT, "the host runner aborted", f"see {LOG_NAME}", detail
        )
    summary = f"the simulator was ended by signal {number} ({name})"
    hint = (
        "someone, or the system for want of memory, ended it"
        if number == signal.SIGKILL
        else f"see {LOG_NAME}"
    )
    return Outcome(evidence.phase, OutcomeClass.EXIT_STATUS, summary, hint, detail)


def _semihosting(summary: str) -> Outcome:
    hint = "start the simulator with semihosting-enable=1; a runner that hangs before main() looks the same"
    return Outcome(Phase.BOOT, OutcomeClass.CONFIG_SEMIHOSTING, summary, hint)


def _text(event: Event) -> str:
    return event.message.strip().removeprefix("Error: ").removeprefix("stand-in: ")


def _place(evidence: Evidence, event: Event) -> str:
    places = [
        f"{name.upper()} in {place}" for name in ("pc", "lr") if (place := _symbol(evidence, event, name))
    ]
    return f" ({', '.join(places)})" if places else ""


def _symbol(evidence: Evidence, event: Event, register: str) -> str | None:
    address = event.values.get(register)
    return evidence.locate(address) if isinstance(address, int) else None


def _registers(evidence: Evidence, event: Event) -> dict[str, object]:
    detail: dict[str, object] = {
        name: f"0x{value:08x}" for name, value in event.values.items() if isinstance(value, int)
    }
    if symbol := _symbol(evidence, event, "pc"):
        detail["symbol"] = symbol
    return detail
