"""Signatures: what stays the same when the same thing goes wrong again.

A signature is phase, class, the first fatal line and the symbol, without what varies between runs:
addresses, temporary paths, numbers, colours. It never rests on a generic line ("assert False", "exit
status 1", "build stopped"), in which many different faults end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from harness.console.events import Event, Kind, read_events
from harness.flow import ConsoleLine
from harness.outcomes import Outcome, OutcomeClass

# Longest text of a signature, in characters.
LIMIT = 240

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_PATH = re.compile(r"(?:(?<=[\s'\"=(\[,:])|^)(?:~|\.{1,2})?/(?:[^\s'\"(),:;\[\]]+/)*([^\s'\"(),:;\[\]/]*)")
_HASH = re.compile(r"\b0[xX][0-9a-fA-F]+\b|\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b")
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+(?:\.\d+)*|\.\d+)(?:[eE][-+]?\d+)?(?:[kKMG]?i?B|[mun]?s)?(?![\w])"
)
_RUN_OF_NUMBERS = re.compile(r"#(?:(?:,\s*|\s+|\s*x\s*|\.)#)+")
_OFFSET = re.compile(r"\+#|\s*\([^)]*:#\)")

# Lines in which many different faults end; matched against the whole normalised line.
_GENERIC = re.compile(
    r"""^(?:
        \w*(?:assertion)?error:?            # a bare exception
      | assert\ (?:false|none|not\ true|\w+)
      | assert\ [\W_]+                    # numbers only
      | (?:the\ )?(?:test|run|build|command|process|method|program)?\s*(?:failed|aborted|stopped|exited)\.?
      | aborted(?:\ \(core\ dumped\))?
      | .*\b(?:non-zero\ )?exit(?:ed\ with)?\ (?:status|code):?\ \S+
      | .*returned\ non-zero\ exit\ status.*
      | ninja:\ build\ stopped.*
      | g?make(?:\[\#\])?:\ \*\*\*.*
      | collect\#:\ error:\ ld\ returned.*
      | collect2:\ error:\ ld\ returned.*
      | program\ complete,\ exiting\.?
      | no\ reason\ given
      | failed\ with\ status\ \#
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
_FATAL = re.compile(
    r"error|fault|fail|assert|abort|exception|overflow|time.?out|timed out|lock-?up|not found|no such"
    r"|refused|cannot|undefined|mismatch|unsupported|killed|segmentation",
    re.IGNORECASE,
)
# Classes whose summary names outputs and values: the values vary, the outputs do not.
_OF_VALUES = (OutcomeClass.WRONG, OutcomeClass.LSB_TIE)
# Classes whose summary says how it ended, not why: the console has the reason, if anything has.
_OF_THE_END = (
    OutcomeClass.EXIT_STATUS,
    OutcomeClass.NO_VERDICT,
    OutcomeClass.NO_OUTPUT,
    OutcomeClass.TIMEOUT,
    OutcomeClass.CPU_LIMIT,
)
_CAUSES = (
    Kind.FAULT,
    Kind.LOCKUP,
    Kind.ASSERTION,
    Kind.SANITIZER,
    Kind.ERROR,
    Kind.LOAD_FAILED,
    Kind.RUN_FAILED,
    Kind.OUTPUT_LOST,
    Kind.MEMORY,
    Kind.SIMULATOR_LOST,
)


def normalise(text: str) -> str:
    """One line without colours, directories, addresses and numbers (each `#`); at most LIMIT characters.

    Digits inside a name stay: int8, conv2d and ethos-u85 are not numbers.
    """
    line = _COLOUR.sub("", text)
    line = _PATH.sub(lambda found: found[1] or "<path>", line)
    line = _NUMBER.sub("#", _HASH.sub("#", line))
    line = _RUN_OF_NUMBERS.sub("#", " ".join(line.split()))
    return line[:LIMIT].rstrip()


def generic(line: str) -> bool:
    """True for a normalised line that says that something failed but not what."""
    return not re.search(r"[A-Za-z]{2}", line) or _GENERIC.match(line) is not None


def first_fatal(lines: Iterable[str]) -> str:
    """The first line that names a fault, normalised; "" if none does."""
    for text in lines:
        line = normalise(text)
        if _FATAL.search(line) and not generic(line):
            return line
    return ""


def signature(outcome: Outcome, lines: Sequence[ConsoleLine] = ()) -> str:
    """Signature of one attempt: `phase/CLASS: line @ symbol`; "" for a green one.

    Args:
        outcome: of the attempt; its summary holds the first fatal line, unless the class is one that only
            tells how the run ended.
        lines: the console.
    """
    if outcome.green:
        return ""
    head = f"{outcome.phase.value}/{outcome.kind.value}"
    symbol = outcome.detail.get("symbol")
    place = f" @ {_OFFSET.sub('', normalise(str(symbol)))}" if symbol else ""
    body = _body(outcome, lines)
    return (f"{head}: {body}" if body else head)[: LIMIT - len(place)] + place


def signature_of_text(text: str, where: str = "test") -> str:
    """Signature of a failure that is no attempt: a traceback, or the log of a tool.

    Of a traceback as pytest prints it only the lines marked "E" count, unless all of those are generic.
    """
    lines = text.splitlines()
    marked = [line[1:].strip() for line in lines if re.match(r"E\s{2,}\S", line)]
    specific = [line for line in map(normalise, marked) if not generic(line)]
    body = specific[0] if specific else first_fatal(lines)
    return f"{where}: {body}" if body else f"{where}: no line names the fault"


def specific(text: str) -> bool:
    """True for a signature that names a cause, so that equal ones in different tests have one cause.

    Wrong values, limits and missing outputs say how a test failed; another may fail so for another reason.
    """
    head, _, body = text.partition(": ")
    kind = head.partition("/")[2]
    if not body or body == "no line names the fault":
        return False
    if kind in {entry.value for entry in _OF_THE_END}:
        return " | " in body or " @ " in body
    return kind not in {OutcomeClass.WRONG.value, OutcomeClass.LSB_TIE.value, "OUTPUT_NOT_WRITTEN"}


def _body(outcome: Outcome, lines: Sequence[ConsoleLine]) -> str:
    if outcome.kind in _OF_VALUES and "outputs" in outcome.detail:
        outputs = outcome.detail["outputs"]
        return f"outputs {outputs} beyond the limit"
    body = normalise(outcome.summary)
    if outcome.kind in _OF_THE_END:
        cause = _first_cause(lines)
        # The summary may quote the same line already.
        return body if not cause or cause in body else f"{body} | {cause}"
    return "" if generic(body) else body


def _first_cause(lines: Sequence[ConsoleLine]) -> str:
    for event in read_events(lines):
        text = normalise(event.message)
        if event.kind in _CAUSES and not generic(text):
            return f"{_function(event)}{text}"
    return ""


def _function(event: Event) -> str:
    return f"{event.function}(): " if event.function else ""
