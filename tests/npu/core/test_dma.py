from __future__ import annotations

import numpy as np
import pytest

from harness.standin.npu.errors import NpuError, NpuFault
from tests.npu.core.assembler import Assembler


def assembler(npu: str = "ethos-u85-256") -> Assembler:
    stream = Assembler(npu, 4096)
    stream.data[:1024] = np.random.default_rng(0).integers(0, 256, 1024)
    return stream.emit("DMA0_SRC", 0).emit("DMA0_DST", 2048)


@pytest.mark.parametrize("npu", ["ethos-u55-64", "ethos-u65-512", "ethos-u85-1024"])
def test_copy(npu: str) -> None:
    stream = assembler(npu)
    stream.emit("DMA0_SRC_REGION", region=0).emit("DMA0_DST_REGION", region=1).emit("DMA0_LEN", 100)
    stream.emit("OP_DMA_START").execute()
    assert np.array_equal(stream.data[2048:2148], stream.data[:100])
    assert not stream.data[2148:].any()


def test_overlapping_copy_reads_before_it_writes() -> None:
    stream = assembler().emit("DMA0_DST", 8).emit("DMA0_LEN", 100)
    before = stream.data[:100].copy()
    stream.emit("DMA0_SRC_REGION", region=0).emit("DMA0_DST_REGION", region=0).emit("OP_DMA_START").execute()
    assert np.array_equal(stream.data[8:108], before)


def test_three_dimensions() -> None:
    stream = assembler().emit("DMA0_LEN", 5).emit("DMA0_SIZE0", 3).emit("DMA0_SIZE1", 2)
    stream.emit("DMA0_SRC_REGION", region=0, stride_mode="D3").emit("DMA0_DST_REGION", region=0)
    strides = {"SRC_STRIDE0": 7, "SRC_STRIDE1": 100, "DST_STRIDE0": 5, "DST_STRIDE1": 15}
    for name, stride in strides.items():
        stream.emit(f"DMA0_{name}", stride)
    stream.emit("OP_DMA_START").execute()
    wanted = [stream.data[100 * i + 7 * j :][:5] for i in range(2) for j in range(3)]
    assert np.array_equal(stream.data[2048:2078], np.concatenate(wanted))


@pytest.mark.parametrize("side", ["SRC", "DST"])
def test_gather_and_scatter(side: str) -> None:
    indices = np.array([5, 0, 3], np.int32)
    stream = assembler().emit("DMA0_LEN", 4).emit("DMA0_SIZE0", 3)
    stream.data[1024:1036] = np.frombuffer(indices.tobytes(), np.uint8)
    for register in ("SRC", "DST"):
        mode = "ENABLED" if register == side else "DISABLED"
        fields = {"stride_mode": "D2"} if register == "SRC" else {}
        stream.emit(f"DMA0_{register}_REGION", region=0, idx_mode=mode, **fields)
        stream.emit(f"DMA0_{register}_STRIDE0", 4)
    stream.emit("DMA0_IDX_REGION", 0).emit("DMA0_IDX", 1024).emit("DMA0_IDX_MAX", 5).emit(
        "OP_DMA_START"
    ).execute()
    source, target = stream.data[:24].reshape(6, 4), stream.data[2048:2072].reshape(6, 4)
    if side == "SRC":
        assert np.array_equal(target[:3], source[indices])
    else:
        assert np.array_equal(target[indices], source[:3])


@pytest.mark.parametrize("side", ["SRC", "DST"])
def test_a_single_row_of_mode_1d_takes_its_place_from_the_table(side: str) -> None:
    stream = assembler().emit("DMA0_LEN", 4).emit(f"DMA0_{side}_STRIDE0", 4)
    stream.data[1024] = 3
    for register in ("SRC", "DST"):
        mode = "ENABLED" if register == side else "DISABLED"
        stream.emit(f"DMA0_{register}_REGION", region=0, idx_mode=mode)
    stream.emit("DMA0_IDX_REGION", 0).emit("DMA0_IDX", 1024).emit("DMA0_IDX_MAX", 5)
    stream.emit("OP_DMA_START").execute()
    source, target = stream.data[:24].reshape(6, 4), stream.data[2048:2072].reshape(6, 4)
    if side == "SRC":
        assert np.array_equal(target[0], source[3])
    else:
        assert np.array_equal(target[3], source[0])


def test_an_index_beyond_the_largest_is_refused() -> None:
    stream = assembler().emit("DMA0_LEN", 4).emit("DMA0_SIZE0", 1).emit("DMA0_IDX_REGION", 0)
    stream.data[1024] = 6
    stream.emit("DMA0_SRC_REGION", region=0, stride_mode="D2", idx_mode="ENABLED").emit(
        "DMA0_DST_REGION", region=0
    )
    stream.emit("DMA0_IDX", 1024).emit("DMA0_IDX_MAX", 5)
    with pytest.raises(NpuError, match=r"outside 0\.\.5") as caught:
        stream.emit("OP_DMA_START").execute()
    assert caught.value.kind == "unimplemented"


def test_outside_memory() -> None:
    stream = (
        assembler().emit("DMA0_SRC_REGION", region=0).emit("DMA0_DST_REGION", region=0).emit("DMA0_LEN", 4000)
    )
    with pytest.raises(NpuFault):
        stream.emit("OP_DMA_START").execute()


def test_u55_strides_are_not_known() -> None:
    stream = assembler("ethos-u55-128").emit("DMA0_SRC_REGION", region=0, stride_mode="D2")
    with pytest.raises(NpuError, match="stride mode D2"):
        stream.emit("OP_DMA_START").execute()
