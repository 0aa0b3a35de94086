"""The ladder, pure: which step comes next, and what the trials prove (failure-catalogue.md §13-15)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.outcomes import Outcome, OutcomeClass, Phase, Verdict
from harness.reruns.ladder import Conclusion, Means, Step, decide
from harness.reruns.policy import POLICIES, Kind, policy_of
from harness.reruns.sequential import Decision, SequentialTest
from harness.reruns.trial import Rung, Trial

ALL = Means(re_lower=True, seeds=(1, 2, 3), engines=("scalar kernels", "the host"))
BYTES = Means()
HASHES = {"exported": "e", "inputs": "i", "quantized": "q", "program": "p", "elf": "r"}


def trial(
    rung: Rung, kind: str = "PASS", outputs: str = "good", phase: Phase = Phase.VERIFY, **more: object
) -> Trial:
    """A trial with the usual hashes."""
    made = Trial(
        rung, Outcome(phase, OutcomeClass(kind), "summary"), hashes={**HASHES, "outputs": outputs}, seed=0
    )
    return replace(made, **more)  # type: ignore[arg-type]


FIRST = trial(Rung.FIRST, "WRONG", "bad")
AGAIN = trial(Rung.SAME_BYTES, "WRONG", "bad")
LOWERED = trial(Rung.RE_LOWER, "WRONG", "bad")


def seed(number: int, kind: str = "WRONG") -> Trial:
    """A trial with another seed: other inputs, another program."""
    made = trial(Rung.OTHER_SEED, kind, f"out{number}", changed=f"seed {number}", seed=number)
    return replace(made, hashes={**made.hashes, "inputs": f"i{number}", "program": f"p{number}"})


def engine(name: str, kind: str = "WRONG") -> Trial:
    """A trial on another engine."""
    return trial(Rung.OTHER_ENGINE, kind, "bad" if kind == "WRONG" else "good", changed=name)


def verdict(*trials: Trial, means: Means = ALL, spent: str = "") -> Conclusion:
    """The conclusion from `trials`."""
    found = decide(trials, means, spent)
    assert isinstance(found, Conclusion), found
    return found


def step(*trials: Trial, means: Means = ALL) -> Step:
    """The next step after `trials`."""
    found = decide(trials, means)
    assert isinstance(found, Step), found
    return found


def test_the_rungs_in_order_change_one_factor_each() -> None:
    made = [FIRST]
    assert step(*made) == Step(Rung.SAME_BYTES)
    made.append(AGAIN)
    assert step(*made) == Step(Rung.RE_LOWER)
    made.append(LOWERED)
    for number in (1, 2, 3):
        assert step(*made) == Step(Rung.OTHER_SEED, seed=number)
        made.append(seed(number))
    for name in ALL.engines:
        assert step(*made) == Step(Rung.OTHER_ENGINE, engine=name)
        made.append(engine(name))
    done = verdict(*made)
    assert done.verdict is Verdict.DETERMINISTIC
    assert "seed 1, seed 2, seed 3, scalar kernels, the host: program or reference is wrong" in done.reason
    assert len(done.evidence) == len(made)
    assert not done.flaky


def test_catalogue_F2_two_failures_with_one_hash_are_deterministic() -> None:
    assert verdict(FIRST, AGAIN, means=BYTES).verdict is Verdict.DETERMINISTIC


@pytest.mark.parametrize(
    ("again", "words", "flaky"),
    [
        (trial(Rung.SAME_BYTES, "PASS"), "WRONG, then PASS", True),
        (trial(Rung.SAME_BYTES, "WRONG", "other"), "outputs bad and other", False),
        (trial(Rung.SAME_BYTES, "FAULT", "", Phase.RUN), "WRONG (verify) and FAULT (run)", False),
    ],
)
def test_catalogue_F2_the_same_bytes_and_another_result(again: Trial, words: str, flaky: bool) -> None:
    done = verdict(FIRST, again)
    assert done.verdict is Verdict.ENGINE_NONDETERMINISTIC
    assert words in done.reason
    assert done.flaky is flaky


def test_a_program_that_lowers_to_the_same_bytes_counts_as_one_more_run_of_them() -> None:
    done = verdict(FIRST, AGAIN, trial(Rung.RE_LOWER, "PASS"))
    assert done.verdict is Verdict.ENGINE_NONDETERMINISTIC
    assert done.flaky


@pytest.mark.parametrize("stage", ["exported", "inputs", "quantized", "program"])
@pytest.mark.parametrize(("kind", "flaky"), [("PASS", True), ("WRONG", False)])
def test_the_first_stage_that_differs_is_named(stage: str, kind: str, flaky: bool) -> None:
    stages = list(HASHES)
    changed = dict.fromkeys(stages[stages.index(stage) : stages.index("elf")], "other")
    relowered = trial(Rung.RE_LOWER, kind)
    done = verdict(FIRST, AGAIN, replace(relowered, hashes={**relowered.hashes, **changed}))
    assert done.verdict is Verdict.AOT_NONDETERMINISTIC
    assert f"'{stage}'" in done.reason
    assert done.flaky is flaky


def test_another_seed_that_passes_names_seed_elements_and_margins() -> None:
    first = replace(FIRST, elements="output 0: 3 of 25 elements, worst at [1, 2]", margin=3.2)
    passing = replace(seed(2, "PASS"), margin=0.25)
    done = verdict(first, AGAIN, LOWERED, seed(1), passing)
    assert done.verdict is Verdict.SEED_SENSITIVE
    assert done.reason == (
        "fails with seed 0 (output 0: 3 of 25 elements, worst at [1, 2], margin 3.2) and seed 1, "
        "passes with seed 2, margin 0.25"
    )
    assert not done.flaky, "the declared seed has not passed"


def test_a_seed_without_effect_is_tried_once() -> None:
    same = trial(Rung.OTHER_SEED, "WRONG", "bad", changed="seed 1", seed=1)
    assert step(FIRST, AGAIN, LOWERED, same) == Step(Rung.OTHER_ENGINE, engine="scalar kernels")


@pytest.mark.parametrize("name", ["scalar kernels", "the host"])
def test_catalogue_F6_only_the_vector_build_fails(name: str) -> None:
    tried = [engine(other) for other in ALL.engines[: ALL.engines.index(name)]]
    done = verdict(FIRST, AGAIN, LOWERED, seed(1), seed(2), seed(3), *tried, engine(name, "PASS"))
    assert done.verdict is Verdict.STRATUM
    assert f"passes with {name}" in done.reason
    assert not done.flaky, "a pass on a higher rung never turns a test green"


def test_an_engine_that_cannot_run_it_proves_nothing() -> None:
    absent = trial(Rung.OTHER_ENGINE, "ENV/TOOLCHAIN", "", Phase.BUILD, changed="the host")
    means = Means(engines=("the host",))
    assert verdict(FIRST, AGAIN, absent, means=means).reason == "the same bytes fail in the same way"


@pytest.mark.parametrize("kind", ["ENV/LOADER", "NOT_RUN", "TIMEOUT", "CPU_LIMIT", "INFRA/OOM"])
def test_a_rerun_that_was_not_judged_resolves_nothing(kind: str) -> None:
    done = verdict(FIRST, trial(Rung.SAME_BYTES, kind, "", Phase.LAUNCH))
    assert done.verdict is Verdict.UNRESOLVED
    assert kind in done.reason


@pytest.mark.parametrize(
    ("first", "again", "wanted"),
    [
        (("TIMEOUT", Phase.RUN), ("WRONG", Phase.VERIFY), Verdict.ENGINE_NONDETERMINISTIC),
        (("TIMEOUT", Phase.RUN), ("NOT_RUN", Phase.LAUNCH), Verdict.UNRESOLVED),
        (("CPU_LIMIT", Phase.RUN), ("INFRA/OOM", Phase.RUN), Verdict.UNRESOLVED),
        (("CPU_LIMIT", Phase.RUN), ("TIMEOUT", Phase.RUN), Verdict.DETERMINISTIC),
        (("WRONG", Phase.VERIFY), ("CONFIG/INPUT", Phase.LAUNCH), Verdict.UNRESOLVED),
        (("WRONG", Phase.VERIFY), ("MEM", Phase.LOAD), Verdict.ENGINE_NONDETERMINISTIC),
    ],
)
def test_a_rerun_with_another_failure(
    first: tuple[str, Phase], again: tuple[str, Phase], wanted: Verdict
) -> None:
    made = trial(Rung.FIRST, first[0], "bad", first[1]), trial(Rung.SAME_BYTES, again[0], "bad", again[1])
    assert verdict(*made).verdict is wanted


def test_a_budget_that_ends_leaves_what_is_proven() -> None:
    assert verdict(FIRST, spent="no time").verdict is Verdict.UNRESOLVED
    done = verdict(FIRST, AGAIN, spent="no time")
    assert done.verdict is Verdict.DETERMINISTIC
    assert done.reason == "the same bytes fail in the same way (no time; next would be re-lower)"


def test_catalogue_R1_every_class_has_a_policy_and_a_request_that_is_wrong_has_no_rerun() -> None:
    assert set(POLICIES) == set(OutcomeClass)
    for kind, policy in POLICIES.items():
        first = trial(Rung.FIRST, kind.value, "", Phase.BUILD)
        if policy.kind is Kind.NONE and not first.green:
            assert not verdict(first).flaky
        elif not first.green:
            assert step(first).rung is Rung.SAME_BYTES


@pytest.mark.parametrize(
    ("kind", "phase", "most"),
    [
        ("BUILD/COMPILE", Phase.BUILD, 0),
        ("AOT/CRASH", Phase.LOWER, 1),
        ("INFRA/OOM", Phase.BUILD, 1),
        ("INFRA/DOWNLOAD", Phase.BUILD, 3),
        ("TIMEOUT", Phase.LAUNCH, 1),
        ("WORKER_CRASH", Phase.RUN, 1),
        ("HOST_SLOW", Phase.RUN, 1),
    ],
)
def test_catalogue_R1_number_of_reruns_by_class(kind: str, phase: Phase, most: int) -> None:
    made = [trial(Rung.FIRST, kind, "", phase)]
    while isinstance(decide(made, ALL), Step):
        made.append(trial(Rung.SAME_BYTES, kind, "", phase))
    assert len(made) - 1 == most
    assert policy_of(made[0].outcome).most == most


def test_a_compiler_that_crashes_once_is_not_deterministic() -> None:
    crash = trial(Rung.FIRST, "AOT/CRASH", "", Phase.LOWER)
    done = verdict(crash, trial(Rung.SAME_BYTES, "PASS"))
    assert done.verdict is Verdict.AOT_NONDETERMINISTIC
    assert done.flaky


# Time-outs: failure-catalogue.md §14.3.

BUSY = trial(Rung.FIRST, "TIMEOUT", "", Phase.RUN, progress=True, load=0.9)
SILENT = replace(BUSY, progress=False, load=0.1)
PASS = trial(Rung.SAME_BYTES, "PASS")
TIMEOUT = replace(SILENT, rung=Rung.SAME_BYTES)


def test_catalogue_P7_a_loaded_host_and_progress_explain_a_time_out() -> None:
    assert step(BUSY) == Step(Rung.SAME_BYTES, alone=True)
    done = verdict(BUSY, PASS)
    assert done.verdict is Verdict.HOST_SLOW
    assert "90 %" in done.reason
    assert done.flaky


@pytest.mark.parametrize(
    ("first", "reruns", "expected"),
    [
        (SILENT, (TIMEOUT,), Verdict.DETERMINISTIC),
        (SILENT, (PASS,) * 5, Verdict.ENGINE_NONDETERMINISTIC),
        (SILENT, (PASS, TIMEOUT, TIMEOUT), Verdict.ENGINE_NONDETERMINISTIC),
        (BUSY, (TIMEOUT,), Verdict.DETERMINISTIC),
        (BUSY, (replace(TIMEOUT, load=0.8),), Verdict.UNRESOLVED),
        (replace(BUSY, load=None), (PASS,) * 5, Verdict.HOST_SLOW),
    ],
)
def test_catalogue_D3_time_outs_are_resolved(
    first: Trial, reruns: tuple[Trial, ...], expected: Verdict
) -> None:
    for count in range(len(reruns)):
        assert step(first, *reruns[:count]).rung is Rung.SAME_BYTES
    assert verdict(first, *reruns).verdict is expected


@pytest.mark.parametrize(
    ("reruns", "decision"),
    [
        ("", Decision.OPEN),
        ("F", Decision.OFTEN),
        ("PPPP", Decision.OPEN),
        ("PPPPP", Decision.SELDOM),
        ("PF", Decision.OPEN),
        ("PFF", Decision.OFTEN),
        ("PFPPPPPPPPP", Decision.SELDOM),
    ],
)
def test_walds_limits(reruns: str, decision: Decision) -> None:
    assert SequentialTest().decide([letter == "F" for letter in reruns]) is decision


@pytest.mark.parametrize(
    ("rate", "runs", "often"), [(1.0, 1.0, 1.0), (0.5, 2.9, 0.97), (0.1, 6.3, 0.22), (0.02, 5.4, 0.03)]
)
def test_walds_expected_runs_are_those_of_the_catalogue(rate: float, runs: float, often: float) -> None:
    """Exact over all outcomes of up to 60 reruns, beyond which next to nothing is left open."""
    test, expected, called = SequentialTest(), 0.0, 0.0
    states: dict[tuple[int, int], float] = {(0, 0): 1.0}
    for count in range(1, 61):
        following: dict[tuple[int, int], float] = {}
        for (failures, passes), weight in states.items():
            for failed, probability in ((True, rate), (False, 1 - rate)):
                state = (failures + failed, passes + (not failed))
                score = test.score([True] * state[0] + [False] * state[1])
                if score >= 2.944:
                    called += weight * probability
                    expected += weight * probability * count
                elif score <= -2.944:
                    expected += weight * probability * count
                else:
                    following[state] = following.get(state, 0.0) + weight * probability
        states = following
    assert expected == pytest.approx(runs, abs=0.06)
    assert called == pytest.approx(often, abs=0.01)
