"""Bundled programs (.bpte): a program with inputs and references.

Field numbers are those of `devtools/bundled_program/schema/bundled_program_schema.fbs` in the
executorch wheel.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from harness.flow import TensorSpec
from harness.pte.flat import Buffer, MalformedError, Table
from harness.pte.program import PROGRAM_ID, Method, ProgramFile, byte_size, parse_program, tensor_spec

BUNDLE_ID = b"BP08"
_TENSOR, _INT, _BOOL, _DOUBLE = 1, 2, 3, 4


@dataclass(frozen=True)
class BundledValue:
    """A value and its bytes, as the runner's input and output files hold them."""

    spec: TensorSpec
    data: bytes


@dataclass(frozen=True)
class TestCase:
    """One set of inputs for `method`; `expected` is empty if the bundle has no references."""

    __test__ = False  # not for pytest to collect

    method: str
    inputs: tuple[BundledValue, ...]
    expected: tuple[BundledValue, ...]


@dataclass(frozen=True)
class BundleFile:
    """What a `.bpte` file holds: a whole `.pte` and test cases for its methods."""

    identifier: str
    program: ProgramFile
    program_bytes: bytes
    cases: tuple[TestCase, ...]


def parse_bundle(data: bytes) -> BundleFile:
    """Read a bundle; raises MalformedError."""
    root = Buffer(data).root()
    program_bytes = root.octets(2)
    if program_bytes[4:8] != PROGRAM_ID:
        raise MalformedError("it holds no program that this harness reads")
    program = parse_program(program_bytes)
    cases = []
    for suite in root.tables(1):
        name = suite.string(0)
        method = next((method for method in program.methods if method.name == name), None)
        if method is None:
            raise MalformedError(f"it has tests for {name[:80]!r}, the program has no such method")
        cases += [_case(case, method) for case in suite.tables(1)]
    return BundleFile(bytes(data[4:8]).decode("ascii", "replace"), program, program_bytes, tuple(cases))


def _case(case: Table, method: Method) -> TestCase:
    inputs = tuple(_value(value) for value in case.tables(0))
    expected = tuple(_value(value) for value in case.tables(1))
    _match("input", inputs, method.inputs)
    if expected:
        _match("reference", expected, method.outputs)
    return TestCase(method.name, inputs, expected)


def _match(what: str, values: tuple[BundledValue, ...], specs: tuple[TensorSpec, ...]) -> None:
    """The values must fit the method. A dimension may be smaller than the method's upper bound."""
    if len(values) != len(specs):
        raise MalformedError(f"it has {len(values)} {what}s, the method {len(specs)}")
    for i, (value, spec) in enumerate(zip(values, specs, strict=True)):
        got = value.spec
        fits = len(got.shape) == len(spec.shape) and all(map(int.__le__, got.shape, spec.shape))
        if got.dtype != spec.dtype or not fits:
            raise MalformedError(
                f"{what} {i} is {got.dtype} {list(got.shape)}, the method has {spec.dtype} {list(spec.shape)}"
            )


def _value(value: Table) -> BundledValue:
    tag, content = value.integer(0, "B"), value.required(1, "a value")
    if tag == _TENSOR:
        spec = tensor_spec(content.integer(0, "b"), content.integers(1, "i"), content.integers(3, "B"))
        data = content.octets(2)
        if len(data) != byte_size(spec):
            raise MalformedError(f"a {spec.dtype} tensor of {list(spec.shape)} has {len(data)} bytes")
        return BundledValue(spec, data)
    if tag == _INT:
        return BundledValue(TensorSpec("int", (), ()), struct.pack("<q", content.integer(0, "q")))
    if tag == _BOOL:
        return BundledValue(TensorSpec("bool_", (), ()), struct.pack("<?", content.integer(0, "B") != 0))
    if tag == _DOUBLE:
        return BundledValue(TensorSpec("float", (), ()), struct.pack("<d", content.double(0)))
    raise MalformedError(f"a value is of the unknown kind {tag}")
