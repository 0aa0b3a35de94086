"""Pytest plugin inside upstream's test process: the borders of delegates run on the cortex_m operators.

Upstream's Ethos-U tests leave quantize and dequantize to the portable operators; executorch#10782 set out
to use those of the Cortex-M backend.
"""

from __future__ import annotations

from typing import Any


def pytest_configure() -> None:
    """Replace the quantize nodes after partitioning, before the memory is planned."""
    from executorch.backends.cortex_m.passes.replace_quant_nodes_pass import ReplaceQuantNodesPass
    from executorch.backends.test.harness.stages import ToExecutorch
    from executorch.exir import EdgeCompileConfig

    run = ToExecutorch.run

    def replaced(self: Any, artifact: Any, inputs: Any = None) -> None:
        config = EdgeCompileConfig(_check_ir_validity=False)
        run(self, artifact.transform([ReplaceQuantNodesPass()], config), inputs)

    ToExecutorch.run = replaced
