"""Kernel, stride, dilation and padding of a window operation (reference sections 4 and 7)."""

from __future__ import annotations

from dataclasses import dataclass

from harness.standin.npu.errors import parse_error
from harness.standin.npu.registers import RegisterState


@dataclass(frozen=True)
class Axis:
    """A window along one axis, all in elements: `kernel` counts taps, `before` and `after` are padding."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    def input_size(self, output: int) -> int:
        """Elements of the IFM that `output` windows cover.

        Raises:
            NpuError: padding covers everything.
        """
        size = (output - 1) * self.stride + (self.kernel - 1) * self.dilation + 1 - self.before - self.after
        if size < 1:
            raise parse_error(f"padding of {self.before}+{self.after} leaves no input")
        return size


@dataclass(frozen=True)
class Window:
    """The window in both axes."""

    y: Axis
    x: Axis

    @property
    def padded(self) -> bool:
        """True if any side is padded."""
        return any((self.y.before, self.y.after, self.x.before, self.x.after))


def window(state: RegisterState) -> Window:
    """The window that KERNEL_* and IFM_PAD_* describe."""
    return Window(
        _axis(state, "y", state.KERNEL_HEIGHT_M1, state.IFM_PAD_TOP, state.IFM_PAD_BOTTOM),
        _axis(state, "x", state.KERNEL_WIDTH_M1, state.IFM_PAD_LEFT, state.IFM_PAD_RIGHT),
    )


def _axis(state: RegisterState, axis: str, dilated_m1: int, before: int, after: int) -> Axis:
    lsb, msb = (state.field("KERNEL_STRIDE", f"stride_{axis}_{end}") for end in ("lsb", "msb"))
    dilation = 1 + state.field("KERNEL_STRIDE", f"dilation_{axis}")
    return Axis(dilated_m1 // dilation + 1, 1 + lsb + 2 * msb, dilation, before, after)
