"""How a simulator ends, stops and serves semihosting: boots of the probe in `firmware/`."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.console.events import significant
from harness.console.process import LaunchError, run_process
from harness.engines.command import FvpCommand
from harness.engines.environment import simulator_environment
from harness.firmware.toolchain import find_tool
from harness.flow import Limits
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.selfcheck.record import Boot
from harness.targets import Board, Target

_FIRMWARE = Path(__file__).with_name("firmware")
_FLAGS = "-std=c++17 -Os -mcpu=cortex-m33+nofp -mthumb -ffreestanding -fno-exceptions -fno-rtti -nostdlib"
_FACT = re.compile(r"fact (?P<name>\w+)=(?P<value>0x[0-9a-f]+)")
_SPARE = 30.0  # seconds of wall time beyond the simulator's own limit
_LONGEST_LINES = 40


@dataclass(frozen=True)
class Question:
    """What the probe is told, and what the simulator's own limit is; None: `stop_after`."""

    name: str
    command_line: str
    limit: int | None = None
    stop_at_eot: bool = False


QUESTIONS = (
    Question("success", "success", 20),
    Question("failure with status 7", "failure", 20),
    Question("run-time error", "error", 20),
    Question("abort", "abort", 20),
    Question("lock-up", "lockup"),
    Question("endless loop", "loop"),
    Question("endless sleep", "sleep"),
    Question("EOT, shutdown_on_eot=1", "eot", 20, stop_at_eot=True),
    Question("EOT, shutdown_on_eot=0", "eot"),
    Question("semihosting", "semihosting " + 300 * "x", 20),  # longer than the FVP passes on
)


def build_probe(board: Board, directory: Path) -> Path:
    """Compile the probe for `board`.

    Raises:
        HarnessError: ENV/TOOLCHAIN or BUILD/COMPILE.
    """
    elf = directory / f"probe-{board.name}.elf"
    define = board.name.upper().replace("-", "_")
    argv = [find_tool("arm-none-eabi-g++").path, *_FLAGS.split(), f"-D{define}", "-L", str(_FIRMWARE)]
    argv += ["-T", str(_FIRMWARE / f"{board.name}.ld"), str(_FIRMWARE / "probe.cpp"), "-o", str(elf)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        summary = f"the probe does not compile: {done.stderr.strip()[:500]}"
        raise HarnessError(Outcome(Phase.BUILD, OutcomeClass.BUILD_COMPILE, summary))
    return elf


def ask(
    executable: Path, target: Target, elf: Path, directory: Path, stop_after: int = 5
) -> tuple[Boot, ...]:
    """Boot the probe once for each question.

    Args:
        executable: the simulator.
        target: its board and MACs.
        elf: from `build_probe`.
        directory: for console logs and semihosting files.
        stop_after: `--timelimit` in seconds for boots that do not end by themselves.

    Raises:
        HarnessError: ENV/LOADER, it does not start.
    """
    return tuple(
        _boot(executable, target, elf, directory / f"boot-{number}", question, stop_after)
        for number, question in enumerate(QUESTIONS)
    )


def _boot(
    executable: Path, target: Target, elf: Path, directory: Path, question: Question, stop_after: int
) -> Boot:
    directory.mkdir(parents=True, exist_ok=True)
    limit = question.limit or stop_after
    eot = f"{target.board.parameters.shutdown_on_eot}={int(question.stop_at_eot)}"
    command = FvpCommand(
        executable=executable,
        board=target.board,
        num_macs=target.npu_macs,
        elf=elf,
        directory=directory,
        command_line=question.command_line,
        timelimit=limit,
        extra=("-C", eot),
    )
    try:
        record = run_process(
            command.argv(),
            env=simulator_environment(executable),
            log=directory / "console.log",
            limits=Limits(launch=_SPARE + limit, silence=_SPARE + limit, total=_SPARE + limit),
            significant=significant,
        )
    except LaunchError as error:
        summary = f"{executable} cannot be started: {error}"
        raise HarnessError(Outcome(Phase.LAUNCH, OutcomeClass.ENV_LOADER, summary)) from error
    lines = tuple(line.text.strip("\r\x04") for line in record.lines)
    facts = {found["name"]: int(found["value"], 16) for line in lines if (found := _FACT.search(line))}
    seconds = round(record.durations["total"], 3)
    return Boot(question.name, record.exit_status, record.stopped_by, seconds, facts, lines[-_LONGEST_LINES:])
