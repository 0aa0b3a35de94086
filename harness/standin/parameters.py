"""The `-C` parameters that the stand-in knows, by FVP name.

Names come from `harness.targets` where the harness itself passes them; the others are in common
use on command lines for these boards. A parameter without an effect here says so in its help.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.standin.boards import NPU_PRODUCTS
from harness.standin.errors import StandinError
from harness.standin.npu.config import MACS
from harness.targets import FVP_BOARDS, Board

_NO_EFFECT = " (accepted, no effect on the stand-in)"
_TRUE, _FALSE = ("1", "true"), ("0", "false")

_DEFAULT_MACS = 128


@dataclass(frozen=True)
class Parameter:
    """One `-C` parameter.

    `kind` is "bool", "int" or "string"; `allowed` lists the valid integers (empty: any).
    """

    name: str
    kind: str
    default: str
    help: str
    allowed: tuple[int, ...] = ()

    def check(self, value: str) -> str:
        """`value` in canonical form ("0"/"1", decimal digits, or the text itself).

        Raises:
            StandinError: not a value of this parameter.
        """
        if self.kind == "bool":
            if value.lower() in _TRUE + _FALSE:
                return "1" if value.lower() in _TRUE else "0"
            raise StandinError(f"parameter {self.name}: '{value}' is not a bool; use 0 or 1")
        if self.kind == "int":
            return str(self._integer(value))
        return value

    def _integer(self, value: str) -> int:
        try:
            number = int(value, 0)
        except ValueError:
            raise StandinError(f"parameter {self.name}: '{value}' is not an integer") from None
        if number < 0 or (self.allowed and number not in self.allowed):
            valid = ", ".join(map(str, self.allowed)) or "integers from 0 on"
            raise StandinError(f"parameter {self.name}: {value} is not possible; valid: {valid}")
        return number


def known_parameters(fvp: str) -> dict[str, Parameter]:
    """All parameters of the FVP called `fvp`, by name.

    Raises:
        KeyError: no such FVP.
    """
    board = FVP_BOARDS[fvp]
    parameters = (*_npu(fvp, board), *_semihosting(board), *_uart0(board), *_others(board))
    return {parameter.name: parameter for parameter in parameters}


def near_names(name: str, known: dict[str, Parameter]) -> list[str]:
    """Names in `known` that resemble `name`, best first; a name that ends alike counts too."""
    import difflib  # only an error pays for it

    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    tail = name.rsplit(".", 1)[-1]
    return near or [other for other in known if other.rsplit(".", 1)[-1] == tail][:3]


def _npu(fvp: str, board: Board) -> list[Parameter]:
    macs = MACS[NPU_PRODUCTS[fvp]]
    default = str(_DEFAULT_MACS if _DEFAULT_MACS in macs else macs[0])
    names = board.parameters
    return [
        Parameter(names.num_macs, "int", default, "MACs per cycle of the Ethos-U", macs),
        Parameter(names.npu_extra_args, "string", "", "options of the Ethos-U model" + _NO_EFFECT),
    ]


def _semihosting(board: Board) -> list[Parameter]:
    prefix = board.parameters.semihosting
    return [
        Parameter(f"{prefix}-enable", "bool", "0", "serve semihosting calls (BKPT 0xAB)"),
        Parameter(f"{prefix}-cwd", "string", "", "directory that semihosting files are confined to"),
        Parameter(f"{prefix}-cmd_line", "string", "", "SYS_GET_CMDLINE; cut after 256 characters"),
        *(
            Parameter(f"{prefix}-{name}", "int", "0", "SYS_HEAPINFO value" + _NO_EFFECT)
            for name in ("stack_base", "stack_limit", "heap_base", "heap_limit")
        ),
    ]


def _uart0(board: Board) -> list[Parameter]:
    names = board.parameters
    uart = names.uart_out_file.rsplit(".", 1)[0]
    return [
        Parameter(
            names.uart_out_file, "string", "", "file for UART0's output; '-' or nothing: standard output"
        ),
        Parameter(names.shutdown_on_eot, "bool", "0", "end the simulation when UART0 sends EOT (0x04)"),
        Parameter(f"{uart}.unbuffered_output", "bool", "1", "output is never buffered" + _NO_EFFECT),
        Parameter(names.no_telnet, "bool", "0", "there is no telnet terminal" + _NO_EFFECT),
    ]


def _others(board: Board) -> list[Parameter]:
    prefix = board.parameters.uart_out_file.split(".", 1)[0]
    display = [
        Parameter(name, "bool", "1", "there is no window" + _NO_EFFECT)
        for name in board.parameters.no_display
    ]
    telnet = [
        Parameter(
            f"{prefix}.telnetterminal{n}.{name}", kind, default, "there is no telnet terminal" + _NO_EFFECT
        )
        for n in range(3)
        for name, kind, default in (
            ("start_telnet", "bool", "0"),
            ("quiet", "bool", "1"),
            ("start_port", "int", "5000"),
            ("mode", "string", "telnet"),
        )
    ]
    uarts = [
        Parameter(f"{prefix}.uart{n}.{name}", "string", "", "only UART0 is connected" + _NO_EFFECT)
        for n in (1, 2)
        for name in ("out_file", "in_file")
    ]
    return [*display, *telnet, *uarts]
