"""What the ladder knows of one attempt: facts to compare, and one line of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256

from harness.flow import Attempt, Comparison
from harness.ledger.signature import signature
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.reruns.policy import LIMITS


class Rung(str, Enum):
    """What a rerun changes."""

    FIRST = "first"
    SAME_BYTES = "same-bytes"
    RE_LOWER = "re-lower"
    OTHER_SEED = "other-seed"
    OTHER_ENGINE = "other-engine"


# Stages of lowering in their order; the first one that differs names the place.
STAGES = ("exported", "inputs", "quantized", "lowered", "tosa", "command_stream", "program")
# Share of the time of a run in which tasks waited for a core, from which on the host counts as loaded.
LOADED = 0.5


@dataclass(frozen=True)
class Trial:
    """One attempt, as far as the ladder needs it.

    Attributes:
        rung: that made it.
        outcome: as judged.
        changed: the factor that this rung changed.
        hashes: SHA-256 by stage of lowering, and of "program", "elf" and "outputs" ("" without any).
        signature: see `ledger.signature`.
        seed: of the case.
        margin: largest error/limit.
        elements: which elements are beyond the limit, in words.
        progress: the runner was still going forward when a limit ended it.
        load: see `flow.Attempt.load`.
    """

    rung: Rung
    outcome: Outcome
    changed: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    seed: int | None = None
    margin: float | None = None
    elements: str = ""
    progress: bool = False
    load: float | None = None

    @property
    def green(self) -> bool:
        """True for a proven pass."""
        return self.outcome.green

    @property
    def loaded(self) -> bool:
        """True if the host is known to have been busy."""
        return self.load is not None and self.load >= LOADED

    def same_result(self, other: Trial) -> bool:
        """True if both show the same outcome and wrote the same bytes."""
        return (
            self.outcome.kind is other.outcome.kind
            and self.outcome.phase is other.outcome.phase
            and self.hashes.get("outputs") == other.hashes.get("outputs")
            and self.signature == other.signature
        )

    def difference(self, other: Trial) -> str:
        """What tells two results apart, in words; "" for the same result."""
        if self.same_result(other):
            return ""
        if self.outcome.kind is other.outcome.kind and self.outcome.phase is other.outcome.phase:
            if self.hashes.get("outputs") != other.hashes.get("outputs"):
                return f"outputs {_short(self, 'outputs')} and {_short(other, 'outputs')}"
            return f"'{self.signature}' and '{other.signature}'"
        return f"{_name(self.outcome)} and {_name(other.outcome)}"

    def first_difference(self, other: Trial) -> str:
        """The first stage of lowering whose products differ; "" if all known ones are equal."""
        both = [stage for stage in STAGES if stage in self.hashes and stage in other.hashes]
        return next((stage for stage in both if self.hashes[stage] != other.hashes[stage]), "")

    def line(self) -> str:
        """One line: rung, what it changed, class, hashes, load."""
        names = [name for name in ("inputs", "program", "elf", "outputs") if self.hashes.get(name)]
        parts = [f"{self.rung.value:<12} {_name(self.outcome)}"]
        parts += [f"{name} {_short(self, name)}" for name in names]
        if self.margin is not None:
            parts.append(f"margin {self.margin:.3g}")
        if self.load is not None and (self.loaded or self.outcome.kind is OutcomeClass.TIMEOUT):
            parts.append(f"host load {100 * self.load:.0f} %")
        if self.changed:
            parts.append(f"[{self.changed}]")
        return "  ".join(parts)


def trial_of(attempt: Attempt) -> Trial:
    """The facts of `attempt`."""
    result = attempt.result
    compared = [comparison.margin for comparison in attempt.comparisons]
    return Trial(
        rung=Rung(attempt.rung),
        outcome=attempt.outcome,
        changed=attempt.changed,
        hashes=hashes_of(attempt),
        signature=signature(attempt.outcome, result.lines if result else ()),
        seed=result.spec.seed if result else None,
        margin=max(compared) if compared else None,
        elements="; ".join(_elements(entry) for entry in attempt.comparisons if not entry.ok),
        progress=_progress(attempt),
        load=attempt.load,
    )


def hashes_of(attempt: Attempt) -> dict[str, str]:
    """SHA-256 by name: stages of lowering, and "inputs", "program", "elf", "outputs" of the run."""
    found = dict(attempt.hashes)
    if attempt.result is None:
        return found
    spec = attempt.result.spec
    found |= {name: digest for name, digest in spec.hashes.items() if not name.startswith("file:")}
    files = {name: spec.hashes.get(f"file:{name}", "") for name in (spec.program, spec.elf, *spec.inputs)}
    found |= {"program": files[spec.program], "elf": files[spec.elf]}
    if spec.inputs:
        found["inputs"] = _together(files[name] for name in spec.inputs)
    outputs = [f"{name} {digest}" for name, digest in sorted(attempt.result.outputs.items())]
    found["outputs"] = _together(outputs) if outputs else ""
    return {name: digest for name, digest in found.items() if digest or name == "outputs"}


def _together(parts: object) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()  # type: ignore[arg-type]


def _progress(attempt: Attempt) -> bool:
    """The total limit, or the simulator's own, ended a run that had not fallen silent."""
    limited = attempt.outcome.kind in LIMITS
    if not limited or attempt.result is None or attempt.outcome.phase in (Phase.LAUNCH, Phase.BOOT):
        return False
    return attempt.result.stopped_by != "silence"


def _elements(comparison: Comparison) -> str:
    worst = f", worst at {list(comparison.worst_index)}" if comparison.worst_index else ""
    return f"output {comparison.index}: {comparison.mismatches} of {comparison.elements} elements{worst}"


def _name(outcome: Outcome) -> str:
    return outcome.kind.value if outcome.green else f"{outcome.kind.value} ({outcome.phase.value})"


def _short(trial: Trial, name: str) -> str:
    return trial.hashes.get(name, "")[:8] or "none"
