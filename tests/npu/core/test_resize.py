from __future__ import annotations

import numpy as np
import pytest

from harness.standin.npu.errors import NpuError
from tests.npu.core.assembler import Array, Assembler

IFM = np.random.default_rng(8).integers(-128, 128, (3, 4, 2)).astype(np.int8)
N, STEP, OFFSET, ZERO_POINT = 4, 3, -1, 7


def resized(mode: str) -> Array:
    stream = Assembler("ethos-u85-256").kernel(3, 4).rounding("NATURAL", 1, 16)
    stream.emit("ACTIVATION", activation_clip_range="NONE")
    stream.feature_map("IFM", IFM, ZERO_POINT)
    ofm = np.zeros((4, 5, 2), np.int32)
    at = stream.feature_map("OFM", ofm)
    for axis in "XY":
        stream.emit(f"RESIZE_{axis}_SCALE_N_M1", N - 1).emit(f"RESIZE_{axis}_OFFSET", OFFSET & 0xFFF)
        stream.emit(f"RESIZE_{axis}", one_step_int=STEP // N, one_step_mod=STEP % N)
    return stream.emit("OP_RESIZE", mode).result(at, ofm)


def neighbours(position: int, size: int) -> tuple[int, int, int]:
    whole, fraction = divmod(position * STEP + OFFSET, N)
    return min(max(whole, 0), size - 1), min(max(whole + 1, 0), size - 1), fraction


@pytest.mark.parametrize("mode", ["BILINEAR", "NEAREST"])
def test_against_the_formula(mode: str) -> None:
    result, centred = resized(mode), IFM.astype(int) - ZERO_POINT
    for y, x, c in np.ndindex(result.shape):
        top, bottom, fy = neighbours(y, 3)
        left, right, fx = neighbours(x, 4)
        if mode == "NEAREST":
            wanted = centred[bottom if 2 * fy >= N else top, right if 2 * fx >= N else left, c]
        else:
            upper = centred[top, left, c] * (N - fx) + centred[top, right, c] * fx
            lower = centred[bottom, left, c] * (N - fx) + centred[bottom, right, c] * fx
            wanted = upper * (N - fy) + lower * fy
        assert result[y, x, c] == wanted


def test_replicate_is_not_known() -> None:
    with pytest.raises(NpuError, match="REPLICATE"):
        resized("REPLICATE")
