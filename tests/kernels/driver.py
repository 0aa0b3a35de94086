"""Calls kernels on the host: builds `host/driver.cpp` with all operators and runs a list of calls.

A request file holds the number of calls (uint32) and per call the operator's name, the index of the
output, the number of values and the values, each a tag and its content: T tensor (dtype code, has
data, dynamism, rank, sizes, dim order, bytes), I int64, D float64, B bool, L list of int64, X list of
tensors, O list of tensors that may be absent, S text, A a tensor in the memory of an earlier argument
(its index, offset in bytes), N absent. A response holds failure state, rank,
sizes and bytes of the output.
"""

from __future__ import annotations

import os
import struct
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from harness.firmware import registration, sources
from harness.firmware.toolchain import host_toolchain

ROOT = Path(__file__).resolve().parents[2]
DTYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
}
OK, INVALID_ARGUMENT, INVALID_TYPE, INVALID_PROGRAM = 0x00, 0x12, 0x13, 0x23
CHANNELS_LAST = (0, 2, 3, 1)

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tensor:
    """A tensor argument: `array` is logical, stored in `dim_order`; `has_data` False = null pointer."""

    array: Array
    dim_order: tuple[int, ...] | None = None
    has_data: bool = True
    dynamism: int = 0

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(range(self.array.ndim)) if self.dim_order is None else self.dim_order


@dataclass(frozen=True)
class Tensors:
    """A list of tensors; with `optional`, elements may be absent."""

    elements: tuple[Tensor | None, ...]
    optional: bool = False


@dataclass(frozen=True)
class Same:
    """A tensor like argument `index`, at its data or `offset` bytes behind."""

    index: int
    offset: int = 0


Value = Tensor | Tensors | Same | int | float | bool | str | list[int] | None


@dataclass(frozen=True)
class Call:
    """One call: operator name with overload, then its arguments; `output` is the index of the output."""

    op: str
    values: tuple[Value, ...]
    output: int = -1

    @property
    def output_index(self) -> int:
        return self.output % max(len(self.values), 1)


@dataclass(frozen=True)
class Result:
    """What a call left behind: failure state, the output as a logical array, its log lines."""

    status: int
    out: Array
    log: str


def run(calls: Sequence[Call], directory: Path) -> list[Result]:
    """Run `calls` in one process; a sanitizer report or a crash is an AssertionError."""
    requests, responses = directory / "requests.bin", directory / "responses.bin"
    requests.write_bytes(struct.pack("<I", len(calls)) + b"".join(map(_encode_call, calls)))
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run(
        [build_driver(), requests, responses], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr[-4000:]
    logs = done.stderr.split("@call\n")[1:]
    data = memoryview(responses.read_bytes())
    results = []
    for call, log in zip(calls, logs, strict=True):
        result, data = _decode(call, data, log)
        results.append(result)
    assert not data
    return results


@lru_cache(maxsize=1)
def build_driver() -> Path:
    """Configure and build once per process; Ninja decides what is out of date."""
    # CMake's cache holds absolute paths: a copy of this checkout builds anew.
    build = ROOT / "build" / f"tests-kernels-{zlib.crc32(str(ROOT).encode()):08x}"
    build.mkdir(parents=True, exist_ok=True)
    operators = registration.load_operators(ROOT / "kernels" / "operators.yaml")
    chosen = registration.generate(operators, [op.name for op in operators])
    tools = host_toolchain()
    with FileLock(build / "lock"):
        generated = build / "registration.cpp"
        if not generated.is_file() or generated.read_text() != chosen.source:
            generated.write_text(chosen.source)
        options = {
            "CMAKE_MAKE_PROGRAM": tools.ninja.path,
            "EXECUTORCH_ROOT": sources.executorch_root(),
            "KERNELS_DIR": ROOT / "kernels",
            "RUNNER_DIR": ROOT / "runner_app",
            "REGISTRATION": generated,
            "KERNEL_SOURCES": ";".join(chosen.kernel_sources),
        }
        defines = [f"-D{name}={value}" for name, value in options.items()]
        source = ROOT / "tests" / "kernels" / "host"
        _check([tools.cmake.path, "-G", "Ninja", "-S", source, "-B", build / "cmake", *defines])
        _check([tools.cmake.path, "--build", build / "cmake"])
    return build / "cmake" / "driver"


def _check(argv: Sequence[str | Path]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]


def _encode_call(call: Call) -> bytes:
    name = call.op.encode()
    header = struct.pack("<I", len(name)) + name + struct.pack("<II", call.output_index, len(call.values))
    return header + b"".join(map(_encode, call.values))


def _encode(value: Value) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return struct.pack("<cB", b"B", value)
    if isinstance(value, int):
        return struct.pack("<cq", b"I", value)
    if isinstance(value, float):
        return struct.pack("<cd", b"D", value)
    if isinstance(value, list):
        return struct.pack(f"<cI{len(value)}q", b"L", len(value), *value)
    if isinstance(value, str):
        return struct.pack("<cI", b"S", len(value)) + value.encode()
    if isinstance(value, Tensors):
        tag = b"O" if value.optional else b"X"
        return struct.pack("<cI", tag, len(value.elements)) + b"".join(map(_encode, value.elements))
    if isinstance(value, Same):
        return struct.pack("<cII", b"A", value.index, value.offset)
    array, rank = value.array, value.array.ndim
    data = np.ascontiguousarray(np.transpose(array, value.order)).tobytes()
    head = struct.pack("<cbBBI", b"T", DTYPES[array.dtype.name], value.has_data, value.dynamism, rank)
    shape = struct.pack(f"<{rank}i{rank}B", *array.shape, *value.order)
    return head + shape + struct.pack("<I", len(data)) + data


def _decode(call: Call, data: memoryview, log: str) -> tuple[Result, memoryview]:
    status, rank = struct.unpack_from("<II", data)
    sizes = struct.unpack_from(f"<{rank}i", data, 8)
    (size,) = struct.unpack_from("<I", data, 8 + 4 * rank)
    start = 12 + 4 * rank
    out = call.values[call.output_index] if call.values else None
    if not isinstance(out, Tensor):
        return Result(status, np.empty(0), log), data[start + size :]
    stored = [sizes[d] for d in out.order]
    flat = np.frombuffer(data[start : start + size], out.array.dtype)[: int(np.prod(sizes))]
    logical = np.transpose(flat.reshape(stored), np.argsort(out.order)) if rank else flat.reshape(())
    return Result(status, logical, log), data[start + size :]
