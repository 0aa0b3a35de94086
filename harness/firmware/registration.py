"""Selective registration: `operators.yaml` and the names that programs need → one C++ source. Pure.

Every entry of the file has the keys `schema` (ATen's notation, operator name first), `kernel` (the
C++ function) and `source` (relative to the folder of the file). The generated source boxes the
kernels of the wanted operators only and registers them in `register_operators()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

# Every runtime brings these itself; programs with control flow or dynamic shapes name them.
RUNTIME_OPERATORS = ("aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense")
RUNTIME_NAMESPACE = "executorch_prim::"


@dataclass(frozen=True)
class Argument:
    """One argument of a schema.

    `base` is the element type ("Tensor", "int", "Scalar" …). `is_list`, `optional` and
    `optional_elements` say how it is wrapped: `int[2]`, `int[]?`, `Tensor?[]`. `alias` is the
    annotation of a tensor that is written ("a!"), else None; `default` is kept as text.
    """

    name: str
    base: str
    is_list: bool = False
    optional: bool = False
    optional_elements: bool = False
    alias: str | None = None
    default: str | None = None
    keyword_only: bool = False


@dataclass(frozen=True)
class Operator:
    """One operator that `kernels/` implements.

    `returns` holds the aliases of the returned tensors, in order. `kernel` is the qualified C++
    function, `source` its file relative to `kernels/`.
    """

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    kernel: str
    source: str


@dataclass(frozen=True)
class Registration:
    """The generated source, the kernel files it needs and the operators it registers, both sorted."""

    source: str
    kernel_sources: tuple[str, ...]
    operators: tuple[str, ...]


class SchemaError(ValueError):
    """A schema that is not ATen's notation, or uses a type that no kernel can take."""


# Element types of schemas and what a kernel receives. SymInt is a plain integer on the device.
_ELEMENT = {
    "Tensor": "Tensor",
    "int": "int64_t",
    "SymInt": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "std::string_view",
    "Scalar": "Scalar",
    "ScalarType": "ScalarType",
    "MemoryFormat": "int64_t",
}
# Arguments that kernels write though they are no outputs; they stand right before those.
_SCRATCH = ("scratch", "output_scratch")
_LISTS = ("Tensor", "int", "SymInt", "float", "bool")

_SCHEMA = re.compile(r"^(?P<name>\w+::\w+(?:\.\w+)?)\((?P<arguments>.*)\)\s*->\s*(?P<returns>.+)$", re.DOTALL)
_ARGUMENT = re.compile(
    r"^(?P<base>[A-Za-z]+)(?:\((?P<alias>[a-z]!)\))?"
    r"(?P<element_optional>\?(?=\[))?(?P<list>\[\d*\])?(?P<optional>\?)?"
    r"\s+(?P<name>[A-Za-z_]\w*)(?:\s*=\s*(?P<default>.+))?$"
)
_RETURN = re.compile(r"^Tensor\((?P<alias>[a-z]!)\)(?:\s+\w+)?$")


def parse_schema(text: str) -> tuple[str, tuple[Argument, ...], tuple[str, ...]]:
    """Read one schema of an out variant: name, arguments, aliases of the returned tensors.

    Raises:
        SchemaError: not a schema; a type without a C++ counterpart; returns that are no outputs.
    """
    match = _SCHEMA.match(text.strip())
    if match is None:
        raise SchemaError(f"not a schema: '{text}'")
    arguments: list[Argument] = []
    keyword_only = False
    for piece in _split(match["arguments"]):
        if piece == "*":
            keyword_only = True
        else:
            arguments.append(_argument(piece, keyword_only))
    result = match["returns"].strip()
    returns = tuple(map(_return, _split(result[1:-1] if result.startswith("(") else result)))
    written = [a for a in arguments if a.alias is not None]
    # A list of outputs is not returned.
    outputs = tuple(a.alias for a in written if a.alias is not None and not a.is_list)
    if not written or returns != outputs:
        raise SchemaError(f"{match['name']}: returns {returns or 'nothing'}, but its outputs are {outputs}")
    return match["name"], tuple(arguments), returns


def _split(text: str) -> list[str]:
    """Split at the commas that are outside of brackets."""
    pieces, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            pieces.append(text[start:i])
            start = i + 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _argument(text: str, keyword_only: bool) -> Argument:
    match = _ARGUMENT.match(text)
    if match is None:
        raise SchemaError(f"not an argument: '{text}'")
    argument = Argument(
        name=match["name"],
        base=match["base"],
        is_list=match["list"] is not None,
        optional=match["optional"] is not None,
        optional_elements=match["element_optional"] is not None,
        alias=match["alias"],
        default=match["default"],
        keyword_only=keyword_only,
    )
    cpp_type(argument)
    return argument


def _return(text: str) -> str:
    match = _RETURN.match(text)
    if match is None:
        raise SchemaError(f"not an output tensor: '{text}'")
    return match["alias"]


def cpp_type(argument: Argument) -> str:
    """The C++ parameter type of a kernel for `argument`.

    Raises:
        SchemaError: the type has no counterpart.
    """
    element = _ELEMENT.get(argument.base)
    known = element is not None and (not argument.is_list or argument.base in _LISTS)
    if not known or (argument.optional_elements and argument.base != "Tensor"):
        raise SchemaError(f"argument '{argument.name}': no kernel can take a {argument.base}")
    if argument.alias is not None:
        if argument.base != "Tensor" or argument.optional or argument.optional_elements:
            raise SchemaError(f"argument '{argument.name}': only tensors can be outputs")
        return "const ArrayRef<Tensor>&" if argument.is_list else "Tensor&"
    if argument.is_list:
        inner = f"std::optional<{element}>" if argument.optional_elements else element
        element = f"ArrayRef<{inner}>"
    if argument.optional:
        return f"const std::optional<{element}>&"
    by_reference = argument.is_list or element in ("Tensor", "Scalar")
    return f"const {element}&" if by_reference else str(element)


def load_operators(yaml_path: Path) -> tuple[Operator, ...]:
    """Read `operators.yaml`, sorted by operator name.

    Raises:
        HarnessError: CONFIG/OPTIONS in phase build; the file is unreadable or an entry is wrong.
    """
    try:
        entries = yaml.safe_load(yaml_path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _bad_file(yaml_path, " ".join(str(error).split())) from error
    if not isinstance(entries, list):
        raise _bad_file(yaml_path, "a list of entries is expected")
    operators: dict[str, Operator] = {}
    for number, entry in enumerate(entries, 1):
        try:
            operator = _operator(entry)
        except SchemaError as error:
            raise _bad_file(yaml_path, f"entry {number}: {error}") from error
        if operator.name in operators:
            raise _bad_file(yaml_path, f"entry {number}: {operator.name} is listed twice")
        operators[operator.name] = operator
    return tuple(operators[name] for name in sorted(operators))


def _operator(entry: object) -> Operator:
    keys = ("schema", "kernel", "source")
    if (
        not isinstance(entry, dict)
        or set(entry) != set(keys)
        or not all(isinstance(v, str) for v in entry.values())
    ):
        raise SchemaError(f"the keys {', '.join(keys)} are expected, each with a text")
    if not re.fullmatch(r"\w+(::\w+)+", entry["kernel"]):
        raise SchemaError(f"kernel '{entry['kernel']}' is not a qualified C++ name")
    name, arguments, returns = parse_schema(entry["schema"])
    return Operator(name, arguments, returns, entry["kernel"], entry["source"])


def _bad_file(path: Path, what: str) -> HarnessError:
    hint = f"correct {path}"
    return HarnessError(Outcome(Phase.BUILD, OutcomeClass.CONFIG_OPTIONS, f"{path.name}: {what}", hint))


def generate(operators: Sequence[Operator], names: Iterable[str]) -> Registration:
    """Make the registration of the operators called `names`; repeated names count once.

    Raises:
        HarnessError: CONFIG/MISSING_OP in phase build; names every operator without a kernel.
    """
    known = {operator.name: operator for operator in operators}
    wanted = sorted(
        name
        for name in set(names)
        if name not in RUNTIME_OPERATORS and not name.startswith(RUNTIME_NAMESPACE)
    )
    missing = [name for name in wanted if name not in known]
    if missing:
        raise HarnessError(
            Outcome(
                Phase.BUILD,
                OutcomeClass.CONFIG_MISSING_OP,
                f"no kernel for {', '.join(missing)}",
                "add the kernel and its entry in kernels/operators.yaml, or lower without the operator",
                {"operators": missing},
            )
        )
    chosen = [known[name] for name in wanted]
    return Registration(
        source=_source(chosen),
        kernel_sources=tuple(sorted({operator.source for operator in chosen})),
        operators=tuple(wanted),
    )


def _source(operators: Sequence[Operator]) -> str:
    declarations = "\n".join(_declaration(operator) for operator in operators)
    wrappers = "\n".join(_wrapper(i, operator) for i, operator in enumerate(operators))
    return f"""\
// Generated by harness/firmware/registration.py from operators.yaml.

#include "boxing.h"
#include "register_operators.h"

{declarations}
namespace {{

using namespace kernels::types;

{wrappers}
}}  // namespace

executorch::runtime::Error register_operators() {{
{_registration_body(operators)}}}
"""


def _declaration(operator: Operator) -> str:
    namespace, function = operator.kernel.rsplit("::", 1)
    returns = ", ".join("Tensor&" for _ in operator.returns)
    many = f"std::tuple<{returns}>" if operator.returns else "void"
    result = returns if len(operator.returns) == 1 else many
    parameters = ", ".join(["KernelRuntimeContext&", *map(cpp_type, operator.arguments)])
    return (
        f"namespace {namespace} {{\n"
        "using namespace kernels::types;\n"
        f"{result} {function}({parameters});\n"
        f"}}  // namespace {namespace}\n"
    )


def _wrapper(number: int, operator: Operator) -> str:
    names = ", ".join(f'"{a.name}"' for a in operator.arguments)
    signature = f'{{"{operator.name}", kNames, {_first_written(operator)}}}'
    return (
        f"void kernel_{number}(KernelRuntimeContext& context, Span<EValue*> stack) {{\n"
        f"  static constexpr const char* kNames[] = {{{names}}};\n"
        f"  kernels::call({operator.kernel}, {signature}, context, stack);\n"
        "}\n"
    )


def _first_written(operator: Operator) -> int:
    """Index of the first output, or of the scratch in front of it."""
    first = len(operator.arguments)
    while first and (operator.arguments[first - 1].alias or operator.arguments[first - 1].name in _SCRATCH):
        first -= 1
    return first


def _registration_body(operators: Sequence[Operator]) -> str:
    if not operators:
        return "  return executorch::runtime::Error::Ok;\n"
    rows = "".join(f'      Kernel("{operator.name}", kernel_{i}),\n' for i, operator in enumerate(operators))
    return (
        f"  static const Kernel kKernels[] = {{\n{rows}  }};\n"
        f"  return executorch::runtime::register_kernels({{kKernels, {len(operators)}}});\n"
    )
