"""From the command line to the exit status."""

from __future__ import annotations

import os
import signal
import sys
import time
from traceback import format_exc
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from harness.standin.arguments import HELP, NPU_TRACE, Options, parse
from harness.standin.boards import BOARD_MODELS, npu_memory, views
from harness.standin.confined import Confinement
from harness.standin.console import Console
from harness.standin.errors import STATUS_QEMU, StandinError
from harness.standin.image import check_application, check_data, check_dump
from harness.standin.parameters import known_parameters
from harness.standin.qemu import Qemu, is_tested, parse_version, start
from harness.targets import FVP_BOARDS, FVP_SSE300_U55

if TYPE_CHECKING:
    from harness.standin.devices import Device
    from harness.standin.machine import Machine

NAME_OPTION = "--fvp-name"  # first argument, set by the launchers: the FVP to stand in for


class _Terminated(BaseException):
    """A signal asked the stand-in to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(arguments: list[str]) -> int:
    """Run one FVP command line and return the exit status (see `harness.standin`)."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _terminate)
    try:
        fvp, arguments = _name(arguments)
        options = parse(arguments, fvp)
        if options.action != "run":
            return _inform(options)
        return _simulate(options)
    except StandinError as error:
        print(f"Error: stand-in: {error}", file=sys.stderr, flush=True)
        return error.status
    except BrokenPipeError:  # nobody reads the output any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        print(f"Error: stand-in: {error}", file=sys.stderr, flush=True)
        return STATUS_QEMU
    except _Terminated as end:
        return 128 + end.number
    except Exception:  # a defect of ours says nothing of the program
        print(f"Error: stand-in: a defect of its own\n{format_exc()}", file=sys.stderr, flush=True)
        return STATUS_QEMU


def _terminate(number: int, frame: FrameType | None) -> None:
    for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)  # once is enough; the clean-up must not be interrupted
    raise _Terminated(number)


def _name(arguments: list[str]) -> tuple[str, list[str]]:
    """The FVP's name and the remaining arguments."""
    if arguments[:1] != [NAME_OPTION]:
        return FVP_SSE300_U55, arguments
    name = arguments[1] if len(arguments) > 1 else ""
    if name not in FVP_BOARDS:
        raise StandinError(f"{NAME_OPTION} '{name}' is none of {', '.join(FVP_BOARDS)}")
    return name, arguments[2:]


def _inform(options: Options) -> int:
    """--version, --help and --list-params."""
    if options.action == "version":
        from harness.standin.identity import version_text

        print(version_text(options.fvp))
    elif options.action == "help":
        uart = options.board.parameters.uart_out_file
        print(HELP.format(fvp=options.fvp, uart_out_file=uart, npu_trace_variable=NPU_TRACE))
    else:
        for parameter in known_parameters(options.fvp).values():
            print(f"{parameter.name}={parameter.default}  # ({parameter.kind}) {parameter.help}")
    return 0


def _simulate(options: Options) -> int:
    check_application(options.application, options.board)
    for data in options.data:
        check_data(data, options.board)
    for dump in options.dumps:
        check_dump(dump, options.board)
    try:
        files = Confinement(options.semihosting_cwd)
    except OSError as error:
        raise StandinError(f"semihosting-cwd '{options.semihosting_cwd}': {error.strerror}") from None
    try:
        console = Console(options.uart_file)
    except OSError as error:
        raise StandinError(f"UART0 out_file '{options.uart_file}': {error.strerror}") from None
    begin = time.monotonic()
    qemu = start(options)
    try:
        from harness.standin.machine import Machine  # while QEMU starts

        machine = Machine(options, qemu, console, files)
        machine.attach(*board_devices(options, qemu, machine, console))
        announce(options, console, machine.version())
        status = machine.run()
        for dump in options.dumps:
            qemu.ddr.dump(dump.path, dump.address, dump.size)
        if options.statistics:
            _print_statistics(console, time.monotonic() - begin)
        return status
    except StandinError as error:
        console.line(f"Error: stand-in: {error}")
        return error.status
    finally:
        qemu.kill()


def board_devices(options: Options, qemu: Qemu, machine: Machine, console: Console) -> list[Device]:
    """The devices of the board that QEMU's machine lacks."""
    from harness.standin.ethosu.jobs import Model
    from harness.standin.ethosu.registers import EthosU
    from harness.standin.uart import Uart

    board, lacks = options.board, BOARD_MODELS[options.board.name]
    record = _trace_file(options.npu_trace or os.environ.get(NPU_TRACE))
    model = Model(
        options.npu, machine.gdb, qemu.ddr, npu_memory(board), record, console.line, machine.seconds_left
    )
    npu = EthosU(
        *options.npu,
        bases=views(board.npu_base),
        size=lacks.npu_size,
        irq=board.npu_irq,
        execute=model.execute,
        say=console.line,
        touched=model.prepare,
    )
    devices: list[Device] = [npu]
    if lacks.uart_emulated:
        devices.append(Uart(views(board.uart0), machine.uart))
    return devices


def _trace_file(path: str | None) -> TextIO | None:
    if not path:
        return None
    try:
        return open(path, "w", encoding="utf-8")  # noqa: PTH123 - open to the end; pathlib is slow
    except OSError as error:
        raise StandinError(f"NPU trace '{path}': {error.strerror}") from None


def announce(options: Options, console: Console, version: str) -> None:
    """One line that says what this is, and a warning about an untried QEMU."""
    number = parse_version(version)
    text = ".".join(map(str, number)) or version
    if not options.quiet:
        machine = BOARD_MODELS[options.board.name].machine
        console.line(f"corstone-harness stand-in for {options.fvp} (QEMU {text}, {machine}); not Arm's FVP")
    if not is_tested(number):
        console.line(f"Warning: stand-in: QEMU {text} is untried; 7.2 and 10 are known to work")


def _print_statistics(console: Console, wall: float) -> None:
    console.line("--- stand-in statistics ---")
    console.line(f"Host wall time             : {wall:.3f} s, start-up of QEMU included")
    console.line("Simulated time, instructions: not available (no cycle or instruction model)")
