"""A Corstone FVP as an engine: Arm's, or the stand-in that takes the same command line."""

from __future__ import annotations

from pathlib import Path

from harness.engines.base import Capabilities, no_npu_trace
from harness.engines.command import command_for
from harness.engines.environment import simulator_environment
from harness.engines.execute import execute
from harness.engines.identity import identify
from harness.firmware.elf import check_board
from harness.flow import EngineIdentity, RunResult, RunSpec
from harness.standin.arguments import NPU_TRACE
from harness.targets import FVP_BOARDS, Target, target_named


class FvpEngine:
    """Boots one FVP executable, named by its absolute path."""

    def __init__(self, executable: Path) -> None:
        self._executable = executable.absolute()

    def identity(self) -> EngineIdentity:
        """Arm's or ours, by `--version` and hash; see `identify`."""
        return identify(self._executable)

    def capabilities(self, target: Target) -> Capabilities:
        """Each simulates its own board, with the NPU; none models the cycles of the core."""
        board = FVP_BOARDS.get(self._executable.name)
        if board is not target.board:
            return Capabilities(True, reason=f"{self._executable.name} does not simulate {target.board.name}")
        return Capabilities(True, npu=True)

    def run(self, spec: RunSpec, directory: Path) -> RunResult:
        """Boot the board once.

        Raises:
            HarnessError: CONFIG/*, BUNDLE_INVALID, ENV/LOADER or NOT_RUN.
        """
        directory = directory.absolute()
        identity = self.identity()
        target = target_named(spec.target)
        command = command_for(self._executable, target, spec, directory)
        check_board(directory / spec.elf, target.board)
        environment = simulator_environment(self._executable)
        if spec.npu_trace:
            if identity.kind != "standin":
                raise no_npu_trace("Arm's FVP")
            environment[NPU_TRACE] = str(directory / spec.npu_trace)
        return execute(identity, command.argv(), environment, spec, directory)
