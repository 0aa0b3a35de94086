"""Signatures: equal for equal causes, different for different ones, never a generic line."""

from __future__ import annotations

import pytest

from harness.flow import ConsoleLine
from harness.ledger.clusters import cluster
from harness.ledger.signature import (
    LIMIT,
    first_fatal,
    generic,
    normalise,
    signature,
    signature_of_text,
    specific,
)
from harness.outcomes import Outcome, OutcomeClass, Phase
from tests.harness.ledger.records import FAULT, OTHER_FAULT, PASS, WRONG


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31merror\x1b[0m: bad", "error: bad"),
        ("/tmp/pytest-of-x/pytest-3/a-1/console.log:12: cut", "console.log:#: cut"),
        ("cannot open '/home/x/y z'", "cannot open 'y z'"),
        ("Hard fault: PC=0x00001234 LR=0xDEADBEEF", "Hard fault: PC=# LR=#"),
        ("object 7f3a12cd99 of 12", "object # of #"),
        ("2000B available, 3.5 MB, 60s, 1e-5, -3", "# available, # MB, #"),
        ("int8 conv2d on ethos-u85 at [1, 2, 3]", "int8 conv2d on ethos-u85 at [#]"),
        ("shape 1x16x16x8 (25 %)", "shape 1x16x16x8 (# %)"),
        ("a\tb   c\r", "a b c"),
        ("x" * 1000, "x" * LIMIT),
    ],
)
def test_what_varies_is_taken_out(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "AssertionError",
        "assert False",
        "assert # == #",
        "Aborted (core dumped)",
        "make: *** [all] Error #",
        "ninja: build stopped: subcommand failed.",
        "collect2: error: ld returned # exit status",
        "Command returned non-zero exit status #.",
        "Program complete, exiting.",
        "failed",
        "#",
        "",
    ],
)
def test_generic_lines(line: str) -> None:
    assert generic(line)


@pytest.mark.parametrize(
    "line",
    [
        "undefined reference to `arm_add'",
        "AssertionError: shapes differ",
        "assert got == expected",
        "exit handler",
    ],
)
def test_lines_that_say_something(line: str) -> None:
    assert not generic(line)


def test_the_first_fatal_line_counts_not_the_last() -> None:
    log = [
        "[1/9] compiling x.cpp",
        "x.cpp:12: error: 'foo' was not declared",
        "x.cpp:13: error: 'bar' was not declared",
        "ninja: build stopped: subcommand failed.",
    ]
    assert first_fatal(log) == "x.cpp:#: error: 'foo' was not declared"
    assert first_fatal(log[3:]) == ""


def test_a_signature_has_phase_class_line_and_symbol() -> None:
    assert signature(FAULT) == "run/FAULT: Hard fault: PC=# @ arm_nn_sigmoid_s8"
    assert signature(OTHER_FAULT) != signature(FAULT)
    assert signature(PASS) == ""


def test_wrong_values_have_a_signature_without_the_values() -> None:
    other = Outcome(Phase.VERIFY, OutcomeClass.WRONG, "output 0: 9 of 12 … worst 7", detail={"outputs": [0]})
    assert signature(other) == signature(WRONG) == "verify/WRONG: outputs [0] beyond the limit"
    second = Outcome(Phase.VERIFY, OutcomeClass.WRONG, "output 1: …", detail={"outputs": [1]})
    assert signature(second) != signature(WRONG)


def test_a_class_that_only_tells_the_end_takes_the_cause_from_the_console() -> None:
    ended = Outcome(Phase.RUN, OutcomeClass.EXIT_STATUS, "status 1 and no end marker: no reason given")

    def console(message: str) -> list[ConsoleLine]:
        text = f"E [executorch:op_add.cpp:31 add_out()] {message}"
        return [
            ConsoleLine(0.0, "I [executorch:r.cpp:1 main()] Running method forward"),
            ConsoleLine(1.0, text),
        ]

    first = signature(ended, console("Check failed (a.numel() == 4): sizes 3 and 4"))
    again = signature(ended, console("Check failed (a.numel() == 4): sizes 5 and 6"))
    other = signature(ended, console("Out of range"))
    assert first == again
    assert "add_out(): Check failed" in first
    assert first != other
    assert not specific(signature(ended))
    assert specific(first)


def test_a_traceback_is_known_by_its_first_specific_line() -> None:
    marked = ["AssertionError", "assert [1, 2] == [1, 3]", "At index 1: 2 != 3 in scale"]
    text = "def test():\n>   run()\n" + "".join(f"E   {line}\n" for line in marked)
    assert signature_of_text(text) == "test: At index #: # != # in scale"
    assert signature_of_text("all is well\nexit status 1") == "test: no line names the fault"
    assert not specific("test: no line names the fault")


def test_catalogue_R11_fifty_tests_with_one_signature_are_one_entry() -> None:
    failures = [(f"tests/t.py::test_op[{i}]", signature(FAULT)) for i in range(50)]
    failures += [("tests/t.py::test_other", signature(OTHER_FAULT))]
    groups = cluster(failures)
    assert [len(group.nodeids) for group in groups] == [50, 1]
    assert groups[0].signature == signature(FAULT)


def test_wrong_values_of_different_tests_are_not_one_cause() -> None:
    wrong = signature(WRONG)
    failures = [(f"t.py::test_{op}[{i}]", wrong) for op in ("add", "mul") for i in range(3)]
    assert [(group.scope, len(group.nodeids)) for group in cluster(failures)] == [
        ("t.py::test_add", 3),
        ("t.py::test_mul", 3),
    ]
