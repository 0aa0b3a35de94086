"""NPU configurations: products, MAC counts and what follows from them (reference sections 1, 6 and 9)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.standin.npu.errors import parse_error

PRODUCTS = {0: "u55", 1: "u65", 2: "u85"}
MACS = {"u55": (32, 64, 128, 256), "u65": (256, 512), "u85": (128, 256, 512, 1024, 2048)}

_SHRAM_KB = {32: 16, 64: 16, 128: 24, 256: 48, 512: 96}
_LUT_BASE = {16: 0x3800, 24: 0x5800, 48: 0xB800, 96: 0xB800}
_WEIGHT_DECODERS = {128: 1, 256: 1, 512: 2, 1024: 4, 2048: 4}
# U85 depth of a microblock by ACC_FORMAT.microblock (0: 1x1, 1: 1x2, 2: 1x4, 3: 2x2, 4: 2x4, 5: 4x4).
_MICROBLOCK_DEPTH = {
    128: {1: 8, 0: 16},
    256: {1: 16, 2: 8, 3: 8},
    512: {3: 16, 2: 16},
    1024: {3: 32, 2: 32, 4: 16},
    2048: {3: 64, 2: 64, 5: 16},
}


@dataclass(frozen=True)
class NpuConfig:
    """An NPU: `product` is "u55", "u65" or "u85", `macs` the multiply-accumulates a cycle."""

    product: str
    macs: int

    def __post_init__(self) -> None:
        if self.macs not in MACS.get(self.product, ()):
            raise parse_error(f"there is no Ethos-{self.product.upper()} with {self.macs} MACs")

    @property
    def name(self) -> str:
        """As in a compile spec: "ethos-u55-128"."""
        return f"ethos-{self.product}-{self.macs}"

    @property
    def is_u85(self) -> bool:
        """U85 differs from U55 and U65 in fields, rounding and operations."""
        return self.product == "u85"

    @property
    def lut_base(self) -> int:
        """Where the LUT area begins in internal memory (SHRAM; U85: LUT RAM), in bytes."""
        return 0 if self.is_u85 else _LUT_BASE[_SHRAM_KB[self.macs]]

    @property
    def weight_decoders(self) -> int:
        """Number of weight streams of one convolution (U65-512: only with PARALLEL_MODE=1)."""
        return _WEIGHT_DECODERS[self.macs] if self.is_u85 else self.cores

    @property
    def cores(self) -> int:
        """2 for U65-512, else 1."""
        return 2 if self.product == "u65" and self.macs == 512 else 1

    def ofm_ublock_depth(self, microblock: int = 0) -> int:
        """Channels of an OFM micro block ("OU" in section 9).

        Args:
            microblock: U85 only, the field ACC_FORMAT.microblock.

        Raises:
            NpuError: the configuration has no such microblock.
        """
        if not self.is_u85:
            return 4 if self.macs == 32 else 8
        depth = _MICROBLOCK_DEPTH[self.macs].get(microblock)
        if depth is None:
            raise parse_error(f"{self.name} has no microblock {microblock}")
        return depth


def config_named(name: str) -> NpuConfig:
    """The configuration of a compile-spec name such as "ethos-u85-256".

    Raises:
        NpuError: there is no such NPU.
    """
    match = re.fullmatch(r"ethos-(u\d\d)-(\d{2,4})", name)
    if match is None:
        raise parse_error(f"'{name}' is not the name of an NPU, e.g. ethos-u55-128")
    return NpuConfig(match[1], int(match[2]))


def config_from_word(word: int) -> NpuConfig:
    """The configuration behind a CONFIG word (of a COP1 payload or of the register block).

    Raises:
        NpuError: unknown product or MAC count.
    """
    product = PRODUCTS.get(word >> 28 & 0xF)
    if product is None:
        raise parse_error(f"config word {word:#010x} names no known product")
    return NpuConfig(product, 1 << (word & 0xF))
