"""Vocabulary of results: phases, outcome classes, verdicts.

The names are those of the failure catalogue; code, reports and tests use no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Phase(str, Enum):
    """The furthest step of an attempt that began."""

    LOWER = "lower"
    BUILD = "build"
    LAUNCH = "launch"
    BOOT = "boot"
    LOAD = "load"
    RUN = "run"
    VERIFY = "verify"
    EXIT = "exit"


class OutcomeClass(str, Enum):
    """What one attempt showed. Everything but PASS and XFAIL is red."""

    PASS = "PASS"
    XFAIL = "XFAIL"
    XPASS = "XPASS"
    FLAKY = "FLAKY"
    NOT_RUN = "NOT_RUN"
    AOT_REFUSED = "AOT/REFUSED"
    AOT_CRASH = "AOT/CRASH"
    AOT_UNDELEGATED = "AOT/UNDELEGATED"
    BUILD_COMPILE = "BUILD/COMPILE"
    BUILD_OVERFLOW = "BUILD/OVERFLOW"
    BUILD_STALE_DIR = "BUILD/STALE_DIR"
    BUILD_LAYOUT = "BUILD/LAYOUT"
    CONFIG_OPTIONS = "CONFIG/OPTIONS"
    CONFIG_CMDLINE = "CONFIG/CMDLINE"
    CONFIG_ARENA = "CONFIG/ARENA"
    CONFIG_TARGET = "CONFIG/TARGET"
    CONFIG_MISSING_OP = "CONFIG/MISSING_OP"
    CONFIG_INPUT = "CONFIG/INPUT"
    CONFIG_SEMIHOSTING = "CONFIG/SEMIHOSTING"
    ENV_TOOLCHAIN = "ENV/TOOLCHAIN"
    ENV_LOADER = "ENV/LOADER"
    ENV_EXECSTACK = "ENV/EXECSTACK"
    ENV_LICENCE = "ENV/LICENCE"
    INFRA_DOWNLOAD = "INFRA/DOWNLOAD"
    INFRA_OOM = "INFRA/OOM"
    WORKER_CRASH = "WORKER_CRASH"
    PARTIAL = "PARTIAL"
    BUNDLE_INVALID = "BUNDLE_INVALID"
    MEM = "MEM"
    NPU_PARSE = "NPU/PARSE"
    NPU_BUS = "NPU/BUS"
    NPU_FAULT = "NPU/FAULT"
    NPU_TIMEOUT = "NPU/TIMEOUT"
    NPU_UNIMPLEMENTED = "NPU/UNIMPLEMENTED"
    FAULT = "FAULT"
    LOCKUP = "LOCKUP"
    ABORT = "ABORT"
    TIMEOUT = "TIMEOUT"
    CPU_LIMIT = "CPU_LIMIT"
    HOST_SLOW = "HOST_SLOW"
    NO_VERDICT = "NO_VERDICT"
    NO_OUTPUT = "NO_OUTPUT"
    OUTPUT_NOT_WRITTEN = "OUTPUT_NOT_WRITTEN"
    DIM_ORDER = "DIM_ORDER"
    SHAPE = "SHAPE"
    DTYPE = "DTYPE"
    WRONG = "WRONG"
    LSB_TIE = "LSB_TIE"
    REF_ERROR = "REF_ERROR"
    EXIT_STATUS = "EXIT_STATUS"
    LATE_FAULT = "LATE_FAULT"


class Verdict(str, Enum):
    """What all attempts of one case together prove."""

    PASSED = "PASSED"
    DETERMINISTIC = "DETERMINISTIC"
    ENGINE_NONDETERMINISTIC = "ENGINE_NONDETERMINISTIC"
    AOT_NONDETERMINISTIC = "AOT_NONDETERMINISTIC"
    SEED_SENSITIVE = "SEED_SENSITIVE"
    STRATUM = "STRATUM"
    HOST_SLOW = "HOST_SLOW"
    UNRESOLVED = "UNRESOLVED"


@dataclass(frozen=True)
class Outcome:
    """Phase and class of one attempt, for people and for machines.

    `summary` is one line: what happened. `hint` says what to do next. `detail` holds the
    numbers and names behind the class (needed and available bytes, symbol, operator names).
    """

    phase: Phase
    kind: OutcomeClass
    summary: str
    hint: str = ""
    detail: Mapping[str, object] = field(default_factory=dict)

    @property
    def green(self) -> bool:
        """True for a proven pass."""
        return self.kind in (OutcomeClass.PASS, OutcomeClass.XFAIL)

    def __str__(self) -> str:
        return f"{self.kind.value} in phase {self.phase.value}: {self.summary}"


class HarnessError(Exception):
    """A step of the flow failed with a known outcome.

    Every expected failure of lowering, building or booting is raised as one of these, so
    that a person reads one line and the classifier needs no text matching of our own errors.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome) + (f"\n{outcome.hint}" if outcome.hint else ""))
        self.outcome = outcome
