"""Sets up what belongs to a session: settings, shared directory, the controller, and xdist's part in it."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from harness.aot.child import end_with
from harness.plugin import options
from harness.plugin.deadline import NAME as DEADLINE
from harness.plugin.deadline import Deadline, end_on_sigterm
from harness.plugin.quarantine import NAME as QUARANTINE
from harness.plugin.quarantine import quarantine_plugin
from harness.plugin.workspace import WORKSPACE, enter, hand_over
from harness.whole import whole

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling


def pytest_configure(config: pytest.Config) -> None:
    """Resolve the options; in the process that reports, begin the session."""
    options.pytest_configure(config)
    config.pluginmanager.register(quarantine_plugin(config.stash[options.SETTINGS]), QUARANTINE)
    if hasattr(config, "workerinput"):
        # execnet gives a worker that has lost its controller fifteen seconds and more.
        end_with(os.getppid())
    config.stash[WORKSPACE] = enter(config)
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        # Reports and ledger are of no use to a worker, which should start fast.
        from harness.plugin.controller import NAME, Controller

        config.pluginmanager.register(Controller(config), NAME)
        guard = ExitStack()
        guard.enter_context(whole("the session", lambda text: _say(config, text)))
        config.add_cleanup(guard.close)
        end_on_sigterm(config)
        if limit := config.stash[options.SETTINGS].session_limit:
            config.pluginmanager.register(Deadline(config, limit), DEADLINE)


def _say(config: pytest.Config, text: str) -> None:
    """Past pytest's capture, which holds the standard streams."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    sys.stderr.write(f"\n{text}")
    sys.stderr.flush()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the shared directory with the session that made it."""
    workspace = config.stash.get(WORKSPACE, None)
    if workspace is not None and not hasattr(config, "workerinput"):
        workspace.remove()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the shared directory is."""
    hand_over(node.config, node.workerinput)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Schedulers by scope that give a test up when it has ended its worker; None for xdist's own."""
    from harness.plugin.scheduling import scheduler

    return scheduler(config, log)
