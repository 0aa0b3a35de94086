"""The rerun ladder, pure: from the attempts so far to the next one, or to the verdict.

Rungs and what they prove: failure-catalogue.md §15.

Each rung changes one factor. The ladder stops as soon as the verdict is proven, and a pass on a higher rung
never turns a test green.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.outcomes import Phase, Verdict
from harness.reruns.policy import COMPARABLE, INCONCLUSIVE, LIMITS, Kind, Policy, policy_of
from harness.reruns.sequential import Decision, SequentialTest
from harness.reruns.trial import Rung, Trial


@dataclass(frozen=True)
class Means:
    """What can be changed for a case.

    `seeds` are further seeds in the order in which they are tried, `engines` names of other engines.
    """

    same_bytes: bool = True
    re_lower: bool = False
    seeds: tuple[int, ...] = ()
    engines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """The next attempt. `alone`: while no other worker of the session runs anything."""

    rung: Rung
    seed: int | None = None
    engine: str = ""
    alone: bool = False

    def __str__(self) -> str:
        what = f"seed {self.seed}" if self.seed is not None else self.engine
        return f"{self.rung.value} ({what})" if what else self.rung.value


@dataclass(frozen=True)
class Conclusion:
    """A verdict with its reason, and the evidence: one line an attempt.

    `flaky`: what failed first has passed unchanged.
    """

    verdict: Verdict
    reason: str
    evidence: tuple[str, ...] = ()
    flaky: bool = False


def decide(trials: Sequence[Trial], means: Means, spent: str = "") -> Step | Conclusion:
    """The next step of the ladder, or what the trials prove.

    Args:
        trials: all attempts of one case so far, at least the first one.
        means: what can be changed.
        spent: why no further attempt may be made; "" if one may.
    """
    first = trials[0]
    if first.green:
        found: Step | Conclusion = Conclusion(Verdict.PASSED, first.outcome.summary)
    else:
        policy = policy_of(first.outcome)
        judge = {Kind.REPEAT: _repeat, Kind.RESOLVE: _resolve, Kind.LADDER: _ladder, Kind.NONE: _none}
        found = judge[policy.kind](trials, means, policy)
    if isinstance(found, Step) and spent:
        found = _cut_short(trials, found, spent)
    if isinstance(found, Step):
        return found
    flaky = not first.green and any(
        trial.green and trial.rung in (Rung.SAME_BYTES, Rung.RE_LOWER) for trial in trials
    )
    return replace(found, evidence=tuple(trial.line() for trial in trials), flaky=flaky)


def _none(trials: Sequence[Trial], means: Means, policy: Policy) -> Conclusion:
    return Conclusion(policy.fails, f"{trials[0].outcome.kind.value}: {policy.why}")


def _repeat(trials: Sequence[Trial], means: Means, policy: Policy) -> Step | Conclusion:
    first, reruns = trials[0], trials[1:]
    kind = first.outcome.kind.value
    if any(trial.green for trial in reruns):
        return Conclusion(policy.passes, f"{kind} once, then a pass with nothing changed{_load(first)}")
    if len(reruns) < policy.most:
        return Step(Rung.SAME_BYTES, alone=policy.passes is Verdict.HOST_SLOW)
    others = [trial.outcome for trial in reruns if trial.outcome.kind is not first.outcome.kind]
    if others:
        return Conclusion(Verdict.UNRESOLVED, f"{kind}, then another failure: {others[0]}")
    return Conclusion(policy.fails, f"{kind} in all {len(trials)} attempts: {policy.why}{_load(first)}")


def _resolve(trials: Sequence[Trial], means: Means, policy: Policy) -> Step | Conclusion:
    """A limit fired: the host, a hang, or a hang now and then."""
    first, reruns = trials[0], trials[1:]
    kind = first.outcome.kind.value
    explained = first.progress and first.loaded
    if explained and reruns and reruns[0].green:
        reason = f"{kind} with progress on a loaded host, and a pass alone on it{_load(first)}"
        return Conclusion(Verdict.HOST_SLOW, reason)
    for trial in reruns:
        if trial.green or trial.outcome.kind in LIMITS:
            continue
        if _says_nothing(trial, first):
            return Conclusion(Verdict.UNRESOLVED, f"{kind}, then {_nothing(trial)}")
        reason = f"the same bytes fail in two ways: {kind}, then {trial.outcome}"
        return Conclusion(Verdict.ENGINE_NONDETERMINISTIC, reason)
    failed = [not trial.green for trial in reruns]
    decision = SequentialTest().decide(failed)
    if decision is Decision.OPEN:
        return Step(Rung.SAME_BYTES, alone=first.progress)
    rate = f"{sum(failed)} of {len(failed)} reruns fail"
    if not all(failed):
        if first.progress and first.load is None:
            return Conclusion(Verdict.HOST_SLOW, f"{kind} with progress, then {rate}; host load is unknown")
        reason = f"the same bytes end and do not end: {kind} once, then {rate} (Wald: {decision.value})"
        return Conclusion(Verdict.ENGINE_NONDETERMINISTIC, reason + _load(first))
    if explained and any(trial.loaded for trial in reruns):
        reason = f"{kind} with progress in all {len(trials)} runs, all on a loaded host{_load(first)}"
        return Conclusion(Verdict.UNRESOLVED, reason + "; free the host or raise the limit")
    return Conclusion(
        Verdict.DETERMINISTIC, f"{kind} again with the same bytes, in phase {reruns[-1].outcome.phase.value}"
    )


def _ladder(trials: Sequence[Trial], means: Means, policy: Policy) -> Step | Conclusion:
    for climb in (_same_bytes, _re_lower, _other_seed, _other_engine):
        found = climb(trials, means)
        if found is not None:
            return found
    higher = (Rung.OTHER_SEED, Rung.OTHER_ENGINE)
    tried = [trial for trial in trials if trial.rung in higher and not _cannot(trial)]
    if not any(trial.rung is Rung.SAME_BYTES for trial in trials):
        return Conclusion(Verdict.UNRESOLVED, "nothing could be repeated")
    reason = "the same bytes fail in the same way"
    if any(trial.rung is Rung.RE_LOWER and not _cannot(trial) for trial in trials):
        reason += ", lowering repeats to the bit"
    if tried:
        reason += f", and it fails too with {', '.join(trial.changed for trial in tried)}"
    if any(trial.rung is Rung.OTHER_ENGINE for trial in tried):
        reason += ": program or reference is wrong"
    return Conclusion(Verdict.DETERMINISTIC, reason)


def _same_bytes(trials: Sequence[Trial], means: Means) -> Step | Conclusion | None:
    first = trials[0]
    # A program that was lowered again to the same bytes is one more run of them.
    again = [
        trial
        for trial in trials[1:]
        if trial.rung is Rung.SAME_BYTES
        or (trial.rung is Rung.RE_LOWER and not _cannot(trial) and not first.first_difference(trial))
    ]
    if not again and means.same_bytes:
        return Step(Rung.SAME_BYTES)
    for trial in again:
        if trial.green:
            reason = f"the same bytes fail and pass: {first.outcome.kind.value}, then PASS"
            return Conclusion(Verdict.ENGINE_NONDETERMINISTIC, reason)
        if _says_nothing(trial, first):
            return Conclusion(Verdict.UNRESOLVED, _nothing(trial))
        if difference := first.difference(trial):
            reason = f"the same bytes fail in two ways: {difference}"
            return Conclusion(Verdict.ENGINE_NONDETERMINISTIC, reason)
    return None


def _says_nothing(trial: Trial, first: Trial) -> bool:
    """True for a rerun that the host has ended, or that could not be made although the first one was."""
    kind, phase = trial.outcome.kind, trial.outcome.phase
    unmade = phase in (Phase.LOWER, Phase.BUILD, Phase.LAUNCH) and kind not in COMPARABLE
    return kind in INCONCLUSIVE or (unmade and kind is not first.outcome.kind)


def _nothing(trial: Trial) -> str:
    return f"the rerun tells nothing: {trial.outcome.kind.value}: {trial.outcome.summary}"


def _re_lower(trials: Sequence[Trial], means: Means) -> Step | Conclusion | None:
    made = _of(trials, Rung.RE_LOWER)
    if not made:
        return Step(Rung.RE_LOWER) if means.re_lower else None
    stage = trials[0].first_difference(made[0])
    if not stage or _cannot(made[0]):
        return None
    reason = f"lowered again with the same seed, the first stage that differs is '{stage}'"
    return Conclusion(Verdict.AOT_NONDETERMINISTIC, reason + _then(made[0]))


def _other_seed(trials: Sequence[Trial], means: Means) -> Step | Conclusion | None:
    first, made = trials[0], _of(trials, Rung.OTHER_SEED)
    passing = [trial for trial in made if trial.green]
    if passing:
        where = f" ({first.elements}{_margin(first)})" if first.elements else f" ({first.outcome.kind.value})"
        others = ", ".join(f"{trial.changed}{_margin(trial)}" for trial in passing)
        failing = "".join(f" and {trial.changed}" for trial in made if not trial.green)
        reason = f"fails with seed {first.seed}{where}{failing}, passes with {others}"
        return Conclusion(Verdict.SEED_SENSITIVE, reason)
    if made and all(made[-1].hashes.get(name) == first.hashes.get(name) for name in ("inputs", "program")):
        return None  # the seed has no effect on this case
    if len(made) < len(means.seeds):
        return Step(Rung.OTHER_SEED, seed=means.seeds[len(made)])
    return None


def _other_engine(trials: Sequence[Trial], means: Means) -> Step | Conclusion | None:
    made = _of(trials, Rung.OTHER_ENGINE)
    for trial in made:
        if trial.green:
            failing = [entry.changed for entry in made if not entry.green and not _cannot(entry)]
            also = f" and with {', '.join(failing)}" if failing else ""
            reason = f"the same program passes with {trial.changed}, fails as asked for{also}"
            return Conclusion(Verdict.STRATUM, reason)
    if len(made) < len(means.engines):
        return Step(Rung.OTHER_ENGINE, engine=means.engines[len(made)])
    return None


def _cut_short(trials: Sequence[Trial], next_step: Step, spent: str) -> Conclusion:
    rest = f"{spent}; next would be {next_step}"
    if any(trial.rung is Rung.SAME_BYTES and trial.same_result(trials[0]) for trial in trials[1:]):
        return Conclusion(Verdict.DETERMINISTIC, f"the same bytes fail in the same way ({rest})")
    return Conclusion(Verdict.UNRESOLVED, rest)


def _of(trials: Sequence[Trial], rung: Rung) -> list[Trial]:
    return [trial for trial in trials if trial.rung is rung]


def _cannot(trial: Trial) -> bool:
    """The step could not be made: it tells nothing of the case."""
    return not trial.green and (trial.outcome.kind not in COMPARABLE or "program" not in trial.hashes)


def _then(trial: Trial) -> str:
    return "; that program passes" if trial.green else f"; that program: {trial.outcome.kind.value}"


def _margin(trial: Trial) -> str:
    return "" if trial.margin is None else f", margin {trial.margin:.3g}"


def _load(trial: Trial) -> str:
    return "" if trial.load is None else f" (tasks waited for a core in {100 * trial.load:.0f} % of its time)"
