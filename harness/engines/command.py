"""The FVP's command line, typed: the one place where it is put together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.flow import RunSpec
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import CORSTONE_320, Board, Target

# The FVP cuts a longer semihosting command line without a word.
LONGEST_COMMAND_LINE = 256
# A name is one word for the runner and stands inside single quotes for the FVP.
_NAME = re.compile(r"[A-Za-z0-9_+=@,][A-Za-z0-9_+=@,./-]*")


@dataclass(frozen=True)
class FvpCommand:
    """One boot of a board.

    Attributes:
        executable: absolute path of the FVP.
        board: names of the parameters.
        num_macs: MAC count of the NPU.
        elf: the program.
        directory: where semihosting finds files.
        command_line: the runner's words, as semihosting passes them.
        timelimit: the FVP's own limit in seconds.
        fast: simulate the NPU without its cycles.
        extra: further words, passed on as they are.
    """

    executable: Path | str
    board: Board
    num_macs: int
    elf: Path
    directory: Path
    command_line: str
    timelimit: int
    fast: bool = True
    extra: tuple[str, ...] = ()

    def argv(self) -> tuple[str, ...]:
        """The words of the command line; quotes are part of the words, as the FVP expects them."""
        names = self.board.parameters
        settings = [
            f"{names.num_macs}={self.num_macs}",
            *(f"{name}=1" for name in names.no_display),
            f"{names.no_telnet}=0",
            f"{names.uart_out_file}='-'",
        ]
        if names.uart_unbuffered is not None:
            settings.append(f"{names.uart_unbuffered}=1")
        if self.board is CORSTONE_320:
            settings.append(f"{names.shutdown_on_eot}=1")
        settings += [
            f"{names.semihosting}-enable=1",
            f"{names.semihosting}-stack_base=0",
            f"{names.semihosting}-heap_limit=0",
            f"{names.semihosting}-cwd={self.directory}",
        ]
        if self.fast:
            settings.append(f"{names.npu_extra_args}='--fast'")
        settings.append(f"{names.semihosting}-cmd_line='{self.command_line}'")
        words = [str(self.executable)]
        for setting in settings:
            words += ["-C", setting]
        return (*words, "-a", str(self.elf), "--timelimit", str(self.timelimit), *self.extra)


def command_for(executable: Path, target: Target, spec: RunSpec, directory: Path) -> FvpCommand:
    """The command for `spec` in `directory`.

    Raises:
        HarnessError: CONFIG/CMDLINE, a name or the whole line that semihosting cannot pass; CONFIG/TARGET,
            `spec.extra_args` give the NPU another MAC count than the program is compiled for.
    """
    check_command_line(spec.command_line, (spec.program, spec.output_base, *spec.inputs))
    _check_macs(target, spec.extra_args)
    return FvpCommand(
        executable=executable,
        board=target.board,
        num_macs=target.npu_macs,
        elf=directory / spec.elf,
        directory=directory,
        command_line=spec.command_line,
        timelimit=spec.limits.simulated,
        extra=spec.extra_args,
    )


def check_command_line(line: str, names: Sequence[str]) -> None:
    """Refuse what would arrive at the runner as something else.

    Raises:
        HarnessError: CONFIG/CMDLINE.
    """
    for name in names:
        if not _NAME.fullmatch(name) or ".." in Path(name).parts:
            raise _refused(
                f"file name '{name}' cannot be passed to the runner",
                "names are relative to the attempt directory, of letters, digits and ._+=@,/- only",
            )
    if len(line) > LONGEST_COMMAND_LINE:
        raise _refused(
            f"the runner's command line has {len(line)} > {LONGEST_COMMAND_LINE} characters; the FVP cuts it",
            "use fewer or shorter input names, or a bundle (.bpte), which needs none",
        )


def _check_macs(target: Target, extra: Sequence[str]) -> None:
    for word in extra:
        name, _, value = word.partition("=")
        if name == target.board.parameters.num_macs and target.npu and value.strip() != str(target.npu_macs):
            raise _refused(
                f"{word}, but the program is compiled for {target.name} with {target.npu_macs} MACs",
                "leave it out: the target decides; lower for another target to simulate another NPU",
                OutcomeClass.CONFIG_TARGET,
            )


def _refused(summary: str, hint: str, kind: OutcomeClass = OutcomeClass.CONFIG_CMDLINE) -> HarnessError:
    return HarnessError(Outcome(Phase.LAUNCH, kind, summary, hint))
