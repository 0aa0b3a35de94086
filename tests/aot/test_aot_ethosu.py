"""Lowering for Ethos-U: what is delegated, what stays at the borders, what the references are."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.aot import delegates, lower, lower_timed, lowered_graph, quantized_references
from harness.flow import Case, Program, TensorSpec
from harness.outcomes import HarnessError, OutcomeClass, Phase
from harness.pte import read_bundle, read_program
from harness.targets import target_named
from tests.ops.modules import Function

QUANTIZE, DEQUANTIZE = "cortex_m::quantize_per_tensor", "cortex_m::dequantize_per_tensor"
CALL = "executorch_call_delegate"
U55, U85 = target_named("u55"), target_named("ethos-u85-256")


def case_of(function: Callable[..., Any], *shapes: tuple[int, ...], **options: Any) -> Case:
    return Case(
        lambda rng: Function(function),
        lambda rng: tuple(torch.randn(shape, generator=rng) for shape in shapes),
        **{"target": U85, **options},
    )


def add(x: Any, y: Any) -> Any:
    return x + y


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ethosu-cache")


def array(path: Path, spec: TensorSpec) -> Any:
    """Logical array of an input or output file."""
    stored = np.frombuffer(path.read_bytes(), spec.dtype).reshape([spec.shape[i] for i in spec.dim_order])
    return stored.transpose(np.argsort(spec.dim_order))


def worst_step(program: Program) -> float:
    """Largest difference of references and quantized torch graph, in quantization steps."""
    worst = 0.0
    for path, other, spec in zip(
        program.references, quantized_references(program), program.output_specs, strict=True
    ):
        assert spec.scale is not None
        worst = max(worst, float(np.abs(array(path, spec) - array(other, spec)).max()) / spec.scale)
    return worst


@dataclass(frozen=True)
class Blob:
    """A delegate's bytes, read by the container's description."""

    product: int
    macs: int
    graph_inputs: int
    graph_outputs: int


def read_blob(data: bytes) -> Blob:
    blocks, position = {}, 0
    while position < len(data):
        name, size, external = struct.unpack_from("<16sIB11x", data, position)
        assert external == 0
        blocks[name.rstrip(b"\0").decode()] = data[position + 32 : position + 32 + size]
        position += 32 + (size + 15) // 16 * 16
    first, *_, last = blocks
    assert (first, last) == ("vela_bin_stream", "vela_end_stream")
    words = struct.unpack_from("<3I", blocks["cmd_data"])
    assert blocks["cmd_data"][:4] == b"COP1"
    config = words[2]
    counts = [struct.unpack_from("<i", blocks[name])[0] for name in ("inputs", "outputs")]
    return Blob(config >> 28, 1 << (config & 15), *counts)


@pytest.mark.parametrize(
    ("target", "product"), [("ethos-u55-128", 0), ("ethos-u65-256", 1), ("ethos-u85-256", 2)]
)
def test_all_but_the_borders_is_delegated(cache: Path, target: str, product: int) -> None:
    program = lower(case_of(add, (4, 5), (4, 5), target=target_named(target)), cache)
    graph = lowered_graph(program)
    assert graph.counts == {QUANTIZE: 2, DEQUANTIZE: 1}
    assert len(graph.named(CALL)) == 1
    assert program.operators == (f"{DEQUANTIZE}.out", f"{QUANTIZE}.out")
    assert read_program(program.pte.read_bytes()).delegates == ("EthosUBackend",)
    (delegate,) = delegates(program)
    blob = delegate.blob.read_bytes()
    assert read_blob(blob) == Blob(product, target_named(target).npu_macs, 2, 1)
    assert blob in program.pte.read_bytes()
    assert delegate.tosa.read_bytes()[4:8] == b"TOSA"
    assert {"tosa", "command_stream", "lowered", "pte", "bpte"} <= set(program.hashes)
    assert worst_step(program) <= 1
    x, y, total = (
        array(path, spec)
        for path, spec in zip(
            program.inputs + program.references, program.input_specs + program.output_specs, strict=True
        )
    )
    scale = program.output_specs[0].scale
    assert scale is not None
    np.testing.assert_allclose(total, x + y, atol=2.5 * scale)
    assert program.bpte is not None
    (bundled,) = read_bundle(program.bpte.read_bytes()).cases
    assert bundled.expected[0].data == program.references[0].read_bytes()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=["nchw", "nhwc"])
def test_convolution_in_both_layouts(cache: Path, layout: Any) -> None:
    case = Case(
        lambda rng: torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU()),
        lambda rng: (torch.randn(1, 3, 6, 5, generator=rng).to(memory_format=layout),),
        U55,
    )
    program = lower(case, cache)
    order = (0, 1, 2, 3) if layout is torch.contiguous_format else (0, 2, 3, 1)
    assert [spec.dim_order for spec in program.input_specs + program.output_specs] == [order] * 2
    assert lowered_graph(program).counts == {QUANTIZE: 1, DEQUANTIZE: 1}
    assert worst_step(program) <= 1
    assert array(program.references[0], program.output_specs[0]).std() > 0.1


def test_16_bit_activations(cache: Path) -> None:
    program = lower(case_of(torch.sigmoid, (4, 5), activation_bits=16), cache)
    (node,) = lowered_graph(program).named(QUANTIZE)
    assert node.dtype == "int16"
    (x,), (y,) = program.inputs, program.references
    exact = 1 / (1 + np.exp(-array(x, program.input_specs[0]).astype(np.float64)))
    np.testing.assert_allclose(array(y, program.output_specs[0]), exact, atol=1e-3)


def rough(x: Any) -> Any:
    """A delegate, an operator that the NPU lacks, a delegate."""
    return torch.sort(torch.sigmoid(x) * 2, dim=1)[0] * 3


def test_what_stays_on_the_cpu_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as caught:
        lower(case_of(rough, (2, 5)), tmp_path)
    outcome = caught.value.outcome
    assert (outcome.kind, outcome.phase) == (OutcomeClass.AOT_UNDELEGATED, Phase.LOWER)
    assert "aten::sort" in outcome.summary
    assert "sort" in outcome.hint
    assert "delegated=False" in outcome.hint
    assert "\n" not in outcome.summary + outcome.hint


def test_what_stays_on_the_cpu_is_allowed_on_demand(cache: Path) -> None:
    program = lower(case_of(rough, (2, 5), delegated=False), cache)
    assert lowered_graph(program).counts["aten::sort"] == 1
    assert "aten::sort.values" in program.operators
    assert len(delegates(program)) == len(lowered_graph(program).named(CALL)) == 2
    assert worst_step(program) <= 2


def test_nothing_delegated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as caught:
        lower(case_of(lambda x: x.view(5, 4), (4, 5)), tmp_path)
    assert caught.value.outcome.kind is OutcomeClass.AOT_UNDELEGATED


def test_several_outputs_and_nested_inputs(cache: Path) -> None:
    def both(x: Any, pair: tuple[Any, Any]) -> Any:
        return x * pair[0], (x - pair[1],)

    case = Case(
        lambda rng: Function(both),
        lambda rng: (torch.randn(3, generator=rng), (torch.randn(3, generator=rng), torch.ones(3))),
        U85,
    )
    program = lower(case, cache)
    x, a, b, product, difference = (
        np.frombuffer(path.read_bytes(), "<f4") for path in program.inputs + program.references
    )
    np.testing.assert_allclose(product, x * a, atol=0.1)
    np.testing.assert_allclose(difference, x - b, atol=0.1)


def test_processes_agree(tmp_path: Path) -> None:
    child = Path(__file__).parent / "lower_child.py"
    argv = [sys.executable, str(child), str(tmp_path / "theirs"), "u85-256"]
    done = subprocess.run(argv, capture_output=True, check=True, text=True, timeout=500)
    theirs = json.loads(done.stdout)
    ours = lower_timed(
        Case(
            lambda rng: torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)),
            lambda rng: (torch.randn(3, 8, generator=rng),),
            U85,
            seed=7,
        ),
        tmp_path / "ours",
    )
    assert theirs["key"] == ours.program.directory.name
    assert theirs["hashes"] == dict(ours.program.hashes)
    assert {"delegate", "vela", "reference"} <= set(ours.durations)


def test_key_knows_bits_macs_and_delegation(cache: Path) -> None:
    base = case_of(add, (4, 5), (4, 5))
    variants = [
        base,
        replace(base, activation_bits=16),
        replace(base, delegated=False),
        replace(base, target=target_named("u85")),
    ]
    programs = [lower(case, cache) for case in variants]
    assert len({program.directory for program in programs}) == len(programs)
    assert programs[0].hashes["tosa"] == programs[3].hashes["tosa"] != programs[1].hashes["tosa"]
    assert programs[0].hashes["command_stream"] != programs[3].hashes["command_stream"]


@pytest.mark.parametrize(("target", "bits"), [("m55", 16), ("u85", 4), ("u55", 32)])
def test_bits_that_the_target_does_not_have(tmp_path: Path, target: str, bits: int) -> None:
    with pytest.raises(HarnessError) as caught:
        lower(case_of(add, (4,), (4,), target=target_named(target), activation_bits=bits), tmp_path)
    assert caught.value.outcome.kind is OutcomeClass.CONFIG_OPTIONS
    assert f"{bits} bits" in caught.value.outcome.summary
