"""Models built in by name, for `harness run lstm` and for tests; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.flow import Case
from harness.targets import Target


@dataclass(frozen=True)
class Model:
    """A network with inputs, both made from seeds.

    `network` names a function of `harness.aot.networks`, which is imported only when it is needed;
    `shapes` are those of its normally distributed inputs, nested as the network takes them.
    """

    network: str
    shapes: tuple[Any, ...]
    options: Mapping[str, Any]
    description: str


def _model(network: str, description: str, *shapes: Any, **options: Any) -> Model:
    return Model(network, shapes, options, description)


MODELS: Mapping[str, Model] = {
    "lstm": _model("lstm", "two quantizable LSTM layers", (5, 3, 10), ((2, 3, 20), (2, 3, 20))),
    "mlp": _model("mlp", "three linear layers", (1, 64)),
    "autoencoder": _model("autoencoder", "ten linear layers, MLPerf Tiny's shape", (1, 640)),
    "ds_cnn": _model("ds_cnn", "depthwise-separable CNN, MLPerf Tiny's shape", (1, 1, 49, 10)),
    "resnet8": _model("resnet8", "residual CNN, MLPerf Tiny's shape", (1, 3, 32, 32)),
    "mobilenet_v2": _model("mobilenet_v2", "MobileNetV2's shape, 224x224", (1, 3, 224, 224)),
    "mobilenet_v2_small": _model(
        "mobilenet_v2",
        "MobileNetV2's shape at width 0.35, 96x96",
        (1, 3, 96, 96),
        width=0.35,
        classes=100,
    ),
}


def model_case(name: str, target: Target, seed: int = 0) -> Case:
    """The case that runs model `name` on `target`; its weights and inputs come from `seed`.

    Raises:
        KeyError: no such model; the message lists the known ones.
    """
    if name not in MODELS:
        raise KeyError(f"unknown model '{name}'; known: {', '.join(MODELS)}")
    model = MODELS[name]

    def module(rng: Any) -> Any:
        from harness.aot import networks

        make: Callable[..., Any] = getattr(networks, model.network)
        return placed(make(**model.options))

    def inputs(rng: Any) -> tuple[Any, ...]:
        return tuple(placed(_normal(shape, rng)) for shape in model.shapes)

    def placed(value: Any) -> Any:
        # The convolutions of Cortex-M take channels-last images and weights; Vela brings its own layouts.
        return value if target.npu is not None else _channels_last(value)

    return Case(module, inputs, target, seed=seed, name=name)


def _channels_last(value: Any) -> Any:
    """A module, or a tensor of four dimensions, in that memory format; anything else as it is."""
    import torch

    if isinstance(value, torch.nn.Module) or (isinstance(value, torch.Tensor) and value.dim() == 4):
        return value.to(memory_format=torch.channels_last)
    return value


def _normal(shape: tuple[Any, ...], rng: Any) -> Any:
    import torch

    if isinstance(shape[0], tuple):
        return tuple(_normal(part, rng) for part in shape)
    return torch.randn(shape, generator=rng)
