"""The execution loop (reference section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.config import NpuConfig
from harness.standin.npu.context import Context
from harness.standin.npu.dma import dma
from harness.standin.npu.elementwise import elementwise
from harness.standin.npu.errors import NpuError, parse_error, unimplemented
from harness.standin.npu.memory import Memory, Regions
from harness.standin.npu.pooling import pool
from harness.standin.npu.registers import RegisterState
from harness.standin.npu.resize import resize
from harness.standin.npu.stream import Instruction, decode
from harness.standin.npu.trace import Trace
from harness.standin.npu.weighted import convolution, depthwise

MOST_REPETITIONS = 1 << 16  # a stream that branches backwards more often is taken for an endless loop

# No effect on results: a model that finishes each operation before the next has nothing to wait for.
_WITHOUT_EFFECT = ("OP_IRQ", "OP_DMA_WAIT", "OP_KERNEL_WAIT", "OP_PMU_MASK")


@dataclass(frozen=True)
class RunInfo:
    """What a run did: commands executed (register writes included) and operations among them."""

    commands: int
    operations: int


def run(
    config: NpuConfig,
    commands: bytes | NDArray[np.uint32],
    region_bases: Sequence[int],
    memory: Memory,
    trace: Trace | None = None,
) -> RunInfo:
    """Execute a command stream up to its OP_STOP.

    Args:
        config: the NPU.
        commands: the stream, little-endian words of 32 bits.
        region_bases: absolute addresses of regions 0-7.
        memory: what lies at those addresses. Flushed at the end, also after an error.
        trace: records every operation, if given.

    Raises:
        NpuError: the stream is malformed, leaves memory, or needs what is not modelled. Its `opcode`,
            `offset` (in words) and `registers` say where.
    """
    state = RegisterState(config)
    context = Context(config, state, Regions(memory, tuple(region_bases)), tracing=trace is not None)
    machine = _Machine(context, _words(commands), trace)
    try:
        return machine.run()
    finally:
        memory.flush()


def _words(commands: bytes | NDArray[np.uint32]) -> list[int]:
    if isinstance(commands, np.ndarray):
        return [int(word) for word in commands.astype(np.uint32).tolist()]
    if len(commands) % 4:
        raise parse_error(f"a stream of {len(commands)} bytes is no sequence of words")
    return [int(word) for word in np.frombuffer(commands, "<u4").tolist()]


class _Machine:
    """Program counter and dispatch."""

    def __init__(self, context: Context, words: Sequence[int], trace: Trace | None) -> None:
        self.context = context
        self.product = context.config.product
        self.words = words
        self.trace = trace
        self._jumps: set[int] = set()  # unconditional branches since the last condition was looked at

    def run(self) -> RunInfo:
        offset, operations, repetitions, count = 0, 0, 0, 0
        if self.trace is not None:
            self.trace.begin(self.context.config.name)
        while repetitions < MOST_REPETITIONS:
            count += 1
            instruction = decode(self.product, self.words, offset)
            command = instruction.command
            if not command.operation:
                self.context.state.write(command, instruction.par, instruction.data)
                offset = instruction.end
                continue
            if command.name == "OP_STOP":
                return RunInfo(count, operations)
            offset = self._located(instruction)
            repetitions += offset <= instruction.offset
            operations += command.name not in _WITHOUT_EFFECT
        message = f"no OP_STOP after {MOST_REPETITIONS} repetitions: endless loop?"
        raise NpuError("unimplemented", message, "OP_BRANCH", offset, self.context.state.dump())

    def _located(self, instruction: Instruction) -> int:
        """Execute one operation; errors learn where they happened. Returns the offset to go on at."""
        name = instruction.command.name
        try:
            if name == "OP_BRANCH":
                return self._branch(instruction)
            if name not in _WITHOUT_EFFECT:
                self._execute(instruction)
        except NpuError as error:
            error.opcode, error.offset = name, instruction.offset
            error.registers = self.context.state.dump()
            raise
        except MemoryError:
            registers = self.context.state.dump()
            message = "operands too large for this machine"
            raise NpuError("unimplemented", message, name, instruction.offset, registers) from None
        return instruction.end

    def _branch(self, instruction: Instruction) -> int:
        target = instruction.field("branch_target")
        if target % 4:
            raise parse_error(f"branch to byte {target}, which is within a word")
        if instruction.choice(self.product, "branch_cond") == "ALWAYS":
            if instruction.offset in self._jumps:
                raise unimplemented("an endless loop: no condition lies between two of its jumps")
            self._jumps.add(instruction.offset)
            return target // 4
        self._jumps.clear()
        if self.context.result_flag is None:
            raise unimplemented("a conditional branch after an operation that did not write one element")
        return target // 4 if self.context.result_flag else instruction.end

    def _execute(self, instruction: Instruction) -> None:
        context, name = self.context, instruction.command.name
        context.inputs, context.output = [], None
        mode = ""
        if name == "OP_CONV":
            ifm2 = context.config.is_u85 and instruction.field("weights_ifm2") == 1
            mode = "IFM2" if ifm2 else ""
            convolution(context, ifm2)
        elif name == "OP_DEPTHWISE":
            depthwise(context)
        elif name == "OP_POOL":
            mode = instruction.choice(self.product, "pooling_mode")
            pool(context, mode)
        elif name == "OP_ELEMENTWISE":
            mode = instruction.choice(self.product, "elementwise_mode")
            elementwise(context, mode)
        elif name == "OP_RESIZE":
            mode = instruction.choice(self.product, "resize_mode")
            resize(context, mode)
        elif name == "OP_DMA_START":
            dma(context)
        else:
            raise unimplemented(name)
        if self.trace is not None:
            self.trace.operation(f"{name} {mode}".strip(), instruction.offset, context.inputs, context.output)
