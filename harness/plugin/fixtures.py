"""Fixtures: `check` for declared cases; `lower`, `runner`, `run`, `assert_matches` for steps by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from harness.flow import Attempt, Case, Program, RunnerElf, Tolerance
from harness.plugin.judging import next_number, record, settle, state_of, turns
from harness.plugin.options import SETTINGS
from harness.plugin.workspace import WORKSPACE
from harness.repro.kept import directory_name
from harness.reruns.steps import Judged
from harness.session import Harness
from harness.targets import target_named


class Check(Protocol):
    """Runs a case through every stage and fails the test unless it is proven green.

    What fails is run again as far as that proves something. What then passes unchanged is flaky: the test
    goes on with that attempt and is reported as flaky.
    """

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
def attempt_directory(request: pytest.FixtureRequest, harness: Harness) -> Callable[[], Path]:
    """Makes one new directory for each attempt of this test, under `--artifacts` if given."""

    def make() -> Path:
        return directory_of(request.node, f"attempt-{next_number(request.node)}")

    state = state_of(request.node)
    state.directory, state.harness = make, harness
    return make


@pytest.fixture
def check(request: pytest.FixtureRequest, harness: Harness, attempt_directory: Callable[[], Path]) -> Check:
    """Lower, build, boot and compare a declared case; the attempt of a green one is returned."""

    def checker(case: Case, *, bundled: bool = False) -> Attempt:
        __tracebackhide__ = True
        case = harness.seeded(case)
        with turns(request.config).shared():
            attempt, program = harness.check_case(case, attempt_directory(), bundled)
        attempt = record(request.node, attempt, Judged(program, case, case.tolerance, bundled))
        return settle(request.node, attempt)

    return checker


@pytest.fixture
def lower(request: pytest.FixtureRequest, harness: Harness) -> Lower:
    """Lower a module by hand: `lower(module, inputs, target="cortex-m55", seed=0, quantize=True)`."""

    def lowerer(module: Any, inputs: Any, target: str = "cortex-m55", **declared: Any) -> Program:
        case = harness.seeded(
            Case(
                module=_module_factory(module),
                inputs=inputs if callable(inputs) else lambda _: tuple(inputs),
                target=target_named(target),
                **declared,
            )
        )
        program = harness.lower_into(case)
        state_of(request.node).lowered.append((program, case))
        return program

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
        with turns(request.config).shared():
            attempt = harness.run(program, attempt_directory(), tolerance, runner, bundled)
        case = state_of(request.node).case_of(program)
        judged = Judged(program, case, tolerance or Tolerance(), bundled, runner)
        return record(request.node, attempt, judged)

    return booter


@pytest.fixture
def assert_matches(request: pytest.FixtureRequest) -> Callable[[Attempt], None]:
    """Fail the test unless an attempt is green, or flaky."""

    def assertion(attempt: Attempt) -> None:
        __tracebackhide__ = True
        settle(request.node, attempt)

    return assertion


def directory_of(item: pytest.Item, name: str) -> Path:
    """A directory for an attempt of a test, e.g. "attempt-2"; the worker's log names it from now on."""
    artifacts = item.config.stash[SETTINGS].artifacts
    if artifacts is None:
        factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
        directory = factory.mktemp(f"{name}-", numbered=True)
    else:
        directory = artifacts / directory_name(item.nodeid) / name
        shutil.rmtree(directory, ignore_errors=True)  # of an earlier session
        directory.mkdir(parents=True)
    item.config.stash[WORKSPACE].note(directory=str(directory))
    return directory


def _module_factory(module: Any) -> Callable[[Any], Any]:
    """From a module, a class of modules, or a factory that takes a generator."""
    if isinstance(module, type):
        return lambda _: module()
    # A module instance is callable too, but on tensors.
    return module if callable(module) and not hasattr(module, "state_dict") else lambda _: module
