"""Which class of outcome is rerun, and how: the one table (failure-catalogue.md §13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from harness.outcomes import Outcome, OutcomeClass, Phase, Verdict


class Kind(str, Enum):
    """How a class of outcome is rerun."""

    NONE = "none"
    REPEAT = "repeat"
    RESOLVE = "resolve"
    LADDER = "ladder"


@dataclass(frozen=True)
class Policy:
    """Reruns of one class of outcome.

    Attributes:
        kind: NONE: no rerun can help. REPEAT: at most `most`, the same in a new process. RESOLVE: the
            sequential test. LADDER: the rungs of `ladder.decide`.
        fails: verdict if no rerun passes (for NONE: the verdict).
        passes: verdict if a repetition passes.
        why: what the verdict of NONE or of a last failed repetition rests on.
    """

    kind: Kind
    most: int = 0
    fails: Verdict = Verdict.DETERMINISTIC
    passes: Verdict = Verdict.UNRESOLVED
    why: str = ""


_BY_REQUEST = Policy(Kind.NONE, why="the request itself decides: another attempt cannot change the result")
_NOT_JUDGED = Policy(
    Kind.NONE, fails=Verdict.UNRESOLVED, why="the case has not run to its end here: this says nothing of it"
)
_LADDER = Policy(Kind.LADDER)
_RESOLVE = Policy(Kind.RESOLVE)
_INFRA = Policy(Kind.REPEAT, 3, Verdict.UNRESOLVED, why="infrastructure, not the project")
_LAUNCH = Policy(
    Kind.REPEAT, 1, Verdict.UNRESOLVED, Verdict.HOST_SLOW, "the simulator does not come up on this host"
)

_NONE = (
    "AOT/REFUSED AOT/UNDELEGATED BUILD/COMPILE BUILD/OVERFLOW BUILD/STALE_DIR BUILD/LAYOUT CONFIG/OPTIONS "
    "CONFIG/CMDLINE CONFIG/ARENA CONFIG/TARGET CONFIG/MISSING_OP CONFIG/INPUT CONFIG/SEMIHOSTING "
    "BUNDLE_INVALID MEM DIM_ORDER SHAPE DTYPE LSB_TIE REF_ERROR NPU/UNIMPLEMENTED PASS XFAIL XPASS FLAKY"
)
_ENVIRONMENT = "NOT_RUN ENV/TOOLCHAIN ENV/LOADER ENV/EXECSTACK ENV/LICENCE PARTIAL NO_VERDICT"
_RUNGS = (
    "NPU/PARSE NPU/BUS NPU/FAULT NPU/TIMEOUT FAULT LOCKUP ABORT NO_OUTPUT OUTPUT_NOT_WRITTEN WRONG "
    "EXIT_STATUS LATE_FAULT"
)

# A limit on time has ended the run: the host's, or the simulator's own.
LIMITS = (OutcomeClass.TIMEOUT, OutcomeClass.CPU_LIMIT)

POLICIES: Mapping[OutcomeClass, Policy] = {
    **dict.fromkeys(map(OutcomeClass, _NONE.split()), _BY_REQUEST),
    **dict.fromkeys(map(OutcomeClass, _ENVIRONMENT.split()), _NOT_JUDGED),
    **dict.fromkeys(map(OutcomeClass, _RUNGS.split()), _LADDER),
    **dict.fromkeys(LIMITS, _RESOLVE),
    OutcomeClass.INFRA_DOWNLOAD: _INFRA,
    OutcomeClass.INFRA_OOM: Policy(Kind.REPEAT, 1, Verdict.UNRESOLVED, why="the host ran out of memory"),
    OutcomeClass.HOST_SLOW: Policy(Kind.REPEAT, 1, Verdict.HOST_SLOW, Verdict.HOST_SLOW, "the host is slow"),
    OutcomeClass.WORKER_CRASH: Policy(
        Kind.REPEAT, 1, Verdict.DETERMINISTIC, why="the test ends its process each time"
    ),
    OutcomeClass.AOT_CRASH: Policy(
        Kind.REPEAT,
        1,
        Verdict.DETERMINISTIC,
        Verdict.AOT_NONDETERMINISTIC,
        "the compiler crashes each time on the same graph",
    ),
}

# Outcomes that say something of the host or of the harness, not of the bytes that were run.
INCONCLUSIVE = frozenset(
    kind for kind, policy in POLICIES.items() if policy in (_NOT_JUDGED, _RESOLVE, _INFRA)
) | {OutcomeClass.INFRA_OOM, OutcomeClass.HOST_SLOW, OutcomeClass.WORKER_CRASH}
# Failures that an attempt with another program, seed or engine can be compared by: it was made and judged.
COMPARABLE = frozenset(kind for kind, policy in POLICIES.items() if policy is _LADDER) | {
    OutcomeClass.LSB_TIE,
    OutcomeClass.DIM_ORDER,
    OutcomeClass.SHAPE,
    OutcomeClass.DTYPE,
}


def policy_of(outcome: Outcome) -> Policy:
    """The policy for one outcome: by class, but a limit that fires before the first byte is repeated once."""
    if outcome.kind is OutcomeClass.TIMEOUT and outcome.phase is Phase.LAUNCH:
        return _LAUNCH
    return POLICIES[outcome.kind]
