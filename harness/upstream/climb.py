"""The ladder for an upstream test: same bytes here, all else by running the test in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import select_engine
from harness.flow import Attempt
from harness.outcomes import Outcome, OutcomeClass, Phase
from harness.plugin.gather import record_of, reports_of
from harness.plugin.isolated import OTHER_PROCESS, other_hash_seed, run_isolated
from harness.plugin.judging import next_number, record, turns
from harness.plugin.options import SETTINGS
from harness.plugin.workspace import WORKSPACE
from harness.records import AttemptRecord
from harness.reruns.ladder import Conclusion, Means, Step, decide
from harness.reruns.steps import SEEDS, rerun
from harness.reruns.trial import Rung, Trial, trial_of
from harness.targets import TARGETS
from harness.upstream.boot import judged

# A test in a new process imports torch first; it may take this long, in seconds.
_LIMIT = 600.0
_SEED = "TEST_SEED"


def climb(
    item: pytest.Item, first: Attempt, directory: Callable[[str], Path]
) -> tuple[list[AttemptRecord], Conclusion]:
    """Rerun what an upstream test failed at until the verdict is proven.

    Args:
        item: the test.
        first: its attempt that failed.
        directory: makes a new directory of this test, given a name that no other one has.

    Returns:
        Records of the attempts in other processes, and what all attempts prove.
    """
    settings, workspace = item.config.stash[SETTINGS], item.config.stash[WORKSPACE]
    budget = workspace.budget(settings)
    base = _base_seed()
    seeds = () if base is None else tuple(base + offset for offset in range(1, SEEDS + 1))
    means = Means(same_bytes=first.result is not None, re_lower=True, seeds=seeds)
    trials = [replace(trial_of(first), seed=base)]
    elsewhere: list[AttemptRecord] = []

    def make(step: Step) -> Trial:
        number = next_number(item) + len(elsewhere)
        with budget.counted():
            if step.rung is Rung.SAME_BYTES and first.result is not None:
                with turns(item.config).alone() if step.alone else turns(item.config).shared():
                    place = directory(f"attempt-{number}")
                    return trial_of(record(item, _same_bytes(item, first, place)))
            # The process takes its own turn; one held here could stop it behind a worker that waits.
            # It may end without an attempt, so it is not the attempts that tell processes apart.
            made, trial = _again(item, step, directory(f"process-{len(trials)}"), number)
            elsewhere.extend(made)
            return trial

    spent = budget.claim()
    while isinstance(found := decide(trials, means, spent or budget.exhausted()), Step):
        trials.append(make(found))
    two_results = any(trial.rung is Rung.SAME_BYTES and not trial.green for trial in trials[1:])
    if found.verdict.value == "ENGINE_NONDETERMINISTIC" and two_results and not budget.exhausted():
        # Whether the other outputs are right, only upstream's comparison can tell.
        judged_there = make(Step(Rung.RE_LOWER))
        trials = [trials[0], *(_cleared(trial, judged_there) for trial in trials[1:]), judged_there]
        found = decide(trials, means)
        assert isinstance(found, Conclusion)
    return elsewhere, found


def _cleared(trial: Trial, judged_there: Trial) -> Trial:
    """`trial`, green if it wrote the outputs that upstream's comparison has passed."""
    if not judged_there.green or trial.hashes.get("outputs") != judged_there.hashes.get("outputs"):
        return trial
    return replace(trial, outcome=Outcome(Phase.VERIFY, OutcomeClass.PASS, "the outputs of a pass"))


def _same_bytes(item: pytest.Item, first: Attempt, directory: Path) -> Attempt:
    """The files of the first attempt again; its outputs are compared with references, or the first ones."""
    assert first.result is not None
    engine = select_engine(item.config.stash[SETTINGS].engine, TARGETS[first.result.spec.target])
    again = judged(rerun(engine, first.result.spec, first.result.directory, directory))
    outcome = again.outcome
    if outcome.green and again.result is not None and not first.result.spec.references:
        equal = again.result.outputs == first.result.outputs
        words = "the outputs of the first attempt" if equal else "other outputs than the first attempt"
        outcome = first.outcome if equal else Outcome(Phase.VERIFY, OutcomeClass.WRONG, words)
    return replace(again, outcome=outcome, rung=Rung.SAME_BYTES.value, changed="time only")


def _again(item: pytest.Item, step: Step, directory: Path, number: int) -> tuple[list[AttemptRecord], Trial]:
    """The whole test in a new process: lowered again, with `TEST_SEED` for another seed."""
    environment = {} if step.seed is None else {_SEED: str(step.seed)}
    changed = f"{_SEED}={step.seed}" if step.seed is not None else OTHER_PROCESS
    ended = run_isolated(
        item.config,
        item.nodeid,
        item.path,
        directory,
        _LIMIT,
        attempts=number - 1,
        hash_seed=other_hash_seed(),
        environment=environment,
        reruns=False,
        artifacts=directory,
    )
    reports = reports_of(ended.results)
    test = record_of(item.nodeid, "", reports) if reports else None
    if test is None or not test.attempts:
        summary = f"the test in a process of its own booted nothing (status {ended.status}, see {ended.log})"
        outcome = Outcome(Phase.LAUNCH, OutcomeClass.PARTIAL, summary)
        return [], Trial(step.rung, outcome, changed)
    seed = _base_seed() if step.seed is None else step.seed
    records = [replace(entry, rung=step.rung.value, seed=seed) for entry in test.attempts]
    last = records[-1]
    outcome = Outcome(Phase(last.phase), OutcomeClass(last.kind), last.summary)
    hashes = {"outputs": "", **last.hashes}
    return records, Trial(step.rung, outcome, changed, hashes, last.signature, step.seed)


def _base_seed() -> int | None:
    """Upstream's seed of this session; None for a random one."""
    text = os.environ.get(_SEED, "0")
    return int(text) if text.lstrip("-").isdigit() else None
