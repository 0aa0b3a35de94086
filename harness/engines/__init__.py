"""Engines: what executes a runner with a program, and the one function that makes an attempt of it."""

from harness.engines.attempt import run_attempt
from harness.engines.base import Capabilities, Engine
from harness.engines.command import FvpCommand, command_for
from harness.engines.directory import prepare
from harness.engines.fvp import FvpEngine
from harness.engines.host import HostEngine
from harness.engines.identity import identify
from harness.engines.select import find_fvp, select_engine

__all__ = [
    "Capabilities",
    "Engine",
    "FvpCommand",
    "FvpEngine",
    "HostEngine",
    "command_for",
    "find_fvp",
    "identify",
    "prepare",
    "run_attempt",
    "select_engine",
]
