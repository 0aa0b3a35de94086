from __future__ import annotations

import numpy as np
import pytest

from harness.standin.npu.memory import ArrayMemory, Regions
from harness.standin.npu.registers import RegisterState
from harness.standin.npu.scale_stream import channel_scales
from tests.npu.core.assembler import BASE, Assembler


def record(bias: int, bias_bytes: int, scale: int, scale_bytes: int, shift: int) -> bytes:
    packed = bias.to_bytes(bias_bytes, "little", signed=True) + scale.to_bytes(scale_bytes, "little")
    return (packed + bytes([shift])).ljust(10, b"\0")


@pytest.mark.parametrize(
    ("npu", "acc_format", "bias_bytes", "scale_bytes", "biases"),
    [
        ("ethos-u55-128", "I32", 5, 4, (-(2**39), 2**39 - 1, -1)),
        ("ethos-u85-256", "I32", 4, 4, (-(2**31), 2**31 - 1, -1)),
        ("ethos-u85-256", "I48", 6, 2, (-(2**47), 2**47 - 1, -1)),
    ],
)
def test_records(
    npu: str, acc_format: str, bias_bytes: int, scale_bytes: int, biases: tuple[int, ...]
) -> None:
    stream = Assembler(npu)
    state = RegisterState(stream.config)
    state.set("ACC_FORMAT", acc_format=["I32", "I48"].index(acc_format))
    state.set("SCALE_REGION", 0)
    state.set("SCALE_BASE", 16)
    scales = [1, (1 << (8 * scale_bytes - 1)) - 1, 77]
    content = b"".join(
        record(bias, bias_bytes, scale, scale_bytes, shift)
        for bias, scale, shift in zip(biases, scales, (0, 63, 31), strict=True)
    )
    stream.data[16 : 16 + len(content)] = np.frombuffer(content, np.uint8)
    found = channel_scales(state, Regions(ArrayMemory(BASE, stream.data), (BASE,)), 3)
    assert found.bias.tolist() == list(biases)
    assert found.multiplier.tolist() == scales
    assert found.shift.tolist() == [0, 63, 31]


def test_two_cores_take_turns() -> None:
    stream = Assembler("ethos-u65-512")
    state = RegisterState(stream.config)
    state.set("PARALLEL_MODE", 1)
    state.set("SCALE_REGION", 0)
    state.set("SCALE_BASE", 0)
    state.set("SCALE1_BASE", 512)
    for channel in range(5):
        at = 10 * (channel // 2) + 512 * (channel % 2)
        stream.data[at : at + 10] = np.frombuffer(record(channel, 5, 1, 4, 0), np.uint8)
    found = channel_scales(state, Regions(ArrayMemory(BASE, stream.data), (BASE,)), 5)
    assert found.bias.tolist() == [0, 1, 2, 3, 4]
