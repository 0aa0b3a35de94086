"""The calls into torch, torchao and executorch, one function a stage."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from harness.aot.tuning import tune_export, tune_quantization
from harness.aot.values import storage_bytes
from harness.flow import TensorSpec
from harness.pte import ProgramFile
from harness.targets import Isa, Target

# In this order: the passes first, or the dialect and its passes import each other in a circle.
_MODULES = (
    "executorch.backends.cortex_m.passes.cortex_m_pass_manager",
    "executorch.backends.cortex_m.ops.operators",
    "executorch.backends.cortex_m.quantizer.quantizer",
    "executorch.devtools.bundled_program.core",
    "executorch.devtools.bundled_program.serialize",
    "torchao.quantization.pt2e.quantize_pt2e",
)


def import_torch() -> None:
    """Import torch with what torch.export would import at its first call, and tune it."""
    for name in ("torch", "torch.export", "torch._dynamo"):
        importlib.import_module(name)
    tune_export()


def import_executorch() -> None:
    """Import what lowering needs (seconds) and register the cortex_m dialect with torch."""
    for name in _MODULES:
        importlib.import_module(name)
    tune_quantization()


def export(module: Any, inputs: tuple[Any, ...]) -> Any:
    """torch.export of a module in eval mode."""
    import torch

    with torch.no_grad():
        return torch.export.export(module.eval(), inputs)


def target_config(target: Target) -> Any:
    """The backend's description of `target`.

    Raises:
        ValueError: unknown core, or an ISA that the core does not have.
    """
    from executorch.backends.cortex_m.library import cmsis_nn
    from executorch.backends.cortex_m.target_config import CortexMTargetConfig

    backends = {
        Isa.SCALAR: cmsis_nn.Backend.SCALAR,
        Isa.DSP: cmsis_nn.Backend.DSP,
        Isa.MVE: cmsis_nn.Backend.MVE,
    }
    cpu = CortexMTargetConfig.from_target_string(target.cpu).cpu
    return CortexMTargetConfig(cpu=cpu, isa=backends[target.isa])


def quantize(exported: Any, inputs: tuple[Any, ...], samples: Iterable[tuple[Any, ...]]) -> Any:
    """Quantize for Cortex-M, calibrate with `samples`, export again."""
    import torch
    from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(exported.module(check_guards=False), CortexMQuantizer())
    with torch.no_grad():
        for sample in samples:
            prepared(*copy.deepcopy(sample))  # a module may write into its inputs
        return torch.export.export(convert_pt2e(prepared), inputs)


def to_edge(exported: Any, quantized: bool) -> Any:
    """To the edge dialect: the backend's configuration for quantized programs, else the plain one."""
    from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
    from executorch.exir import EdgeCompileConfig
    from executorch.exir import to_edge as exir_to_edge

    config = cortex_m_edge_compile_config() if quantized else EdgeCompileConfig(_check_ir_validity=False)
    return exir_to_edge(exported, compile_config=config).exported_program()


def run_passes(edge: Any, config: Any) -> Any:
    """The backend's passes: fold quantization, map to cortex_m operators, fuse activations."""
    from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager

    return CortexMPassManager(edge, target_config=config).transform()


def run(exported: Any, inputs: tuple[Any, ...]) -> list[Any]:
    """Flat outputs of an exported program; neither it nor `inputs` change."""
    import torch
    from torch.utils import _pytree

    module = copy.deepcopy(exported.module(check_guards=False))
    with torch.no_grad():
        return list(_pytree.tree_leaves(module(*copy.deepcopy(inputs))))


def to_executorch(lowered: Any) -> Any:
    """Plan memory and serialize; changes `lowered`, so it has to be the last step."""
    from executorch.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig
    from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass

    manager = EdgeProgramManager(lowered, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    return manager.to_executorch(
        ExecutorchBackendConfig(
            extract_delegate_segments=True, sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass()
        )
    )


def bundle(program: Any, described: ProgramFile, inputs: Sequence[Any], references: Sequence[Any]) -> bytes:
    """A `.bpte` with one test case, its tensors in the program's own dim orders."""
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.core import BundledProgram
    from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

    bundled = BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase(inputs, references)])])
    stored = bundled.serialize_to_schema().method_test_suites[0].test_cases[0]
    method = described.method()
    # BundledProgram stores tensors in plain order; the runtime copies bytes, so the program's order it is.
    _lay_out(stored.inputs, inputs, method.inputs)
    _lay_out(stored.expected_outputs, references, method.outputs)
    return bytes(serialize_from_bundled_program_to_flatbuffer(bundled))


def _lay_out(stored: Sequence[Any], values: Sequence[Any], specs: Sequence[TensorSpec]) -> None:
    for slot, value, spec in zip(stored, values, specs, strict=True):
        if hasattr(slot.val, "dim_order"):
            slot.val.data = storage_bytes(value, spec)
            slot.val.dim_order = list(spec.dim_order)


def graph_json(lowered: Any) -> bytes:
    """The graph as the list of nodes that `harness.aot.graph` reads."""
    nodes = [_node(node) for node in lowered.graph_module.graph.nodes]
    return json.dumps(nodes, indent=1).encode()


def _node(node: Any) -> dict[str, Any]:
    import torch

    value = node.meta.get("val")
    tensor = isinstance(value, torch.Tensor)
    schema = getattr(node.target, "_schema", None)
    if node.op == "call_function":
        overload = f".{schema.overload_name}" if schema is not None and schema.overload_name else ""
        op = node.target.__name__ if schema is None else schema.name + overload
    else:
        op = node.op
    names = [argument.name for argument in schema.arguments] if schema is not None else []
    names += [f"arg{i}" for i in range(len(names), len(node.args))]
    arguments = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return {
        "name": node.name,
        "op": op,
        "arguments": {name: _plain(argument) for name, argument in arguments.items()},
        "dtype": str(value.dtype).removeprefix("torch.") if tensor else None,
        "shape": [int(size) for size in value.shape] if tensor else None,
    }


def _plain(argument: Any) -> Any:
    import torch

    if isinstance(argument, torch.fx.Node):
        return f"%{argument.name}"
    if isinstance(argument, (list, tuple)):
        return [_plain(element) for element in argument]
    if argument is None or isinstance(argument, (bool, int, float, str)):
        return argument
    return str(argument).removeprefix("torch.")
