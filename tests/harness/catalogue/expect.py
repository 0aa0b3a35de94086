"""What a row of the catalogue demands of an outcome."""

from __future__ import annotations

from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.reruns.policy import Kind, policy_of

Reruns = int | str  # a number, "ladder" or "resolve"


def reruns_of(outcome: Outcome) -> Reruns:
    """How many reruns the policy allows, or the way in which it finds out."""
    policy = policy_of(outcome)
    return policy.most if policy.kind in (Kind.NONE, Kind.REPEAT) else policy.kind.value


def expect(outcome: Outcome, kind: str, phase: str, reruns: Reruns) -> None:
    """Demand class, phase and number of reruns of a red outcome that a person can act on."""
    found = (outcome.kind, outcome.phase, reruns_of(outcome))
    assert found == (OutcomeClass(kind), Phase(phase), reruns), outcome
    assert not outcome.green
    assert outcome.summary
    assert outcome.hint
