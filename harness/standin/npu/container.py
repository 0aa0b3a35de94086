"""ExecuTorch's delegate blob for Ethos-U and the driver payload in it (reference section 1)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.standin.npu.config import NpuConfig, config_from_word
from harness.standin.npu.errors import NpuError, parse_error

_START = b"vela_bin_stream\0"
_HEADER = struct.Struct("<16sIB11x")
_CONFIG, _STREAM, _NOP = 1, 2, 5
_TENSOR = struct.Struct("<9i")


@dataclass(frozen=True)
class Tensor:
    """An input or output: six-dimensional `shape`, bytes an element, and place in a region."""

    shape: tuple[int, ...]
    element_size: int
    offset: int
    region: int

    @property
    def size(self) -> int:
        """Bytes of the tensor."""
        return math.prod(self.shape) * self.element_size


@dataclass(frozen=True)
class Payload:
    """The driver payload: configuration, identity register, command stream."""

    config: NpuConfig
    config_word: int
    id_word: int
    commands: bytes


@dataclass(frozen=True)
class Delegate:
    """A delegate blob: payload, constants (region 0), bytes of scratch (region 1), inputs and outputs."""

    payload: Payload
    weights: bytes
    scratch_size: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def parse_payload(data: bytes) -> Payload:
    """Parse `cmd_data`.

    Raises:
        NpuError: it is malformed.
    """
    if data[:4] != b"COP1":
        raise parse_error("the driver payload does not start with COP1")
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    config: tuple[int, int] | None = None
    position = 1
    while position < len(words):
        tag = words[position]
        position += 1
        if tag & 0xFF == _CONFIG and position + 2 <= len(words):
            config = words[position], words[position + 1]
            position += 2
        elif tag & 0xFF == _STREAM:
            length = tag >> 16 | (tag >> 8 & 0xFF) << 16
            if config is None or position + length > len(words):
                raise parse_error("the driver payload has no configuration or is cut off")
            commands = data[4 * position : 4 * (position + length)]
            return Payload(config_from_word(config[0]), *config, commands)
        elif tag & 0xFF != _NOP:
            raise parse_error(f"unknown or cut-off driver action {tag:#010x}")
    raise parse_error("the driver payload has no command stream")


def parse_delegate(data: bytes, named_data: Mapping[str, bytes] | None = None) -> Delegate:
    """Parse a delegate blob.

    Args:
        data: `processed_bytes` of the delegate; bytes behind its end marker are ignored.
        named_data: the program's named data, where a blob keeps its constants outside.

    Raises:
        NpuError: it is malformed or cut off.
    """
    blocks = dict(_blocks(data, named_data or {}))
    missing = {"cmd_data", "weight_data", "scratch_size", "inputs", "outputs"} - blocks.keys()
    if missing:
        raise parse_error(f"the delegate blob has no block {', '.join(sorted(missing))}")
    if len(blocks["scratch_size"]) != 4:
        raise parse_error("scratch_size is no 32-bit number")
    return Delegate(
        parse_payload(blocks["cmd_data"]),
        blocks["weight_data"],
        int.from_bytes(blocks["scratch_size"], "little"),
        _tensors(blocks["inputs"]),
        _tensors(blocks["outputs"]),
    )


def delegates_in(data: bytes) -> Iterator[Delegate]:
    """All delegate blobs inside some bytes, e.g. of a .pte file, in file order.

    Raises:
        NpuError: one of them is malformed.
    """
    start = data.find(_START)
    while start >= 0:
        yield parse_delegate(data[start:])
        start = data.find(_START, start + 1)


def _blocks(data: bytes, named_data: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    if data[: len(_START)] != _START:
        raise parse_error("the delegate blob does not start with vela_bin_stream")
    position = 0
    while position + _HEADER.size <= len(data):
        raw_name, size, external = _HEADER.unpack_from(data, position)
        name = raw_name.rstrip(b"\0").decode("ascii", "replace")
        position += _HEADER.size
        if name == "vela_end_stream":
            return
        if position + size > len(data):
            raise parse_error(f"block {name} of {size} bytes is cut off")
        content = data[position : position + size]
        yield name, _named(content, named_data) if external else content
        position += -(-size // 16) * 16
    raise parse_error("the delegate blob is cut off: no vela_end_stream")


def _named(key: bytes, named_data: Mapping[str, bytes]) -> bytes:
    name = key.rstrip(b"\0").decode("ascii", "replace")
    if name not in named_data:
        raise NpuError("unimplemented", f"the delegate's constants lie outside of it, under {name}")
    return named_data[name]


def _tensors(block: bytes) -> tuple[Tensor, ...]:
    if len(block) < 4:
        raise parse_error("a list of inputs or outputs is cut off")
    count = int.from_bytes(block[:4], "little", signed=True)
    if count < 0 or len(block) < 4 + count * _TENSOR.size:
        raise parse_error(f"a list of {count} inputs or outputs is cut off")
    tensors = []
    for number in range(count):
        *shape, element_size, offset, region = _TENSOR.unpack_from(block, 4 + number * _TENSOR.size)
        if min(*shape, element_size, offset, region) < 0:
            raise parse_error(f"input or output {number} has a negative size or offset")
        tensors.append(Tensor(tuple(shape), element_size, offset, region))
    return tuple(tensors)
