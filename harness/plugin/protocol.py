"""Runs each test once; reruns happen inside it, so that fixtures are set up and torn down once."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

from harness.plugin.gather import FLAKY
from harness.plugin.judging import ItemState, asks_for_boot, describe, payload, resolve, state_of
from harness.plugin.options import SETTINGS
from harness.plugin.payload import attach
from harness.plugin.workspace import WORKSPACE


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and note on disk that it runs: a worker that dies leaves that line."""
    item.config.stash[WORKSPACE].starts(item.nodeid, item.path)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what the test has booted to its report; a flaky test is not a plain pass."""
    report = yield
    state = state_of(item)
    if call.when == "call":
        if report.failed and not hasattr(report, "wasxfail"):
            _explain(item, report, state)
        if report.passed and state.flaky and not hasattr(report, "wasxfail"):
            _flaky(item, report, state)
    if asks_for_boot(item) or state.attempts:
        attach(report, payload(item))
    return report


def _explain(item: pytest.Item, report: pytest.TestReport, state: ItemState) -> None:
    """A test that fails by an assertion of its own on a red attempt: climb the ladder for that too."""
    last = state.attempts[-1] if state.attempts else None
    if last is None or last.outcome.green or last.number in state.conclusions:
        return
    conclusion = resolve(item, last)
    if conclusion is not None:
        report.sections.append(("verdict", describe(last, conclusion)))


def _flaky(item: pytest.Item, report: pytest.TestReport, state: ItemState) -> None:
    assert state.current is not None
    text = describe(state.current, state.conclusions[state.current.number])
    if item.config.stash[SETTINGS].flaky == "fail":
        report.outcome = "failed"
        report.longrepr = f"{FLAKY}passed only when repeated\n{text}"
    else:
        report.sections.append(("flaky", text))
