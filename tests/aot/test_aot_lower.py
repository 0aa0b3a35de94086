"""Lowering: what the compiler makes of small modules, and how failures are told."""

from __future__ import annotations

import json
import logging
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.aot import Graph, lower, lower_timed, lowered_graph, quantized_references
from harness.flow import Case, Program
from harness.outcomes import HarnessError, OutcomeClass, Phase
from harness.pte import byte_size, read_bundle, read_file
from harness.targets import CORSTONE_300, Isa, Target, target_named
from tests.ops.modules import Function

M55 = target_named("m55")
QUANTIZE, DEQUANTIZE = "cortex_m::quantize_per_tensor", "cortex_m::dequantize_per_tensor"


def normal(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda rng: tuple(torch.randn(shape, generator=rng) for shape in shapes)


def add(x: Any, y: Any) -> Any:
    return x + y


def case_of(module: Any, inputs: Callable[[Any], tuple[Any, ...]], **options: Any) -> Case:
    if not isinstance(module, torch.nn.Module):
        module = Function(module)
    return Case(lambda rng: module, inputs, **{"target": M55, **options})


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("aot-cache")


def linear(bias: bool = True) -> Any:
    module = torch.nn.Linear(8, 5, bias=bias)
    with torch.no_grad():
        module.weight.copy_(torch.linspace(-1, 1, 40).reshape(5, 8))
    return module


def test_add_is_fused(cache: Path) -> None:
    program = lower(case_of(add, normal((4, 5), (4, 5))), cache)
    graph = lowered_graph(program)
    assert graph.counts == {QUANTIZE: 2, "cortex_m::quantized_add": 1, DEQUANTIZE: 1}
    assert program.operators == (f"{DEQUANTIZE}.out", f"{QUANTIZE}.out", "cortex_m::quantized_add.out")
    assert "cortex_m::quantized_add(" in str(graph)


def test_linear_is_fused_with_its_relu(cache: Path) -> None:
    module = torch.nn.Sequential(linear(), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    graph = lowered_graph(lower(case_of(module, normal((2, 8))), cache))
    assert graph.counts == {QUANTIZE: 1, "cortex_m::quantized_linear": 2, DEQUANTIZE: 1}


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize(
    ("cpu", "isa"),
    [
        ("cortex-m55", Isa.MVE),
        ("cortex-m85", Isa.MVE),
        ("cortex-m55", Isa.DSP),
        ("cortex-m4", Isa.DSP),
        ("cortex-m4", Isa.SCALAR),
        ("cortex-m0plus", Isa.SCALAR),
    ],
)
def test_kernel_sum_or_bias_by_isa(cache: Path, cpu: str, isa: Isa, bias: bool) -> None:
    target = Target(f"{cpu}-{isa.value}", "x", CORSTONE_300, M55.fvp, cpu, isa, 128)
    graph = lowered_graph(lower(case_of(linear(bias), normal((2, 8)), target=target), cache))
    (node,) = graph.named("cortex_m::quantized_linear")
    assert node.has("kernel_sum") == (isa is Isa.MVE)
    assert node.has("bias") == (isa is not Isa.MVE and bias)
    assert graph.counts[QUANTIZE] == graph.counts[DEQUANTIZE] == 1


def test_references_are_those_of_the_dialect(cache: Path) -> None:
    program = lower(case_of(add, normal((4, 5), (4, 5))), cache)
    x, y = (np.frombuffer(path.read_bytes(), "<f4").reshape(4, 5) for path in program.inputs)
    (spec,) = program.output_specs
    assert spec.scale is not None
    assert spec.zero_point is not None
    reference = np.frombuffer(program.references[0].read_bytes(), "<f4").reshape(4, 5)
    levels = reference / np.float32(spec.scale) + spec.zero_point
    np.testing.assert_allclose(levels, np.rint(levels), atol=1e-3)
    np.testing.assert_allclose(reference, x + y, atol=2.5 * spec.scale)
    (quantized,) = quantized_references(program)
    graph_output = np.frombuffer(quantized.read_bytes(), "<f4").reshape(4, 5)
    np.testing.assert_allclose(graph_output, reference, atol=1.01 * spec.scale)


def test_bundle_holds_the_files(cache: Path) -> None:
    program = lower(case_of(add, normal((4, 5), (4, 5))), cache)
    assert program.bpte is not None
    bundle = read_bundle(program.bpte.read_bytes())
    (case,) = bundle.cases
    assert bundle.program_bytes == program.pte.read_bytes()
    assert [value.data for value in case.inputs] == [path.read_bytes() for path in program.inputs]
    assert [value.data for value in case.expected] == [path.read_bytes() for path in program.references]


def test_channels_last_is_kept(cache: Path) -> None:
    def inputs(rng: Any) -> tuple[Any, ...]:
        return (torch.randn((1, 3, 4, 6), generator=rng).to(memory_format=torch.channels_last),) * 2

    program = lower(case_of(add, inputs), cache)
    assert [spec.dim_order for spec in program.input_specs + program.output_specs] == [(0, 2, 3, 1)] * 3
    x = np.frombuffer(program.inputs[0].read_bytes(), "<f4").reshape(1, 4, 6, 3).transpose(0, 3, 1, 2)
    reference = np.frombuffer(program.references[0].read_bytes(), "<f4").reshape(1, 4, 6, 3)
    scale = program.output_specs[0].scale
    assert scale is not None
    np.testing.assert_allclose(reference.transpose(0, 3, 1, 2), 2 * x, atol=3 * scale)
    assert program.bpte is not None
    (case,) = read_bundle(program.bpte.read_bytes()).cases
    assert [value.spec.dim_order for value in case.inputs + case.expected] == [(0, 2, 3, 1)] * 3
    assert case.inputs[0].data == program.inputs[0].read_bytes()


@pytest.mark.parametrize("shape", [(1, 1, 4, 6), (1, 3, 1, 1)])
def test_ambiguous_layout_agrees_between_program_and_bundle(cache: Path, shape: tuple[int, ...]) -> None:
    def inputs(rng: Any) -> tuple[Any, ...]:
        return (torch.randn(shape, generator=rng).to(memory_format=torch.channels_last),) * 2

    program = lower(case_of(add, inputs), cache)
    assert program.bpte is not None
    (case,) = read_bundle(program.bpte.read_bytes()).cases
    bundled = [value.spec.dim_order for value in case.inputs + case.expected]
    assert bundled == [spec.dim_order for spec in program.input_specs + program.output_specs]


def test_strided_and_expanded_inputs_become_dense(cache: Path) -> None:
    def inputs(rng: Any) -> tuple[Any, ...]:
        base = torch.randn((5, 8), generator=rng)
        return base[:, ::2], base[0, :4].expand(5, 4)

    program = lower(case_of(add, inputs), cache)
    assert [path.stat().st_size for path in program.inputs] == [80, 80]


def test_float_module_without_quantizer(cache: Path) -> None:
    program = lower(case_of(add, normal((2, 3), (3,)), quantize=False), cache)
    assert program.operators == ("aten::add.out",)
    x, y = (np.frombuffer(path.read_bytes(), "<f4") for path in program.inputs)
    expected = (x.reshape(2, 3) + y).tobytes()
    assert program.references[0].read_bytes() == expected
    assert program.output_specs[0].scale is None
    assert quantized_references(program) == ()


def test_module_that_calls_cortex_m_itself(cache: Path) -> None:
    def quantized_add(x: Any, y: Any) -> Any:
        one = (0, 1 << 30, 1)
        return torch.ops.cortex_m.quantized_add(x, *one, y, *one, 0, 1 << 30, -19, -128, 127)

    def inputs(rng: Any) -> tuple[Any, ...]:
        return tuple(torch.randint(-60, 60, (7,), dtype=torch.int8, generator=rng) for _ in range(2))

    program = lower(case_of(quantized_add, inputs, quantize=False), cache)
    assert program.operators == ("cortex_m::quantized_add.out",)
    x, y = (np.frombuffer(path.read_bytes(), "i1") for path in program.inputs)
    assert program.references[0].read_bytes() == (x + y).tobytes()
    assert program.bpte is not None


def test_no_inputs(cache: Path) -> None:
    program = lower(case_of(lambda: torch.ones(2, 3) + 1, lambda rng: (), quantize=False), cache)
    assert program.inputs == ()
    assert np.frombuffer(program.references[0].read_bytes(), "<f4").tolist() == [2.0] * 6


def test_scalar_and_absent_inputs(cache: Path) -> None:
    def function(x: Any, i: int, f: float, b: bool, nothing: None) -> Any:
        return x * f + i if b and nothing is None else x

    inputs = normal((3,))
    program = lower(case_of(function, lambda rng: (*inputs(rng), 2, 1.5, True, None), quantize=False), cache)
    assert [spec.dtype for spec in program.input_specs] == ["float32", "int", "float", "bool_", "none"]
    assert [path.stat().st_size for path in program.inputs] == [12, 8, 8, 1, 8]
    assert [byte_size(spec) for spec in program.input_specs] == [12, 8, 8, 1, 8]
    assert program.inputs[1].read_bytes() == (2).to_bytes(8, "little")
    assert program.bpte is None  # the bundle format has no None


def test_outputs_that_are_no_tensors(cache: Path) -> None:
    program = lower(case_of(lambda x: (x + x, 3), normal((3,)), quantize=False), cache)
    assert [spec.dtype for spec in program.output_specs] == ["float32", "int"]
    assert program.references[1].read_bytes() == (3).to_bytes(8, "little")
    assert program.bpte is None


def test_nested_inputs_are_flat_in_the_program(cache: Path) -> None:
    def inputs(rng: Any) -> tuple[Any, ...]:
        return ({"y": torch.ones(3), "x": torch.zeros(4)},)

    program = lower(case_of(lambda d: (d["x"] + 1, d["y"]), inputs, quantize=False), cache)
    assert [spec.shape for spec in program.input_specs] == [(3,), (4,)]
    assert [spec.shape for spec in program.output_specs] == [(4,), (3,)]


def test_a_buffer_keeps_its_first_value(cache: Path) -> None:
    """The reference run must not leak state into the program."""

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(4))

        def forward(self, x: Any) -> Any:
            self.count.add_(1.0)
            return x + self.count

    program = lower(case_of(Counter(), lambda rng: (torch.zeros(4),), quantize=False), cache)
    assert np.frombuffer(program.references[0].read_bytes(), "<f4").tolist() == [1.0] * 4
    assert np.full(4, 1, "<f4").tobytes() not in program.pte.read_bytes()


def test_calibration_widens_the_range(cache: Path) -> None:
    def wide(rng: Any) -> list[tuple[Any, ...]]:
        return [(torch.full((4,), value), torch.full((4,), value)) for value in (-50.0, 50.0)]

    inputs = normal((4,), (4,))
    narrow = lower(case_of(add, inputs), cache)
    calibrated = lower(case_of(add, inputs, calibration=wide), cache)
    assert narrow.inputs[0].read_bytes() == calibrated.inputs[0].read_bytes()
    a, b = narrow.output_specs[0].scale, calibrated.output_specs[0].scale
    assert a is not None
    assert b is not None
    assert b > 5 * a


def test_seed_decides_weights_and_inputs(cache: Path) -> None:
    def case(seed: int) -> Case:
        return Case(lambda rng: torch.nn.Linear(8, 3), normal((2, 8)), M55, seed=seed)

    def content(program: Program) -> tuple[str, str]:
        return program.hashes["exported"], program.hashes["inputs"]

    first, again, other = (lower(case(seed), cache) for seed in (1, 1, 2))
    assert content(first) == content(again)
    assert content(first)[0] != content(other)[0]
    assert content(first)[1] != content(other)[1]


def test_global_generators_are_left_alone(cache: Path) -> None:
    torch.manual_seed(5)
    random.seed(5)
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    lower(case_of(add, normal((3,), (3,)), seed=99), cache)
    after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def refused(case: Case, cache: Path) -> HarnessError:
    with pytest.raises(HarnessError) as caught:
        lower(case, cache)
    assert "\n" not in caught.value.outcome.summary
    return caught.value


def test_refusal_names_reason_and_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    error = refused(case_of(add, normal((2, 3), (7,)), name="bad shapes"), tmp_path)
    assert error.outcome.kind is OutcomeClass.AOT_REFUSED
    assert error.outcome.phase is Phase.LOWER
    assert "broadcast" in error.outcome.summary
    log = Path(str(error.outcome.detail["log"]))
    assert log.name == "lower.log"
    assert str(log) in str(error)
    assert "Traceback (most recent call last)" in log.read_text()
    assert tmp_path in log.parents
    assert capfd.readouterr().err == ""


def test_a_backend_pass_that_refuses(tmp_path: Path) -> None:
    """The difference of equal operands needs a requantization that int32 cannot hold."""

    def same(rng: Any) -> tuple[Any, ...]:
        x = 1e6 * torch.randn(8, generator=rng)
        return x, x.clone()

    error = refused(case_of(lambda x, y: x - y, same), tmp_path)
    assert error.outcome.kind is OutcomeClass.AOT_REFUSED
    assert error.outcome.detail["step"] == "passes"
    assert "an output scale of" in error.outcome.summary


def raising(rng: Any) -> Any:
    raise RuntimeError("no such data\nsecond line")


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (Case(lambda rng: Function(add), lambda rng: [1], M55), OutcomeClass.CONFIG_INPUT),  # type: ignore[arg-type,return-value]
        (Case(lambda rng: Function(add), lambda rng: ("x", object()), M55), OutcomeClass.CONFIG_INPUT),
        (Case(lambda rng: Function(add), raising, M55), OutcomeClass.CONFIG_INPUT),
        (Case(raising, normal((1,)), M55), OutcomeClass.CONFIG_OPTIONS),
        (Case(lambda rng: 3, normal((1,)), M55), OutcomeClass.CONFIG_OPTIONS),
        (
            Case(lambda rng: Function(add), normal((1,), (1,)), M55, calibration=raising),
            OutcomeClass.CONFIG_INPUT,
        ),
        (
            Case(lambda rng: Function(add), normal((1,), (1,)), M55, calibration=lambda rng: []),
            OutcomeClass.CONFIG_INPUT,
        ),
    ],
    ids=["list", "object", "inputs-raise", "module-raises", "no-module", "calibration-raises", "no-samples"],
)
def test_unusable_factories(tmp_path: Path, case: Case, kind: OutcomeClass) -> None:
    error = refused(case, tmp_path)
    assert (error.outcome.kind, error.outcome.phase) == (kind, Phase.LOWER)


@pytest.mark.parametrize(("cpu", "isa"), [("cortex-m4", Isa.MVE), ("cortex-a53", Isa.SCALAR)])
def test_target_that_the_backend_does_not_have(tmp_path: Path, cpu: str, isa: Isa) -> None:
    target = Target(cpu, "x", CORSTONE_300, M55.fvp, cpu, isa, 128)
    error = refused(case_of(add, normal((2,), (2,)), target=target), tmp_path)
    assert error.outcome.kind is OutcomeClass.CONFIG_TARGET


def test_reference_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr("harness.aot.compiler.run", broken)
    error = refused(case_of(add, normal((2,), (2,))), tmp_path)
    assert (error.outcome.kind, error.outcome.phase) == (OutcomeClass.REF_ERROR, Phase.VERIFY)
    assert "ZeroDivisionError" in error.outcome.summary


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = refused(case_of(add, normal((2,), (2,))), tmp_path / "file")
    assert error.outcome.kind is OutcomeClass.CONFIG_OPTIONS


def test_logging_is_as_before(cache: Path) -> None:
    lower(case_of(add, normal((6,), (6,))), cache)
    assert logging.root.manager.disable == 0


def test_graph_reads_back(cache: Path) -> None:
    program = lower(case_of(add, normal((4, 5), (4, 5))), cache)
    graph = lowered_graph(program)
    assert isinstance(graph, Graph)
    (node,) = graph.named("cortex_m::quantized_add")
    assert (node.dtype, node.shape) == ("int8", (4, 5))
    assert node.arguments["activation_min"] == -128
    assert str(node.arguments["self"]).startswith("%")
    assert graph.counts["cortex_m::softmax"] == 0


def test_stages_have_times_and_hashes(tmp_path: Path) -> None:
    lowering = lower_timed(case_of(add, normal((4, 5), (4, 5))), tmp_path)
    stages = {
        "import",
        "prepare",
        "export",
        "quantize",
        "edge",
        "passes",
        "reference",
        "executorch",
        "bundle",
    }
    assert stages <= set(lowering.durations)
    assert set(lowering.program.hashes) == {"inputs", "exported", "quantized", "lowered", "pte", "bpte"}


def test_reading_results_needs_no_torch(cache: Path) -> None:
    program = lower(case_of(add, normal((4, 5), (4, 5))), cache)
    script = (
        "import sys\nfrom pathlib import Path\nimport harness.aot as aot, harness.pte as pte\n"
        "program = aot.load_program(Path(sys.argv[1]))\naot.lowered_graph(program)\n"
        "pte.read_file(program.pte), pte.read_file(program.bpte)\n"
        "print([name for name in ('torch', 'executorch', 'numpy') if name in sys.modules])"
    )
    argv = [sys.executable, "-c", script, str(program.directory)]
    assert json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout) == []


def test_operators_are_the_programs(cache: Path) -> None:
    program = lower(case_of(linear(), normal((2, 8))), cache)
    described = read_file(program.pte)
    assert program.operators == described.operators  # type: ignore[union-attr]
