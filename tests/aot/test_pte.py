"""The reader of .pte and .bpte: against executorch's own, and against damaged files."""

from __future__ import annotations

import random
import re
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flatbuffers
import pytest
import torch

from harness.aot import lower
from harness.flow import Case, Program
from harness.outcomes import HarnessError, OutcomeClass, Phase
from harness.pte import BundleFile, ProgramFile, byte_size, read_bundle, read_file, read_program
from harness.targets import target_named


def conv(rng: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())


def image(rng: Any) -> tuple[Any, ...]:
    return (torch.randn((1, 3, 6, 5), generator=rng).to(memory_format=torch.channels_last),)


class Mixed(torch.nn.Module):
    def forward(self, x: Any, i: int, f: float, b: bool) -> Any:
        return x * f + i if b else x


class Two(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return torch.minimum(x, y), x * y


CASES = {
    "linear": (lambda rng: torch.nn.Linear(8, 3), lambda rng: (torch.randn(2, 8, generator=rng),), True),
    "conv": (conv, image, True),
    "two": (lambda rng: Two(), lambda rng: (torch.randn(5, generator=rng),) * 2, True),
    "mixed": (lambda rng: Mixed(), lambda rng: (torch.ones(3), 2, 1.5, True), False),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    cache = tmp_path_factory.mktemp("pte-cache")
    return {
        name: lower(Case(module, inputs, target_named("m55"), quantize=quantize), cache)
        for name, (module, inputs, quantize) in CASES.items()
    }


@pytest.fixture(scope="module")
def bundle(programs: dict[str, Program]) -> bytes:
    path = programs["linear"].bpte
    assert path is not None
    return path.read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_executorch_on_programs(programs: dict[str, Program], name: str) -> None:
    from executorch.exir._serialize._program import deserialize_pte_binary
    from executorch.exir.schema import Bool, Double, Int

    data = programs[name].pte.read_bytes()
    (plan,) = deserialize_pte_binary(data).program.execution_plan
    (method,) = read_program(data).methods
    assert method.name == plan.name
    assert set(method.operators) == {f"{op.name}.{op.overload}".rstrip(".") for op in plan.operators}
    assert method.planned_buffers == tuple(plan.non_const_buffer_sizes[1:])
    assert method.delegates == ()
    kinds = {Int: "int", Double: "float", Bool: "bool_"}
    for specs, indices in ((method.inputs, plan.inputs), (method.outputs, plan.outputs)):
        assert len(specs) == len(indices)
        for spec, index in zip(specs, indices, strict=True):
            value = plan.values[index].val
            if type(value) in kinds:
                assert (spec.dtype, spec.shape) == (kinds[type(value)], ())
            else:
                assert spec.dtype == "float32"
                assert value.scalar_type.name == "FLOAT"
                assert (list(spec.shape), list(spec.dim_order)) == (value.sizes, list(value.dim_order))


def test_outputs_know_their_scale(programs: dict[str, Program]) -> None:
    (linear,) = programs["linear"].output_specs
    assert linear.scale is not None
    assert linear.zero_point is not None
    assert all(spec.scale for spec in programs["two"].output_specs)
    assert programs["mixed"].output_specs[0].scale is None


@pytest.mark.filterwarnings("ignore:read_binary is deprecated")
@pytest.mark.parametrize("name", ["linear", "conv", "two", "mixed"])
def test_agrees_with_executorch_on_bundles(programs: dict[str, Program], name: str) -> None:
    import executorch.devtools.bundled_program.schema as schema
    from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program

    path = programs[name].bpte
    assert path is not None
    theirs = deserialize_from_flatbuffer_to_bundled_program(path.read_bytes())
    ours = read_bundle(path.read_bytes())
    assert ours.program_bytes == bytes(theirs.program)
    (suite,) = theirs.method_test_suites
    for case, other in zip(ours.cases, suite.test_cases, strict=True):
        for values, others in ((case.inputs, other.inputs), (case.expected, other.expected_outputs)):
            assert len(values) == len(others)
            for value, their in zip(values, others, strict=True):
                assert len(value.data) == byte_size(value.spec)
                if isinstance(their.val, schema.Tensor):
                    assert value.data == bytes(their.val.data)
                    assert list(value.spec.shape) == their.val.sizes
                elif isinstance(their.val, schema.Int):
                    assert struct.unpack("<q", value.data) == (their.val.int_val,)
                elif isinstance(their.val, schema.Double):
                    assert struct.unpack("<d", value.data) == (their.val.double_val,)
                else:
                    assert struct.unpack("<?", value.data) == (their.val.bool_val,)


def test_file_kind_is_by_identifier(programs: dict[str, Program]) -> None:
    program = programs["linear"]
    assert program.bpte is not None
    assert isinstance(read_file(program.pte), ProgramFile)
    assert isinstance(read_file(program.bpte), BundleFile)


def invalid(read: Callable[[], object]) -> str:
    with pytest.raises(HarnessError) as caught:
        read()
    outcome = caught.value.outcome
    assert (outcome.kind, outcome.phase) == (OutcomeClass.BUNDLE_INVALID, Phase.LOAD)
    assert "\n" not in outcome.summary
    assert len(outcome.summary) < 500
    return outcome.summary


@pytest.mark.parametrize(
    "data", [b"", b"123456", b"\0" * 8, b"\x7fELF" * 9, b"\xff\xff\xff\xffET12" + b"\xff" * 40]
)
def test_not_a_program_at_all(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.pte").write_bytes(data)
    assert "x.pte" in invalid(lambda: read_file(tmp_path / "x.pte"))
    invalid(lambda: read_program(data))
    invalid(lambda: read_bundle(data))


def test_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.pte", tmp_path):
        with pytest.raises(HarnessError, match=re.escape(f"cannot read {path}")) as failure:
            read_file(path)
        assert failure.value.outcome.kind is OutcomeClass.CONFIG_INPUT


def test_a_program_is_no_bundle(programs: dict[str, Program], bundle: bytes) -> None:
    invalid(lambda: read_bundle(programs["linear"].pte.read_bytes()))
    invalid(lambda: read_program(bundle))


def test_every_truncation_is_told(programs: dict[str, Program], bundle: bytes) -> None:
    pte = programs["linear"].pte.read_bytes()
    segments_end = int.from_bytes(pte[24:32], "little") + int.from_bytes(pte[32:40], "little")
    for size in range(segments_end):
        invalid(lambda size=size: read_program(pte[:size]))  # type: ignore[misc]
    kept = 0
    for size in range(len(bundle)):
        try:
            kept += read_bundle(bundle[:size]) == read_bundle(bundle)
        except HarnessError:
            continue
    assert kept <= 8  # padding at the end


def mutations(data: bytes, count: int) -> Iterator[bytes]:
    rng = random.Random(len(data))
    words = [0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, len(data), len(data) // 4]
    for number in range(count):
        copy = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            where = rng.randrange(len(copy) - 4)
            if number % 3 == 0:
                copy[where] ^= 1 << rng.randrange(8)
            elif number % 3 == 1:
                copy[where] = rng.randrange(256)
            else:
                where -= where % 4
                copy[where : where + 4] = struct.pack("<I", rng.choice(words))
        yield bytes(copy)


@pytest.mark.parametrize("name", ["linear", "conv", "mixed", "bundle"])
def test_mutations_raise_nothing_else(programs: dict[str, Program], bundle: bytes, name: str) -> None:
    data = bundle if name == "bundle" else programs[name].pte.read_bytes()
    read = read_bundle if name == "bundle" else read_program
    refused = 0
    for mutant in mutations(data, 1500):
        start = time.process_time()
        try:
            read(mutant)
        except HarnessError:
            invalid(lambda mutant=mutant: read(mutant))  # type: ignore[misc]
            refused += 1
        assert time.process_time() - start < 2
    assert refused > 100


def build_bundle(
    program: bytes, inputs: int, references: int, cases: int = 1, sizes: tuple[int, ...] = (2, 8)
) -> bytes:
    """A bundle whose values are one shared float tensor, in a vector that all cases share."""
    builder = flatbuffers.Builder()
    data = builder.CreateByteVector(bytes(64))

    def vector(elements: list[int]) -> int:
        builder.StartVector(4, len(elements), 4)
        for element in reversed(elements):
            builder.PrependUOffsetTRelative(element)
        return int(builder.EndVector())

    def table(fields: dict[int, int], scalars: dict[int, int] | None = None) -> int:
        builder.StartObject(6)
        for slot, offset in fields.items():
            builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
        for slot, number in (scalars or {}).items():
            builder.PrependByteSlot(slot, number, 0)
        return int(builder.EndObject())

    builder.StartVector(4, len(sizes), 4)
    for size in reversed(sizes):
        builder.PrependInt32(size)
    shape = builder.EndVector()
    tensor = table({1: shape, 2: data}, {0: 6})
    value = table({1: tensor}, {0: 1})
    case = table({0: vector([value] * inputs), 1: vector([value] * references)})
    name = builder.CreateString("forward")
    suite = table({0: name, 1: vector([case] * cases)})
    embedded = builder.CreateByteVector(program)
    builder.Finish(table({1: vector([suite]), 2: embedded}), file_identifier=b"BP08")
    return bytes(builder.Output())


def test_counts_and_types_must_fit_the_method(programs: dict[str, Program]) -> None:
    program = programs["linear"].pte.read_bytes()
    (case,) = read_bundle(build_bundle(program, 1, 0)).cases
    assert (len(case.inputs), case.expected) == (1, ())
    assert "2 inputs, the method 1" in invalid(lambda: read_bundle(build_bundle(program, 2, 0)))
    assert "2 references, the method 1" in invalid(lambda: read_bundle(build_bundle(program, 1, 2)))
    assert "reference 0 is float32 [2, 8]" in invalid(lambda: read_bundle(build_bundle(program, 1, 1)))
    assert "64 bytes" in invalid(lambda: read_bundle(build_bundle(program, 1, 0, sizes=(2, 9))))
    assert "rank 20" in invalid(lambda: read_bundle(build_bundle(program, 1, 0, sizes=(1,) * 20)))
    assert "sizes [-2, 8]" in invalid(lambda: read_bundle(build_bundle(program, 1, 0, sizes=(-2, 8))))


def test_shared_offsets_cannot_blow_up(programs: dict[str, Program]) -> None:
    data = build_bundle(programs["linear"].pte.read_bytes(), 20_000, 0, cases=20_000)
    start = time.process_time()
    invalid(lambda: read_bundle(data))
    assert time.process_time() - start < 5
