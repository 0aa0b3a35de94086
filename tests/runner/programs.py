"""Writes the programs and inputs of the runner's tests: `python programs.py DIRECTORY`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass

X = torch.arange(6.0).reshape(2, 3)
Y = torch.ones(2, 3)


class Function(torch.nn.Module):
    """A module that calls one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Constant(torch.nn.Module):
    """A module without inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.value = torch.nn.Parameter(torch.arange(4.0))

    def forward(self) -> torch.Tensor:
        return self.value + self.value


class Scalars(torch.nn.Module):
    """A module with inputs that are no tensors, and an output that is none."""

    def forward(self, x: torch.Tensor, n: int, f: float, b: bool, absent: None) -> tuple[torch.Tensor, int]:
        return x + x, n


def lower(module: torch.nn.Module, inputs: tuple[Any, ...], config: Any = None) -> Any:
    """The module as an ExecuTorch program."""
    return to_edge(torch.export.export(module, inputs)).to_executorch(config)


def bundle(program: Any, *cases: tuple[tuple[Any, ...], list[Any]]) -> bytes:
    """The program with test cases, each its inputs and expected outputs."""
    tests = [MethodTestCase(inputs=inputs, expected_outputs=outputs) for inputs, outputs in cases]
    return bytes(
        serialize_from_bundled_program_to_flatbuffer(
            BundledProgram(program, [MethodTestSuite("forward", tests)])
        )
    )


def programs() -> dict[str, bytes]:
    """File contents by name."""
    add = lower(Function(torch.add), (X, Y))
    scalars_inputs = (X, 3, 1.5, True, None)
    scalars = lower(Scalars(), scalars_inputs)
    unplanned = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    )
    big = torch.empty(1 << 23)
    contents = {
        "add.pte": add.buffer,
        "constant.pte": lower(Constant(), ()).buffer,
        "scalars.pte": scalars.buffer,
        "unplanned.pte": lower(Function(torch.add), (X, Y), unplanned).buffer,
        "missing.pte": lower(Function(lambda x: torch.tanh(torch.cos(x))), (X,)).buffer,
        "big.pte": lower(Function(torch.add), (big, big)).buffer,
        "good.bpte": bundle(add, ((X, Y), [X + Y]), ((Y, Y), [Y + Y])),
        "within.bpte": bundle(add, ((X, Y), [X + Y + 0.009])),
        "bad.bpte": bundle(add, ((X, Y), [X + Y]), ((Y, Y), [Y + Y + 1])),
        "foreign.bpte": bundle(add, ((X, Y), [X + Y])).replace(b"forward", b"fxrward", 1),
    }
    for name in ("exp", "sigmoid", "neg", "abs", "ceil", "floor"):
        contents[f"{name}.pte"] = lower(Function(getattr(torch, name)), (X,)).buffer
    return contents


def main(directory: Path) -> None:
    """Write everything."""
    for name, content in programs().items():
        (directory / name).write_bytes(content)
    for name, tensor in (("x.bin", X), ("y.bin", Y)):
        (directory / name).write_bytes(tensor.numpy().tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
