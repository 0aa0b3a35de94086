"""Lowers small torch modules for an Ethos-U and keeps the graphs; Vela runs in a child process."""

from __future__ import annotations

from typing import Any

import torch

from harness.aot.tuning import tune_export, tune_quantization
from tests.npu.oracle.child import Child
from tests.npu.oracle.graphs import Graph, captured

# As upstream's tests: without them Vela assumes a cache that is larger than the board's.
_ARENA = {"u55": 2097152, "u65": 393216, "u85": 2097152}


def lower(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    target: str,
    vela: Child,
    *,
    int16: bool = False,
    flags: tuple[str, ...] = (),
    name: str = "graph",
) -> list[Graph]:
    """Quantize with `inputs` as calibration, partition, compile.

    Args:
        module: In evaluation mode.
        inputs: Example inputs.
        target: E.g. "ethos-u85-256".
        vela: Calls `run_vela`.
        int16: Activations of 16 bits, weights of 8.
        flags: Further ones for Vela.
        name: Of the graphs.

    Returns:
        A graph for each delegate; none if nothing was delegated.
    """
    from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
    from executorch.backends.arm.quantizer import (
        EthosUQuantizer,
        get_symmetric_a16w8_quantization_config,
        get_symmetric_quantization_config,
    )
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    tune_export()
    tune_quantization()
    arena = _ARENA[target.split("-")[1]]
    spec = EthosUCompileSpec(target, extra_flags=[f"--arena-cache-size={arena}", *flags])
    quantizer = EthosUQuantizer(spec)
    config = get_symmetric_a16w8_quantization_config() if int16 else get_symmetric_quantization_config()
    quantizer.set_global(config)
    with torch.no_grad():
        prepared = prepare_pt2e(_exported(module, inputs).module(check_guards=False), quantizer)
        prepared(*inputs)
        quantized = _exported(convert_pt2e(prepared), inputs)
        with captured(name, vela) as graphs:
            to_edge_transform_and_lower(quantized, partitioner=[EthosUPartitioner(spec)])
    return graphs


def _exported(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    return torch.export.export(module, inputs, strict=True)
