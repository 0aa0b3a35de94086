"""What the stand-in knows of each board beyond `harness.targets`: QEMU's machine and what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.targets import (
    CORSTONE_300,
    CORSTONE_320,
    FVP_SSE300_U55,
    FVP_SSE300_U65,
    FVP_SSE320,
    Board,
    Region,
)

SECURE = 0x1000_0000  # added to an address: the secure view of the same memory or device
DDR = Region("DDR of QEMU", 0x6000_0000, 0x8000_0000)
NPU_PRODUCTS = {FVP_SSE300_U55: "u55", FVP_SSE300_U65: "u65", FVP_SSE320: "u85"}


@dataclass(frozen=True)
class BoardModel:
    """How QEMU plays a board.

    Attributes:
        machine: QEMU's machine.
        vectors: names of the regions that may begin with the vector table.
        vector_base: where the CPU finds it at reset; None: where QEMU's machine has it.
        globals: QEMU's `-global` settings.
        npu_size: bytes of the NPU's register block.
        uart_emulated: QEMU's machine has no UART at UART0's address.
        data: where `--data` may go beside the regions that linker scripts use.
        absent: regions that QEMU's machine lacks.
    """

    machine: str
    vectors: tuple[str, ...]
    npu_size: int
    vector_base: int | None = None
    globals: tuple[str, ...] = ()
    uart_emulated: bool = False
    data: tuple[Region, ...] = ()
    absent: frozenset[str] = field(default_factory=frozenset)


BOARD_MODELS = {
    CORSTONE_300.name: BoardModel(
        machine="mps3-an547",
        vectors=("ITCM", "ITCM_NS"),
        npu_size=0x1000,
        data=(Region("DDR windows", DDR.origin, DDR.size),),
    ),
    CORSTONE_320.name: BoardModel(
        machine="mps3-an547",
        vectors=("BROM",),
        npu_size=0x2000,
        vector_base=0x1100_0000,
        globals=("cortex-m55-arm-cpu.midr=0x411fd230",),  # CPUID of a Cortex-M85
        uart_emulated=True,
        absent=frozenset({"FPGA_SRAM"}),
    ),
}


def views(address: int) -> tuple[int, int]:
    """The secure and the non-secure address of a device."""
    return address | SECURE, address & ~SECURE


def npu_memory(board: Board) -> tuple[Region, ...]:
    """Memory that the NPU reaches: everything but the CPU's tightly coupled memories."""
    model = BOARD_MODELS[board.name]
    regions = (region for region in board.regions if "TCM" not in region.name)
    return (*(region for region in regions if region.name not in model.absent), *model.data)
