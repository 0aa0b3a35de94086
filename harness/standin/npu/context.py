"""What operations share: registers, memory, tables, chain buffers and kept accumulators."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.standin.npu.config import NpuConfig
from harness.standin.npu.errors import parse_error
from harness.standin.npu.feature_maps import FeatureMap, Shape, feature_map, read
from harness.standin.npu.lut import LutMemory
from harness.standin.npu.memory import Regions
from harness.standin.npu.numerics import Ints
from harness.standin.npu.registers import RegisterState


@dataclass
class Context:
    """The state of a run.

    Attributes:
        chains: results by chain buffer number (reference section 10).
        accumulators: of the last operation, before its output stage; KEEP continues from them.
        result_flag: whether the last operation wrote a non-zero value; None if it wrote several.
        inputs, output: what the current operation read and wrote, collected if `tracing`.
    """

    config: NpuConfig
    state: RegisterState
    memory: Regions
    tracing: bool = False
    lut: LutMemory = field(default_factory=LutMemory)
    chains: dict[int, Ints] = field(default_factory=dict)
    accumulators: Ints | None = None
    result_flag: bool | None = None
    inputs: list[tuple[str, Ints]] = field(default_factory=list)
    output: Ints | None = None

    @property
    def ofm_shape(self) -> Shape:
        """(H, W, C) of the OFM before transposition."""
        state = self.state
        return state.OFM_HEIGHT_M1 + 1, state.OFM_WIDTH_M1 + 1, state.OFM_DEPTH_M1 + 1

    def load(self, name: str, shape: Shape) -> Ints:
        """The elements of an operand minus its zero point, int32 for up to 16 bits and int64 above.

        Args:
            name: "IFM" or "IFM2".
            shape: (H, W, C) to read.

        Raises:
            NpuError: it lies outside memory, or a chained operand was not produced.
        """
        source = feature_map(self.state, name)
        values = (
            self._chained(source, shape) if source.storage == "CHAINED" else read(source, self.memory, shape)
        )
        self.note_input(name, values)
        return centre(source, values)

    def note_input(self, name: str, values: Ints) -> None:
        """Remember for the trace what was read."""
        if self.tracing:
            self.inputs.append((name, values.copy()))

    def _chained(self, source: FeatureMap, shape: Shape) -> Ints:
        values = self.chains.get(source.region)
        if values is None:
            raise parse_error(f"{source.name} reads chain buffer {source.region}, which nothing wrote")
        if values.shape != shape or values.dtype != source.dtype:
            have, want = f"{values.shape} {values.dtype}", f"{shape} {source.dtype}"
            raise parse_error(
                f"{source.name} reads {want} from chain buffer {source.region}, which holds {have}"
            )
        return values


def centre(source: FeatureMap, values: Ints) -> Ints:
    """Values minus the feature map's zero point."""
    wide = np.int32 if source.bits <= 16 else np.int64
    centred: Ints = np.subtract(values, source.zero_point, dtype=wide, casting="unsafe")
    return centred
