"""Console lines to events: one table of patterns for everything that a runner or a simulator says.

A log line has the shape `<L> [executorch:<file>:<line> <function>()] <message>` and is looked for
anywhere on the line, because two writers may share one UART. Patterns of runner messages are anchored at
the start of the message, so that a name inside a message cannot pose as a milestone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from harness.flow import ConsoleLine


class Kind(str, Enum):
    """What a console line means."""

    LOG = "log"
    ERROR = "error"
    BOOTED = "booted"
    MODEL = "model"
    PARSED = "parsed"
    MISSING_OPERATOR = "missing operator"
    OTHER_SCHEMA = "other schema"
    LOAD_FAILED = "load failed"
    LOADED = "loaded"
    INPUT_READY = "input ready"
    INPUT_REFUSED = "input refused"
    BUNDLE_REFUSED = "bundle refused"
    USAGE = "usage"
    RUN_BEGIN = "run begin"
    RUN_END = "run end"
    RUN_FAILED = "run failed"
    MEMORY = "memory"
    ASSERTION = "assertion"
    STRIDES = "strides"
    OUTPUT = "output"
    OUTPUT_LOST = "output lost"
    NOT_TENSOR = "not tensor"
    DEVICE_VERDICT = "device verdict"
    END = "end"
    FAULT = "fault"
    FAULT_CAUSE = "fault cause"
    NO_SEMIHOSTING = "no semihosting"
    LOCKUP = "lock-up"
    CPU_LIMIT = "cpu limit"
    STOPPED_AT = "stopped at"
    LICENCE = "licence"
    EXECSTACK = "execstack"
    LOADER = "loader"
    BAD_OPTION = "bad option"
    BAD_IMAGE = "bad image"
    NOT_SIMULATED = "not simulated"
    SIMULATOR_LOST = "simulator lost"
    SANITIZER = "sanitizer"
    NPU_FAILED = "npu failed"
    NPU_MODEL_FAILED = "npu model failed"
    NO_NPU = "no npu"
    OTHER_NPU = "other npu"
    ETDUMP = "etdump"


@dataclass(frozen=True)
class Event:
    """A console line with a meaning. `values` are the named parts of its pattern; numbers are ints.

    `level`, `file`, `line` and `function` are those of a log line, else empty.
    """

    kind: Kind
    time: float
    text: str
    message: str
    level: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    values: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def from_runner(self) -> bool:
        """True for a line of the program on the board, False for one of the simulator."""
        return bool(self.level) or self.kind is Kind.FAULT


_LOG_LINE = re.compile(
    r"(?P<level>[DIEF]) \[executorch:(?P<file>[^:\]]*):(?P<line>\d+) (?P<function>[^\]]*?)\(\)\] ?"
    r"(?P<message>.*)"
)
_HEX = r"0x[0-9a-fA-F]+"
_ERROR = r"Error: stand-in: "

# Messages of log lines, anchored at their start; the first that matches counts.
_MESSAGES: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Kind.BOOTED, r"Running executor with parameter:"),
        (Kind.MODEL, rf"PTE @ {_HEX} \[----(?P<magic>.{{4}})\]"),
        (Kind.PARSED, r"Running method (?P<method>.+)"),
        (Kind.MISSING_OPERATOR, r"kernel '(?P<operator>[^']+)' not found\."),
        (Kind.MISSING_OPERATOR, r"Missing operator: \[\d+\] (?P<operator>\S+)"),
        (Kind.OTHER_SCHEMA, r"Expected (?P<expected>\d+) args received (?P<received>\d+)"),
        (Kind.LOAD_FAILED, rf"Loading of method (?P<method>.+) failed with status (?P<status>{_HEX})"),
        (Kind.LOADED, r"Method '(?P<method>.+)' loaded\."),
        (Kind.INPUT_READY, r"Input prepared\."),
        (
            Kind.INPUT_REFUSED,
            r"Failed to read whole file|Could not open model file|Could not read all \d+ bytes of model",
        ),
        (Kind.INPUT_REFUSED, r"Input \d+(?: was not accepted|:)|The program takes \d+ inputs"),
        (
            Kind.BUNDLE_REFUSED,
            r"Model file .* (?:holds no valid program|neither a program nor a bundle)|Bundle (?:is|has)\b",
        ),
        (Kind.BUNDLE_REFUSED, r"The bundle expects|Output \d+ is (?:a|of type) .* the bundle expects"),
        (
            Kind.USAGE,
            r"No command line:|Unknown option|Option \S+ (?:given twice|needs a value|is missing)"
            r"|More than \d+ inputs",
        ),
        (Kind.RUN_BEGIN, r"Starting running (?P<count>\d+) inferences"),
        (Kind.RUN_END, r"(?P<count>\d+) inferences finished"),
        (
            Kind.RUN_FAILED,
            rf"Execution of (?:the )?method(?: \S+)? failed with status (?P<status>{_HEX})",
        ),
        (
            Kind.MEMORY,
            r"Memory allocation failed: (?P<needed>\d+)B requested.*?, (?P<available>\d+)B available"
            r"(?: in pool (?P<pool>.+))?",
        ),
        (Kind.STRIDES, r".*shall have same strides"),
        (
            Kind.ASSERTION,
            r"In function (?P<where>.+?)\(\), assert failed(?: \((?P<condition>.*)\))?:? ?(?P<reason>.*)",
        ),
        (
            Kind.OUTPUT_LOST,
            r"Could not (?:open|write) output file|Failed to write whole output file|Output name is too long",
        ),
        (Kind.OUTPUT, r"Writing output to file: (?P<name>\S+)"),
        (Kind.NOT_TENSOR, r"Output\[(?P<index>\d+)\]: Not Tensor"),
        (
            Kind.DEVICE_VERDICT,
            r"TEST: BundleIO index\[(?P<index>\d+)\] Test_result: (?P<verdict>PASS|FAIL)\s*$",
        ),
        (Kind.END, r"harness: end status=(?P<status>-?\d+) outputs=(?P<outputs>\d+)\s*$"),
        (Kind.FAULT, r"(?P<name>(?:Hard|Usage|Bus|MemManage|Memory management|Secure) ?[Ff]ault)\b"),
        (Kind.FAULT_CAUSE, r"Exception \d+: (?P<cause>.+?)\.?$"),
        (Kind.NO_SEMIHOSTING, r"[Ss]emihosting is off"),
        # The Ethos-U driver of the runner: the same on every engine.
        (
            Kind.NPU_FAILED,
            rf"NPU (?P<what>.+?) at byte (?P<offset>\d+) of (?P<size>\d+) of the command stream"
            rf" \(STATUS=(?P<status>{_HEX})\)",
        ),
        (Kind.NPU_FAILED, rf"NPU at {_HEX} (?P<what>does not leave reset) \(STATUS=(?P<status>{_HEX})\)"),
        (Kind.NPU_FAILED, rf"NPU (?P<what>refuses privileged secure accesses) \(PROT={_HEX}\)"),
        (Kind.NO_NPU, r"There is no NPU at |Backend \S+ is not (?:registered|available)"),
        (Kind.OTHER_NPU, r"program is compiled for "),
    )
)

# Everything else, looked for anywhere on the line: the simulator, the loader, a C library, a sanitizer.
_OTHERS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            Kind.NOT_SIMULATED,
            r"^Error: .*(?:no qemu-system-arm|is not executable; install)",
        ),
        (Kind.LOCKUP, r"\bCPU locked up\b|\block-?up\b"),
        (
            Kind.BAD_IMAGE,
            rf"^{_ERROR}.*(?:memory; nearest|no vector table|\bELF\b|truncated|nothing to load"
            r"|the program ')",
        ),
        (
            Kind.BAD_OPTION,
            r"unknown (?:parameter|option)|parameter .*(?:not found|does not exist|expected NAME)",
        ),
        (Kind.BAD_OPTION, rf"^{_ERROR}(?:option |--data |time limit |no program|two programs)"),
        (
            Kind.NPU_MODEL_FAILED,
            rf"^{_ERROR}NPU: (?P<what>parse|bus|unimplemented|internal) error(?: in (?P<operation>\w+))?"
            r"(?: at byte (?P<offset>0x[0-9a-f]+))?",
        ),
        (Kind.SIMULATOR_LOST, rf"^{_ERROR}"),
        (Kind.ETDUMP, r"^#\[RUN THIS\]"),
        (Kind.STRIDES, r"shall have same strides"),
        (Kind.FAULT, r"\b(?P<name>(?:hard|usage|bus|memmanage|secure) ?fault)\b"),
        (Kind.ASSERTION, r"assertion (?:failed: )?(?P<reason>.*)"),
        (Kind.CPU_LIMIT, r"CPU time has been exceeded|Simulation is stopping\. Reason: .*limit"),
        (Kind.STOPPED_AT, rf"program was at PC=(?P<pc>{_HEX})"),
        (Kind.EXECSTACK, r"\bE549\b|cannot enable executable stack"),
        (
            Kind.LOADER,
            r"error while loading shared libraries|cannot open shared object file|GLIBC\S* not found",
        ),
        (Kind.LOADER, r"Exec format error|command not found|libpython\S*: cannot open"),
        (Kind.LICENCE, r"licen[cs]e.*(?:fail|denied|expired|invalid|not |no |cannot|error|checkout)"),
        (Kind.LICENCE, r"(?:fail|denied|expired|invalid|no valid|cannot|error|checkout).*licen[cs]e"),
        (
            Kind.SANITIZER,
            r"ERROR: (?P<tool>\w+Sanitizer): (?P<what>[\w-]+)|(?P<place>\S+): runtime error: (?P<error>.*)",
        ),
    )
)
# One quick look for each table: most lines of a long log have no meaning of their own.
_ANY_MESSAGE = "|".join(re.sub(r"\?P<\w+>", "?:", pattern.pattern) for _, pattern in _MESSAGES)
_ANY_LOG = re.compile(
    rf"[EF] \[executorch:|[DI] \[executorch:[^\]]*\(\)\] ?(?:{_ANY_MESSAGE})".encode(), re.DOTALL
)
_ANY_OTHER_WORDS = (
    "pc= fault assertion locked lock-up lockup strides exceeded limit e549 executable shared exec libpython "
    "not glibc licen sanitizer runtime unknown parameter error #[run"
)
_ANY_OTHER = tuple(word.encode() for word in _ANY_OTHER_WORDS.split())
_REGISTER = re.compile(rf"\b([A-Za-z]\w+) ?= ?({_HEX})")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def read_line(line: ConsoleLine) -> Event | None:
    """The event on one line, None for a line without a meaning of its own."""
    text = line.text
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    text = text.strip("\x00\x04\r")
    if "[executorch:" in text and (log := _LOG_LINE.search(text)):
        return _log_event(line.time, text, log)
    for kind, pattern in _OTHERS:
        if found := pattern.search(text):
            return Event(kind, line.time, text, text, values=_values(kind, found, text))
    return None


def read_events(lines: Iterable[ConsoleLine]) -> tuple[Event, ...]:
    """The events of a console in order."""
    return tuple(event for line in lines if (event := read_line(line)) is not None)


def significant(line: bytes) -> str | None:
    """Kind of a line that a bounded record must keep, None for any other line. Made for long logs."""
    if b"[executorch:" in line:
        if b"\x1b" not in line and not _ANY_LOG.search(line):
            return None
    else:
        folded = line.lower()
        if not any(word in folded for word in _ANY_OTHER):
            return None
    event = read_line(ConsoleLine(0.0, line.decode("utf-8", "replace")))
    return None if event is None or event.kind is Kind.LOG else event.kind.value


def _log_event(time: float, text: str, log: re.Match[str]) -> Event:
    message = log["message"]
    kind = Kind.ERROR if log["level"] in "EF" else Kind.LOG
    values: Mapping[str, int | str] = {}
    for known, pattern in _MESSAGES:
        if found := pattern.match(message):
            kind, values = known, _values(known, found, message)
            break
    return Event(
        kind, time, text, message, log["level"], log["file"], int(log["line"]), log["function"], values
    )


def _values(kind: Kind, found: re.Match[str], text: str) -> dict[str, int | str]:
    values = {name: _number(value) for name, value in found.groupdict().items() if value is not None}
    if kind in (Kind.FAULT, Kind.LOCKUP):
        values.update((name.lower(), int(value, 16)) for name, value in _REGISTER.findall(text))
    return values


def _number(text: str) -> int | str:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(_HEX, text):
        return int(text, 16)
    return text
