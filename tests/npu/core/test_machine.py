from __future__ import annotations

import io
import json

import numpy as np
import pytest

from harness.standin.npu.config import config_named
from harness.standin.npu.errors import NpuError, NpuFault
from harness.standin.npu.machine import run
from harness.standin.npu.memory import ArrayMemory, RegionMemory
from harness.standin.npu.trace_diff import TraceError, first_difference
from tests.npu.core.assembler import Array, Assembler

VALUES = np.arange(-8, 8, dtype=np.int8).reshape(2, 2, 4)


def copy_pass(npu: str = "ethos-u85-256", values: Array = VALUES) -> tuple[Assembler, int]:
    """A stream that copies an array, without OP_STOP."""
    stream = Assembler(npu)
    stream.feature_map("IFM", values)
    at = stream.feature_map("OFM", np.zeros_like(values))
    return stream.emit("OP_POOL", "SUM" if npu.startswith("ethos-u85") else "AVERAGE"), at


@pytest.mark.parametrize(
    "npu",
    [
        *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
        *(f"ethos-u65-{macs}" for macs in (256, 512)),
        *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
    ],
)
def test_every_configuration_copies(npu: str) -> None:
    stream, at = copy_pass(npu)
    for nothing in ("OP_DMA_WAIT", "OP_KERNEL_WAIT", "OP_PMU_MASK", "OP_IRQ"):
        stream.emit(nothing)
    assert np.array_equal(stream.result(at, VALUES), VALUES)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_tables_of_8_bits(npu: str) -> None:
    table = np.random.default_rng(1).integers(-128, 128, 256).astype(np.int8)
    stream = Assembler(npu)
    stream.table(table).clip(-4, 3, "LUT_S8_S8" if stream.config.is_u85 else "TABLE_0")
    stream.feature_map("IFM", VALUES)
    at = stream.feature_map("OFM", np.zeros_like(VALUES))
    stream.emit("OP_POOL", "SUM" if stream.config.is_u85 else "AVERAGE")
    assert np.array_equal(stream.result(at, VALUES), table[np.clip(VALUES, -4, 3).astype(int) + 128])


@pytest.mark.parametrize(
    ("npu", "function", "dtype"),
    [
        ("ethos-u55-128", "TABLE_0", np.int16),
        ("ethos-u85-256", "LUT_S16_S16", np.int16),
        ("ethos-u85-256", "LUT_S16_S32", np.int32),
    ],
)
def test_tables_of_16_bits_interpolate(
    npu: str, function: str, dtype: type[np.int16] | type[np.int32]
) -> None:
    table = np.random.default_rng(1).integers(-128, 128, (512, 2)).astype(np.int16)
    values = np.random.default_rng(2).integers(-32768, 32768, (4, 5, 6)).astype(np.int16)
    stream = Assembler(npu).table(table).clip(-32768, 32767, function)
    stream.feature_map("IFM", values)
    ofm = np.zeros(values.shape, dtype)
    at = stream.feature_map("OFM", ofm)
    result = stream.emit("OP_POOL", "SUM" if stream.config.is_u85 else "AVERAGE").result(at, ofm)
    for index in np.ndindex(values.shape):
        value = int(values[index])
        base, slope = (int(entry) for entry in table[(value + 32768) // 128])
        fraction = value % 128
        exact = base * 128 + slope * fraction if dtype is np.int32 else base + (slope * fraction + 64) // 128
        assert result[index] == exact


def test_a_table_that_was_never_loaded_is_an_error() -> None:
    stream = Assembler("ethos-u55-128").clip(-128, 127, "TABLE_3")
    stream.feature_map("IFM", VALUES)
    stream.feature_map("OFM", np.zeros_like(VALUES))
    with pytest.raises(NpuError, match="never loaded"):
        stream.emit("OP_POOL", "AVERAGE").execute()


@pytest.mark.parametrize("taken", [False, True])
def test_conditional_branch(taken: bool) -> None:
    flag = np.array([[[int(taken)]]], np.int8)
    stream, _ = copy_pass(values=flag)
    stream.feature_map("IFM", VALUES)
    at = stream.feature_map("OFM", np.zeros_like(VALUES))
    beyond = len(stream.words) + 3
    stream.emit("OP_BRANCH", branch_cond="RF_TRUE", branch_target=4 * beyond)
    stream.emit("OP_POOL", "SUM")
    assert np.array_equal(stream.result(at, VALUES), np.zeros_like(VALUES) if taken else VALUES)


def test_an_endless_loop_ends() -> None:
    stream = Assembler("ethos-u85-256")
    stream.emit("OP_BRANCH", branch_cond="ALWAYS", branch_target=4 * len(stream.words))
    with pytest.raises(NpuError, match="endless loop"):
        stream.execute()


@pytest.mark.parametrize("target", [6, 1 << 20])
def test_branches_to_nowhere(target: int) -> None:
    with pytest.raises(NpuError) as caught:
        Assembler("ethos-u85-256").emit("OP_BRANCH", branch_target=target).execute()
    assert caught.value.kind == "parse"


def test_unknown_opcode_names_the_place() -> None:
    stream, _ = copy_pass()
    place = len(stream.words)
    stream.words.append(0x000000FF)
    with pytest.raises(NpuError, match="0x000000ff") as caught:
        stream.execute()
    assert (caught.value.kind, caught.value.offset) == ("parse", place)


def test_u55_does_not_know_what_u85_knows() -> None:
    with pytest.raises(NpuError, match="is not a command of Ethos-U55"):
        run(config_named("ethos-u55-128"), np.array([7, 0xFFFF0000], np.uint32), [0] * 8, RegionMemory([]))


def test_outside_memory_is_a_bus_error_with_the_place() -> None:
    stream, _ = copy_pass()
    stream.emit("OFM_BASE0", 1 << 30)
    place = len(stream.words)
    with pytest.raises(NpuFault) as caught:
        stream.emit("OP_POOL", "SUM").execute()
    assert (caught.value.kind, caught.value.opcode, caught.value.offset) == ("bus", "OP_POOL", place)
    assert "OFM_BASE0 = 0x40000000" in caught.value.report()


def test_memory_is_flushed_even_after_an_error() -> None:
    class Flushed(ArrayMemory):
        done = False

        def flush(self) -> None:
            self.done = True

    memory = Flushed(0, np.zeros(16, np.uint8))
    with pytest.raises(NpuError):
        run(config_named("ethos-u55-128"), b"\xff\0\0\0", [0] * 8, memory)
    assert memory.done


def test_traces_differ_first_where_the_data_did() -> None:
    records = []
    for change in (0, 1):
        first, _ = copy_pass()
        first.feature_map("IFM", VALUES + np.int8(change))
        first.feature_map("OFM", np.zeros_like(VALUES))
        first.emit("OP_POOL", "MAX")
        record = io.StringIO()
        first.execute(record)
        records.append(record.getvalue().splitlines())
    same = [json.loads(line) for line in records[0]]
    assert same[0] == {"run": 0, "npu": "ethos-u85-256"}
    assert [line["operation"] for line in same[1:]] == ["OP_POOL SUM", "OP_POOL MAX"]
    assert same[1]["inputs"][0]["name"] == "IFM"
    assert same[1]["output"]["shape"] == [2, 2, 4]
    assert first_difference(records[0], records[0]) is None
    difference = first_difference(*records)
    assert difference is not None
    assert (difference.run, difference.index) == (0, 1)
    assert difference.message.startswith("operation 1 (stream 0, byte 0x")
    assert difference.message.endswith(
        "its inputs differ already: look at what the CPU wrote, and at constants"
    )
    shorter = first_difference(records[0], records[0][:-1])
    assert shorter is not None
    assert shorter.message.endswith("OP_POOL MAX: the second record ends before it")


def test_wrong_operation_is_the_one_with_equal_inputs() -> None:
    stream, _ = copy_pass()
    record = io.StringIO()
    stream.execute(record)
    start, first = record.getvalue().splitlines()
    wrong = json.loads(first)
    wrong["output"]["crc32"] = "0"
    difference = first_difference([start, first], [start, json.dumps(wrong)])
    assert difference is not None
    assert difference.message.splitlines()[-1] == "this operation computed something else from equal inputs"
    other = {**json.loads(first), "operation": "OP_CONV"}
    difference = first_difference([start, first], [start, json.dumps(other)])
    assert difference is not None
    assert difference.message.endswith("OP_CONV: another operation")
    for text in ("no JSON", "[1]", "{}"):
        with pytest.raises(TraceError, match="line 2 of the second file"):
            first_difference([start, first], [start, text])
