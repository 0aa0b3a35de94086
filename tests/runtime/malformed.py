"""Programs that are wrong in one place, made from good ones by changing the deserialized program.

Nothing here imports executorch, so that tests can be collected quickly; `programs.py` makes the
files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

INVALID_STATE, NOT_SUPPORTED, INVALID_ARGUMENT = 0x2, 0x10, 0x12
NOT_FOUND, ALLOCATION_FAILED, INVALID_PROGRAM = 0x20, 0x21, 0x23


@dataclass(frozen=True)
class Malformed:
    """`change` makes program `base` fail with `status` and a message that contains `message`."""

    base: str
    change: Callable[[Any], object]
    message: str
    status: int = INVALID_PROGRAM


def plan(program: Any) -> Any:
    """The program's method."""
    return program.execution_plan[0]


def value(program: Any, kind: str) -> Any:
    """The first value of a type, Tensor for example."""
    return next(v.val for v in plan(program).values if type(v.val).__name__ == kind)


def index(program: Any, kind: str) -> int:
    """The index of the first value of a type."""
    return next(i for i, v in enumerate(plan(program).values) if type(v.val).__name__ == kind)


def tensors(program: Any) -> list[Any]:
    """All tensors that are neither inputs nor outputs."""
    outside = {*plan(program).inputs, *plan(program).outputs}
    inner = (v.val for i, v in enumerate(plan(program).values) if i not in outside)
    return [val for val in inner if type(val).__name__ == "Tensor"]


def constant(program: Any) -> Any:
    """The first constant tensor."""
    return next(t for t in tensors(program) if t.data_buffer_idx > 0 and t.allocation_info is None)


def constant_index(program: Any) -> int:
    """The index of the first constant tensor."""
    return next(i for i, v in enumerate(plan(program).values) if v.val is constant(program))


def initialized(program: Any) -> Any:
    """The first tensor in planned memory with an initial value."""
    return next(t for t in tensors(program) if t.data_buffer_idx > 0 and t.allocation_info is not None)


def intermediate(program: Any) -> Any:
    """The first tensor that a kernel writes and another one reads."""
    return next(t for t in tensors(program) if t.data_buffer_idx == 0)


def call(program: Any, kind: str = "KernelCall") -> Any:
    """The arguments of the first instruction of a kind."""
    instructions = plan(program).chains[0].instructions
    return next(i.instr_args for i in instructions if type(i.instr_args).__name__ == kind)


def change(target: Any, **fields: Any) -> None:
    """Set fields of a dataclass, nested ones with a double underscore."""
    for name, new in fields.items():
        *path, last = name.split("__")
        owner = target
        for step in path:
            owner = getattr(owner, step)
        setattr(owner, last, new)


def instruction(program: Any, kind: str, **fields: Any) -> None:
    """Put an instruction of any kind in front of the others."""
    from executorch.exir import schema

    new = schema.Instruction(getattr(schema, kind)(**fields))
    plan(program).chains[0].instructions.insert(0, new)


def endless(program: Any) -> None:
    """A jump to itself on a condition that stays false."""
    value(program, "Bool").bool_val = False
    instruction(program, "JumpFalseCall", cond_value_index=index(program, "Bool"), destination_instruction=0)


def tensor(**fields: Any) -> Callable[[Any], None]:
    """Set fields of the first tensor."""
    return lambda p: change(value(p, "Tensor"), **fields)


def items(kind: str, *new: int) -> Callable[[Any], None]:
    """Set the elements of the first list of a type."""
    return lambda p: change(value(p, kind), items=list(new))


def _unbounded(program: Any) -> None:
    from executorch.exir.tensor import TensorShapeDynamism

    value(program, "Tensor").shape_dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND


def _move(program: Any) -> None:
    instruction(program, "MoveCall", move_from=index(program, "Tensor"), move_to=index(program, "Int"))


def _jump(program: Any, to: int, kind: str = "Bool") -> None:
    instruction(program, "JumpFalseCall", cond_value_index=index(program, kind), destination_instruction=to)


def _slices_into_a_constant(program: Any) -> None:
    copy = call(program)
    change(plan(program).operators[copy.op_index], name="executorch_prim::et_copy_index", overload="tensor")
    change(copy, args=[constant_index(program), 0, index(program, "Int")])


def _free(program: Any, kind: str) -> None:
    instruction(program, "FreeCall", value_index=index(program, kind))


MALFORMED: dict[str, Malformed] = {
    "version": Malformed("add", lambda p: change(p, version=1), "schema version 1"),
    "no_method": Malformed("add", lambda p: p.execution_plan.clear(), "Method 0 of 0", INVALID_ARGUMENT),
    "input_high": Malformed("add", lambda p: change(plan(p), inputs=[0, 99]), "is value 99 of"),
    "input_negative": Malformed("add", lambda p: change(plan(p), inputs=[-1, 1]), "is value -1 of"),
    "output_high": Malformed("add", lambda p: change(plan(p), outputs=[4]), "is value 4 of 4"),
    "operator_high": Malformed("add", lambda p: change(call(p), op_index=1), "Operator 1 of 1"),
    "operator_negative": Malformed("add", lambda p: change(call(p), op_index=-1), "Operator -1 of 1"),
    "operator_long": Malformed(
        "add", lambda p: change(plan(p).operators[0], name="x" * 200), "no name or a too long one"
    ),
    "argument_high": Malformed("add", lambda p: change(call(p), args=[0, 1, 2, 4]), "Argument 3 is value 4"),
    "argument_negative": Malformed("add", lambda p: change(call(p), args=[-7, 1]), "Argument 0 is value -7"),
    "no_chain": Malformed("add", lambda p: plan(p).chains.clear(), "without instructions"),
    "size_negative": Malformed("add", tensor(sizes=[-2, 3]), "negative size -2"),
    "size_overflow": Malformed("add", tensor(sizes=[1 << 20, 1 << 20]), "more than 2^31 - 1 elements"),
    "size_overflow_empty": Malformed(
        "add",
        tensor(sizes=[0, 1 << 30, 1 << 30], dim_order=[0, 1, 2]),
        "more than 2^31 - 1 elements",
    ),
    "rank": Malformed("add", tensor(sizes=[1] * 17, dim_order=list(range(17))), "Tensor of 17 sizes"),
    "dim_order_short": Malformed("add", tensor(dim_order=[0]), "2 sizes and 1 dimensions"),
    "dim_order_twice": Malformed("add", tensor(dim_order=[1, 1]), "not a permutation"),
    "dim_order_high": Malformed("add", tensor(dim_order=[0, 2]), "not a permutation"),
    "storage_offset": Malformed("add", tensor(storage_offset=1), "storage offset", NOT_SUPPORTED),
    "unbounded": Malformed("add", _unbounded, "unbounded", NOT_SUPPORTED),
    "memory_id_zero": Malformed("add", tensor(allocation_info__memory_id=0), "planned buffer 0"),
    "memory_id_high": Malformed("add", tensor(allocation_info__memory_id=2), "id 1 >= 1", INVALID_ARGUMENT),
    "memory_offset": Malformed(
        "add", tensor(allocation_info__memory_offset_low=80), "offset_bytes (80)", ALLOCATION_FAILED
    ),
    "memory_offset_high": Malformed(
        "add", tensor(allocation_info__memory_offset_high=1), "offset_bytes (42", ALLOCATION_FAILED
    ),
    "misaligned": Malformed("add", tensor(allocation_info__memory_offset_low=1), "not aligned to 4 bytes"),
    "buffer_negative": Malformed(
        "add", lambda p: change(plan(p), non_const_buffer_sizes=[0, -1]), "has size -1"
    ),
    "buffer_missing": Malformed(
        "add", lambda p: change(plan(p), non_const_buffer_sizes=[0]), "id 0 >= 0", INVALID_ARGUMENT
    ),
    "no_data": Malformed(
        "linear", lambda p: change(intermediate(p), allocation_info=None), "has no data", INVALID_STATE
    ),
    "freed": Malformed("add", lambda p: _free(p, "Tensor"), "Argument 0 has no data", INVALID_STATE),
    "free_int": Malformed("add", lambda p: _free(p, "Int"), "Free of a value that is no tensor"),
    "constant_high": Malformed("linear", lambda p: change(constant(p), data_buffer_idx=99), "Constant 99"),
    "constant_large": Malformed("linear", lambda p: change(constant(p), sizes=[64, 64]), "16384 bytes"),
    "constant_input": Malformed(
        "linear", lambda p: change(plan(p), inputs=[constant_index(p)]), "Input 0 is a constant"
    ),
    "constant_output": Malformed(
        "linear", lambda p: change(call(p), args=[0, 1, constant_index(p)]), "would write to a constant"
    ),
    "constant_output_not_returned": Malformed(
        "linear", lambda p: change(call(p), args=[0, constant_index(p), 1]), "would write to a constant"
    ),
    "constant_slices": Malformed("quantized", _slices_into_a_constant, "would write to a constant"),
    "int_list_high": Malformed("lists", items("IntList", 999), "is value 999: no such value"),
    "int_list_negative": Malformed("lists", items("IntList", -1), "is value -1: no such value"),
    "int_list_type": Malformed("lists", items("IntList", 0), "not of the list's type"),
    "tensor_list_high": Malformed("lists", items("TensorList", 0, 999), "Element 1 of a list"),
    "tensor_list_none": Malformed("lists", items("TensorList", -1), "Element 0 of a list"),
    "tensor_list_type": Malformed(
        "lists",
        lambda p: change(value(p, "TensorList"), items=[index(p, "Int")]),
        "not of the list's type",
    ),
    "optional_list_high": Malformed("lists", items("OptionalTensorList", 0, 999), "Element 1 of a list"),
    "optional_list_negative": Malformed("lists", items("OptionalTensorList", -2), "is value -2"),
    "jump_high": Malformed("branch", lambda p: _jump(p, 99), "Jump to instruction 99 of"),
    "jump_negative": Malformed("branch", lambda p: _jump(p, -1), "Jump to instruction -1 of"),
    "jump_int": Malformed("branch", lambda p: _jump(p, 0, "Int"), "no condition"),
    "jump_float": Malformed(
        "branch",
        lambda p: instruction(p, "JumpFalseCall", cond_value_index=1, destination_instruction=0),
        "no condition",
        0x13,
    ),
    "endless": Malformed("branch", endless, "Loop does not end"),
    "move_types": Malformed("branch", _move, "Move between values of different types"),
    "delegate_high": Malformed(
        "delegate", lambda p: change(call(p, "DelegateCall"), delegate_index=1), "Delegate 1 of 1"
    ),
    "delegate_negative": Malformed(
        "delegate", lambda p: change(call(p, "DelegateCall"), delegate_index=-1), "Delegate -1 of 1"
    ),
    "backend": Malformed(
        "delegate", lambda p: change(plan(p).delegates[0], id="Other"), "Backend Other is not", NOT_FOUND
    ),
    "mutable_high": Malformed(
        "state", lambda p: change(initialized(p), data_buffer_idx=9), "Mutable tensor 9 of", NOT_FOUND
    ),
}
