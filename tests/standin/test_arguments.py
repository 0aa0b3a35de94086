"""The FVP's command line."""

from __future__ import annotations

import pytest

from harness.standin.arguments import DataFile, Dump, parse
from harness.standin.errors import StandinError
from harness.standin.parameters import known_parameters
from harness.targets import FVP_BOARDS, FVP_SSE300_U55, FVP_SSE300_U65, FVP_SSE320

RUN = ["-a", "x.elf"]


@pytest.mark.parametrize(
    "words",
    [
        ["-C", "mps3_board.uart0.out_file=log"],
        ["-C", "mps3_board.uart0.out_file='log'"],
        ["-C", 'mps3_board.uart0.out_file="log"'],
        ["-C", "'mps3_board.uart0.out_file=log'"],
        ["-Cmps3_board.uart0.out_file=log"],
        ["--parameter", "mps3_board.uart0.out_file=log"],
        ["--parameter=mps3_board.uart0.out_file=log"],
    ],
)
def test_forms_of_a_parameter(words: list[str]) -> None:
    assert parse([*words, *RUN]).uart_file == "log"


@pytest.mark.parametrize(
    "words",
    [
        ["-a", "x.elf"],
        ["-a", "cpu0*=x.elf"],
        ["-a", "cpu0='x.elf'"],
        ["--application", "x.elf"],
        ["-a=x.elf"],
    ],
)
def test_forms_of_the_program(words: list[str]) -> None:
    assert parse(words).application == "x.elf"


def test_path_with_an_equals_sign_is_a_path() -> None:
    assert parse(["-a", "./a=b/x.elf"]).application == "./a=b/x.elf"


def test_defaults() -> None:
    options = parse(RUN)
    assert (options.uart_file, options.semihosting, options.shutdown_on_eot) == (None, False, False)
    assert (options.semihosting_cwd, options.command_line, options.time_limit) == (".", "", None)


def test_dash_is_standard_output() -> None:
    assert parse(["-C", "mps3_board.uart0.out_file='-'", *RUN]).uart_file is None


def test_last_value_of_a_parameter_counts() -> None:
    words = ["-C", "cpu0.semihosting-cmd_line=a", "-C", "cpu0.semihosting-cmd_line='b c=d'"]
    assert parse([*words, *RUN]).command_line == "b c=d"


def test_data() -> None:
    words = ["--data", "a@b.bin@0x90000000", "--data", "cpu0=c.bin@S:0x1000"]
    assert parse([*words, *RUN]).data == (DataFile("a@b.bin", 0x90000000), DataFile("c.bin", 0x1000))


def test_dump_and_npu_trace() -> None:
    options = parse(["--dump", "cpu0=o@S:0x70000010,0x20", "--dump", "p@0x60000000,4", *RUN])
    assert options.dumps == (Dump("o", 0x7000_0010, 32), Dump("p", 0x6000_0000, 4))
    assert parse(["--npu-trace", "t", *RUN]).npu_trace == "t"
    assert parse(RUN).npu_trace is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no program"),
        (["-a"], "needs a value"),
        (["-a", "x", "-a", "y"], "two programs"),
        (["--frobnicate"], "unknown to the stand-in"),
        (["stray"], "unknown to the stand-in"),
        (["--stat=1", *RUN], "takes no value"),
        (["-C", "cpu0.semihosting-enable", *RUN], "NAME=VALUE"),
        (["-C", "cpu0.semihosting-enable=maybe", *RUN], "not a bool"),
        (["-C", "cpu0.semihosting-heap_limit=lots", *RUN], "not an integer"),
        (["-C", "ethosu.num_macs=100", *RUN], "valid: 32, 64, 128, 256"),
        (["--data", "x.bin", *RUN], "FILE@ADDRESS"),
        (["--data", "x.bin@0x100000000", *RUN], "FILE@ADDRESS"),
        (["--data", "@0x1000", *RUN], "FILE@ADDRESS"),
        (["--dump", "x.bin@0x70000000", *RUN], "FILE@ADDRESS,SIZE"),
        (["--dump", "x.bin@0x70000000,0", *RUN], "FILE@ADDRESS,SIZE"),
        (["--dump", "x.bin@0x70000000,four", *RUN], "FILE@ADDRESS,SIZE"),
        (["--dump", "0x70000000,4", *RUN], "FILE@ADDRESS,SIZE"),
        (["--timelimit", "soon", *RUN], "number of seconds"),
        (["--timelimit", "-1", *RUN], "number of seconds"),
        (["--timelimit", "nan", *RUN], "number of seconds"),
        (["--cpulimit", "inf", *RUN], "number of seconds"),
    ],
)
def test_errors(words: list[str], message: str) -> None:
    with pytest.raises(StandinError, match=message):
        parse(words)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cpu0.semihosting-enabled", "cpu0.semihosting-enable"),
        ("mps3_board.uart0.outfile", "mps3_board.uart0.out_file"),
        ("mps4_board.subsystem.ethosu.num_macs", "ethosu.num_macs"),
    ],
)
def test_unknown_parameter_names_near_ones(wrong: str, right: str) -> None:
    with pytest.raises(StandinError, match=f"unknown parameter '{wrong}'.*{right}"):
        parse(["-C", f"{wrong}=1", *RUN])


def test_parameters_belong_to_their_fvp() -> None:
    assert parse(["-C", "ethosu.num_macs=512", *RUN], FVP_SSE300_U65).values == {"ethosu.num_macs": "512"}
    assert parse(["-C", "mps4_board.subsystem.cpu0.semihosting-enable=1", *RUN], FVP_SSE320).semihosting
    with pytest.raises(StandinError, match="unknown parameter"):
        parse(["-C", "ethosu.num_macs=128", *RUN], FVP_SSE320)
    assert "ethosu.num_macs" in known_parameters(FVP_SSE300_U55)


@pytest.mark.parametrize("fvp", FVP_BOARDS)
def test_defaults_are_values_of_their_parameters(fvp: str) -> None:
    for parameter in known_parameters(fvp).values():
        assert parameter.check(parameter.default) == parameter.default


def test_a_limit_beyond_any_run_is_none() -> None:
    limit = parse(["--timelimit", "9" * 30, *RUN]).time_limit
    assert limit is not None
    assert limit * 1000 < 2**31, "poll() counts milliseconds in 32 bits"
