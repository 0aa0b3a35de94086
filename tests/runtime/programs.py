"""Makes the programs of the runtime tests: `python -m tests.runtime.programs DIRECTORY`.

Each is `NAME.pte`; `programs.json` holds what the driver has to register for them. Those of
malformed.py follow in `malformed/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
from executorch.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch.export import Dim, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from tests.runtime.malformed import MALFORMED

Made = Any  # an ExecutorchProgramManager


class TraceBackend(BackendDetails):
    """Puts bytes into the processed data and, if its compile spec says so, into named data."""

    @classmethod
    def preprocess(cls, edge_program: Any, compile_specs: list[CompileSpec]) -> PreprocessResult:
        store = NamedDataStore()
        if compile_specs[0].value == b"named":
            store.add_named_data("weights", bytes(range(64)), alignment=16)
        return PreprocessResult(
            processed_bytes=b"processed" * 7, data_store_output=store.get_named_data_store_output()
        )


class Add(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(torch.nn.Linear(12, 9), torch.nn.ReLU(), torch.nn.Linear(9, 4))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class State(torch.nn.Module):
    """Buffers that a run changes, one of them with an initial value."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.arange(5, dtype=torch.float32))
        self.register_buffer("total", torch.zeros(5))

    def forward(self, x: Any) -> Any:
        self.count.add_(x)
        self.total.add_(self.count)
        return self.count * 2 + self.total


class Lists(torch.nn.Module):
    """Lists of tensors, optional tensors, integers and booleans, an integer output."""

    def forward(self, x: Any, y: Any) -> Any:
        index = torch.tensor([1, 0])
        joined = torch.cat([x, y, x], dim=1)
        return joined[:, index], torch.sum(joined, dim=[0, 1]), joined.permute(1, 0).clone()


class Primitives(torch.nn.Module):
    def forward(self, x: Any, n: int, f: float, b: bool, none: Any) -> Any:
        return x * n + f if b else x


class View(torch.nn.Module):
    """A view whose shape is known at run time only."""

    def forward(self, x: Any, y: Any) -> Any:
        return (x + y).view(-1) * 2


class Branch(torch.nn.Module):
    def forward(self, flag: Any, x: Any) -> Any:
        return torch.cond(flag, lambda x: x + 1, lambda x: x * 2, [x])


class Loop(torch.nn.Module):
    def forward(self, xs: Any, y: Any) -> Any:
        from torch._higher_order_ops.map import map as torch_map

        return torch_map(lambda x, y: x + y, xs, y)


def lower(module: torch.nn.Module, inputs: tuple[Any, ...], shapes: Any = None, **config: Any) -> Made:
    exported = export(module.eval(), inputs, dynamic_shapes=shapes, strict=True)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    return edge.to_executorch(ExecutorchBackendConfig(**config))


def quantized() -> Made:
    inputs = (torch.linspace(-1, 1, 36).reshape(3, 12),)
    module = export(Mlp().eval(), inputs, strict=True).module(check_guards=False)
    prepared = prepare_pt2e(module, CortexMQuantizer())
    prepared(*inputs)
    exported = export(convert_pt2e(prepared), inputs, strict=True)
    edge = to_edge(exported, compile_config=cortex_m_edge_compile_config())
    config = CortexMTargetConfig(cpu=CortexM.M55)
    passes = CortexMPassManager(edge.exported_program(), CortexMPassManager.pass_list, target_config=config)
    edge._edge_programs["forward"] = passes.transform()
    return edge.to_executorch()


def delegated(named: bytes, inline: bool) -> Made:
    inputs = (torch.ones(2, 3), torch.ones(2, 3))
    edge = to_edge(export(Add(), inputs, strict=True))
    specs = [CompileSpec("kind", named)]
    lowered = to_backend("TraceBackend", edge.exported_program(), specs)

    class Wrapper(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lowered = lowered

        def forward(self, x: Any, y: Any) -> Any:
            return self.lowered(x, y)[0] + y

    exported = export(Wrapper(), inputs, strict=True)
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(extract_delegate_segments=not inline))


def state() -> Made:
    passes = [InitializedMutableBufferPass(["count"])]
    return lower(State(), (torch.ones(5),), emit_mutable_buffer_names=True, passes=passes)


def pair(*shape: int) -> tuple[Any, Any]:
    return torch.ones(*shape), torch.ones(*shape)


def unplanned() -> Made:
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    return lower(Add(), pair(2, 3), memory_planning_pass=planning)


def channels_last() -> Made:
    x = torch.ones(1, 3, 4, 5).to(memory_format=torch.channels_last)
    return lower(Add(), (x, x))


def dynamic(module: torch.nn.Module) -> Made:
    rows = Dim("rows", min=1, max=8)
    return lower(module, pair(4, 3), ({0: rows}, {0: rows}))


PROGRAMS: dict[str, Callable[[], Made]] = {
    "add": lambda: lower(Add(), pair(2, 3)),
    "scalar": lambda: lower(Add(), (torch.tensor(1.0), torch.tensor(2.0))),
    "empty": lambda: lower(Add(), pair(0, 3)),
    "int8": lambda: lower(Add(), (torch.ones(7, dtype=torch.int8), torch.ones(7, dtype=torch.int8))),
    "linear": lambda: lower(Mlp(), (torch.ones(3, 12),)),
    "external": lambda: lower(Mlp(), (torch.ones(3, 12),), external_constants=True),
    "quantized": quantized,
    "state": state,
    "lists": lambda: lower(Lists(), pair(2, 3)),
    "primitives": lambda: lower(Primitives(), (torch.ones(2), 3, 0.5, True, None)),
    "branch": lambda: lower(Branch(), (torch.tensor(True), torch.ones(2, 3))),
    "loop": lambda: lower(Loop(), (torch.ones(4, 3), torch.ones(3))),
    "view": lambda: dynamic(View()),
    "unplanned": unplanned,
    "channels_last": channels_last,
    "dynamic": lambda: dynamic(Add()),
    "delegate": lambda: delegated(b"plain", inline=False),
    "delegate_inline": lambda: delegated(b"plain", inline=True),
    "delegate_named": lambda: delegated(b"named", inline=False),
}


def main(directory: Path) -> None:
    """Writes all programs."""
    registry = {}
    for name, make in PROGRAMS.items():
        made = make()
        (directory / f"{name}.pte").write_bytes(made.buffer)
        plan = made.executorch_program.execution_plan[0]
        names = [f"{op.name}.{op.overload}" if op.overload else op.name for op in plan.operators]
        registry[name] = {"operators": names, "backends": sorted({d.id for d in plan.delegates})}
    (directory / "malformed").mkdir()
    for name, case in MALFORMED.items():
        file = deserialize_pte_binary((directory / f"{case.base}.pte").read_bytes())
        case.change(file.program)
        (directory / "malformed" / f"{name}.pte").write_bytes(bytes(serialize_pte_binary(file)))
    (directory / "programs.json").write_text(json.dumps(registry, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
