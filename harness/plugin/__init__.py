"""The pytest face: options, fixtures, protocol hook, terminal summary, xdist glue."""

from harness.plugin.configure import (
    pytest_configure,
    pytest_configure_node,
    pytest_unconfigure,
    pytest_xdist_make_scheduler,
)
from harness.plugin.fixtures import assert_matches, attempt_directory, check, harness, lower, run, runner
from harness.plugin.lint import pytest_collection_finish
from harness.plugin.options import pytest_addoption, pytest_collection_modifyitems
from harness.plugin.protocol import pytest_runtest_makereport, pytest_runtest_protocol
from harness.plugin.summary import pytest_report_header, pytest_report_teststatus, pytest_terminal_summary
from harness.plugin.workers import pytest_xdist_auto_num_workers

__all__ = [
    "assert_matches",
    "attempt_directory",
    "check",
    "harness",
    "lower",
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_report_header",
    "pytest_report_teststatus",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_terminal_summary",
    "pytest_unconfigure",
    "pytest_xdist_auto_num_workers",
    "pytest_xdist_make_scheduler",
    "run",
    "runner",
]
