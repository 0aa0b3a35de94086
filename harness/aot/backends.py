"""From an exported program to a lowered one: Cortex-M operators, or Ethos-U delegates between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.aot import compiler, ethosu
from harness.aot.steps import Steps
from harness.aot.vela import Vela
from harness.flow import Case
from harness.outcomes import OutcomeClass


@dataclass(frozen=True)
class Lowered:
    """A lowered program.

    Attributes:
        quantized: the program before lowering; quantized, unless the case does not want it.
        program: in the edge dialect, all backend passes done.
        delegates: bytes and TOSA graph of each delegate, in order of execution.
    """

    quantized: Any
    program: Any
    delegates: tuple[tuple[bytes, bytes], ...] = ()

    def run(self, inputs: tuple[Any, ...]) -> list[Any]:
        """Flat outputs in Python: operators by the dialect, delegates by TOSA's reference model.

        Raises:
            ReferenceModelError: that model does not evaluate a delegate.
        """
        if self.delegates:
            return ethosu.run(self.program, inputs, dict(self.delegates))
        return compiler.run(self.program, inputs)


def lower_exported(
    case: Case, exported: Any, inputs: tuple[Any, ...], samples: tuple[tuple[Any, ...], ...], steps: Steps
) -> Lowered:
    """Lower for the target of `case`, calibrating with `samples`.

    Raises:
        HarnessError: phase lower.
    """
    with steps.step("import", "importing executorch"):
        compiler.import_executorch()
    make = _for_cortex_m if case.target.npu is None else _for_ethos_u
    return make(case, exported, inputs, samples, steps)


def _for_cortex_m(case: Case, exported: Any, inputs: Any, samples: Any, steps: Steps) -> Lowered:
    with steps.step("target", f"target {case.target.name}", OutcomeClass.CONFIG_TARGET):
        config = compiler.target_config(case.target)
    quantized = exported
    if case.quantize:
        with steps.step("quantize", "quantization"):
            quantized = compiler.quantize(exported, inputs, samples)
    with steps.step("edge", "conversion to the edge dialect"):
        lowered = compiler.to_edge(quantized, case.quantize)
    if case.quantize:
        with steps.step("passes", "lowering to cortex_m operators"):
            lowered = compiler.run_passes(lowered, config)
    return Lowered(quantized, lowered)


def _for_ethos_u(case: Case, exported: Any, inputs: Any, samples: Any, steps: Steps) -> Lowered:
    with steps.step("import", "importing executorch's Arm backend"):
        ethosu.import_backend()
    with steps.step("target", f"target {case.target.name}", OutcomeClass.CONFIG_TARGET):
        spec = ethosu.compile_spec(case.target)
    quantized = exported
    if case.quantize:
        with steps.step("quantize", "quantization"):
            quantized = ethosu.quantize(exported, inputs, samples, spec, case.activation_bits)
    vela = Vela(steps)
    refused: dict[str, str] = {}
    with steps.step("delegate", f"delegation to {case.target.name}"), vela.installed():
        lowered = ethosu.delegate(quantized, spec, refused)
    with steps.step("passes", "moving border quantization to cortex_m operators"):
        lowered = ethosu.quantize_borders_on_cortex_m(lowered)
    if case.delegated:
        ethosu.demand_delegation(lowered, refused)
    blobs = ethosu.delegates(lowered)
    return Lowered(quantized, lowered, tuple((blob, vela.graph_of(blob)) for blob in blobs))
