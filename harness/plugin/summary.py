"""What the session tells a person: header, how many cases ran on which engine, what failed and how."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from harness.plugin.options import SETTINGS
from harness.plugin.protocol import PROPERTY

_ENGINES = {"fvp": "Arm's FVP", "standin": "the stand-in", "host": "the host"}


def pytest_report_header(config: pytest.Config) -> str:
    """One line: which engine was asked for."""
    settings = config.stash[SETTINGS]
    seed = "as each case declares" if settings.case_seed is None else settings.case_seed
    return f"corstone: engine {settings.engine}, runner {settings.runner}, seed {seed}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the cases by engine and list the outcome of every red one."""
    cases = [
        (report.nodeid, report.outcome, attempts)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and (attempts := attempts_of(report)) is not None
    ]
    if not cases:
        return
    rows = [row for row in cases if row[2]]
    terminalreporter.section("corstone")
    terminalreporter.line(engine_line([attempts[-1] for _, _, attempts in rows]))
    if len(rows) < len(cases):
        terminalreporter.line(f"{len(cases) - len(rows)} further tests declare a case and booted nothing")
    for nodeid, outcome, attempts in rows:
        last = attempts[-1]
        if outcome == "failed":
            terminalreporter.line(f"{last['class']} in phase {last['phase']}  {nodeid}")


def attempts_of(report: pytest.TestReport) -> list[dict[str, Any]] | None:
    """The attempts that a report carries; empty for a case that made none, None for a test without a case."""
    for name, value in report.user_properties:
        if name == PROPERTY and isinstance(value, str):
            attempts: list[dict[str, Any]] = json.loads(value)
            return attempts
    return None


def engine_line(last_attempts: list[dict[str, Any]]) -> str:
    """`14 cases: 0 of 14 on Arm's FVP, 12 on the stand-in, 0 on the host, 2 not run`. Pure."""
    total = len(last_attempts)
    ran = Counter(row["engine"] for row in last_attempts)
    parts = [f"{ran['fvp']} of {total} on Arm's FVP"]
    parts += [f"{ran[kind]} on {_ENGINES[kind]}" for kind in ("standin", "host")]
    if ran[None]:
        parts.append(f"{ran[None]} not run")
    return f"{total} cases: " + ", ".join(parts)
