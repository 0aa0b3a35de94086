"""TOSA graphs compiled again, without torch: packing, grafting, versions of Vela."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness import Case, Lower
from harness.aot import Delegate, delegates
from harness.aot.ethosu import compile_spec, vela_flags
from harness.engines import FvpEngine, run_attempt
from harness.flow import Program, RunSpec, TensorSpec, Tolerance
from harness.pte import read_program
from harness.pte.flat import MalformedError
from harness.pte.graft import replace_delegates
from harness.repro import bisect as bisect_module
from harness.repro import cli, vela
from harness.repro.bisect import NOT_TESTABLE, Step, conclusion, first_change
from harness.repro.bundle import Source, complete
from harness.repro.confined import BundleError
from harness.repro.vela import NotTestableError, Tool, compile_graph, installed, versions_between
from harness.settings import Settings
from harness.standin.npu.container import delegates_in
from harness.targets import FVP_SSE320, TARGETS
from tests.harness.bench import LIMITS, Fake, MakeFake
from tests.harness.repro.conftest import FAILING, PASSING
from tests.harness.repro.test_replay import repro
from tests.ops.ethosu.test_delegates import interrupted
from tests.ops.inputs import uniform
from tests.ops.modules import of

U85 = TARGETS["ethos-u85-128"]


class AllMinimum(torch.nn.Module):  # the graph of upstream's amin over all dimensions
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.amin(x, (0, 1, 2, 3))


@pytest.fixture
def program(lower: Lower) -> Program:
    return lower(AllMinimum, (torch.linspace(0, 1, 50).reshape(1, 2, 5, 5),), U85.name)


@pytest.fixture
def two(lower: Lower) -> Program:
    """A program with two delegates."""
    case = Case(of(interrupted), uniform((3, 7)))
    return lower(case.module, case.inputs, U85.name, delegated=False)


def first(program: Program) -> Delegate:
    return delegates(program)[0]


def test_vela_compiles_to_the_bytes_that_the_program_holds(program: Program, two: Program) -> None:
    for delegate in (*delegates(program), *delegates(two)):
        blob = compile_graph(installed(), delegate.tosa.read_bytes(), vela_flags(U85))
        assert blob == delegate.blob.read_bytes()


@pytest.mark.parametrize("name", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_velas_flags_are_those_of_the_backend(name: str) -> None:
    assert list(vela_flags(TARGETS[name])) == compile_spec(TARGETS[name]).compiler_flags


def blobs_of(pte: bytes) -> list[bytes]:
    """Command streams of the delegates in a program."""
    return [delegate.payload.commands for delegate in delegates_in(pte)]


@pytest.mark.parametrize("size", [0, 16, 1000, 100_000])
def test_a_delegate_of_another_size_leaves_the_rest_as_it_is(two: Program, size: int) -> None:
    pte = two.pte.read_bytes()
    old = [delegate.blob.read_bytes() for delegate in delegates(two)]
    assert len(old) == 2
    new = old[0] + bytes(size) + b"x" * (size > 0)
    grafted = replace_delegates(pte, {old[0]: new})
    assert read_program(grafted).methods == read_program(pte).methods
    assert new in grafted
    assert old[1] in grafted
    assert blobs_of(grafted) == blobs_of(pte)
    assert replace_delegates(grafted, {new: old[0]}) == pte


def test_both_delegates_can_be_replaced_at_once(two: Program) -> None:
    pte = two.pte.read_bytes()
    one, other = (delegate.blob.read_bytes() for delegate in delegates(two))
    swapped = replace_delegates(pte, {one: other, other: one})
    assert blobs_of(swapped) == blobs_of(pte)[::-1]
    assert read_program(swapped).methods == read_program(pte).methods


def test_what_is_not_a_delegate_of_the_program_is_refused(program: Program) -> None:
    pte = program.pte.read_bytes()
    with pytest.raises(MalformedError, match="not in a segment"):
        replace_delegates(pte, {b"no such bytes": b""})


def test_a_damaged_program_is_refused_not_followed(program: Program) -> None:
    pte, blob = program.pte.read_bytes(), first(program).blob.read_bytes()
    for length in (0, 7, 16, 39, 40, len(pte) // 2):
        with pytest.raises(MalformedError):
            replace_delegates(pte[:length], {blob: b"x"})
    for position in range(600):
        damaged = bytearray(pte)
        damaged[position] ^= 0xFF
        try:
            replace_delegates(bytes(damaged), {blob: blob + b"x"})
        except MalformedError:
            continue


def step(name: str, outcome: str, signature: str = "") -> Step:
    return Step(name, outcome, f"detail of {name}", signature or outcome)


@pytest.mark.parametrize(
    ("outcomes", "changed", "says"),
    [
        (["WRONG", "WRONG", "PASS"], "2", "first with another outcome: 2 (PASS); 1: WRONG"),
        (["PASS", NOT_TESTABLE, "WRONG"], "2", "2 (WRONG); 0: PASS; not testable: 1"),
        (
            [NOT_TESTABLE, NOT_TESTABLE, "PASS"],
            "2",
            "first version that compiles it: 2 (PASS); 1: detail of 1",
        ),
        (["PASS", "PASS", NOT_TESTABLE], None, "no change: PASS from 0 to 1; not testable: 2"),
        (["WRONG"], None, "nothing to compare"),
        ([NOT_TESTABLE, NOT_TESTABLE], None, "nothing to compare; not testable: 0, 1"),
    ],
)
def test_the_first_change_is_named(outcomes: list[str], changed: str | None, says: str) -> None:
    steps = [step(str(number), outcome) for number, outcome in enumerate(outcomes)]
    found = first_change(steps)
    assert (found.name if found else None) == changed
    assert says in conclusion(steps)


def test_another_signature_is_another_outcome() -> None:
    steps = [step("0", "WRONG", "a"), step("1", "WRONG", "b")]
    assert first_change(steps) is steps[1]


@pytest.fixture
def fake(make_fake: MakeFake) -> Fake:
    return make_fake("bin320", FVP_SSE320)


@pytest.fixture
def u85_bundle(
    program: Program, fake: Fake, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A failing run of `program` on a fake FVP."""
    monkeypatch.setenv("PATH", str(fake.executable.parent), prepend=":")
    monkeypatch.setenv("CORSTONE_CACHE", str(settings.cache))
    directory = tmp_path / "attempt"
    directory.mkdir()
    (directory / "runner.elf").write_bytes(b"\x7fELF")
    (directory / "program.pte").write_bytes(program.pte.read_bytes())
    (directory / "i0.bin").write_bytes(program.inputs[0].read_bytes())
    (directory / "ref-0.bin").write_bytes(bytes([1, 2, 3, 252]))
    spec = RunSpec(
        target=U85.name,
        board=U85.board.name,
        elf="runner.elf",
        program="program.pte",
        inputs=("i0.bin",),
        references=("ref-0.bin",),
        output_specs=(TensorSpec("int8", (2, 2), (0, 1)),),
        tolerance=Tolerance(),
        limits=LIMITS,
    )
    fake.does(*FAILING)
    attempt = run_attempt(FvpEngine(fake.executable), spec, directory)
    made = complete(attempt, Source("t.py::test_amin[u85]", program=program), settings.cache)
    assert made is not None
    return made


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Versions 4.5.0 to 5.1.0, of which 4.5.0 refuses every graph; none is installed."""
    ran: list[str] = []

    def compile_with(tool: Tool, graph: bytes, flags: list[str]) -> bytes:
        ran.append(" ".join([tool.version, *flags[len(vela_flags(U85)) :]]))
        if tool.version == "4.5.0":
            raise NotTestableError("Vela exited with status 1: Error: no such operation")
        return compile_graph(installed(), graph, flags)

    monkeypatch.setattr(bisect_module, "compile_graph", compile_with)
    monkeypatch.setattr(vela, "environment", lambda version, *_: Tool(version, ""))
    monkeypatch.setattr(vela, "versions_between", lambda *_: ("4.5.0", "5.0.0", "5.1.0"))
    return ran


def test_bisect_runs_what_compiles_and_names_the_change(
    u85_bundle: Path, fake: Fake, versions: list[str]
) -> None:
    fake.does_in_turn(FAILING, PASSING)
    result = repro("--bisect", "vela=4.5.0..5.1.0", u85_bundle)
    assert versions == ["4.5.0", "5.0.0", "5.1.0"]
    assert fake.runs == 2
    assert "no such operation" in result.output
    assert "first version that compiles it: vela 5.0.0 (WRONG)" in result.output
    assert result.exit_code == 0  # the last one passes


def test_a_flag_of_vela_makes_a_stratum(u85_bundle: Path, fake: Fake, versions: list[str]) -> None:
    fake.does_in_turn(FAILING, PASSING)
    result = repro(u85_bundle, "--vela-arg=--disable-chaining")
    assert [words.partition(" ")[2] for words in versions] == ["", "--disable-chaining"]
    assert "first with another outcome: --disable-chaining (PASS); as recorded: WRONG" in result.output


def test_a_refused_lowering_is_a_bundle_too(
    program: Program, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.flow import Attempt
    from harness.outcomes import Outcome, OutcomeClass, Phase

    monkeypatch.setenv("CORSTONE_CACHE", str(settings.cache))
    (tmp_path / "graph.tosa").write_bytes(b"no graph")
    (tmp_path / "vela.log").write_text("Error")
    detail = {"log": str(tmp_path / "vela.log")}
    outcome = Outcome(Phase.LOWER, OutcomeClass.AOT_REFUSED, "Vela exited with status 1: x", "", detail)
    made = complete(Attempt(1, outcome), Source("t.py::t", target=U85), settings.cache)
    assert made == tmp_path
    result = repro(tmp_path)
    assert "not testable" in result.output
    assert result.exit_code == 1
    (tmp_path / "graph.tosa").write_bytes(first(program).tosa.read_bytes())
    result = repro(tmp_path)
    assert "passes here: this Vela compiles the graph" in result.output
    assert result.exit_code == 0
    assert "failed in lowering" in str(_replay_error(tmp_path, settings))


def _replay_error(directory: Path, settings: Settings) -> BundleError:
    from harness.repro.bundle import read_bundle
    from harness.repro.replay import Options, Replayer

    with pytest.raises(BundleError) as caught:
        Replayer(read_bundle(directory, settings.cache), settings, Options())
    return caught.value


@pytest.mark.parametrize(("low", "high"), [("4.3.0", "5.1.0"), ("5.1.0", "5.0.0"), ("x", "5.1.0")])
def test_ranges_that_make_no_sense_are_refused(tmp_path: Path, low: str, high: str) -> None:
    with pytest.raises(BundleError):
        versions_between(low, high, tmp_path)


def test_without_an_index_the_installed_versions_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vela, "_released", list)
    for version in ("4.5.0", "5.0.0", "5.2.0"):
        (tmp_path / "vela" / f"{version}-py311").mkdir(parents=True)
        (tmp_path / "vela" / f"{version}-py311" / "done").touch()
    assert versions_between("4.4.1", "5.1.0", tmp_path) == ("4.4.1", "4.5.0", "5.0.0", "5.1.0")


def test_a_version_that_cannot_be_installed_is_not_testable(tmp_path: Path) -> None:
    with pytest.raises(NotTestableError, match="cannot be installed"):
        vela.environment("4.4.999", tmp_path)
    assert not list((tmp_path / "vela").glob("*/done"))


def test_rubbish_for_a_graph_is_not_testable() -> None:
    with pytest.raises(NotTestableError) as caught:
        compile_graph(installed(), b"\0" * 100, vela_flags(U85))
    assert "\n" not in str(caught.value)
    assert replace(step("a", "b"), name="c").testable
    assert cli.app is not None
