"""CONV and DEPTHWISE: exact integer accumulators, computed with floating-point BLAS (reference section 7).

A product of integers is exact in floating point as long as no partial sum can leave the range in which
every integer has a representation (2^24 for float32, 2^53 for float64). The bound is taken from the values
at hand: int8 goes through float32, in pieces along the sum where it is long, int16 through float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from harness.standin.npu.errors import parse_error
from harness.standin.npu.memory import Regions
from harness.standin.npu.registers import RegisterState
from harness.standin.npu.weights import operation_weights
from harness.standin.npu.window import Window, window

Ints = NDArray[np.int64]
Array = NDArray[Any]

_FLOAT32_EXACT = 1 << 24
_FLOAT64_EXACT = 1 << 53
_SHORT_SUM = 192  # below so many terms a piece, float64 in one piece is as fast as float32
COLUMNS_LIMIT = 2 << 20  # elements of the im2col buffer


def convolve(state: RegisterState, ifm: Array, memory: Regions) -> Ints:
    """Accumulators of CONV with a weight stream, without bias.

    Args:
        state: Registers.
        ifm: Integers (height, width, input channels), zero point subtracted, upscaled, not padded.
        memory: Where the weight streams are.

    Returns:
        int64 (OFM height, OFM width, OFM depth).

    Raises:
        NpuError: a weight stream is malformed or outside memory.
    """
    return _convolve(state, ifm, operation_weights(state, memory, depthwise=False))


def convolve_ifm2(state: RegisterState, ifm: Array, ifm2: Array) -> Ints:
    """Accumulators of CONV with weights from IFM2 (U85), a matrix product.

    Args:
        state: Registers.
        ifm: As for `convolve`.
        ifm2: Integers (1, OFM depth, IFM depth), zero point subtracted.

    Returns:
        int64 (OFM height, OFM width, OFM depth).
    """
    return _convolve(state, ifm, ifm2.reshape(ifm2.shape[1], 1, 1, ifm2.shape[2]))


def depthwise(state: RegisterState, ifm: Array, memory: Regions) -> Ints:
    """Accumulators of DEPTHWISE; arguments, result and errors as for `convolve`, channels stay apart."""
    weights = operation_weights(state, memory, depthwise=True)[..., 0]
    shape, kernel = _ofm_shape(state), window(state)
    taps = weights.shape[1] * weights.shape[2]
    narrow = taps * _magnitude(ifm) * _magnitude(weights) < 1 << 31
    dtype: type[np.generic] = np.int32 if narrow else np.int64
    columns = _windows(_padded(ifm, kernel, dtype), kernel, shape)
    filters = np.ascontiguousarray(weights.transpose(1, 2, 0), dtype)
    total: Array = np.zeros(shape, dtype)
    product: Array = np.empty(shape, dtype)
    for y in range(filters.shape[0]):
        for x in range(filters.shape[1]):
            np.multiply(columns[:, :, y, x], filters[y, x], out=product)
            total += product
    return total.astype(np.int64)


def _convolve(state: RegisterState, ifm: Array, weights: Array) -> Ints:
    shape, kernel = _ofm_shape(state), window(state)
    if weights.shape[0] != shape[2] or weights.shape[1:3] != (kernel.y.kernel, kernel.x.kernel):
        raise parse_error(f"weights {weights.shape} do not fit an OFM of {shape[2]} channels and its kernel")
    if ifm.shape[2] != weights.shape[3]:
        raise parse_error(f"weights of {weights.shape[3]} input channels for an IFM of {ifm.shape[2]}")
    terms = weights[0].size
    dtype, piece = _exact_type(terms, _magnitude(ifm), _magnitude(weights))
    matrix = weights.reshape(shape[2], terms).astype(dtype).T
    columns = _windows(_padded(ifm, kernel, dtype), kernel, shape)
    out = np.empty(shape, np.int64)
    rows = max(1, COLUMNS_LIMIT // (shape[1] * terms))
    for top in range(0, shape[0], rows):
        stripe = columns[top : top + rows].reshape(-1, terms)
        out[top : top + rows] = _product(stripe, matrix, piece).reshape(-1, *shape[1:])
    return out


def _product(left: Array, right: Array, piece: int) -> Array:
    """`left @ right`, exact: partial sums of `piece` terms are added as int64."""
    terms = left.shape[1]
    if terms <= piece:
        return np.asarray(left @ right)
    total = np.zeros((left.shape[0], right.shape[1]), np.int64)
    for start in range(0, terms, piece):
        part = left[:, start : start + piece] @ right[start : start + piece]
        total += part.astype(np.int64)
    return total


def _exact_type(terms: int, left: int, right: int) -> tuple[type[np.float32] | type[np.float64], int]:
    """The type in which sums of products are exact, and how many terms a sum may have."""
    largest = max(1, left * right)
    piece = _FLOAT32_EXACT // largest
    if piece >= min(terms, _SHORT_SUM):
        return np.float32, piece
    return np.float64, max(1, _FLOAT64_EXACT // largest)


def _magnitude(values: Array) -> int:
    return max(abs(int(values.min())), abs(int(values.max())))


def _ofm_shape(state: RegisterState) -> tuple[int, int, int]:
    return state.OFM_HEIGHT_M1 + 1, state.OFM_WIDTH_M1 + 1, state.OFM_DEPTH_M1 + 1


def _padded(ifm: Array, kernel: Window, dtype: type[np.generic]) -> Array:
    """The IFM as `dtype`, with zeros around it."""
    y, x = kernel.y, kernel.x
    if not kernel.padded:
        return np.ascontiguousarray(ifm, dtype)
    height, width, depth = ifm.shape
    out = np.zeros((y.before + height + y.after, x.before + width + x.after, depth), dtype)
    out[y.before : y.before + height, x.before : x.before + width] = ifm
    return out


def _windows(padded: Array, kernel: Window, shape: tuple[int, int, int]) -> Array:
    """A view (OFM height, OFM width, kernel y, kernel x, channel) of what each output element sums up."""
    y, x = kernel.y, kernel.x
    needed = [
        (count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1
        for count, axis in ((shape[0], y), (shape[1], x))
    ]
    if padded.shape[0] < needed[0] or padded.shape[1] < needed[1]:
        raise parse_error(f"the kernel reaches {needed[0]}x{needed[1]} elements of a {padded.shape[:2]} IFM")
    row, column, channel = padded.strides
    return as_strided(
        padded,
        (shape[0], shape[1], y.kernel, x.kernel, padded.shape[2]),
        (row * y.stride, column * x.stride, row * y.dilation, column * x.dilation, channel),
        writeable=False,
    )
