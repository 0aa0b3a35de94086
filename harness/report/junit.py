"""JUnit XML with every attempt.

The default is the dialect of Maven Surefire: `rerunFailure` for the further attempts of a test that stays
red, `flakyFailure` for the red attempts of one that passed later. The plain style has neither, for readers
that count such elements twice or not at all: a flaky test is a failure there, with all attempts in its text.
"""

from __future__ import annotations

from datetime import datetime, timezone

from junitparser import Error, Failure, Skipped
from junitparser.xunit2 import FlakyFailure, JUnitXml, RerunFailure, TestCase, TestSuite

from harness.records import AttemptRecord, SessionRecord, TestRecord
from harness.redact import redact
from harness.report.shared import attempt_text, is_green, plain_text, shortened, signature_of

_SKIPPED = ("skipped", "xfailed", "quarantined")
_ERRORS = ("error", "crashed")


def junit_report(session: SessionRecord, plain: bool = False) -> str:
    """JUnit XML of `session`, one test case a node id."""
    suite = TestSuite("corstone-harness")
    suite.timestamp = datetime.fromtimestamp(session.started, timezone.utc).isoformat()
    suite.hostname = session.host
    facts = {
        "session": session.id,
        "argv": redact(" ".join(session.argv)),
        "engine": session.engine,
        "commit": session.commit,
        "merge_base": session.merge_base,
        "branch": session.branch,
        "exit_status": session.exit_status,
        "partial": session.partial,
        **session.environment,
    }
    for name, value in facts.items():
        if value is not None:
            suite.add_property(name, _clean(str(value)))
    suite.add_testcases([_case(test, plain) for test in session.tests])
    document = JUnitXml("corstone-harness")
    document.add_testsuite(suite)
    document.update_statistics()
    text: bytes = document.tostring()
    return text.decode("utf-8")


def _case(test: TestRecord, plain: bool) -> TestCase:
    classname, name = names(test.nodeid)
    case = TestCase(name, classname, round(test.seconds, 3))
    for key, value in _properties(test).items():
        case.add_property(key, _clean(value))
    if test.result in _SKIPPED:
        case.append(_filled(Skipped(_message(test)), _text(test)))
    elif test.result in _ERRORS:
        case.append(_filled(Error(_message(test), test.result), _text(test)))
    elif test.result in ("failed", "xpassed") or (plain and test.result == "flaky"):
        case.append(_filled(Failure(_message(test), _kind(test)), _text(test, every_attempt=plain)))
    if not plain:
        for attempt in _interim(test):
            case.add_interim_result(_interim_result(test, attempt))
        if test.result == "flaky" and not _interim(test):
            # It failed without booting anything; with no element at all it would be a plain pass.
            unbooted = FlakyFailure(_message(test), _kind(test))
            unbooted.stack_trace = _clean(shortened(_text(test), 16384))
            case.add_interim_result(unbooted)
    return case


def names(nodeid: str) -> tuple[str, str]:
    """Class name and name as in pytest's own JUnit: `tests.ops.test_add` and `test_add[m55-rank1]`."""
    path, _, rest = nodeid.partition("::")
    inside, bracket, parameters = rest.partition("[")
    *classes, name = inside.split("::")
    module = path.removesuffix(".py").replace("/", ".")
    return ".".join([module, *classes]), _clean(name + bracket + parameters)


def _interim(test: TestRecord) -> list[AttemptRecord]:
    """The red attempts that are not the result of `test` itself."""
    red = [attempt for attempt in test.attempts if not is_green(attempt)]
    return red if test.result == "flaky" else red[1:]


def _interim_result(test: TestRecord, attempt: AttemptRecord) -> FlakyFailure | RerunFailure:
    made = FlakyFailure if test.result == "flaky" else RerunFailure
    result = made(_clean(f"attempt {attempt.number} ({attempt.rung}): {attempt.summary}"), attempt.kind)
    result.stack_trace = _clean(attempt_text(attempt))
    return result


def _properties(test: TestRecord) -> dict[str, str]:
    found: dict[str, str] = {}
    if test.target:
        found["target"] = test.target
    if test.attempts:
        found["attempts"] = str(len(test.attempts))
        found["engine"] = test.attempts[0].engine or "none"
    if test.verdict is not None:
        found["verdict"] = test.verdict.verdict
        found["reason"] = test.verdict.reason
    if test.history is not None:
        found["history"] = f"{test.history.kind}: {test.history.reason}"
    red = next((attempt for attempt in test.attempts if not is_green(attempt)), None)
    if red is not None:
        found["signature"] = signature_of(test, red)
    if test.repro:
        found["repro"] = test.repro
    return found


def _message(test: TestRecord) -> str:
    attempt = next((attempt for attempt in test.attempts if not is_green(attempt)), None)
    if attempt is not None:
        verdict = f"{test.verdict.verdict}: " if test.verdict is not None else ""
        return _clean(f"{verdict}{attempt.kind} in phase {attempt.phase}: {attempt.summary}")
    lines = test.message.strip().splitlines()
    return _clean(lines[-1] if lines else test.result)


def _kind(test: TestRecord) -> str:
    if test.result in ("flaky", "xpassed"):
        return test.result.upper()
    attempt = next((attempt for attempt in test.attempts if not is_green(attempt)), None)
    return attempt.kind if attempt is not None else "failure"


def _text(test: TestRecord, every_attempt: bool = False) -> str:
    parts = [test.message]
    if test.verdict is not None:
        parts.append("\n".join([f"{test.verdict.verdict}: {test.verdict.reason}", *test.verdict.evidence]))
    red = [attempt for attempt in test.attempts if not is_green(attempt)]
    for attempt in red if every_attempt else red[:1]:
        parts.append(f"attempt {attempt.number}\n{attempt_text(attempt)}")
    if test.repro:
        parts.append(f"reproduce: {test.repro}")
    return "\n\n".join(part for part in parts if part)


def _filled(result: Error | Failure | Skipped, text: str) -> Error | Failure | Skipped:
    result.text = _clean(shortened(text, 16384))
    return result


def _clean(text: str) -> str:
    return plain_text(redact(text))
