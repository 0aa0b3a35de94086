"""The values on the arrows of the flow: frozen, serialisable, imported by every stage.

Case -> Program, RunnerElf -> RunSpec -> RunResult -> Comparison, Outcome -> Attempt
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from harness.outcomes import Outcome, OutcomeClass
from harness.targets import TARGETS, Target

RUNSPEC_VERSION = 1


@dataclass(frozen=True)
class Tolerance:
    """Limits of a host comparison.

    An element passes if |got - expected| <= atol + rtol * |expected| + qtol * scale,
    with `scale` the output's quantization step (1 for integer outputs without one).
    The default demands equality.
    """

    atol: float = 0.0
    rtol: float = 0.0
    qtol: float = 0.0

    def __post_init__(self) -> None:
        """Raises ValueError for a limit that is negative, infinite or no number."""
        for name, value in asdict(self).items():
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}; a limit is a finite number, at least 0")


@dataclass(frozen=True)
class TensorSpec:
    """Type and layout of a program input or output.

    `dtype` is a numpy name ("float32", "int8", "bool"), or "none" for an absent value;
    `shape` is logical; `dim_order` gives the storage order of the logical dimensions.
    `scale` and `zero_point` are set when the value comes straight from a dequantize operator.
    """

    dtype: str
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    scale: float | None = None
    zero_point: int | None = None

    @staticmethod
    def from_dict(raw: Mapping[str, Any]) -> TensorSpec:
        """From what `asdict` made, before or after JSON."""
        return TensorSpec(**{**raw, "shape": tuple(raw["shape"]), "dim_order": tuple(raw["dim_order"])})


@dataclass(frozen=True)
class Case:
    """What a test declares: factories, so that any rung of the rerun ladder can make it again.

    Attributes:
        module: makes the torch module from a seeded `torch.Generator`.
        inputs: makes the tuple of example inputs from a seeded `torch.Generator`.
        target: what to lower and build for; `cases(...)` sets it for each of its targets.
        tolerance: limits of the host comparison against the reference.
        seed: seeds both factories and torch's global generator.
        calibration: makes further calibration samples; default: the example inputs.
        quantize: False lowers the module as it stands (a module that calls integer operators).
        activation_bits: width of quantized activations, 8 or 16 (16 on Ethos-U only); weights have 8.
        delegated: on Ethos-U, demand the whole computation on the NPU, with nothing but quantize and
            dequantize left on the CPU; False allows the rest that the partitioner refuses.
    """

    module: Callable[[Any], Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    target: Target = TARGETS["cortex-m55"]
    tolerance: Tolerance = Tolerance()
    seed: int = 0
    calibration: Callable[[Any], list[tuple[Any, ...]]] | None = None
    quantize: bool = True
    activation_bits: int = 8
    delegated: bool = True
    name: str = "case"


@dataclass(frozen=True)
class Program:
    """A lowered program on disk, in a directory of its own.

    `pte`, `bpte`, `inputs` and `references` are files in `directory`; inputs and references
    are raw little-endian tensors in storage order. `operators` are the names that the runner
    must have. `hashes` name each stage's product.
    """

    directory: Path
    pte: Path
    bpte: Path | None
    inputs: tuple[Path, ...]
    references: tuple[Path, ...]
    input_specs: tuple[TensorSpec, ...]
    output_specs: tuple[TensorSpec, ...]
    operators: tuple[str, ...]
    target: str
    seed: int
    hashes: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunnerElf:
    """A built runner: the ELF, its manifest and its section sizes in bytes."""

    path: Path
    target: str
    board: str
    operators: tuple[str, ...]
    source_hash: str
    sha256: str
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Limits:
    """Wall-clock limits in seconds: first byte, silence between lines, whole run; and the simulator's own."""

    launch: float = 30.0
    silence: float = 60.0
    total: float = 180.0
    simulated: int = 120

    @staticmethod
    def around(simulated: int, silence: float) -> Limits:
        """Limits of the host that let the simulator's own come first."""
        return Limits(silence=silence, total=simulated + silence, simulated=simulated)


@dataclass(frozen=True)
class RunSpec:
    """One boot of a runner with one program: everything an engine needs, relative to one directory.

    Written as `runspec.json`; together with the files it names it is the reproduction bundle. `npu_trace`
    is the file that the stand-in records the NPU's operations in, none if empty.
    """

    target: str
    board: str
    elf: str
    program: str
    inputs: tuple[str, ...]
    references: tuple[str, ...]
    output_specs: tuple[TensorSpec, ...]
    tolerance: Tolerance
    input_specs: tuple[TensorSpec, ...] = ()
    output_base: str = "out"
    limits: Limits = Limits()
    extra_args: tuple[str, ...] = ()
    seed: int = 0
    hashes: Mapping[str, str] = field(default_factory=dict)
    npu_trace: str = ""
    version: int = RUNSPEC_VERSION

    @property
    def command_line(self) -> str:
        """The runner's own command line, as semihosting passes it."""
        words = ["executor_runner", "-m", self.program, "-o", self.output_base]
        for name in self.inputs:
            words += ["-i", name]
        return " ".join(words)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the files that the runner has to write."""
        return tuple(f"{self.output_base}-{i}.bin" for i in range(len(self.output_specs)))

    def to_json(self) -> str:
        """JSON text with sorted keys; `from_json` reads it back."""
        return json.dumps(asdict(self), indent=2, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> RunSpec:
        """Read a RunSpec.

        Raises:
            ValueError: not a RunSpec, or of another version.
        """
        try:
            raw = json.loads(text)
            if raw["version"] != RUNSPEC_VERSION:
                raise ValueError(f"RunSpec version {raw['version']}, this harness reads {RUNSPEC_VERSION}")
            return RunSpec(
                **{
                    **raw,
                    "inputs": tuple(raw["inputs"]),
                    "references": tuple(raw["references"]),
                    "extra_args": tuple(raw["extra_args"]),
                    "output_specs": tuple(map(TensorSpec.from_dict, raw["output_specs"])),
                    "input_specs": tuple(map(TensorSpec.from_dict, raw["input_specs"])),
                    "tolerance": Tolerance(**raw["tolerance"]),
                    "limits": Limits(**raw["limits"]),
                }
            )
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise ValueError(f"not a RunSpec: {error}") from error


@dataclass(frozen=True)
class EngineIdentity:
    """Which simulator ran: `kind` is "fvp", "standin" or "host"; the hash tells builds apart."""

    kind: str
    name: str
    version: str
    path: str
    sha256: str


@dataclass(frozen=True)
class ConsoleLine:
    """One line of the console: seconds since launch, text without the line end."""

    time: float
    text: str


@dataclass(frozen=True)
class RunResult:
    """What one run left behind; no judgement.

    `exit_status` is the process's status, negative for a signal, None if the harness ended it.
    `outputs` maps each expected output file that exists to its SHA-256.
    """

    spec: RunSpec
    directory: Path
    engine: EngineIdentity
    argv: tuple[str, ...]
    lines: tuple[ConsoleLine, ...]
    stopped_by: str
    exit_status: int | None
    outputs: Mapping[str, str]
    durations: Mapping[str, float]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def console(self) -> str:
        """The console as text."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True)
class Comparison:
    """Result of comparing one output with its reference.

    `worst` is the largest |got - expected| (inf for a non-finite mismatch), `worst_lsb` the same
    in quantization steps where a scale is known, `margin` the largest error/limit (0 if equal,
    inf where the limit is 0 and is exceeded), `histogram` counts rounded LSB differences. `problem` is
    the class of a failed comparison (None if ok), `worst_index` the logical index of the worst element.
    """

    index: int
    ok: bool
    elements: int
    mismatches: int
    worst: float
    worst_lsb: float | None
    margin: float
    histogram: Mapping[int, int]
    message: str
    problem: OutcomeClass | None = None
    worst_index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Attempt:
    """One run made for a case, judged.

    `rung` is the rung of the rerun ladder that made it ("first" for the first), `changed` the one factor
    that it changed ("seed 1", "scalar kernels"). `hashes` are those of the program's stages. `load` is
    the share of the run's time in which tasks of this host waited for a core, None where unknown.
    """

    number: int
    outcome: Outcome
    result: RunResult | None = None
    comparisons: tuple[Comparison, ...] = ()
    durations: Mapping[str, float] = field(default_factory=dict)
    rung: str = "first"
    changed: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    load: float | None = None

    def with_number(self, number: int) -> Attempt:
        """The same attempt, counted as `number`."""
        return replace(self, number=number)
