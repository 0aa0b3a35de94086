"""The calls into executorch's Arm backend for Ethos-U targets, one function a stage."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from harness.aot.steps import swapped
from harness.aot.tosa import evaluate_delegate
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import Target

# What upstream's own tests compile with: (system configuration, memory mode, further flags of Vela).
_VELA = {
    "u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram", ["--arena-cache-size=2097152"]),
    "u65": ("Ethos_U65_High_End", "Dedicated_Sram_384KB", ["--arena-cache-size=393216"]),
    "u85": ("Ethos_U85_SYS_DRAM_Mid", "Shared_Sram", ["--arena-cache-size=2097152"]),
}

_MODULES = (
    "executorch.backends.arm.ethosu",
    "executorch.backends.arm.quantizer",
    "executorch.backends.arm.tosa.partitioner",
    "executorch.backends.cortex_m.passes.replace_quant_nodes_pass",
)

DELEGATE = "executorch_call_delegate"
# What may stay on the CPU: quantization, for which there are kernels, and picking a delegate's outputs.
_BORDER = {DELEGATE, "getitem", "cortex_m::quantize_per_tensor", "cortex_m::dequantize_per_tensor"}


def import_backend() -> None:
    """Import what lowering for Ethos-U needs besides `compiler.import_executorch` (seconds)."""
    for name in _MODULES:
        importlib.import_module(name)


def compile_spec(target: Target) -> Any:
    """The Arm backend's description of `target`.

    Raises:
        KeyError: not an Ethos-U target.
    """
    from executorch.backends.arm.ethosu import EthosUCompileSpec

    system, memory, flags = _VELA[str(target.npu)]
    return EthosUCompileSpec(target.name, system_config=system, memory_mode=memory, extra_flags=list(flags))


def vela_flags(target: Target) -> tuple[str, ...]:
    """Vela's command line for `target` as the Arm backend builds it from `compile_spec`, without directories.

    Raises:
        KeyError: not an Ethos-U target.
    """
    system, memory, flags = _VELA[str(target.npu)]
    return (
        *flags,
        f"--accelerator-config={target.name}",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        f"--system-config={system}",
        f"--memory-mode={memory}",
    )


def quantize(
    exported: Any, inputs: tuple[Any, ...], samples: Iterable[tuple[Any, ...]], spec: Any, bits: int
) -> Any:
    """Quantize for Ethos-U as upstream's tests do, weights per channel; calibrate; export again.

    Args:
        exported: the program.
        inputs: its example inputs.
        samples: of inputs, for calibration.
        spec: from `compile_spec`.
        bits: width of activations, 8 or 16.
    """
    import torch
    from executorch.backends.arm.quantizer import (
        EthosUQuantizer,
        get_symmetric_a16w8_quantization_config,
        get_symmetric_quantization_config,
    )

    config = {8: get_symmetric_quantization_config, 16: get_symmetric_a16w8_quantization_config}[bits]
    quantizer = EthosUQuantizer(spec).set_global(config(is_per_channel=True))
    module = exported.module(check_guards=False)
    with torch.no_grad():
        # torchao's prepare and convert, also for the branches of control flow.
        copies = [copy.deepcopy(sample) for sample in samples]  # a module may write into its inputs
        return torch.export.export(quantizer._quantize_with_submodules(module, copies), inputs)


def delegate(exported: Any, spec: Any, refused: dict[str, str]) -> Any:
    """To the edge dialect, with all that the NPU can compute compiled into delegates.

    Args:
        exported: the program; it does not change.
        spec: from `compile_spec`.
        refused: receives the partitioner's reason by name of each node that it leaves on the CPU.
    """
    from executorch.backends.arm.ethosu import EthosUPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    with _reasons(refused):
        manager = to_edge_transform_and_lower(
            copy.deepcopy(exported),
            partitioner=[EthosUPartitioner(spec)],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
    return manager.exported_program()


@contextmanager
def _reasons(refused: dict[str, str]) -> Iterator[None]:
    from executorch.backends.arm.tosa import partitioner

    class Reporter(partitioner.WhyNoPartitionReporter):  # type: ignore[misc]
        def report_reject(self, node: Any, reason: str) -> None:
            super().report_reject(node, reason)
            refused.setdefault(node.name, reason)

    with swapped(partitioner, "WhyNoPartitionReporter", Reporter):
        yield


def quantize_borders_on_cortex_m(edge: Any) -> Any:
    """Replace quantize and dequantize outside delegates by the cortex_m operators."""
    from executorch.backends.cortex_m.passes.replace_quant_nodes_pass import ReplaceQuantNodesPass
    from executorch.exir.program._program import _transform

    return _transform(edge, ReplaceQuantNodesPass())


def demand_delegation(lowered: Any, refused: dict[str, str]) -> None:
    """Check that the NPU computes everything but quantize and dequantize.

    Raises:
        HarnessError: AOT/UNDELEGATED, with the operators left on the CPU and the partitioner's reasons.
    """
    left = {
        node.name: name
        for node in lowered.graph_module.graph.nodes
        if node.op == "call_function" and (name := operator_name(node)) not in _BORDER
    }
    if not left and delegates(lowered):
        return
    summary = "nothing is delegated to the NPU"
    if left:
        summary = f"{len(left)} operators stay on the CPU: {', '.join(sorted(set(left.values())))}"
    reasons = sorted(f"{name}: {' '.join(refused[name].split())}" for name in left if name in refused)
    hint = "Case(delegated=False) allows this."
    if reasons:
        hint = f"The partitioner refuses {'; '.join(reasons)[:2000]}. {hint}"
    detail = {"step": "delegate", "operators": sorted(left.values()), "reasons": reasons}
    raise HarnessError(Outcome(Phase.LOWER, OutcomeClass.AOT_UNDELEGATED, summary, hint, detail))


def operator_name(node: Any) -> str:
    """Schema name without overload, or the name of what has no schema: "executorch_call_delegate"."""
    schema = getattr(node.target, "_schema", None)
    return str(node.target.__name__ if schema is None else schema.name)


def delegates(lowered: Any) -> list[bytes]:
    """The delegates' bytes, in order of execution."""
    module = lowered.graph_module
    return [
        bytes(getattr(module, node.args[0].target).processed_bytes)
        for node in module.graph.nodes
        if node.op == "call_function" and operator_name(node) == DELEGATE
    ]


def run(lowered: Any, inputs: tuple[Any, ...], graphs: Mapping[bytes, bytes]) -> list[Any]:
    """Flat outputs of a lowered program: delegates by TOSA's reference model, the rest operator by operator.

    Args:
        lowered: the program; neither it nor `inputs` change.
        inputs: of the program.
        graphs: TOSA graph by bytes of each delegate.

    Raises:
        ReferenceModelError: the reference model does not evaluate a delegate.
    """
    import torch
    from torch.utils import _pytree

    class Interpreter(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, n: Any) -> Any:
            if n.op != "call_function" or operator_name(n) != DELEGATE:
                return super().run_node(n)
            blob, *arguments = self.fetch_args_kwargs_from_env(n)[0]
            like = [
                argument.meta.get("val", value) for argument, value in zip(n.args[1:], arguments, strict=True)
            ]
            graph = graphs[bytes(blob.processed_bytes)]
            return evaluate_delegate(graph, arguments, like, _sequence(n.meta["val"]))

    module = copy.deepcopy(lowered.module(check_guards=False))
    with torch.no_grad():
        return list(_pytree.tree_leaves(Interpreter(module).run(*copy.deepcopy(inputs))))


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)
