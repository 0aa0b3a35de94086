"""The pytest face: options, fixtures, protocol hook, terminal summary, xdist glue."""

from harness.plugin.fixtures import assert_matches, attempt_directory, check, harness, lower, run, runner
from harness.plugin.options import pytest_addoption, pytest_collection_modifyitems, pytest_configure
from harness.plugin.protocol import pytest_runtest_makereport, pytest_runtest_protocol
from harness.plugin.summary import pytest_report_header, pytest_terminal_summary

__all__ = [
    "assert_matches",
    "attempt_directory",
    "check",
    "harness",
    "lower",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_terminal_summary",
    "run",
    "runner",
]
