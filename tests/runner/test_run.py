"""Running programs on inputs from files: outputs, console, exit status, mistakes in the request."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.runner.runners import Runner

X = np.arange(6, dtype=np.float32)
ADD = ("-m", "add.pte", "-o", "out", "-i", "x.bin", "-i", "y.bin")
SCALARS = ("-m", "scalars.pte", "-o", "out")
UPSTREAM_FAILURE = re.compile(r"(^[EF][: ].*$)|(^.*Hard fault.*$)|(^.*Assertion.*$)", re.MULTILINE)
LOG_LINE = re.compile(r"[DIEF] \[executorch:[\w.]+:\d+ \w+\(\)\] .+")


def test_milestones_and_output(runner: Runner, files: Path) -> None:
    done = runner.run(files, *ADD)
    assert done.status == 0, done.console
    assert np.array_equal(np.fromfile(files / "out-0.bin", np.float32), X + 1)
    expected = [
        "I Running executor with parameter:",
        "I Running method forward",
        "I Method 'forward' loaded.",
        "I Input prepared.",
        "I Starting running 1 inferences...",
        "I 1 inferences finished",
        "I Writing output to file: out-0.bin",
        "I Model run: 1",
        "I Program complete, exiting.",
        "I harness: end status=0 outputs=1",
    ]
    assert [line for line in done.lines if line in expected] == expected
    assert done.lines[-1] == expected[-1]


def test_console_has_upstreams_shape_and_is_short(runner: Runner, files: Path) -> None:
    console = runner.run(files, *ADD).console
    assert all(LOG_LINE.fullmatch(line) for line in console.splitlines()), console
    assert re.search(r"PTE @ 0x[0-9a-f]+ \[----ET12\]", console)
    assert not UPSTREAM_FAILURE.search(console)
    assert re.search(r"\[executorch:main\.cpp:\d+ main\(\)\] harness: end", console)
    assert len(console.splitlines()) < 30


def test_program_without_inputs(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "constant.pte", "-o", "out")
    assert done.status == 0, done.console
    assert np.array_equal(np.fromfile(files / "out-0.bin", np.float32), 2 * np.arange(4))


def test_program_whose_inputs_and_outputs_are_not_planned(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "unplanned.pte", *ADD[2:])
    assert done.status == 0, done.console
    assert np.array_equal(np.fromfile(files / "out-0.bin", np.float32), X + 1)


def write_scalars(files: Path) -> list[str]:
    """Writes inputs 1 to 4 of scalars.pte; options for all of its inputs."""
    values = {"n": struct.pack("<q", 3), "f": struct.pack("<d", 1.5), "b": b"\1", "none": b"ignored"}
    for name, content in values.items():
        (files / f"{name}.bin").write_bytes(content)
    return [word for name in ("x", *values) for word in ("-i", f"{name}.bin")]


def test_int_float_bool_and_none_inputs(runner: Runner, files: Path) -> None:
    done = runner.run(files, *SCALARS, *write_scalars(files))
    assert done.status == 0, done.console
    assert "I Output[1]: Not Tensor" in done.lines
    assert not (files / "out-1.bin").exists()
    assert np.array_equal(np.fromfile(files / "out-0.bin", np.float32), 2 * X)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x", b"12345", "Input 0: file x.bin has 5 bytes, the program expects 24 (tensor)."),
        ("x", b"", "Input 0: file x.bin has 0 bytes, the program expects 24 (tensor)."),
        ("n", b"1234", "Input 1: file n.bin has 4 bytes, the program expects 8 (int, as int64)."),
        ("f", b"1234", "Input 2: file f.bin has 4 bytes, the program expects 8 (float, as float64)."),
        ("b", b"12345678", "Input 3: file b.bin has 8 bytes, the program expects 1 (bool, as one byte)."),
        ("b", b"\2", "Input 3: b.bin holds 2, a bool is 0 or 1."),
        ("b", None, "Input 3: could not open file b.bin."),
        ("none", None, "Input 4: could not open file none.bin."),
    ],
)
def test_input_file_is_wrong(
    runner: Runner, files: Path, name: str, content: bytes | None, message: str
) -> None:
    words = write_scalars(files)
    if content is None:
        (files / f"{name}.bin").unlink()
    else:
        (files / f"{name}.bin").write_bytes(content)
    done = runner.run(files, *SCALARS, *words)
    assert done.status == 1
    assert done.errors[0] == message
    assert done.lines[-1] == "I harness: end status=1 outputs=0"
    assert not (files / "out-0.bin").exists()


@pytest.mark.parametrize("given", [0, 1, 3])
def test_number_of_inputs_is_wrong(runner: Runner, files: Path, given: int) -> None:
    done = runner.run(files, *ADD[:4], *["-i", "x.bin"] * given)
    assert done.status == 1
    assert done.errors == [f"The program takes 2 inputs, {given} were given."]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "add.pte"], "Option -o is missing."),
        (["-o", "out"], "Option -m is missing."),
        (["-m", "add.pte", "-o"], "Option -o needs a value."),
        (["-m", "add.pte", "-o", "out", "-z", "1"], "Unknown option '-z'."),
        (["add.pte", "-o", "out"], "Unknown option 'add.pte'."),
        (["-m", "add.pte", "-m", "b.pte"], "Option -m given twice: 'add.pte' and 'b.pte'."),
        ([*ADD[:4], *["-i", "x.bin"] * 65], "More than 64 inputs (-i)."),
    ],
)
def test_command_line_is_wrong(runner: Runner, files: Path, words: list[str], message: str) -> None:
    done = runner.run(files, *words)
    assert done.status == 2
    assert len(done.errors) == 1
    assert done.errors[0].startswith(message)
    assert done.lines[-1] == "I harness: end status=2 outputs=0"


@pytest.mark.parametrize("name", ["absent.pte", "directory", "empty.pte", "text.pte", "cut.pte"])
def test_model_file_is_wrong(runner: Runner, files: Path, name: str) -> None:
    (files / "directory").mkdir()
    (files / "empty.pte").touch()
    (files / "text.pte").write_text("not a program, but long enough to be one " * 9)
    (files / "cut.pte").write_bytes((files / "add.pte").read_bytes()[:300])
    done = runner.run(files, "-m", name, "-o", "out")
    assert done.status == 1
    assert name in done.errors[-1]
    assert done.lines[-1] == "I harness: end status=1 outputs=0"


def test_output_cannot_be_written(runner: Runner, files: Path) -> None:
    done = runner.run(files, *ADD[:3], "absent/out", *ADD[4:])
    assert done.status == 1
    assert done.errors == ["Could not write output file absent/out-0.bin."]


def test_all_missing_operators_are_listed(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "missing.pte", "-o", "out", "-i", "x.bin")
    assert done.status == 1
    for index, name in enumerate(["aten::cos.out", "aten::tanh.out"]):
        assert f"kernel '{name}' not found." in done.errors
        assert f"Missing operator: [{index}] {name}" in done.errors
    assert "Loading of method forward failed with status 0x14 (Error::OperatorMissing)" in done.errors
    assert "I Method 'forward' loaded." not in done.lines


@pytest.mark.parametrize(("program", "pool"), [("big.pte", "planned"), ("sigmoid.pte", "temporary")])
def test_pool_too_small_names_pool_and_bytes(runner: Runner, files: Path, program: str, pool: str) -> None:
    done = runner.run(files, "-m", program, "-o", "out", "-i", "x.bin")
    assert done.status == 1
    message = re.compile(
        r"Memory allocation failed: (\d+)B requested \(adjusted for alignment\), "
        rf"(\d+)B available in pool {pool} of \d+B"
    )
    found = [match for error in done.errors if (match := message.fullmatch(error))]
    assert len(found) == 1, done.console
    assert int(found[0][1]) > int(found[0][2])


def test_output_that_nobody_wrote_is_poisoned(runner: Runner, files: Path) -> None:
    done = runner.run(files, "-m", "exp.pte", "-o", "out", "-i", "x.bin")
    assert done.status == 0, done.console
    assert (files / "out-0.bin").read_bytes() == b"\xa5" * 24


def test_runs_are_identical(runner: Runner, files: Path) -> None:
    consoles = {re.sub(r"0x[0-9a-f]+", "0x", runner.run(files, *ADD).console) for _ in range(3)}
    assert len(consoles) == 1
