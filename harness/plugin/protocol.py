"""The attempt loop owns the test protocol, so that reruns and xdist never need a rewrite."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

from harness.flow import Attempt
from harness.plugin.fixtures import ATTEMPTS
from harness.plugin.options import item_case

PROPERTY = "corstone_attempts"


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test: one pass through set-up, call and teardown a loop turn; one turn for now."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the attempts to the report of a case; user properties travel from xdist workers."""
    report = yield
    if report.when == "call":
        attempts = item.stash.get(ATTEMPTS, [])
        if attempts or item_case(item) is not None:
            report.user_properties.append((PROPERTY, json.dumps([_row(a) for a in attempts])))
    return report


def _row(attempt: Attempt) -> dict[str, object]:
    result = attempt.result
    return {
        "number": attempt.number,
        "phase": attempt.outcome.phase.value,
        "class": attempt.outcome.kind.value,
        "summary": attempt.outcome.summary,
        "engine": result.engine.kind if result else None,
        "engine_name": result.engine.name if result else None,
        "engine_version": result.engine.version if result else None,
        "directory": str(result.directory) if result else None,
        "seed": result.spec.seed if result else None,
        "durations": {name: round(seconds, 4) for name, seconds in attempt.durations.items()},
    }
