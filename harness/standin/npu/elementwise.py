"""ELEMENTWISE (reference section 7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.standin.npu.context import Context, centre
from harness.standin.npu.errors import parse_error, unimplemented
from harness.standin.npu.feature_maps import Shape, broadcast_shape, check_size, feature_map, scalar
from harness.standin.npu.numerics import Ints, Scaling, scale
from harness.standin.npu.output import finish, global_scaling, is_global, rounding
from harness.standin.npu.registers import RegisterState

_UNARY = ("ABS", "CLZ", "LRELU", "NOT")
_UNSCALED = ("SHL", "SHR", "LSR", "DIV", "CLZ")
_U55_UNSCALED = (*_UNSCALED, "MIN", "MAX")
_SHIFTS = ("SHL", "SHR", "LSR")
# Whose operands U85 scales with IFM_SCALE and IFM2_SCALE.
_SCALED_OPERANDS = ("ADD", "SUB", "MIN", "MAX", "ABS", "CMP_EQ", "CMP_NE", "CMP_GE", "CMP_GT")


def elementwise(context: Context, mode: str) -> None:
    """Execute OP_ELEMENTWISE of an `elementwise_mode`.

    Raises:
        NpuError: a mode that is not modelled, or operands outside memory.
    """
    state, shape = context.state, context.ofm_shape
    check_size("OFM", shape)
    a = _operand(context, "IFM", shape)
    b = a if mode in _UNARY else _operand(context, "IFM2", shape)
    if (
        not state.config.is_u85
        and mode not in _UNARY
        and state.choice("IFM2_BROADCAST", "operand_order") == "ORDER_A"
    ):
        a, b = b, a
    if state.config.is_u85:
        a, b = _u85_scaled(state, mode, a, b)
    elif mode in ("ADD", "SUB"):
        a, b = _u55_scaled(state, a, b)
    result = np.broadcast_to(_compute(state, mode, a, b), shape)
    unscaled = _UNSCALED if state.config.is_u85 else _U55_UNSCALED
    scaled = mode not in unscaled and is_global(state)
    finish(context, result, global_scaling(state) if scaled else None)


def _operand(context: Context, name: str, shape: Shape) -> Ints:
    """An operand minus its zero point as int64; broadcast axes have size 1."""
    size = broadcast_shape(context.state, name, shape)
    if size is not None:
        return context.load(name, size).astype(np.int64)
    source = scalar(context.state, name)
    if context.config.is_u85:
        storage = context.state.choice(f"{name}_PRECISION", "activation_storage")
        if storage != "NONE":
            raise parse_error(f"{name} is a scalar, but has storage {storage}")
        value = np.array(context.state.OP_SCALAR, np.uint32).astype(source.dtype)
    else:
        word = np.array(context.state.IFM2_SCALAR, np.uint16)
        value = word.astype(np.int16 if source.signed else np.uint16)
    context.note_input(name, value)
    return centre(source, value).astype(np.int64).reshape(1, 1, 1)


def _u85_scaled(state: RegisterState, mode: str, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    if mode not in _SCALED_OPERANDS:
        return a, b
    a = scale(a, _operand_scaling(state, "IFM_SCALE"))
    return (a, a) if mode in _UNARY else (a, scale(b, _operand_scaling(state, "IFM2_SCALE")))


def _operand_scaling(state: RegisterState, register: str) -> Scaling:
    return Scaling(
        state.field(register, "scale"),
        state.field(register, "shift"),
        state.choice(register, "round_mode"),
        state.field(register, "dbl_rnd"),
    )


def _u55_scaled(state: RegisterState, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    mode = state.choice("IFM_PRECISION", "scale_mode")
    factor = state.field("OPA_SCALE", "scale")
    if mode == "OPA_OPB_16":
        return a * (factor & 0xFFFF), b * state.OPB_SCALE
    scaling = Scaling(factor, state.field("OPA_SCALE", "shift"), state.choice("IFM_PRECISION", "round_mode"))
    precision = state.choice("IFM_PRECISION", "activation_precision")
    if precision not in ("B8", "B16"):
        raise unimplemented(f"{mode} with operands of {precision}")
    left = 19 if precision == "B8" else 14
    return (scale(a, scaling), b << left) if mode == "OPA_32" else (a << left, scale(b, scaling))


def _compute(state: RegisterState, mode: str, a: Ints, b: Ints) -> Ints:
    if mode in _SHIFTS and b.size and (b.min() < 0 or b.max() > 31):
        raise unimplemented(f"{mode} by an amount outside 0..31")
    if mode == "SHR":
        return scale(a, Scaling(1, b.astype(np.int64), rounding(state)))
    if mode == "LSR":
        result: Ints = (a & ((1 << feature_map(state, "IFM").bits) - 1)) >> b
        return result
    if mode == "DIV" and not b.all():
        raise unimplemented("DIV by zero")
    function = _FUNCTIONS.get(mode)
    if function is None:
        raise unimplemented(f"elementwise mode {mode}")
    return function(a, b)


def _shift_left(a: Ints, b: Ints) -> Ints:
    return (a << b).astype(np.int32).astype(np.int64)


def _leading_zeros(a: Ints, _: Ints) -> Ints:
    pattern = (a & 0xFFFFFFFF).astype(np.float64)
    return 32 - np.frexp(pattern)[1].astype(np.int64)


def _divide(a: Ints, b: Ints) -> Ints:
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


def _all_ones(condition: Callable[[Ints, Ints], Ints]) -> Callable[[Ints, Ints], Ints]:
    """True is -1 in the result of a comparison."""
    return lambda a, b: -condition(a, b).astype(np.int64)


_FUNCTIONS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "MUL": np.multiply,
    "ADD": np.add,
    "SUB": np.subtract,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "ABS": lambda a, _: np.abs(a),
    "CLZ": _leading_zeros,
    "SHL": _shift_left,
    "DIV": _divide,
    "CMP_EQ": _all_ones(np.equal),
    "CMP_NE": _all_ones(np.not_equal),
    "CMP_GE": _all_ones(np.greater_equal),
    "CMP_GT": _all_ones(np.greater),
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "NOT": lambda a, _: np.invert(a),
    "AND_NOT": lambda a, b: a & ~b,
}
