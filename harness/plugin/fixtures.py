"""Fixtures: `check` for declared cases; `lower`, `runner`, `run`, `assert_matches` for steps by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import pytest

from harness.flow import Attempt, Case, Program, RunnerElf, Tolerance
from harness.plugin.options import SETTINGS
from harness.session import Harness
from harness.targets import target_named

ATTEMPTS = pytest.StashKey[list[Attempt]]()


class AttemptFailedError(AssertionError):
    """A judged attempt that is not green; the message is for people, the evidence is in the directory."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(describe(attempt))
        self.attempt = attempt


class Check(Protocol):
    """Runs a case through every stage and fails the test unless it is proven green."""

    def __call__(self, case: Case, *, bundled: bool = False) -> Attempt:
        """Run the attempt.

        Raises:
            AttemptFailedError: it is not green.
        """
        ...


class Lower(Protocol):
    """Lowers a module with inputs: values, or factories that take a seeded torch generator."""

    def __call__(self, module: Any, inputs: Any, target: str = "cortex-m55", **declared: Any) -> Program:
        """Lower; `declared` are further fields of Case.

        Raises:
            HarnessError: phase lower.
        """
        ...


class Run(Protocol):
    """Boots a program and judges it against its references."""

    def __call__(
        self,
        program: Program,
        *,
        runner: RunnerElf | None = None,
        tolerance: Tolerance | None = None,
        bundled: bool = False,
    ) -> Attempt:
        """Boot once; a failure is an Attempt that is not green."""
        ...


@pytest.fixture(scope="session")
def harness(pytestconfig: pytest.Config) -> Harness:
    """The stages of the flow under this session's options."""
    return Harness(pytestconfig.stash[SETTINGS])


@pytest.fixture
def attempt_directory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Path]:
    """Makes one new directory for each attempt of this test, under `--artifacts` if given."""
    settings = request.config.stash[SETTINGS]
    readable = re.sub(r"[^\w.-]+", "_", request.node.nodeid).strip("_")[-100:]
    name = f"{readable}-{sha256(request.node.nodeid.encode()).hexdigest()[:8]}"

    def make() -> Path:
        number = len(request.node.stash.setdefault(ATTEMPTS, [])) + 1
        if settings.artifacts is None:
            return tmp_path_factory.mktemp(f"attempt-{number}-", numbered=True)
        directory = settings.artifacts / name / f"attempt-{number}"
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    return make


@pytest.fixture
def check(request: pytest.FixtureRequest, harness: Harness, attempt_directory: Callable[[], Path]) -> Check:
    """Lower, build, boot and compare a declared case; the attempt of a green one is returned."""

    def checker(case: Case, *, bundled: bool = False) -> Attempt:
        __tracebackhide__ = True
        attempt = harness.check(case, attempt_directory(), bundled, _next_number(request))
        return _green(_record(request, attempt))

    return checker


@pytest.fixture
def lower(harness: Harness) -> Lower:
    """Lower a module by hand: `lower(module, inputs, target="cortex-m55", seed=0, quantize=True)`."""

    def lowerer(module: Any, inputs: Any, target: str = "cortex-m55", **declared: Any) -> Program:
        return harness.lower(
            Case(
                module=_module_factory(module),
                inputs=inputs if callable(inputs) else lambda _: tuple(inputs),
                target=target_named(target),
                **declared,
            )
        )

    return lowerer


@pytest.fixture
def runner(harness: Harness) -> Callable[..., RunnerElf]:
    """Build a runner by hand: `runner("cortex-m55", operators=[…])`."""

    def builder(target: str = "cortex-m55", operators: tuple[str, ...] = (), **kind: Any) -> RunnerElf:
        return harness.runner(target_named(target), operators, **kind)

    return builder


@pytest.fixture
def run(request: pytest.FixtureRequest, harness: Harness, attempt_directory: Callable[[], Path]) -> Run:
    """Boot a program by hand; returns the judged attempt, green or red."""

    def booter(
        program: Program,
        *,
        runner: RunnerElf | None = None,
        tolerance: Tolerance | None = None,
        bundled: bool = False,
    ) -> Attempt:
        number = _next_number(request)
        return _record(request, harness.run(program, attempt_directory(), tolerance, runner, bundled, number))

    return booter


@pytest.fixture
def assert_matches() -> Callable[[Attempt], None]:
    """Fail the test unless an attempt is green."""

    def assertion(attempt: Attempt) -> None:
        __tracebackhide__ = True
        _green(attempt)

    return assertion


def describe(attempt: Attempt) -> str:
    """A few lines on an attempt that is not green: what, which output, where the evidence is, what next."""
    outcome, result = attempt.outcome, attempt.result
    lines = [str(outcome)]
    lines += [c.message for c in attempt.comparisons if not c.ok]
    if result is not None:
        lines.append(f"evidence: {result.directory} (console.log, runspec.json, outputs)")
    if outcome.hint:
        lines.append(f"next: {outcome.hint}")
    return "\n".join(lines)


def _module_factory(module: Any) -> Callable[[Any], Any]:
    """From a module, a class of modules, or a factory that takes a generator."""
    if isinstance(module, type):
        return lambda _: module()
    # A module instance is callable too, but on tensors.
    return module if callable(module) and not hasattr(module, "state_dict") else lambda _: module


def _next_number(request: pytest.FixtureRequest) -> int:
    return len(request.node.stash.setdefault(ATTEMPTS, [])) + 1


def _record(request: pytest.FixtureRequest, attempt: Attempt) -> Attempt:
    request.node.stash.setdefault(ATTEMPTS, []).append(attempt)
    return attempt


def _green(attempt: Attempt) -> Attempt:
    __tracebackhide__ = True
    if not attempt.outcome.green:
        raise AttemptFailedError(attempt)
    return attempt
