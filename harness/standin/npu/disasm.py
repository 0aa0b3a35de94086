"""A readable command stream, for `harness npu disasm FILE` (reference section 2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from harness.standin.npu.config import NpuConfig
from harness.standin.npu.container import Delegate, Payload, Tensor, delegates_in, parse_payload
from harness.standin.npu.enums import value_names
from harness.standin.npu.errors import NpuError, parse_error
from harness.standin.npu.opcodes import Field
from harness.standin.npu.registers import address
from harness.standin.npu.stream import Instruction, decode


def disassemble_file(data: bytes, config: NpuConfig | None = None) -> Iterator[str]:
    """Lines for whatever a file holds.

    Args:
        data: a program (.pte, .bpte) with Ethos-U delegates, a delegate blob, a driver payload (`COP1`) or a
            bare command stream.
        config: the NPU of a bare command stream; the other forms name it themselves.

    Raises:
        NpuError: none of these, or the container is malformed. Malformed commands are shown, not raised.
    """
    delegates = list(delegates_in(data))
    for number, delegate in enumerate(delegates):
        yield f"delegate {number}"
        yield from _describe(delegate)
        yield from _payload(delegate.payload)
    if delegates:
        return
    if data[:4] == b"COP1":
        yield from _payload(parse_payload(data))
    elif config is None:
        raise parse_error("no Ethos-U delegate in it; for a bare command stream, name the NPU")
    elif not data or len(data) % 4:
        raise parse_error(f"a stream of {len(data)} bytes is no sequence of words")
    else:
        yield from disassemble(config, data)


def disassemble(config: NpuConfig, commands: bytes) -> Iterator[str]:
    """One line a command: byte offset, words, name and fields; a blank line follows each operation.

    A word that is no command gets a line of its own, and decoding goes on behind it.
    """
    words = struct.unpack(f"<{len(commands) // 4}I", commands[: len(commands) // 4 * 4])
    offset = 0
    while offset < len(words):
        try:
            instruction = decode(config.product, words, offset)
        except NpuError as error:
            yield f"{4 * offset:06x}  {words[offset]:08x}           ?? {error.message}"
            offset += 1
            continue
        raw = " ".join(f"{word:08x}" for word in words[offset : instruction.end])
        yield f"{4 * offset:06x}  {raw:17}  {_text(config.product, instruction)}"
        if instruction.command.operation:
            yield ""
        offset = instruction.end


def _text(product: str, instruction: Instruction) -> str:
    command = instruction.command
    if command.address:
        return f"{command.name} {address(command.name, instruction.par, instruction.data):#x}"
    if len(command.fields) == 1:
        operand = _operand(product, instruction, command.fields[0])
        return f"{command.name} {operand}"
    operands = [f"{field.name}={_operand(product, instruction, field)}" for field in command.fields]
    return " ".join([command.name, *operands])


def _operand(product: str, instruction: Instruction, field: Field) -> str:
    value = field.of(instruction.value)
    names = value_names(product, instruction.command.name, field.name)
    if names:
        return names.get(value, f"{value}?")
    return str(value) if value < 1 << 16 else f"{value:#x}"


def _payload(payload: Payload) -> Iterator[str]:
    yield (
        f"npu {payload.config.name} (CONFIG {payload.config_word:#010x}, ID {payload.id_word:#010x}), "
        f"{len(payload.commands)} bytes of commands"
    )
    yield from disassemble(payload.config, payload.commands)


def _describe(delegate: Delegate) -> Iterator[str]:
    yield f"constants {len(delegate.weights)} bytes, scratch {delegate.scratch_size} bytes"
    for kind, tensors in (("input", delegate.inputs), ("output", delegate.outputs)):
        for number, tensor in enumerate(tensors):
            yield f"{kind} {number}: {_tensor(tensor)}"


def _tensor(tensor: Tensor) -> str:
    shape = "x".join(str(size) for size in tensor.shape)
    return f"{shape}, {tensor.element_size} bytes an element, region {tensor.region} + {tensor.offset:#x}"
