"""The quarantine file: what it must say, when an entry ends, what lifts it, what a session makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from harness.ledger.commands import check, contains, list_entries, suggest
from harness.ledger.database import LedgerError
from harness.ledger.fingerprint import fingerprint
from harness.ledger.lifting import evidence, proposals
from harness.ledger.quarantine import Quarantine, Quarantined, QuarantineError, State, load
from harness.ledger.session import classify
from harness.ledger.signature import signature
from harness.ledger.store import Ledger
from harness.settings import Settings
from tests.harness.ledger.records import FAULT, NODE, OTHER_FAULT, PASS, VERSIONS, attempt, case, session

TODAY = date(2026, 11, 30)
ENTRY = f"""
- pattern: "{NODE}"
  target: ethos-u85-256
  reason: Vela's table operation
  ticket: executorch#9537
  owner: someone
  until: ethos-u-vela>5.0
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def writer(text: str) -> Path:
        file = tmp_path / "q.yaml"
        file.write_text(text)
        return file

    return writer


def entry(**fields: object) -> Quarantined:
    given = {"pattern": NODE, "reason": "r", "ticket": "t", "owner": "o", **fields}
    return Quarantined(number=1, **given)  # type: ignore[arg-type]


def anything(revision: str, fix: str) -> bool:
    return True


def test_an_entry_matches_by_pattern_target_and_signature() -> None:
    one = entry(
        pattern="tests/ops/*::test_sigmoid[u85-*]", target="ethos-u85-256", signature="run/FAULT: *sigmoid*"
    )
    target = "ethos-u85-256"
    assert one.matches(NODE)
    assert one.matches(NODE, target, signature(FAULT))
    assert not one.matches(NODE, target, signature(OTHER_FAULT))
    assert not one.matches(NODE, "cortex-m55")
    assert not one.matches(NODE.replace("u85", "u55"))
    # Brackets of a node id are no character class.
    assert not entry(pattern="t.py::t[ab]").matches("t.py::ta")
    assert entry(pattern="t.py::t[ab]").matches("t.py::t[ab]")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("- pattern: x", ["no reason", "no ticket", "no owner", "no end"]),
        ("- {pattern: x, reason: ' ', ticket: t, owner: o, expires: 2027-01-01}", ["no reason"]),
        ("- {pattern: x, reason: r, ticket: t, owner: o, expires: soon}", ["is no date"]),
        ("- {pattern: x, reason: r, ticket: t, owner: o, until: ethos-u-vela}", ["has no version"]),
        ("- {pattern: x, reason: r, ticket: t, owner: o, until: nosuch>5}", ["none of the versions"]),
        (
            "- {pattern: x, reason: r, ticket: t, owner: o, until: engine_version>11}",
            ["can be waited for: executorch, torch, torchao, ethos-u-vela, compiler"],
        ),
        ("- {pattern: x, reason: r, ticket: t, owner: o, until: '>>'}", ["is no version bound"]),
        ("- {pattern: x, reason: r, ticket: t, owner: o, until: a>1, target: u99}", ["u99"]),
        (
            "- {pattern: x, reason: r, ticket: t, owner: o, until: a>1, strict: no}",
            ["unknown field 'strict'"],
        ),
        ("- x", ["not a mapping"]),
        ("pattern: x", ["a list of entries"]),
        ("- {pattern: [", ["is no YAML"]),
    ],
)
def test_an_incomplete_file_is_refused_with_all_that_is_wrong(
    write: Callable[[str], Path], text: str, problems: list[str]
) -> None:
    with pytest.raises(QuarantineError) as caught:
        load(write(text))
    for problem in problems:
        assert problem in str(caught.value)
    assert "q.yaml" in str(caught.value)


def test_an_entry_for_a_target_does_not_hold_a_test_without_one() -> None:
    """A test that died with its worker may be one of any target."""
    held = Quarantine(None, (entry(target="u85", expires=date(2099, 1, 1)),))
    assert held.holding(NODE, "ethos-u85-128", "s", TODAY, {}) is not None
    assert held.holding(NODE, None, "s", TODAY, {}) is None


def test_a_date_that_does_not_exist_is_an_error_in_words(write: Callable[[str], Path]) -> None:
    with pytest.raises(QuarantineError, match="is no YAML"):
        load(write("- expires: 2027-02-30"))


def test_an_absent_and_an_empty_file(write: Callable[[str], Path], tmp_path: Path) -> None:
    assert load(write("# nothing\n")).entries == ()
    assert load(None).entries == ()
    with pytest.raises(QuarantineError, match="No such file"):
        load(tmp_path / "absent.yaml")


def test_catalogue_R7_an_expired_entry_no_longer_holds() -> None:
    dated = Quarantine(entries=(entry(expires=TODAY),))
    assert dated.holding(NODE, None, "s", TODAY, {}) is not None
    tomorrow = date(2026, 12, 1)
    assert dated.holding(NODE, None, "s", tomorrow, {}) is None
    assert dated.expired(tomorrow) == dated.entries
    assert dated.expired(TODAY) == ()


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("5.0.0", State.ACTIVE),
        ("5.1.0", State.PROBATION),
        ("5.1.0rc1", State.PROBATION),
        ("odd", State.ACTIVE),
    ],
)
def test_catalogue_F1_a_version_ends_an_entry(version: str, state: State) -> None:
    bound = entry(until="ethos-u-vela>5.0", expires=date(2027, 1, 1))
    assert bound.state(TODAY, {"ethos-u-vela": version}) is state
    assert bound.state(date(2027, 1, 2), {"ethos-u-vela": version}) is State.EXPIRED
    assert bound.state(TODAY, {}) is State.ACTIVE


@pytest.mark.parametrize(("until", "state"), [("compiler>1", State.PROBATION), ("compiler>99", State.ACTIVE)])
def test_an_entry_may_wait_for_a_compiler(write: Callable[[str], Path], until: str, state: State) -> None:
    (held,) = load(write(ENTRY.replace("ethos-u-vela>5.0", until))).entries
    assert held.state(TODAY, fingerprint()) is state


def test_a_failure_in_quarantine_is_classified_so(local: Settings, write: Callable[[str], Path]) -> None:
    held = replace(local, quarantine=write(ENTRY), ledger="off")
    found = classify(session("now", case(attempt(FAULT))), held, TODAY)
    assert found[NODE].kind == "QUARANTINED"
    for part in ("Vela's table operation", "executorch#9537", "someone", "until ethos-u-vela>5.0"):
        assert part in found[NODE].reason
    newer = session("now", case(attempt(FAULT)), ethos_u_vela="5.1.0")
    assert classify(newer, held, TODAY) == {}


def histories(*outcomes: str, **where: str) -> Callable[[Settings], dict[str, tuple]]:  # type: ignore[type-arg]
    """`.` passed, `F` failed, one a day."""

    def make(settings: Settings) -> dict[str, tuple]:  # type: ignore[type-arg]
        with Ledger(settings.ledger) as ledger:
            for i, colour in enumerate("".join(outcomes)):
                made = case(attempt(FAULT if colour == "F" else PASS))
                ledger.add(session(f"s{i}", made, day=i, commit=f"r{i}", **where))  # type: ignore[arg-type]
            return dict(ledger.history())

    return make


@pytest.mark.parametrize(("clean", "ready"), [(58, False), (59, True)])
def test_fifty_nine_clean_runs_lift_an_entry(local: Settings, clean: int, ready: bool) -> None:
    past = histories("..F", "." * clean)(local)
    found = evidence(entry(until="ethos-u-vela>5.1"), past, VERSIONS, TODAY, anything)
    assert (found.clean, found.ready) == (clean, ready)
    assert found.last_red == "2025-10-11"
    assert ("remove it" in str(found)) is ready
    assert ("1 more exclude 5 %" in str(found)) is not ready


def test_catalogue_R10_only_revisions_with_the_fix_count(local: Settings) -> None:
    # A pull request from before the fix fails again after it: that says nothing about the fix.
    past = histories("." * 10, "F", "." * 5)(local)
    fixed = entry(expires=TODAY, fix="r5")

    def after(revision: str, fix: str) -> bool:
        return fix == "r5" and revision != "r10"

    assert evidence(fixed, past, VERSIONS, TODAY, after).clean == 15
    assert evidence(fixed, past, VERSIONS, TODAY, anything).clean == 5
    assert evidence(fixed, past, VERSIONS, TODAY, lambda *_: False).tests == 0


def test_catalogue_F1_runs_under_older_versions_do_not_lift(local: Settings) -> None:
    past = histories("." * 70)(local)
    now = {**VERSIONS, "ethos-u-vela": "5.1.0"}
    found = evidence(entry(until="ethos-u-vela>5.0"), past, now, TODAY, anything)
    assert (found.state, found.tests, found.ready) == (State.PROBATION, 0, False)
    assert "no run in the ledger under these versions" in str(found)


def test_git_says_which_revision_contains_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    monkeypatch.chdir(tmp_path)
    author = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "init", "-q"], check=True)
    names = []
    for text in ("first", "second"):
        subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", text], check=True)
        named = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        names.append(named.stdout.strip())
    assert contains(names[1], names[0])
    assert not contains(names[0], names[1])
    assert not contains("0" * 40, names[0])


def test_flaky_tests_are_proposed_with_their_statistics(local: Settings) -> None:
    past = histories("...F....F....")(local)
    (proposed,) = proposals(Quarantine(), past, VERSIONS, TODAY)
    assert proposed.signature == signature(FAULT)
    assert "2 of 13 failed: 15 % (4.3 % to 42 %); failed and recovered 2 times" in proposed.reason
    assert proposed.expires == date(2026, 12, 30)
    assert proposals(Quarantine(entries=(entry(until="a>1"),)), past, VERSIONS, TODAY) == ()


def test_a_proposal_is_refused_until_a_person_completes_it(
    local: Settings, write: Callable[[str], Path]
) -> None:
    (proposed,) = proposals(Quarantine(), histories("...F....F....")(local), VERSIONS, TODAY)
    with pytest.raises(QuarantineError, match=r"no ticket[\s\S]*no owner"):
        load(write(proposed.to_yaml()))
    complete = proposed.to_yaml().replace("ticket: ''", "ticket: t").replace("owner: ''", "owner: o")
    (made,) = load(write(complete)).entries
    assert made.matches(NODE, "ethos-u85-256", signature(FAULT))


SUITE = """
import pytest

def test_good():
    pass

def test_bad():
    raise ValueError("known")

def test_worse():
    raise ValueError("unknown")

@pytest.mark.parametrize("x", ["a", "b"])
def test_more(x):
    pass
"""


# As one that demands a share of covered lines.
OTHER_PLUGIN = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    yield
    session.testsfailed += 1
    return True
"""


def file_entry(pattern: str, expires: str = "2099-01-01") -> str:
    return f"- {{pattern: '{pattern}', reason: known, ticket: t, owner: o, expires: {expires}}}\n"


def inner(pytester: pytest.Pytester, quarantine: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_suite=SUITE)
    pytester.makefile(".yaml", quarantine=quarantine)
    pytester.makepyprojecttoml("")
    return pytester.runpytest_inprocess("--ledger", "off", "-p", "no:cacheprovider", *arguments)


def test_catalogue_D2_a_quarantined_test_leaves_its_neighbours_alone(pytester: pytest.Pytester) -> None:
    result = inner(pytester, file_entry("test_suite.py::test_bad"))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 failed, 3 passed, 1 quarantined*"])
    assert inner(pytester, file_entry("test_suite.py::test_bad"), "-k", "not worse").ret == 0


def test_a_stop_at_a_quarantined_failure_is_not_green_for_what_was_not_run(pytester: pytest.Pytester) -> None:
    result = inner(pytester, file_entry("test_suite.py::test_bad"), "-x")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["3 selected tests were never run:"])
    pytester.makeconftest(OTHER_PLUGIN)
    assert inner(pytester, file_entry("test_suite.py::test_bad"), "-k", "bad").ret == 1, "another plugin's"


def test_a_date_with_a_time_is_a_date(write: Callable[[str], Path]) -> None:
    (made,) = load(write(file_entry("x", "2020-01-01 12:00:00"))).entries
    assert made.expires == date(2020, 1, 1)


def test_names_of_versions_are_canonical() -> None:
    assert entry(until="Ethos_U.Vela>5.0").state(TODAY, {"ethos-u-vela": "5.1.0"}) is not State.ACTIVE


def test_catalogue_R7_an_expired_entry_is_red(pytester: pytest.Pytester) -> None:
    result = inner(pytester, file_entry("test_suite.py::test_good", "2020-01-01"), "-k", "good")
    result.assert_outcomes(passed=1, deselected=4)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*quarantine: expired in *quarantine.yaml: entry 1*remove or renew it*"])


def test_catalogue_R13_an_entry_without_a_test_is_a_warning(pytester: pytest.Pytester) -> None:
    entries = [file_entry(f"test_suite.py::test_{name}") for name in ("bad", "worse", "renamed")]
    result = inner(pytester, "".join(entries))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*quarantine: no test for entry 3 (test_suite.py::test_renamed)*"])
    result.stdout.no_fnmatch_line("*no test for entry [12]*")


def test_an_unusable_file_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = inner(pytester, "- pattern: x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*quarantine.yaml, entry 1: no reason*"])


def test_quarantine_only_selects_what_is_in_the_file(pytester: pytest.Pytester) -> None:
    result = inner(pytester, file_entry("test_suite.py::test_more*"), "--quarantine-only")
    result.assert_outcomes(passed=2, deselected=3)
    assert inner(pytester, "", "--quarantine-only").ret == pytest.ExitCode.USAGE_ERROR


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Settings) -> str:
    """A directory with a suite, and a ledger under the versions of now; the ledger's file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    now = {**fingerprint(), "checkout": "clean"}
    with Ledger(local.ledger) as ledger:
        for i in range(60):
            flaky = case(attempt(FAULT if i in (20, 40) else PASS), nodeid="test_suite.py::test_bad")
            clean = case(attempt(), nodeid="test_suite.py::test_good")
            record = session(f"s{i}", flaky, clean, day=380 + i / 10)
            ledger.add(replace(record, environment=now))
    return local.ledger


def test_the_commands(here: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "quarantine.yaml"
    file.write_text("")
    assert check([], file, here) == 0
    assert suggest(file, here) == 0
    text = capsys.readouterr().out
    assert "pattern: test_suite.py::test_bad" in text
    assert "2 of 60 failed: 3.3 %" in text

    file.write_text(
        file_entry("test_suite.py::test_good")
        + file_entry("test_suite.py::test_more*", "2020-01-01")
        + file_entry("test_suite.py::gone")
    )
    assert check([], file, here) == 1
    text = capsys.readouterr().out
    assert "expired: entry 2" in text
    assert "no test: entry 3" in text
    assert "proven clean: entry 1" in text
    assert "60 clean runs since the last failure" in text
    assert text.rstrip().endswith("3 entries, 3 to repair")
    assert list_entries(file) == 0
    listed = capsys.readouterr().out
    assert "active     entry 1" in listed
    assert "expired    entry 2" in listed


def test_a_mistyped_ledger_is_an_error_and_not_begun(tmp_path: Path) -> None:
    typo = tmp_path / "legder.sqlite"
    with pytest.raises(LedgerError, match="there is no ledger"):
        suggest(None, str(typo))
    assert not typo.exists()
