"""The executor of the ladder on a fake FVP: what each rung repeats, and what it compares."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest

from harness.engines import Engine, FvpEngine, prepare, run_attempt
from harness.flow import Attempt, Case, Program, RunnerElf, TensorSpec, Tolerance
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase, Verdict
from harness.reruns.budget import Budget
from harness.reruns.host import Turns
from harness.reruns.ladder import Conclusion
from harness.reruns.steps import Judged, Ladder, OtherEngine
from tests.harness.bench import REFERENCE, Bench, Fake, MakeFake
from tests.harness.reruns.conftest import PASSES, WRONG

SPEC = TensorSpec("int8", (2, 2), (0, 1))
CASE = Case(module=lambda rng: None, inputs=lambda rng: ())


@dataclass
class Stages:
    """Lowers to bytes that depend on the seed, and boots the fake."""

    bench: Bench
    root: Path
    lowered: list[int] = field(default_factory=list)
    salt: Callable[[], bytes] = lambda: b""
    others: tuple[OtherEngine, ...] = ()

    def lower_into(self, case: Case, cache: Path | None = None) -> Program:
        """Write a program; not the same place twice."""
        self.lowered.append(case.seed)
        directory = self.root / f"lowered-{len(self.lowered)}"
        directory.mkdir(parents=True)
        content = b"\0\0\0\0ET12" + case.seed.to_bytes(8, "little") + self.salt()
        for name, data in {"p.pte": content, "i0.bin": bytes([case.seed] * 4), "r.bin": REFERENCE}.items():
            (directory / name).write_bytes(data)
        hashes = {"quantized": sha256(self.salt()).hexdigest(), "pte": sha256(content).hexdigest()}
        return Program(
            directory,
            directory / "p.pte",
            None,
            (directory / "i0.bin",),
            (directory / "r.bin",),
            (SPEC,),
            (SPEC,),
            ("aten::add.out",),
            "cortex-m55",
            case.seed,
            hashes,
        )

    def run(
        self,
        program: Program,
        directory: Path,
        tolerance: Tolerance | None = None,
        runner: RunnerElf | None = None,
        bundled: bool = False,
        number: int = 1,
    ) -> Attempt:
        """Boot the fake."""
        spec = replace(self.bench.spec, seed=program.seed, hashes=program.hashes)
        spec = prepare(spec, directory, self.bench.directory / "runner.elf", program)
        return run_attempt(FvpEngine(self.bench.fake.executable), spec, directory, number)

    def engine_of(self, attempt: Attempt) -> Engine:
        """The fake."""
        return FvpEngine(self.bench.fake.executable)

    def other_engines(self, program: Program, attempt: Attempt) -> tuple[OtherEngine, ...]:
        """As given."""
        return self.others


@dataclass
class Climb:
    """One climb: its stages, all attempts, and the conclusion."""

    stages: Stages
    attempts: list[Attempt]
    conclusion: Conclusion

    @property
    def rungs(self) -> list[str]:
        """`rung [what it changed]` of each attempt."""
        return [f"{attempt.rung} [{attempt.changed}]" for attempt in self.attempts]


@pytest.fixture
def climb(bench: Bench, tmp_path: Path) -> Callable[..., Climb]:
    """Makes the first attempt of CASE and climbs."""

    def start(*runs: list[object], seconds: float = 100.0, **given: object) -> Climb:
        bench.fake.does_in_turn(*runs)  # type: ignore[arg-type]
        stages = Stages(bench, tmp_path, **given)  # type: ignore[arg-type]
        numbers = iter(range(1, 100))
        budget = Budget(tmp_path / "budget.json", seconds, 5)

        def directory() -> Path:
            return tmp_path / f"attempt-{next(numbers)}"

        program = stages.lower_into(CASE)
        first = stages.run(program, directory())
        ladder = Ladder(stages, directory, budget, Turns(tmp_path))
        attempts, conclusion = ladder.climb(Judged(program, CASE), first, lambda attempt: attempt)
        return Climb(stages, attempts, conclusion)

    return start


def test_the_first_rung_repeats_the_boot_and_nothing_else(climb: Callable[..., Climb]) -> None:
    done = climb(WRONG, PASSES)
    assert done.rungs == ["first []", "same-bytes [time only]"]
    assert done.stages.lowered == [0]
    assert done.conclusion.verdict is Verdict.ENGINE_NONDETERMINISTIC
    first, again = (attempt.result for attempt in done.attempts)
    assert first is not None
    assert again is not None
    assert first.spec.hashes == again.spec.hashes
    assert first.directory != again.directory


def test_lowering_is_repeated_with_the_same_seed_then_with_others(climb: Callable[..., Climb]) -> None:
    done = climb(WRONG, WRONG, WRONG, WRONG, PASSES)
    assert done.stages.lowered == [0, 0, 1, 2]
    assert done.rungs[2:] == ["re-lower [same process]", "other-seed [seed 1]", "other-seed [seed 2]"]
    assert done.conclusion.verdict is Verdict.SEED_SENSITIVE
    assert done.conclusion.reason.startswith("fails with seed 0 (output 0: 1 of 4 elements, worst at [1, 1]")


def test_the_first_stage_that_differs_is_named(climb: Callable[..., Climb]) -> None:
    salts = iter([b"a", b"a", b"b", b"b", b"b", b"b"])
    done = climb(WRONG, salt=lambda: next(salts))
    assert done.conclusion.verdict is Verdict.AOT_NONDETERMINISTIC
    assert "'quantized'" in done.conclusion.reason


def test_catalogue_F6_another_engine_gets_the_same_files_with_its_own_runner(
    climb: Callable[..., Climb], make_fake: MakeFake, tmp_path: Path
) -> None:
    other: Fake = make_fake("other", "FVP_Corstone_SSE-300_Ethos-U55").does(*PASSES)
    elf = tmp_path / "scalar.elf"
    elf.write_bytes(b"\x7fELF scalar")
    digest = sha256(elf.read_bytes()).hexdigest()
    runner = RunnerElf(elf, "cortex-m55", "corstone-300", (), "sources", digest, {})
    scalar = OtherEngine("scalar kernels", lambda: (FvpEngine(other.executable), runner))
    done = climb(WRONG, others=(scalar,))
    assert done.rungs[-1] == "other-engine [scalar kernels]"
    assert done.conclusion.verdict is Verdict.STRATUM
    last = done.attempts[-1].result
    assert last is not None
    assert (last.directory / "runner.elf").read_bytes() == elf.read_bytes()
    assert last.spec.hashes["elf"] == digest


def test_an_engine_that_cannot_be_built_ends_no_climb(climb: Callable[..., Climb]) -> None:
    def fail() -> tuple[Engine, RunnerElf]:
        raise HarnessError(Outcome(Phase.BUILD, OutcomeClass.ENV_TOOLCHAIN, "no compiler"))

    done = climb(WRONG, others=(OtherEngine("the host", fail),))
    assert done.attempts[-1].outcome.kind is OutcomeClass.ENV_TOOLCHAIN
    assert done.conclusion.verdict is Verdict.DETERMINISTIC
    assert "the host" not in done.conclusion.reason


def test_no_second_is_spent_beyond_the_budget(climb: Callable[..., Climb]) -> None:
    done = climb(WRONG, seconds=0.0)
    assert len(done.attempts) == 1
    assert done.conclusion.verdict is Verdict.UNRESOLVED
    assert "--reruns-budget" in done.conclusion.reason


def test_the_budget_is_shared_by_all_processes_of_a_session(tmp_path: Path) -> None:
    one, other = (Budget(tmp_path / "budget.json", 10.0, 2) for _ in range(2))
    assert (one.claim(), other.claim()) == ("", "")
    assert "--reruns-failures" in one.claim()
    with other.counted():
        pass
    assert (one.spent().failures, one.spent().runs) == (2, 1)


def refused() -> AbstractContextManager[object]:
    """Demands that a lock is held by somebody."""
    return pytest.raises(BlockingIOError)


def test_a_run_alone_waits_for_the_others_and_holds_off_new_ones(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    with turns.shared(), turns.shared(), (tmp_path / "runs.lock").open() as other, refused():
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with turns.alone(), (tmp_path / "gate.lock").open() as gate, refused():
        fcntl.flock(gate, fcntl.LOCK_SH | fcntl.LOCK_NB)
