"""A hypothesis strategy for small random networks of the layers that Ethos-U runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

Shape = tuple[int, int, int]
Layer = Callable[[st.DrawFn, Shape], tuple[nn.Module, Shape]]


@dataclass(frozen=True)
class Network:
    """A module, its input shape and the width of its activations."""

    module: nn.Module
    shape: Shape
    int16: bool
    seed: int

    def inputs(self) -> tuple[Tensor, ...]:
        """Example inputs."""
        generator = torch.Generator().manual_seed(self.seed)
        return (torch.randn(1, *self.shape, generator=generator) * 2,)

    def __str__(self) -> str:
        """What to report: enough to see which layers were involved."""
        return f"{self.shape} {'int16' if self.int16 else 'int8'} {self.module}"


class Function(nn.Module):
    """A function of one tensor as a module, named in reports."""

    def __init__(self, name: str, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.name, self.function = name, function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)

    def extra_repr(self) -> str:
        return self.name


class Combine(nn.Module):
    """Two branches over the same input and an operation on both."""

    def __init__(self, name: str, left: nn.Module, right: nn.Module) -> None:
        super().__init__()
        self.name, self.left, self.right = name, left, right

    def forward(self, x: Tensor) -> Tensor:
        return _BINARY[self.name](self.left(x), self.right(x))

    def extra_repr(self) -> str:
        return self.name


_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "cat": lambda left, right: torch.cat((left, right), dim=1),
    "matmul": lambda left, right: torch.matmul(left, right.transpose(2, 3)),
}
_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu6": nn.functional.relu6,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hardswish": nn.functional.hardswish,
    "gelu": nn.functional.gelu,
    "abs": torch.abs,
    "neg": torch.neg,
    "half": lambda x: x * 0.5,
    "shift": lambda x: x + 1.25,
    "clamp": lambda x: torch.clamp(x, -0.7, 1.1),
    "softmax": lambda x: torch.softmax(x, dim=1),
    "softmax of rows": lambda x: torch.softmax(x, dim=3),
    "centre": lambda x: x - x.mean(dim=(2, 3), keepdim=True),
    "sum": lambda x: x - x.sum(dim=1, keepdim=True),
    "largest": lambda x: x - torch.amax(x, dim=1, keepdim=True),
}


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to five layers over an image of up to 130 channels and 20x20."""
    channels = draw(st.one_of(st.integers(1, 40), st.sampled_from([64, 96, 130])))
    limit = 20 if channels <= 40 else 8
    shape = start = (channels, draw(st.integers(1, limit)), draw(st.integers(1, limit)))
    seed = draw(st.integers(0, 9999))
    torch.manual_seed(seed)
    layers = []
    for _ in range(draw(st.integers(1, 5))):
        layer, shape = _layer(draw, shape, nested=False)
        layers.append(layer)
    return Network(nn.Sequential(*layers).eval(), start, draw(st.booleans()), seed)


def _layer(draw: st.DrawFn, shape: Shape, *, nested: bool) -> tuple[nn.Module, Shape]:
    kinds: list[Layer] = [_convolution, _depthwise, _pool, _unary, _unary, _rearranged]
    if not nested:
        kinds += [_combined, _combined, _transposed_convolution, _dense]
    layer, result = draw(st.sampled_from(kinds))(draw, shape)
    return layer, result


def _axis(draw: st.DrawFn, size: int) -> tuple[int, int, int, int, int]:
    """Kernel, stride, dilation, padding and output size along one axis."""
    padding = draw(st.integers(0, 2))
    dilation = draw(st.integers(1, 2))
    largest = min(5, (size + 2 * padding - 1) // dilation + 1)
    kernel = draw(st.integers(1, largest))
    padding = min(padding, kernel // 2)
    while size + 2 * padding < (kernel - 1) * dilation + 1:
        kernel -= 1
    stride = draw(st.integers(1, 3))
    return kernel, stride, dilation, padding, (size + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1


def _convolution(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    outputs = draw(st.one_of(st.integers(1, 40), st.sampled_from([64, 96, 130])))
    return _conv2d(draw, shape, outputs, 1)


def _depthwise(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    return _conv2d(draw, shape, shape[0] * draw(st.sampled_from([1, 1, 2])), shape[0])


def _conv2d(draw: st.DrawFn, shape: Shape, outputs: int, groups: int) -> tuple[nn.Module, Shape]:
    axes = _axis(draw, shape[1]), _axis(draw, shape[2])
    kernel, stride, dilation, padding, size = zip(*axes, strict=True)
    layer = nn.Conv2d(shape[0], outputs, kernel, stride, padding, dilation, groups, bias=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:  # sparse weights compress differently
        layer.weight.data[torch.rand_like(layer.weight) < 0.8] = 0
    return layer, (outputs, *size)


def _transposed_convolution(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    outputs, kernel = draw(st.integers(1, 20)), draw(st.integers(2, 4))
    layer = nn.ConvTranspose2d(shape[0], outputs, kernel, stride=2)
    return layer, (outputs, 2 * shape[1] - 2 + kernel, 2 * shape[2] - 2 + kernel)


def _dense(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    outputs = draw(st.integers(1, 70))
    return nn.Linear(shape[2], outputs, bias=draw(st.booleans())), (shape[0], shape[1], outputs)


def _pool(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    kernel = min(draw(st.integers(1, 3)), shape[1], shape[2])
    stride = draw(st.integers(1, 3))
    padding = draw(st.integers(0, kernel // 2))
    size = [(length + 2 * padding - kernel) // stride + 1 for length in shape[1:]]
    kinds: list[Callable[..., nn.Module]] = [nn.MaxPool2d, nn.AvgPool2d]
    return draw(st.sampled_from(kinds))(kernel, stride, padding), (shape[0], size[0], size[1])


def _unary(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    name = draw(st.sampled_from(sorted(_UNARY)))
    return Function(name, _UNARY[name]), shape


def _rearranged(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    channels, height, width = shape
    if draw(st.booleans()) and height * width <= 64:
        layer = nn.Upsample(scale_factor=2, mode=draw(st.sampled_from(["nearest", "bilinear"])))
        return layer, (channels, 2 * height, 2 * width)
    order = draw(st.permutations([1, 2, 3]))
    layer = Function(f"permute {order}", lambda x: x.permute(0, *order).contiguous())
    return layer, (shape[order[0] - 1], shape[order[1] - 1], shape[order[2] - 1])


def _combined(draw: st.DrawFn, shape: Shape) -> tuple[nn.Module, Shape]:
    name = draw(st.sampled_from(sorted(_BINARY)))
    left, right = _same_shape(draw, shape), _same_shape(draw, shape)
    channels, height, width = shape
    result = {"cat": (2 * channels, height, width), "matmul": (channels, height, height)}
    return Combine(name, left, right), result.get(name, shape)


def _same_shape(draw: st.DrawFn, shape: Shape) -> nn.Module:
    layer, result = _layer(draw, shape, nested=True)
    return layer if result == shape else nn.Identity()
