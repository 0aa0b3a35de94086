"""ExecuTorch programs (.pte): the records and the reader.

Field numbers are those of `schema/program.fbs` in the executorch wheel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.flow import TensorSpec
from harness.pte.flat import Buffer, MalformedError, Table

PROGRAM_ID = b"ET12"

# ScalarType of the schema -> name of the type. All are numpy's own, up to "bfloat16" and "qint8" etc.
DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
    12: "qint8",
    13: "quint8",
    14: "qint32",
    15: "bfloat16",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}

# Values that are no tensors, by the union tag of the schema: (name, bytes in an input file).
# np.dtype(name) works for all but "none"; only "bool_" tells a scalar from a bool tensor.
_NULL, _INT, _BOOL, _DOUBLE, _TENSOR = 1, 2, 3, 4, 5
SCALARS = {_NULL: "none", _INT: "int", _BOOL: "bool_", _DOUBLE: "float"}
_SIZES = {"none": 8, "int": 8, "float": 8, "bool_": 1}
_TAGS = {
    6: "string",
    7: "int list",
    8: "float list",
    9: "bool list",
    10: "tensor list",
    11: "optional tensor list",
}

_MAX_RANK = 16  # the runtime's own limit

# Operators whose output is a quantized value times a scale.
_DEQUANTIZE = {
    "cortex_m::dequantize_per_tensor.out",
    "quantized_decomposed::dequantize_per_tensor.out",
}


@dataclass(frozen=True)
class Method:
    """One entry point of a program.

    Attributes:
        name: "forward" for most programs.
        inputs: what the method takes, in order; see `read_program` for values that are no tensors.
        outputs: what it returns, in order, with scale and zero point behind a dequantize operator.
        operators: names with overload that the runtime looks up, e.g. "cortex_m::quantized_add.out".
        delegates: ids of the backends it delegates to, one per delegate.
        planned_buffers: sizes in bytes of the memory-planned buffers.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    operators: tuple[str, ...]
    delegates: tuple[str, ...]
    planned_buffers: tuple[int, ...]


@dataclass(frozen=True)
class ProgramFile:
    """What a `.pte` file says about itself. `size` is the file's length in bytes."""

    identifier: str
    methods: tuple[Method, ...]
    size: int

    @property
    def operators(self) -> tuple[str, ...]:
        """Operators of all methods, sorted, each once."""
        return tuple(sorted({name for method in self.methods for name in method.operators}))

    @property
    def delegates(self) -> tuple[str, ...]:
        """Backend ids of all methods, sorted, each once."""
        return tuple(sorted({name for method in self.methods for name in method.delegates}))

    def method(self, name: str = "forward") -> Method:
        """The method called `name`.

        Raises:
            KeyError: no such method.
        """
        for method in self.methods:
            if method.name == name:
                return method
        raise KeyError(name)


def byte_size(spec: TensorSpec) -> int:
    """Number of bytes of a value in storage order, e.g. of its `-i` file."""
    if spec.dtype in _SIZES:
        return _SIZES[spec.dtype]
    return math.prod(spec.shape) * item_size(spec.dtype)


def item_size(dtype: str) -> int:
    """Bytes of one element of `dtype`, a name from `DTYPES`."""
    if dtype == "bool":
        return 1
    return int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz")) // 8


def tensor_spec(scalar_type: int, sizes: tuple[int, ...], dim_order: tuple[int, ...]) -> TensorSpec:
    """A checked TensorSpec; an absent dim order means the plain one."""
    if scalar_type not in DTYPES:
        raise MalformedError(f"scalar type {scalar_type} is unknown")
    if len(sizes) > _MAX_RANK or min(sizes, default=0) < 0:
        raise MalformedError(f"a tensor has the sizes {list(sizes[:_MAX_RANK])}, rank {len(sizes)}")
    dim_order = dim_order or tuple(range(len(sizes)))
    if sorted(dim_order) != list(range(len(sizes))):
        raise MalformedError(f"dim order {list(dim_order[:_MAX_RANK])} does not fit the sizes {list(sizes)}")
    return TensorSpec(DTYPES[scalar_type], sizes, dim_order)


def parse_program(data: bytes) -> ProgramFile:
    """Read a program; raises MalformedError."""
    buffer = Buffer(data)
    end = _check_segments(buffer)
    root = Buffer(buffer.span(0, end)).root()
    methods = tuple(_method(plan) for plan in root.tables(1))
    if not methods:
        raise MalformedError("it has no method")
    return ProgramFile(bytes(data[4:8]).decode("ascii", "replace"), methods, len(data))


def _check_segments(buffer: Buffer) -> int:
    """Check the extended header's promises; returns the end of the FlatBuffers part."""
    size = len(buffer.data)
    if size < 16 or bytes(buffer.data[8:12]) != b"eh00":
        return size
    length = buffer.number("I", 12)
    program, base = buffer.number("Q", 16), buffer.number("Q", 24)
    held = buffer.number("Q", 32) if length >= 32 else max(size - base, 0) if base else 0
    if length < 24 or program > size:
        raise MalformedError(f"its header promises {program} bytes of program, the file has {size}")
    if base and base + held > size:
        raise MalformedError(f"its segments end at {base + held}, the file has {size} bytes")
    for i, segment in enumerate(Buffer(buffer.span(0, program)).root().tables(4)):
        end = segment.integer(0, "Q") + segment.integer(1, "Q")
        if end > held:
            raise MalformedError(f"segment {i} ends at {end} of {held} bytes")
    return program


def _method(plan: Table) -> Method:
    operators = [_operator_name(op) for op in plan.tables(6)]
    producers = _producers(plan)
    return Method(
        name=plan.string(0),
        inputs=tuple(_spec(plan, index) for index in plan.integers(3, "i")),
        outputs=tuple(_output(plan, index, producers, operators) for index in plan.integers(4, "i")),
        operators=tuple(sorted(set(operators))),
        delegates=tuple(delegate.string(0) for delegate in plan.tables(7)),
        planned_buffers=_planned_buffers(plan),
    )


def _operator_name(operator: Table) -> str:
    name, overload = operator.string(0), operator.string(1)
    return f"{name}.{overload}" if overload else name


def _planned_buffers(plan: Table) -> tuple[int, ...]:
    sizes = plan.integers(8, "q")[1:]  # entry 0 is reserved
    if min(sizes, default=0) < 0:
        raise MalformedError(f"it plans a buffer of {min(sizes)} bytes")
    return sizes


def _value(plan: Table, index: int) -> tuple[int, Table | None]:
    """Union tag and content of value `index`."""
    value = plan.pick(2, index, "value")
    return value.integer(0, "B"), value.table(1)


def _spec(plan: Table, index: int) -> TensorSpec:
    tag, content = _value(plan, index)
    if tag in SCALARS:
        return TensorSpec(SCALARS[tag], (), ())
    if tag != _TENSOR or content is None:
        raise MalformedError(f"an input or output is a {_TAGS.get(tag, f'value of kind {tag}')}")
    return tensor_spec(content.integer(0, "b"), content.integers(2, "i"), content.integers(3, "B"))


def _producers(plan: Table) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Value index -> (operator index, argument indices) of the last kernel call that writes it."""
    producers = {}
    for chain in plan.tables(5):
        for instruction in chain.tables(2):
            call = instruction.table(1)
            if instruction.integer(0, "B") == 1 and call is not None:  # KernelCall
                arguments = call.integers(1, "i")
                if arguments:
                    producers[arguments[-1]] = call.integer(0, "i"), arguments
    return producers


def _output(
    plan: Table, index: int, producers: dict[int, tuple[int, tuple[int, ...]]], operators: list[str]
) -> TensorSpec:
    spec = _spec(plan, index)
    operator, arguments = producers.get(index, (-1, ()))
    if not 0 <= operator < len(operators) or operators[operator] not in _DEQUANTIZE or len(arguments) < 4:
        return spec
    (scale_tag, scale), (zero_tag, zero) = _value(plan, arguments[1]), _value(plan, arguments[2])
    if scale_tag != _DOUBLE or zero_tag != _INT or scale is None or zero is None:
        return spec
    return TensorSpec(spec.dtype, spec.shape, spec.dim_order, scale.double(0), zero.integer(0, "q"))
