"""Records for tests of what the plugin says of them."""

from __future__ import annotations

from dataclasses import replace

from harness.flow import Attempt
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.plugin.payload import attempt_record
from harness.records import TestRecord

PASS = Outcome(Phase.EXIT, OutcomeClass.PASS, "equal")


def record(result: str = "passed", nodeid: str = "test_a.py::test_a") -> TestRecord:
    """A test that booted nothing."""
    return TestRecord(nodeid, None, result, (), None, None, 0.0, 1.0, "main", "", None)


def booted(engine: str | None, result: str = "passed", nodeid: str = "test_a.py::test_a") -> TestRecord:
    """A test with one attempt on `engine`."""
    attempt = replace(attempt_record(Attempt(1, PASS)), engine=engine)
    return replace(record(result, nodeid), attempts=(attempt,))
