"""Builds command streams by name, and runs them on small memories."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.config import NpuConfig, config_named
from harness.standin.npu.enums import value_names
from harness.standin.npu.machine import run
from harness.standin.npu.memory import ArrayMemory
from harness.standin.npu.opcodes import Command, commands_by_name
from harness.standin.npu.trace import Trace

BASE = 0x2000_0000
Array = NDArray[Any]

_PRECISION = {1: "B8", 2: "B16", 4: "B32", 8: "B64"}


@dataclass
class Assembler:
    """A command stream in the making, and the memory it works on (all regions start at `BASE`)."""

    npu: str
    size: int = 1 << 16
    words: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = np.zeros(self.size, np.uint8)
        self.top = 0
        self.defaults()

    @property
    def config(self) -> NpuConfig:
        return config_named(self.npu)

    def emit(self, name: str, value: int | str = 0, **fields: int | str) -> Assembler:
        """A register write or an operation: its value, or its fields (the others become 0)."""
        command = commands_by_name(self.config.product)[name]
        if command.address:
            assert isinstance(value, int)
            self.words += [command.key | (value >> 32 & 0xFF) << 16, value & 0xFFFFFFFF]
            return self
        given = fields or ({command.fields[0].name: value} if command.fields else {})
        raw = sum(
            self._number(command, name, content) << self._lsb(command, name)
            for name, content in given.items()
        )
        self.words.append(command.key | (raw & 0xFFFF) << 16)
        if command.words == 2:
            self.words.append(raw >> 16)
        return self

    def defaults(self) -> None:
        """What nearly every operation needs."""
        self.kernel(1, 1).emit("IFM_UPSCALE", "NONE").rounding("NATURAL").clip(-128, 127)
        self.emit("KERNEL_STRIDE", stride_x_lsb=0)
        if self.config.is_u85:
            self.emit("ACC_FORMAT", acc_input="RESET").emit("IFM_BROADCAST", "NONE").emit(
                "IFM2_BROADCAST", "NONE"
            )
            self.emit("IFM_SCALE", shift=0, scale=1, round_mode="NATURAL")
            self.emit("IFM2_SCALE", shift=0, scale=1, round_mode="NATURAL")
        else:
            self.emit("IFM2_BROADCAST", broadcast_h=0).emit("OPA_SCALE", shift=0, scale=1).emit(
                "OPB_SCALE", 1
            )

    def kernel(self, height: int, width: int, pads: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Assembler:
        """A kernel without dilation; pads are top, left, bottom, right."""
        self.emit("KERNEL_HEIGHT_M1", height - 1).emit("KERNEL_WIDTH_M1", width - 1)
        for side, pad in zip(("TOP", "LEFT", "BOTTOM", "RIGHT"), pads, strict=True):
            self.emit(f"IFM_PAD_{side}", pad)
        return self

    def rounding(self, mode: str, scale: int = 1, shift: int = 0) -> Assembler:
        """The global OFM scale."""
        self.round_mode = mode
        if self.config.is_u85:
            return self.emit("OFM_SCALE", shift=shift, scale=scale, round_mode=mode)
        return self.emit("OFM_SCALE", shift=shift, scale=scale)

    def clip(self, low: int, high: int, function: str | None = None) -> Assembler:
        """Clip to bounds, and apply a table."""
        self.emit(
            "ACTIVATION", activation_function=function or ("LUT_NONE" if self.config.is_u85 else "RELU")
        )
        return self.emit("ACTIVATION_MIN", low & 0xFFFF).emit("ACTIVATION_MAX", high & 0xFFFF)

    def feature_map(self, name: str, array: Array, zero_point: int = 0, **precision: int | str) -> int:
        """Place an array (H, W, C) in memory and describe it as NHWC; returns its offset."""
        offset, size = self.top, array.itemsize
        self.top += -(-array.nbytes // 16) * 16
        self.data[offset : offset + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
        height, width, depth = array.shape
        self.emit(f"{name}_REGION", 1).emit(f"{name}_ZERO_POINT", zero_point & 0xFFFF)
        self.emit(f"{name}_WIDTH0_M1", width - 1)
        self.emit(f"{name}_HEIGHT0_M1", height - 1).emit(f"{name}_HEIGHT1_M1", height - 1)
        for tile in range(4):
            self.emit(f"{name}_BASE{tile}", offset if tile == 0 else 0)
        self.emit(f"{name}_STRIDE_Y", width * depth * size).emit(f"{name}_STRIDE_X", depth * size)
        self.emit(f"{name}_STRIDE_C", size)
        fields: dict[str, int | str] = {
            "activation_type": "SIGNED" if array.dtype.kind == "i" else "UNSIGNED",
            "activation_precision": _PRECISION[size],
        }
        if name == "OFM":
            fields["scale_mode"] = "GLOBAL"
            if not self.config.is_u85:
                fields["round_mode"] = self.round_mode
        self.emit(f"{name}_PRECISION", **{**fields, **precision})
        if name == "IFM":
            self.emit("IFM_DEPTH_M1", depth - 1)
        if name == "OFM":
            self.emit("OFM_HEIGHT_M1", height - 1).emit("OFM_WIDTH_M1", width - 1).emit(
                "OFM_DEPTH_M1", depth - 1
            )
        return offset

    def table(self, content: Array) -> Assembler:
        """Load table 0."""
        offset = self.top
        self.top += -(-content.nbytes // 16) * 16
        self.data[offset : offset + content.nbytes] = np.frombuffer(content.tobytes(), np.uint8)
        self.emit("DMA0_SRC_REGION", region=1).emit("DMA0_SRC", offset)
        self.emit("DMA0_DST_REGION", region=3, region_mode="INTERNAL").emit("DMA0_DST", self.config.lut_base)
        return self.emit("DMA0_LEN", content.nbytes).emit("OP_DMA_START")

    def execute(self, trace: io.StringIO | None = None) -> None:
        """Run the stream, with an OP_STOP behind it."""
        stream = np.array([*self.words, 0xFFFF0000], np.uint32)
        run(self.config, stream, [BASE] * 8, ArrayMemory(BASE, self.data), Trace(trace) if trace else None)

    def result(self, offset: int, like: Array) -> Array:
        """Run, and read an array of the given shape and type at an offset."""
        self.execute()
        return np.frombuffer(self.data[offset : offset + like.nbytes].tobytes(), like.dtype).reshape(
            like.shape
        )

    def _number(self, command: Command, name: str, content: int | str) -> int:
        if isinstance(content, int):
            return content
        names = value_names(self.config.product, command.name, name)
        return next(number for number, label in names.items() if label == content)

    @staticmethod
    def _lsb(command: Command, name: str) -> int:
        return next(field.lsb for field in command.fields if field.name == name)
