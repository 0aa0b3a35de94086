"""Whatever the bytes are: an NpuError or a result, within bounded time and memory."""

from __future__ import annotations

import contextlib
import struct
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.standin.npu import machine
from harness.standin.npu.config import config_named
from harness.standin.npu.container import parse_delegate, parse_payload
from harness.standin.npu.disasm import disassemble, disassemble_file
from harness.standin.npu.errors import NpuError
from harness.standin.npu.machine import run
from harness.standin.npu.memory import ArrayMemory
from harness.standin.npu.opcodes import commands_by_key
from tests.npu.core.assembler import BASE, Assembler

NPUS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")
LIMIT = 20  # seconds for one stream, on a busy machine


def everything(npu: str) -> Assembler:
    """A stream that uses every operation once."""
    stream = Assembler(npu, 8192)
    a = np.arange(48, dtype=np.int8).reshape(2, 3, 8)
    stream.table(np.arange(-128, 128).astype(np.int8))
    for name in ("IFM", "IFM2", "OFM"):
        stream.feature_map(name, a)
    for register in ("WEIGHT", "SCALE"):
        stream.emit(f"{register}_REGION", 0).emit(f"{register}_BASE", 0).emit(f"{register}_LENGTH", 64)
    for block in ("OFM_BLK_WIDTH_M1", "OFM_BLK_HEIGHT_M1"):
        stream.emit(block, 1)
    stream.emit("OFM_BLK_DEPTH_M1", 7)
    if stream.config.is_u85:
        stream.emit("WEIGHT_FORMAT", weight_format=0)
        for axis in "XY":
            stream.emit(f"RESIZE_{axis}_SCALE_N_M1", 1).emit(f"RESIZE_{axis}_OFFSET", 0)
            stream.emit(f"RESIZE_{axis}", one_step_int=1)
    else:
        stream.emit("PARALLEL_MODE", 0)
    stream.emit("OP_POOL", "MAX").emit("OP_ELEMENTWISE", "ADD").emit("OP_DMA_WAIT")
    return stream


def survives(npu: str, words: list[int], memory: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(NpuError):
        patch.setattr(machine, "MOST_REPETITIONS", 100)
        run(config_named(npu), np.array(words, np.uint32), [BASE] * 8, ArrayMemory(BASE, memory.copy()))
    assert time.monotonic() - started < LIMIT


@settings(max_examples=60)
@given(st.sampled_from(NPUS), st.lists(st.integers(0, (1 << 32) - 1), max_size=40))
def test_random_words(npu: str, words: list[int]) -> None:
    survives(npu, words, np.zeros(64, np.uint8))


@settings(max_examples=120)
@given(st.data(), st.sampled_from(NPUS))
def test_random_register_values(data: st.DataObject, npu: str) -> None:
    """Registers of a good stream get random values, then one operation runs."""
    stream = everything(npu)
    commands = commands_by_key(stream.config.product)
    registers = [command for command in commands.values() if not command.operation]
    operations = [command for command in commands.values() if command.operation and command.name != "OP_STOP"]
    value = st.one_of(st.integers(0, 3), st.integers(0, 0xFFFF))
    for command in data.draw(st.lists(st.sampled_from(registers), max_size=5)):
        stream.words.append(command.key | data.draw(value) << 16)
        stream.words += [data.draw(st.integers(0, 1 << 14))] * (command.words - 1)
    operation = data.draw(st.sampled_from(operations))
    stream.words.append(operation.key | data.draw(st.integers(0, 15)) << 16)
    stream.words += [data.draw(st.integers(0, 2000))] * (operation.words - 1)
    survives(npu, [*stream.words, 0xFFFF0000], stream.data)


def test_an_endless_loop_is_found_at_its_second_round() -> None:
    stream = Assembler("ethos-u85-256", 64).emit("OP_BRANCH", branch_target=0)
    with pytest.raises(NpuError, match="an endless loop") as caught:
        run(stream.config, np.array(stream.words, np.uint32), [BASE] * 8, ArrayMemory(BASE, stream.data))
    assert caught.value.opcode == "OP_BRANCH"


@pytest.mark.parametrize("npu", NPUS)
def test_every_truncation_of_a_stream(npu: str) -> None:
    stream = everything(npu)
    for length in range(len(stream.words)):
        with pytest.raises(NpuError) as caught:
            run(
                stream.config,
                np.array(stream.words[:length], np.uint32),
                [BASE] * 8,
                ArrayMemory(BASE, stream.data),
            )
        assert caught.value.offset is not None


def test_a_stream_of_odd_length() -> None:
    with pytest.raises(NpuError, match="no sequence of words"):
        run(config_named("ethos-u55-128"), b"\0\0\0\0\0", [0] * 8, ArrayMemory(0, np.zeros(1, np.uint8)))


def block(name: str, content: bytes = b"") -> bytes:
    header = struct.pack("<16sIB11x", name.encode(), len(content), 0)
    return header + content.ljust(-(-len(content) // 16) * 16, b"\0")


def blob() -> bytes:
    tensor = struct.pack("<i9i", 1, 1, 1, 1, 2, 3, 8, 1, 16, 1)
    stream = struct.pack("<II", 0x11, 0xFFFF0000)
    payload = b"COP1" + struct.pack("<IIIII", 1, 0x1807, 0x10066001, 5, 2 | 2 << 16) + stream
    return (
        block("vela_bin_stream")
        + block("cmd_data", payload)
        + block("weight_data", b"weights")
        + block("scratch_size", struct.pack("<I", 4096))
        + block("inputs", tensor)
        + block("outputs", tensor)
        + block("vela_end_stream")
    )


def test_a_whole_container() -> None:
    delegate = parse_delegate(blob())
    assert delegate.payload.config.name == "ethos-u55-128"
    assert len(delegate.payload.commands) == 8
    assert delegate.weights == b"weights"
    assert delegate.scratch_size == 4096
    assert (delegate.inputs[0].size, delegate.inputs[0].offset, delegate.inputs[0].region) == (48, 16, 1)
    lines = list(disassemble_file(b"some file" + blob()))
    assert "npu ethos-u55-128 (CONFIG 0x00001807, ID 0x10066001), 8 bytes of commands" in lines
    assert any(line.endswith("OP_STOP 65535") for line in lines)


def test_every_truncation_of_a_container() -> None:
    whole = blob()
    for length in range(len(whole)):
        with pytest.raises(NpuError):
            parse_delegate(whole[:length])


@settings(max_examples=200)
@given(st.integers(0, len(blob()) - 1), st.integers(0, 255))
def test_changed_bytes_of_a_container(place: int, value: int) -> None:
    damaged = bytearray(blob())
    damaged[place] = value
    with contextlib.suppress(NpuError):
        list(disassemble_file(bytes(damaged)))


@given(st.binary(max_size=64))
def test_random_payloads(content: bytes) -> None:
    with pytest.raises(NpuError):
        parse_payload(b"COP1" + content.replace(b"\2", b"\0"))


@given(st.binary(max_size=64))
def test_disassembly_shows_every_word(content: bytes) -> None:
    lines = [line for line in disassemble(config_named("ethos-u85-256"), content) if line]
    shown = " ".join(line[8:25] for line in lines).split()
    assert [int(word, 16) for word in shown] == list(
        struct.unpack(f"<{len(content) // 4}I", content[: len(content) // 4 * 4])
    )
