"""Pytest plugin that gives ExecuTorch's own tests verdicts: their runs go through this project's engine.

`pytest -p harness.upstream.plugin backends/arm/test/...` in a checkout of upstream, or `harness upstream`.
It replaces `run_target` of upstream's tester by one with the same signature; comparing stays upstream's.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.flow import Attempt
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.plugin.gather import FLAKY
from harness.plugin.judging import (
    describe,
    expected_to_fail,
    keep_bundle,
    next_number,
    record,
    state_of,
    turns,
)
from harness.plugin.options import SETTINGS
from harness.plugin.workspace import WORKSPACE
from harness.upstream.boot import boot, ended_well
from harness.upstream.climb import climb
from harness.upstream.references import Compared, watched, with_references

_RUN_TARGET = "run_target"
_NO_BOARD = "vkml_emulation_layer"
NAME = "corstone-upstream"


class MissingOutputError(FileNotFoundError):
    """The runner wrote no output file; upstream's tester raises the same kind of error."""


class RunFailedError(RuntimeError):
    """The run failed, there is nothing to compare; upstream's tester raises the same kind of error."""


class UpstreamPlugin:
    """Boots through our engine what upstream's tests want to boot, and judges their failures."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._item: pytest.Item | None = None
        self._original: Any = None
        self._compare: Any = None
        self._compared: Compared | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Replace upstream's way to run a program, and listen to its comparison."""
        from executorch.backends.arm.test.tester import serialize
        from executorch.backends.test.harness import Tester

        self._original, self._compare = serialize.run_target, Tester._compare_outputs
        serialize.run_target = self.run_target
        Tester._compare_outputs = staticmethod(watched(self._compare, self._failed))

    def pytest_sessionfinish(self) -> None:
        """Put it back: a session may run inside another one."""
        from executorch.backends.arm.test.tester import serialize
        from executorch.backends.test.harness import Tester

        serialize.run_target, Tester._compare_outputs = self._original, staticmethod(self._compare)

    def _failed(self, compared: Compared) -> None:
        self._compared = compared

    def run_target(
        self,
        executorch_program_manager: Any,
        inputs: Sequence[Any],
        intermediate_path: str | Path,
        target_board: str,
        elf_path: str | Path,
        timeout: int = 120,
    ) -> Any:
        """As upstream's: run a program, return its outputs as tensors.

        Raises:
            MissingOutputError, RunFailedError: with class, verdict and evidence of the run.
        """
        arguments = (executorch_program_manager, inputs, intermediate_path, target_board, elf_path, timeout)
        if target_board == _NO_BOARD or self._item is None:
            return self._original(*arguments)
        item = self._item
        directory = self._directory(item, f"attempt-{next_number(item)}")
        with turns(self._config).shared():
            attempt, outputs = boot(*arguments, directory, self._config.stash[SETTINGS])
        attempt = record(item, attempt)
        if outputs is not None:
            return outputs
        kind = MissingOutputError if attempt.outcome.kind is OutcomeClass.NO_OUTPUT else RunFailedError
        raise kind(describe(attempt))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Know the test that runs."""
        self._item, self._compared = item, None
        try:
            return (yield)
        finally:
            self._item = None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turn upstream's comparison into the outcome of the last attempt; climb the ladder for a red one."""
        report = yield
        state = state_of(item)
        if call.when != "call" or not state.attempts:
            return report
        # Whether a marker or a call expects the failure is put into the report only later.
        expected = expected_to_fail(item) or (
            call.excinfo is not None and isinstance(call.excinfo.value, pytest.xfail.Exception)
        )
        last = state.attempts[-1]
        if ended_well(last) and report.failed and call.excinfo is not None and not expected:
            last = replace(last, outcome=_wrong(call.excinfo))
            if self._compared is not None:
                last = with_references(last, self._compared)
            last = state.attempts[-1] = keep_bundle(item, last, None)
        if report.failed and not expected and not last.outcome.green:
            self._explain(item, report, last)
        return report

    def _explain(self, item: pytest.Item, report: pytest.TestReport, last: Attempt) -> None:
        state = state_of(item)
        state.records, conclusion = climb(item, last, lambda name: self._directory(item, name))
        state.conclusions[last.number], state.current = conclusion, last
        state.runs = 1 + len(state.records) + len(state.attempts) - last.number
        text = describe(last, conclusion)
        if not conclusion.flaky:
            report.sections.append(("verdict", text))
        elif self._config.stash[SETTINGS].flaky == "fail":
            report.longrepr = f"{FLAKY}passed only when repeated\n{text}\n\n{report.longreprtext}"
        else:
            report.outcome = "passed"

    def _directory(self, item: pytest.Item, name: str) -> Path:
        """A new directory of a test."""
        from harness.plugin.fixtures import directory_of

        return directory_of(item, name)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, once the harness's own is configured."""
    if WORKSPACE not in config.stash:
        raise pytest.UsageError("harness.upstream.plugin needs harness.plugin: no -p no:harness.plugin")
    config.pluginmanager.register(UpstreamPlugin(config), NAME)


def _wrong(excinfo: pytest.ExceptionInfo[BaseException]) -> Outcome:
    lines = [line.strip() for line in str(excinfo.value).splitlines() if line.strip()]
    summary = f"upstream's test: {type(excinfo.value).__name__}: {lines[0] if lines else 'no message'}"
    return Outcome(Phase.VERIFY, OutcomeClass.WRONG, summary[:400], "the test's own message says more")
