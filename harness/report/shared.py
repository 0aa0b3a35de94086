"""What all reports say in the same words: counts, groups of failures, engines, text that XML can hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.records import AttemptRecord, SessionRecord, TestRecord

# In the order of a person's interest.
RED = ("failed", "error", "crashed", "xpassed")
GREEN = ("passed", "xfailed")
RESULTS = (*RED, "flaky", "quarantined", *GREEN, "skipped")
# Text of one attempt in a report; the evidence directory has all of it.
LONGEST_TEXT = 4096

_ENGINES = {"fvp": "Arm's FVP", "standin": "the stand-in", "host": "the host"}
# Not allowed in XML 1.0, not even escaped.
_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Group:
    """All tests of a session that show one signature: one cause, one entry.

    `first` is the attempt that shows it; `tests` are in order of completion.
    """

    signature: str
    first: AttemptRecord | None
    tests: tuple[TestRecord, ...]

    @property
    def verdicts(self) -> Mapping[str, int]:
        """Number of tests by verdict."""
        return Counter(test.verdict.verdict for test in self.tests if test.verdict is not None)


def groups(session: SessionRecord) -> tuple[Group, ...]:
    """The tests that are not green, grouped by signature, largest group first.

    A test without any red attempt (an error in its set-up) is grouped by the last line of its message.
    """
    found: dict[str, list[tuple[AttemptRecord | None, TestRecord]]] = {}
    for test in session.tests:
        if test.result in (*RED, "flaky", "quarantined"):
            attempt = red_attempt(test)
            found.setdefault(signature_of(test, attempt), []).append((attempt, test))
    made = [
        Group(signature, rows[0][0], tuple(test for _, test in rows)) for signature, rows in found.items()
    ]
    return tuple(sorted(made, key=lambda group: -len(group.tests)))


def red_attempt(test: TestRecord) -> AttemptRecord | None:
    """The first attempt of `test` that is not green: later ones only try to explain it."""
    return next((attempt for attempt in test.attempts if not is_green(attempt)), None)


def is_green(attempt: AttemptRecord) -> bool:
    """True for a proven pass."""
    return attempt.kind in ("PASS", "XFAIL")


def signature_of(test: TestRecord, attempt: AttemptRecord | None) -> str:
    """What tells the cause of a red test from others."""
    if attempt is not None:
        return attempt.signature or f"{attempt.phase} {attempt.kind}"
    lines = [line.strip() for line in test.message.splitlines() if line.strip()]
    return f"{test.result}: {lines[-1][:200]}" if lines else test.result


def counts(tests: Iterable[TestRecord]) -> dict[str, int]:
    """Number of tests by result, in the order of RESULTS, without zeros."""
    found = Counter(test.result for test in tests)
    known = {result: found.pop(result) for result in RESULTS if result in found}
    return {**known, **found}


def counts_text(tests: Iterable[TestRecord]) -> str:
    """`2 failed, 1 flaky, 1997 passed`."""
    return ", ".join(f"{number} {result}" for result, number in counts(tests).items()) or "no tests"


def engine_lines(session: SessionRecord) -> tuple[str, ...]:
    """`12 of 14 tests on the stand-in (version)`, one line an engine; always one for Arm's FVP."""
    deciding = [test.attempts[0] for test in session.tests if test.attempts]
    kinds = Counter(attempt.engine for attempt in deciding)
    versions: dict[str, set[str]] = {}
    for attempt in deciding:
        if attempt.engine and attempt.engine_version:
            name = f"{attempt.engine_name}: " if attempt.engine_name else ""
            versions.setdefault(attempt.engine, set()).add(f"{name}{attempt.engine_version}")
    total = len(deciding)
    lines = []
    for kind, words in _ENGINES.items():
        if kinds[kind] or kind == "fvp":
            shown = f" ({'; '.join(sorted(versions[kind]))})" if kind in versions else ""
            lines.append(f"{kinds[kind]} of {total} on {words}{shown}")
    if kinds[None]:
        lines.append(f"{kinds[None]} of {total} on no engine")
    return tuple(lines)


def plain_text(text: str) -> str:
    """`text` without colours and without what XML cannot hold."""
    return _CONTROL.sub("�", _COLOUR.sub("", text))


def shortened(text: str, limit: int = LONGEST_TEXT) -> str:
    """At most `limit` characters: the beginning and the end of a long text."""
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def attempt_text(attempt: AttemptRecord) -> str:
    """A few lines on one attempt: class, comparison, evidence, hashes, next step."""
    lines = [f"{attempt.kind} in phase {attempt.phase}: {attempt.summary}"]
    lines += [comparison.message for comparison in attempt.comparisons if not comparison.ok]
    lines.append(f"rung: {attempt.rung}; seed: {attempt.seed}; engine: {attempt.engine or 'none'}")
    if attempt.signature:
        lines.append(f"signature: {attempt.signature}")
    if attempt.directory:
        lines.append(f"evidence: {attempt.directory}")
    lines += [f"{name} sha256 {digest}" for name, digest in sorted(attempt.hashes.items())]
    if attempt.hint:
        lines.append(f"next: {attempt.hint}")
    return shortened(plain_text("\n".join(lines)))
