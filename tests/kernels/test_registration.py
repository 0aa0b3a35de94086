"""The generator: schemas, selection and the shape of the generated source. No compiler involved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.firmware.registration import (
    Argument,
    Operator,
    SchemaError,
    cpp_type,
    generate,
    load_operators,
    parse_schema,
)
from harness.outcomes import HarnessError, OutcomeClass, Phase

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
UNARY = "test::{0}.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"


def operator(name: str, source: str = "op.cpp") -> Operator:
    parsed, arguments, returns = parse_schema(UNARY.format(name))
    return Operator(parsed, arguments, returns, f"test::{name}_out", source)


def types(schema: str) -> list[str]:
    return [cpp_type(argument) for argument in parse_schema(schema)[1]]


def write(directory: Path, text: str) -> Path:
    path = directory / "operators.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            "cortex_m::quantized_linear.out(Tensor input, Tensor? bias, int offset, int[] shifts, *, "
            "Tensor(a!) out) -> Tensor(a!)",
            [
                "const Tensor&",
                "const std::optional<Tensor>&",
                "int64_t",
                "const ArrayRef<int64_t>&",
                "Tensor&",
            ],
        ),
        (
            "aten::convolution.out(Tensor input, Tensor? bias, SymInt[] stride, bool transposed, "
            "SymInt groups, *, Tensor(a!) out) -> Tensor(a!)",
            [
                "const Tensor&",
                "const std::optional<Tensor>&",
                "const ArrayRef<int64_t>&",
                "bool",
                "int64_t",
                "Tensor&",
            ],
        ),
        (
            "aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) "
            "-> Tensor(a!)",
            ["const Tensor&", "const std::optional<Scalar>&", "const std::optional<Scalar>&", "Tensor&"],
        ),
        (
            "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, "
            "int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)",
            ["const Tensor&", "bool", "const std::optional<ArrayRef<int64_t>>&", "Tensor&"],
        ),
        (
            "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
            ["const ArrayRef<Tensor>&", "int64_t", "Tensor&"],
        ),
        (
            "aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, "
            "Tensor(a!)[] out) -> ()",
            ["const Tensor&", "const ArrayRef<int64_t>&", "int64_t", "const ArrayRef<Tensor>&"],
        ),
        (
            "aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
            ["const Tensor&", "const ArrayRef<std::optional<Tensor>>&", "Tensor&"],
        ),
        (
            "quantized_decomposed::dequantize_per_tensor.out(Tensor input, float scale, ScalarType dtype, *, "
            "ScalarType? out_dtype=None, Tensor(a!) out) -> Tensor(a!)",
            ["const Tensor&", "double", "ScalarType", "const std::optional<ScalarType>&", "Tensor&"],
        ),
    ],
)
def test_schema_types(schema: str, expected: list[str]) -> None:
    assert types(schema) == expected


def test_schema_with_two_outputs_and_defaults() -> None:
    name, arguments, returns = parse_schema(
        "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], "
        "int[2] padding=[0, 1], bool ceil_mode=False, *, Tensor(a!) out, Tensor(b!) indices) "
        "-> (Tensor(a!), Tensor(b!))"
    )
    assert name == "aten::max_pool2d_with_indices.out"
    assert [a.name for a in arguments][-2:] == ["out", "indices"]
    assert arguments[3] == Argument("padding", "int", is_list=True, default="[0, 1]")
    assert [a.keyword_only for a in arguments] == [False] * 5 + [True] * 2
    assert returns == ("a!", "b!")


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "aten::add.out",
        "aten::add.out() -> Tensor(a!)",
        "aten::add.out(Tensor self) -> Tensor",
        "aten::add.out(Tensor self, *, Tensor(a!) out) -> Tensor(b!)",
        "aten::add.out(Tensor self, *, Tensor(a!) out) -> ()",
        "aten::add.out(Generator g, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::add.out(Scalar[] s, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::add.out(int?[] s, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::add.out(Tensor, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::add.out(Tensor(a!)[] out) -> Tensor(a!)",
        "aten::add.out(Tensor(a!)? out) -> Tensor(a!)",
    ],
)
def test_refused_schema(schema: str) -> None:
    with pytest.raises(SchemaError):
        parse_schema(schema)


def test_every_listed_source_defines_its_kernel() -> None:
    operators = load_operators(KERNELS / "operators.yaml")
    assert len(operators) >= 78
    for listed in operators:
        text = (KERNELS / listed.source).read_text()
        namespace, function = listed.kernel.rsplit("::", 1)
        assert any(f"{before} {function}(" in text for before in (">", "Tensor&", "void"))
        assert f"namespace {namespace} {{" in text


def test_only_wanted_operators_are_registered() -> None:
    made = generate(
        [operator("one", "b.cpp"), operator("two"), operator("three", "a.cpp")],
        ["test::one.out", "test::three.out"],
    )
    assert made.operators == ("test::one.out", "test::three.out")
    assert made.kernel_sources == ("a.cpp", "b.cpp")
    assert 'Kernel("test::one.out", kernel_0)' in made.source
    assert "two" not in made.source


def test_order_and_repetition_do_not_matter() -> None:
    operators = [operator("one"), operator("two")]
    names = ["test::two.out", "test::one.out"]
    assert generate(operators, names) == generate(operators[::-1], names[::-1] * 2)


def test_kernels_of_one_file_need_it_once() -> None:
    made = generate([operator("one"), operator("two")], ["test::one.out", "test::two.out"])
    assert made.kernel_sources == ("op.cpp",)


def test_no_operator_at_all() -> None:
    made = generate([operator("one")], [])
    assert made.kernel_sources == ()
    assert "return executorch::runtime::Error::Ok;" in made.source


def test_two_outputs_return_a_tuple() -> None:
    name, arguments, returns = parse_schema(
        "t::p.out(Tensor x, *, Tensor(a!) o, Tensor(b!) i) -> (Tensor(a!), Tensor(b!))"
    )
    made = generate([Operator(name, arguments, returns, "t::p_out", "p.cpp")], [name])
    assert (
        "std::tuple<Tensor&, Tensor&> p_out(KernelRuntimeContext&, const Tensor&, Tensor&, Tensor&);"
        in made.source
    )


def test_all_missing_operators_in_one_error() -> None:
    with pytest.raises(HarnessError) as caught:
        generate([operator("one")], ["aten::zeta.out", "test::one.out", "aten::alpha.out"])
    outcome = caught.value.outcome
    assert (outcome.phase, outcome.kind) == (Phase.BUILD, OutcomeClass.CONFIG_MISSING_OP)
    assert outcome.detail["operators"] == ["aten::alpha.out", "aten::zeta.out"]
    assert "aten::alpha.out, aten::zeta.out" in outcome.summary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema: x", "a list of entries"),
        ("- [", "operators.yaml"),
        ("- schema: x", "the keys schema, kernel, source"),
        ("- {schema: 3, kernel: a::b, source: c}", "the keys"),
        ("- {schema: 'a::b(', kernel: a::b, source: c}", "entry 1: not a schema"),
        (f"- {{schema: '{UNARY.format('one')}', kernel: 'x; y', source: c}}", "is not a qualified C++ name"),
        (
            f"- {{schema: '{UNARY.format('one')}', kernel: a::b, source: c}}\n" * 2,
            "entry 2: test::one.out is listed twice",
        ),
    ],
)
def test_wrong_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HarnessError, match=re.escape(message)) as caught:
        load_operators(write(tmp_path, text))
    assert "\n" not in caught.value.outcome.summary


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"operators\.yaml"):
        load_operators(tmp_path / "operators.yaml")
