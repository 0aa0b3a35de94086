"""Targets and boards: data only.

Memory maps, register bases and FVP parameter names are facts of the Corstone-300 and
Corstone-320 platforms; the regions listed here are the ones linker scripts may use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Isa(str, Enum):
    """Instruction-set level that decides operand conventions at lowering time."""

    SCALAR = "scalar"
    DSP = "dsp"
    MVE = "mve"


@dataclass(frozen=True)
class Region:
    """A memory region that an image may occupy. `origin` and `size` in bytes."""

    name: str
    origin: int
    size: int

    @property
    def end(self) -> int:
        """First address behind the region."""
        return self.origin + self.size

    def holds(self, address: int, size: int) -> bool:
        """True if `size` bytes from `address` on lie inside."""
        return self.origin <= address and address + size <= self.end


@dataclass(frozen=True)
class FvpParameters:
    """Names that Arm's FVP of one board gives to its `-C` parameters."""

    num_macs: str
    npu_extra_args: str
    no_display: tuple[str, ...]
    no_telnet: str
    uart_out_file: str
    uart_unbuffered: str | None
    shutdown_on_eot: str
    semihosting: str  # prefix of -enable, -stack_base, -heap_limit, -cwd, -cmd_line


@dataclass(frozen=True)
class Board:
    """A Corstone board: memory map, FVP names, UART and NPU addresses."""

    name: str
    cpu: str
    regions: tuple[Region, ...]
    uart0: int
    npu_base: int
    npu_irq: int
    parameters: FvpParameters


@dataclass(frozen=True)
class Target:
    """What code is built for.

    `cpu` is the core that the runner is compiled for; the board's own core runs it, and is the same or
    has more instructions. `isa` decides which operands programs for it carry. `npu_macs` is the
    MAC count that the FVP is told (a board without an NPU program still needs one), `short_id` the word in
    test ids.
    `npu` is the Ethos-U product that programs are compiled for: "u55", "u65", "u85", or None for a
    Cortex-M target; the name of an Ethos-U target is also Vela's name of that configuration.
    """

    name: str
    short_id: str
    board: Board
    fvp: str
    cpu: str
    isa: Isa
    npu_macs: int
    npu: str | None = None


_KIB, _MIB = 1 << 10, 1 << 20

CORSTONE_300 = Board(
    name="corstone-300",
    cpu="cortex-m55",
    regions=(
        Region("ITCM", 0x1000_0000, 512 * _KIB),
        Region("ITCM_NS", 0x0000_0000, 512 * _KIB),
        Region("BRAM", 0x1100_0000, 1 * _MIB),
        Region("DTCM", 0x3000_0000, 512 * _KIB),
        Region("DTCM_NS", 0x2000_0000, 512 * _KIB),
        Region("SRAM", 0x3100_0000, 2 * _MIB),
        Region("SRAM_NS", 0x2100_0000, 2 * _MIB),
        Region("QSPI", 0x3800_0000, 8 * _MIB),
        Region("DDR_NS", 0x6000_0000, 256 * _MIB),
        Region("DDR", 0x7000_0000, 256 * _MIB),
    ),
    uart0=0x4930_3000,
    npu_base=0x4810_2000,
    npu_irq=56,
    parameters=FvpParameters(
        num_macs="ethosu.num_macs",
        npu_extra_args="ethosu.extra_args",
        no_display=("mps3_board.visualisation.disable-visualisation",),
        no_telnet="mps3_board.telnetterminal0.start_telnet",
        uart_out_file="mps3_board.uart0.out_file",
        uart_unbuffered=None,
        shutdown_on_eot="mps3_board.uart0.shutdown_on_eot",
        semihosting="cpu0.semihosting",
    ),
)

CORSTONE_320 = Board(
    name="corstone-320",
    cpu="cortex-m85",
    regions=(
        Region("ITCM", 0x1000_0000, 32 * _KIB),
        Region("BROM", 0x1100_0000, 128 * _KIB),
        Region("FPGA_SRAM", 0x1200_0000, 2 * _MIB),
        Region("DTCM", 0x3000_0000, 32 * _KIB),
        Region("SRAM", 0x3100_0000, 4 * _MIB),
        Region("QSPI", 0x3800_0000, 8 * _MIB),
        Region("DDR", 0x7000_0000, 256 * _MIB),
    ),
    uart0=0x4820_3000,
    npu_base=0x4000_4000,
    npu_irq=16,
    parameters=FvpParameters(
        num_macs="mps4_board.subsystem.ethosu.num_macs",
        npu_extra_args="mps4_board.subsystem.ethosu.extra_args",
        no_display=(
            "mps4_board.visualisation.disable-visualisation",
            "vis_hdlcd.disable_visualisation",
        ),
        no_telnet="mps4_board.telnetterminal0.start_telnet",
        uart_out_file="mps4_board.uart0.out_file",
        uart_unbuffered="mps4_board.uart0.unbuffered_output",
        shutdown_on_eot="mps4_board.uart0.shutdown_on_eot",
        semihosting="mps4_board.subsystem.cpu0.semihosting",
    ),
)

BOARDS = {board.name: board for board in (CORSTONE_300, CORSTONE_320)}

FVP_SSE300_U55 = "FVP_Corstone_SSE-300_Ethos-U55"
FVP_SSE300_U65 = "FVP_Corstone_SSE-300_Ethos-U65"
FVP_SSE320 = "FVP_Corstone_SSE-320"

# The boards that an FVP executable simulates; the stand-in offers the same names.
FVP_BOARDS = {FVP_SSE300_U55: CORSTONE_300, FVP_SSE300_U65: CORSTONE_300, FVP_SSE320: CORSTONE_320}


def _cortex_m(core: str, board: Board, fvp: str, isa: Isa = Isa.MVE) -> Target:
    return Target(f"cortex-{core}", core, board, fvp, f"cortex-{core}", isa, 128)


def _ethos_u(npu: str, board: Board, fvp: str, default: int, *others: int) -> list[Target]:
    """One target per MAC count; the default's short id is the product: "u85", the others' "u85-256"."""
    return [
        Target(
            name=f"ethos-{npu}-{macs}",
            short_id=npu if macs == default else f"{npu}-{macs}",
            board=board,
            fvp=fvp,
            cpu=board.cpu,
            isa=Isa.MVE,
            npu_macs=macs,
            npu=npu,
        )
        for macs in sorted((default, *others))
    ]


# Short ids begin with the product, so that `-k u85` selects every U85. The default MAC counts are
# those of upstream's own tests.
TARGETS = {
    target.name: target
    for target in (
        # The smaller cores have no Corstone of their own: its Cortex-M55 runs their code.
        _cortex_m("m0plus", CORSTONE_300, FVP_SSE300_U55, Isa.SCALAR),
        _cortex_m("m4", CORSTONE_300, FVP_SSE300_U55, Isa.DSP),
        _cortex_m("m7", CORSTONE_300, FVP_SSE300_U55, Isa.DSP),
        _cortex_m("m55", CORSTONE_300, FVP_SSE300_U55),
        _cortex_m("m85", CORSTONE_320, FVP_SSE320),
        *_ethos_u("u55", CORSTONE_300, FVP_SSE300_U55, 128, 32, 64, 256),
        *_ethos_u("u65", CORSTONE_300, FVP_SSE300_U65, 256, 512),
        *_ethos_u("u85", CORSTONE_320, FVP_SSE320, 128, 256, 512, 1024, 2048),
    )
}


def on_corstone_300(target: Target) -> Target:
    """The same core's runner linked for Corstone-300, which upstream's Cortex-M suite boots for any core."""
    return replace(target, board=CORSTONE_300, fvp=FVP_SSE300_U55)


def target_named(name: str) -> Target:
    """The target called `name`, by full name or short id.

    Raises:
        KeyError: no such target; the message lists the known ones.
    """
    for target in TARGETS.values():
        if name in (target.name, target.short_id):
            return target
    known = ", ".join(f"{target.name} ({target.short_id})" for target in TARGETS.values())
    raise KeyError(f"unknown target '{name}'; known: {known}")
