"""Judges what a test boots: keeps its attempts, climbs the ladder for a red one, tells the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from _pytest.skipping import xfailed_key

from harness.aot import load_program
from harness.flow import Attempt, Case, Program
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.plugin.isolated import OTHER_PROCESS, other_hash_seed, run_isolated
from harness.plugin.options import SETTINGS, item_case
from harness.plugin.payload import Payload, attempt_record, verdict_record
from harness.plugin.workspace import WORKSPACE
from harness.records import AttemptRecord
from harness.repro import pytest_command, repro_command
from harness.repro.bundle import Source, complete
from harness.repro.kept import keep
from harness.reruns.host import Turns
from harness.reruns.ladder import Conclusion
from harness.reruns.steps import Judged, Ladder
from harness.reruns.trial import Rung
from harness.session import Harness

# A fixture that only tests which boot something ask for.
_BOOTS = "attempt_directory"
# A lowering in a new process imports torch first; it may take this long, in seconds.
_RELOWER_LIMIT = 300.0


class AttemptFailedError(AssertionError):
    """A judged attempt that is not green; the message is for people, the evidence is in the directory."""

    def __init__(self, attempt: Attempt, conclusion: Conclusion | None = None) -> None:
        super().__init__(describe(attempt, conclusion))
        self.attempt = attempt
        self.conclusion = conclusion


@dataclass
class ItemState:
    """What one test has booted so far.

    Attributes:
        attempts: all of them, in order.
        judged: what an attempt was made of, by its number; attempts of the ladder are not among them.
        lowered: programs that were lowered by hand, and from what.
        records: of attempts that were made in other processes, behind all others.
        conclusions: verdict on an attempt that was not green, by its number.
        directory: makes one for an attempt; None before the fixture is set up.
        harness: of the session.
        runs: attempts that the last verdict took.
        current: the attempt that makes up the verdict: the last one that failed, or was flaky.
        bundles: directory that `harness repro` replays, by number of a red attempt.
    """

    attempts: list[Attempt] = field(default_factory=list)
    judged: dict[int, Judged] = field(default_factory=dict)
    lowered: list[tuple[Program, Case]] = field(default_factory=list)
    records: list[AttemptRecord] = field(default_factory=list)
    conclusions: dict[int, Conclusion] = field(default_factory=dict)
    directory: Callable[[], Path] | None = None
    harness: Harness | None = None
    runs: int = 0
    current: Attempt | None = None
    bundles: dict[int, Path] = field(default_factory=dict)

    @property
    def flaky(self) -> bool:
        """True if something passed only when it was repeated."""
        return any(conclusion.flaky for conclusion in self.conclusions.values())

    def case_of(self, program: Program) -> Case | None:
        """What `program` was lowered from by hand; None if the test has changed it since."""
        return next((case for lowered, case in self.lowered if lowered == program), None)


STATE = pytest.StashKey[ItemState]()


def state_of(item: pytest.Item) -> ItemState:
    """The state of a test."""
    return item.stash.setdefault(STATE, ItemState())


def asks_for_boot(item: pytest.Item) -> bool:
    """True for a test whose fixtures boot something."""
    return _BOOTS in getattr(item, "fixturenames", ())


def next_number(item: pytest.Item) -> int:
    """Number of the next attempt of a test."""
    return item.config.stash[WORKSPACE].attempts + len(state_of(item).attempts) + 1


def turns(config: pytest.Config) -> Turns:
    """The turns of the session's workers."""
    return Turns(config.stash[WORKSPACE].directory)


def record(item: pytest.Item, attempt: Attempt, judged: Judged | None = None) -> Attempt:
    """Keep an attempt of a test, numbered; the worker's log has it from now on."""
    state = state_of(item)
    attempt = attempt.with_number(next_number(item))
    if not attempt.outcome.green:
        attempt = keep_bundle(item, attempt, judged)
    state.attempts.append(attempt)
    if judged is not None:
        state.judged[attempt.number] = judged
    item.config.stash[WORKSPACE].note(attempt=attempt_record(attempt).to_json())
    return attempt


def keep_bundle(item: pytest.Item, attempt: Attempt, judged: Judged | None) -> Attempt:
    """Make the directory of a red attempt a bundle that `harness repro` replays anywhere.

    Returns:
        The attempt; a test's own one now lies below the cache, if pytest would delete it some time.
    """
    case = item_case(item)
    source = Source(
        nodeid=item.nodeid,
        session=("pytest", *map(str, item.config.invocation_params.args)),
        modules=tuple(dict.fromkeys(other.nodeid.partition("::")[0] for other in item.session.items)),
        target=case.target if case is not None else None,
        program=judged.program if judged is not None else None,
    )
    settings, workspace = item.config.stash[SETTINGS], item.config.stash[WORKSPACE]
    try:
        directory = complete(attempt, source, settings.cache)
        if directory is None:
            return attempt
        if attempt.result is not None and attempt.rung == Rung.FIRST.value and settings.artifacts is None:
            attempt = keep(attempt, settings.cache, workspace.directory.name, item.nodeid)
    except OSError:
        return attempt  # a full disk must not change the outcome; what the attempt itself wrote is there
    place = attempt.result.directory if attempt.result is not None else directory
    state_of(item).bundles[attempt.number] = place
    return attempt


def settle(item: pytest.Item, attempt: Attempt) -> Attempt:
    """The green attempt that a test goes on with: `attempt`, or a repetition of a flaky one.

    Raises:
        AttemptFailedError: nothing unchanged has passed; the ladder has been climbed.
    """
    __tracebackhide__ = True
    if attempt.outcome.green:
        return attempt
    conclusion = resolve(item, attempt)
    if conclusion is not None and conclusion.flaky:
        unchanged = (Rung.SAME_BYTES.value, Rung.RE_LOWER.value)
        return next(
            other
            for other in state_of(item).attempts
            if other.number > attempt.number and other.outcome.green and other.rung in unchanged
        )
    raise AttemptFailedError(attempt, conclusion)


def resolve(item: pytest.Item, attempt: Attempt) -> Conclusion | None:
    """Climb the ladder for a red attempt; None for an expected failure and for an attempt of nowhere."""
    state = state_of(item)
    if attempt.number in state.conclusions:
        return state.conclusions[attempt.number]
    judged = state.judged.get(attempt.number)
    if judged is None or state.harness is None or state.directory is None or expected_to_fail(item):
        return None
    budget = item.config.stash[WORKSPACE].budget(state.harness.settings)
    ladder = Ladder(state.harness, state.directory, budget, turns(item.config), _relower(item, judged))
    attempts, conclusion = ladder.climb(judged, attempt, lambda again: record(item, again))
    state.conclusions[attempt.number] = conclusion
    state.runs, state.current = len(attempts), attempt
    return conclusion


def payload(item: pytest.Item) -> Payload:
    """What the report of a test carries."""
    state = state_of(item)
    case = item_case(item)
    programs = [judged.program for judged in state.judged.values() if judged.program is not None]
    targets = [case.target.name] if case is not None else [program.target for program in programs]
    targets += [attempt.result.spec.target for attempt in state.attempts if attempt.result is not None]
    failing = state.current
    conclusion = state.conclusions.get(failing.number) if failing is not None else None
    return Payload(
        boots=asks_for_boot(item) or bool(state.attempts),
        target=targets[0] if targets else None,
        attempts=(*map(attempt_record, state.attempts), *state.records),
        verdict=verdict_record(conclusion, state.runs) if conclusion is not None else None,
        flaky=state.flaky,
        repro=repro_line(item.nodeid, state.attempts, state.bundles),
    )


def repro_line(nodeid: str, attempts: list[Attempt], bundles: Mapping[int, Path]) -> str | None:
    """The line that reproduces the first red attempt; None if there is none."""
    red = next((attempt for attempt in attempts if not attempt.outcome.green), None)
    if red is None:
        return None
    bundle = bundles.get(red.number)
    return repro_command(bundle) if bundle is not None else pytest_command(nodeid)


def describe(attempt: Attempt, conclusion: Conclusion | None = None) -> str:
    """A few lines on an attempt that is not green: what, which output, verdict, evidence, what next."""
    outcome, result = attempt.outcome, attempt.result
    lines = [str(outcome)]
    lines += [entry.message for entry in attempt.comparisons if not entry.ok]
    if conclusion is not None:
        lines.append(f"verdict: {conclusion.verdict.value}: {conclusion.reason}")
        lines += [f"  {line}" for line in conclusion.evidence]
    if result is not None:
        lines.append(f"evidence: {result.directory} (console.log, runspec.json, outputs)")
        lines.append(f"reproduce: {repro_command(result.directory)}")
    if outcome.hint:
        lines.append(f"next: {outcome.hint}")
    return "\n".join(lines)


def expected_to_fail(item: pytest.Item) -> bool:
    """True for a test with an xfail marker that holds."""
    xfailed = item.stash.get(xfailed_key, None)
    return xfailed is not None and not item.config.option.runxfail


def _relower(item: pytest.Item, judged: Judged) -> Callable[[Path], tuple[Program, str]] | None:
    """Lowers the declared case of a test in a new process; None for a program lowered by hand."""
    declared = item_case(item)
    if declared is None or judged.case is None or replace(declared, seed=judged.case.seed) != judged.case:
        return None

    def lower(into: Path) -> tuple[Program, str]:
        ended = run_isolated(
            item.config,
            item.nodeid,
            item.path,
            into,
            _RELOWER_LIMIT,
            lower_into=into / "cache",
            hash_seed=other_hash_seed(),
        )
        programs = [line["program"] for line in ended.results if "program" in line]
        if not programs:
            how = "did not end in time" if ended.status is None else f"ended with status {ended.status}"
            summary = f"the process that lowers again {how}"
            raise HarnessError(Outcome(Phase.LOWER, OutcomeClass.PARTIAL, summary, f"see {ended.log}"))
        return load_program(Path(programs[0])), OTHER_PROCESS

    return lower
