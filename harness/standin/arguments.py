"""The FVP's command line → `Options`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from harness.standin.boards import NPU_PRODUCTS
from harness.standin.errors import StandinError
from harness.standin.parameters import Parameter, known_parameters, near_names
from harness.targets import FVP_BOARDS, FVP_SSE300_U55, Board

COMMAND_LINE_LIMIT = 256  # characters of semihosting-cmd_line that reach the program
NPU_TRACE = "CORSTONE_STANDIN_NPU_TRACE"  # environment variable
_ADDRESS_LIMIT = 1 << 32
_LONGEST = 1e6  # [s] more is no limit: poll() counts milliseconds in 32 bits

HELP = """\
usage: {fvp} [-C NAME=VALUE]... -a ELF [options]

  -a, --application [CPU=]ELF   the program; a CPU prefix like cpu0*= is accepted
  -C, --parameter NAME=VALUE    set a parameter (see --list-params)
      --data [CPU=]FILE@ADDRESS put the bytes of FILE at ADDRESS before the start
      --dump [CPU=]FILE@ADDRESS,SIZE  write SIZE bytes of DDR at ADDRESS to FILE at the end
  -T, --timelimit SECONDS       stop after SECONDS of host time
      --cpulimit SECONDS        stop after SECONDS of host CPU time of the simulator
      --stat                    print statistics at the end
      --npu-trace FILE          write every operation of the NPU with checksums to FILE
  -q, --quiet                   no banner
  -l, --list-params             print the parameters and exit
      --version                 print what this is and exit
  -h, --help                    print this text and exit

This is corstone-harness's stand-in for {fvp}: QEMU's mps3-an547 under the FVP's command line.
UART0 goes to standard output unless {uart_out_file} names a file; there is no telnet terminal.
HARNESS_QEMU names the qemu-system-arm to use; without it the first one on PATH is used.
{npu_trace_variable} does what --npu-trace does, which Arm's FVP does not know.
"""


@dataclass(frozen=True)
class DataFile:
    """Raw bytes of `path`, loaded at `address`."""

    path: str
    address: int


@dataclass(frozen=True)
class Dump:
    """`size` bytes from `address` on, written to `path` when the simulation ends."""

    path: str
    address: int
    size: int


@dataclass(frozen=True)
class Options:
    """One validated FVP command line. `action` is "run", "version", "help" or "list-params"."""

    fvp: str
    action: str = "run"
    application: str = ""
    data: tuple[DataFile, ...] = ()
    dumps: tuple[Dump, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    time_limit: float | None = None
    cpu_limit: float | None = None
    statistics: bool = False
    quiet: bool = False
    npu_trace: str | None = None

    @property
    def board(self) -> Board:
        """The board that the FVP simulates."""
        return FVP_BOARDS[self.fvp]

    @property
    def npu(self) -> tuple[str, int]:
        """Product ("u55", "u65" or "u85") and MACs of the NPU."""
        name = self.board.parameters.num_macs
        default = known_parameters(self.fvp)[name].default
        return NPU_PRODUCTS[self.fvp], int(self.values.get(name, default))

    @property
    def uart_file(self) -> str | None:
        """File for UART0's output; None is standard output."""
        name = self.values.get(self.board.parameters.uart_out_file, "")
        return None if name in ("", "-") else name

    @property
    def shutdown_on_eot(self) -> bool:
        """End the simulation at byte 0x04 on UART0."""
        return self.values.get(self.board.parameters.shutdown_on_eot) == "1"

    @property
    def semihosting(self) -> bool:
        """Serve semihosting calls."""
        return self._semihosting("enable") == "1"

    @property
    def semihosting_cwd(self) -> str:
        """Directory that semihosting files are confined to."""
        return self._semihosting("cwd") or "."

    @property
    def command_line(self) -> str:
        """What SYS_GET_CMDLINE returns."""
        return self._semihosting("cmd_line")[:COMMAND_LINE_LIMIT]

    def _semihosting(self, name: str) -> str:
        return self.values.get(f"{self.board.parameters.semihosting}-{name}", "")


def parse(arguments: list[str], fvp: str = FVP_SSE300_U55) -> Options:
    """Read an FVP command line (without the program's name).

    Raises:
        StandinError: unknown option or parameter, or a bad value.
    """
    known = known_parameters(fvp)
    options = Options(fvp)
    words = iter(arguments)
    for word in words:
        name, value = _split(word)
        if name in _FLAGS:
            if value is not None:
                raise StandinError(f"option {name} takes no value, not '{value}'")
            options = _FLAGS[name](options)
        elif name in _VALUED:
            text = next(words, None) if value is None else value
            if text is None:
                raise StandinError(f"option {name} needs a value")
            options = _VALUED[name](options, text, known)
        else:
            raise StandinError(f"option '{word}' is unknown to the stand-in; see --help")
    if options.action == "run" and not options.application:
        raise StandinError("no program: name one with -a ELF")
    return options


def _split(word: str) -> tuple[str, str | None]:
    """Option name and the value attached to it: `--name=value` or `-Cname=value`."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    if len(word) > 2 and word[:2] in _VALUED:
        return word[:2], word[2:].removeprefix("=")
    return word, None


def unquoted(text: str) -> str:
    """`text` without one pair of surrounding quotes: the FVP accepts values quoted once more."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _parameter(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    name, equals, value = unquoted(text).partition("=")
    if not equals:
        raise StandinError(f"parameter '{text}': expected NAME=VALUE")
    if name not in known:
        near = near_names(name, known)
        hint = f"did you mean {' or '.join(near)}?" if near else "--list-params shows all of them"
        raise StandinError(f"unknown parameter '{name}' of {options.fvp}; {hint}")
    return replace(options, values={**options.values, name: known[name].check(unquoted(value))})


def _without_cpu(text: str) -> str:
    """`cpu0*=FILE` → `FILE`; a path may contain `=` itself."""
    prefix, equals, rest = text.partition("=")
    return unquoted(rest if equals and prefix.startswith("cpu") and "/" not in prefix else text)


def _application(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    if options.application:
        raise StandinError(f"two programs ('{options.application}' and '{text}'); the board has one CPU")
    return replace(options, application=_without_cpu(unquoted(text)))


def _data(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    path, at, address = _without_cpu(unquoted(text)).rpartition("@")
    value = _number(address)
    if not at or not path or value is None:
        raise StandinError(f"--data '{text}': expected FILE@ADDRESS, for example model.bin@0x70000000")
    return replace(options, data=(*options.data, DataFile(path, value)))


def _dump(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    path, at, place = _without_cpu(unquoted(text)).rpartition("@")
    address, size = map(_number, (*place.split(",", 1), "")[:2])
    if not at or not path or address is None or not size:
        raise StandinError(f"--dump '{text}': expected FILE@ADDRESS,SIZE, for example out.bin@0x70000000,64")
    return replace(options, dumps=(*options.dumps, Dump(path, address, size)))


def _number(text: str) -> int | None:
    """A 32-bit address or size; a prefix names the secure or non-secure view, as in S:0x70000000."""
    try:
        value = int(text.rpartition(":")[2], 0)
    except ValueError:
        return None
    return value if 0 <= value < _ADDRESS_LIMIT else None


def _seconds(text: str) -> float:
    try:
        value = float(unquoted(text))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise StandinError(f"time limit '{text}' is not a number of seconds")
    return min(value, _LONGEST)


def _time_limit(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    return replace(options, time_limit=_seconds(text))


def _npu_trace(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    return replace(options, npu_trace=unquoted(text))


def _cpu_limit(options: Options, text: str, known: dict[str, Parameter]) -> Options:
    return replace(options, cpu_limit=_seconds(text))


_FLAGS: dict[str, Callable[[Options], Options]] = {
    "--stat": lambda options: replace(options, statistics=True),
    "-q": lambda options: replace(options, quiet=True),
    "--quiet": lambda options: replace(options, quiet=True),
    "--version": lambda options: replace(options, action="version"),
    "-h": lambda options: replace(options, action="help"),
    "--help": lambda options: replace(options, action="help"),
    "-l": lambda options: replace(options, action="list-params"),
    "--list-params": lambda options: replace(options, action="list-params"),
}
_VALUED: dict[str, Callable[[Options, str, dict[str, Parameter]], Options]] = {
    "-C": _parameter,
    "--parameter": _parameter,
    "-a": _application,
    "--application": _application,
    "--data": _data,
    "--dump": _dump,
    "-T": _time_limit,
    "--timelimit": _time_limit,
    "--cpulimit": _cpu_limit,
    "--npu-trace": _npu_trace,
}
