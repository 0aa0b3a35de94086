"""The host as an engine: the runner compiled for this machine, no board."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from harness.engines.base import Capabilities, no_npu_trace
from harness.engines.command import check_command_line
from harness.engines.execute import execute
from harness.flow import EngineIdentity, RunResult, RunSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import Target


class HostEngine:
    """Executes the run's own ELF, which is a host runner with the command line of the one on the board."""

    def identity(self) -> EngineIdentity:
        """The machine; the runner itself is named by the run's hashes."""
        return EngineIdentity("host", platform.machine(), platform.platform(), "", "")

    def capabilities(self, target: Target) -> Capabilities:
        """Any program without an NPU part."""
        return Capabilities(board=False)

    def run(self, spec: RunSpec, directory: Path) -> RunResult:
        """Execute the host runner once.

        Raises:
            HarnessError: CONFIG/CMDLINE, CONFIG/INPUT, CONFIG/OPTIONS, BUNDLE_INVALID or ENV/LOADER.
        """
        directory = directory.absolute()
        if spec.extra_args:
            summary = f"--fvp-arg {spec.extra_args[0]} has no effect on the host engine"
            raise HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_OPTIONS, summary, "leave it out"))
        if spec.npu_trace:
            raise no_npu_trace("the host engine")
        check_command_line(spec.command_line, (spec.program, spec.output_base, *spec.inputs))
        runner = directory / spec.elf
        if runner.is_file() and not os.access(runner, os.X_OK):
            summary = f"{spec.elf} is not executable on this machine"
            raise HarnessError(
                Outcome(Phase.LAUNCH, OutcomeClass.CONFIG_TARGET, summary, "build it with PLATFORM=host")
            )
        # The runner's names are relative to its working directory; a simulator has semihosting-cwd for that.
        enter = ("/bin/sh", "-c", 'cd -- "$0" && exec "$@"', str(directory))
        argv = (*enter, str(runner), *spec.command_line.split()[1:])
        return execute(self.identity(), argv, os.environ, spec, directory)
