"""What the history says of a failure: catalogue rows V, R, B5, K and the rules between them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.ledger.session import classify, flake_table, store
from harness.ledger.store import Ledger
from harness.records import HistoryRecord, SessionRecord
from harness.settings import Settings
from tests.harness.ledger.records import (
    FAULT,
    NO_LICENCE,
    NODE,
    OTHER_FAULT,
    PASS,
    WRONG,
    attempt,
    case,
    session,
)

GREEN = case(attempt())
RED = case(attempt(FAULT))
OTHER = case(attempt(OTHER_FAULT))
XPASS = case(attempt(), result="xpassed")
XFAIL = case(attempt(FAULT), result="xfailed")


def remember(settings: Settings, *records: SessionRecord) -> None:
    with Ledger(settings.ledger) as ledger:
        for record in records:
            ledger.add(record)


def days(settings: Settings, *tests: object, **where: object) -> None:
    """One session a day, each with one test."""
    made = [session(f"d{i}", test, day=i, **where) for i, test in enumerate(tests)]  # type: ignore[arg-type]
    remember(settings, *made)


def verdict(settings: Settings, record: SessionRecord, nodeid: str = NODE) -> HistoryRecord:
    return classify(record, settings)[nodeid]


def test_a_green_session_needs_no_history(local: Settings) -> None:
    assert classify(session("now", GREEN), local) == {}


def test_catalogue_K4_a_failing_test_without_history_is_a_new_test(local: Settings) -> None:
    found = verdict(local, session("now", RED, day=9))
    assert found.kind == "NEW_TEST"
    assert found.rate is None


def test_catalogue_K4_a_test_that_passed_before_is_new_with_its_onset(local: Settings) -> None:
    days(local, *[GREEN] * 8)
    found = verdict(local, session("now", RED, day=9))
    assert found.kind == "NEW"
    assert "passed 8 of 8 runs before (rate below 31 %)" in found.reason
    assert "commit-d7..commit-now" in found.reason


def test_catalogue_F9_onset_is_the_range_from_the_last_green_to_the_first_red(local: Settings) -> None:
    days(local, GREEN, GREEN, GREEN)
    remember(local, session("a", RED, day=4, branch="feature"), session("b", RED, day=5, branch="feature"))
    remember(local, session("z", GREEN, day=3, branch="feature", commit="good"))
    found = verdict(local, session("now", RED, day=9, branch="feature"))
    assert found.kind == "NEW"
    assert "onset in good..commit-a" in found.reason
    assert found.since == "commit-a"


def test_catalogue_V2_red_before_and_after_with_another_signature(local: Settings) -> None:
    days(local, GREEN, OTHER, OTHER)
    found = verdict(local, session("now", RED, day=9))
    assert found.kind == "NEW_SIGNATURE"
    assert "Bus fault" in found.reason


def test_catalogue_K1_red_on_the_base_revision_with_the_same_signature(local: Settings) -> None:
    days(local, GREEN, RED)
    record = session("now", RED, day=9, branch="feature", merge_base="commit-d1")
    found = verdict(local, record)
    assert found.kind == "BROKEN_BASE"
    assert "base revision commit-d1" in found.reason
    assert found.since is not None
    assert found.since.startswith("commit-d1")
    assert verdict(local, replace(record, tests=(OTHER,))).kind == "NEW_SIGNATURE"


def test_catalogue_K1_green_on_the_base_revision_is_no_excuse(local: Settings) -> None:
    days(local, RED, GREEN)
    found = verdict(local, session("now", RED, day=9, branch="feature", merge_base="commit-d1"))
    assert found.kind == "NEW"


def test_without_a_run_of_the_base_revision_the_newest_of_its_branch_has_to_do(local: Settings) -> None:
    days(local, GREEN, RED, RED)
    found = verdict(local, session("now", RED, day=9, branch="feature", merge_base="unknown"))
    assert found.kind == "BROKEN_BASE"
    assert "newest recorded revision of the base" in found.reason


def test_known_flaky_with_rate_and_since(local: Settings) -> None:
    days(local, *[GREEN] * 10, RED, *[GREEN] * 10, RED, *[GREEN] * 8)
    found = verdict(local, session("now", RED, day=40))
    assert found.kind == "FLAKY"
    assert "2 of 30 failed: 6.7 %" in found.reason
    assert found.rate == pytest.approx(2 / 30)
    assert found.since == "commit-d10 (2025-10-19)"


def test_the_same_bytes_with_two_outcomes_prove_it_at_once(local: Settings) -> None:
    both = case(attempt(FAULT, program="p"), attempt(PASS, 2, "same-bytes", program="p"))
    days(local, GREEN, both, GREEN)
    found = verdict(local, session("now", RED, day=9))
    assert found.kind == "FLAKY"
    assert "the same bytes passed and failed in one session" in found.reason
    assert "1 of 3 failed" in found.reason


def test_the_same_bytes_and_outputs_with_another_judgement_are_not_flaky(local: Settings) -> None:
    before = case(attempt(PASS, program="p", output="o"))
    remember(local, *(session(f"d{i}", before, day=i) for i in range(4)))
    after = case(attempt(WRONG, program="p", output="o"))
    remember(local, session("other", after, day=5, branch="feature", commit="tightened"))
    found = verdict(local, session("now", after, day=9, branch="feature"))
    assert found.kind == "NEW"


def test_a_flaky_test_that_fails_differently_is_not_excused(local: Settings) -> None:
    days(local, GREEN, RED, GREEN, RED, GREEN)
    found = verdict(local, session("now", OTHER, day=9))
    assert found.kind == "NEW"


def test_broken_then_repaired_is_not_flaky(local: Settings) -> None:
    repaired = [
        session(f"d{i}", case(attempt(FAULT if 3 <= i < 6 else PASS, program=f"p{i}")), day=i)
        for i in range(10)
    ]
    remember(local, *repaired)
    found = verdict(local, session("now", case(attempt(FAULT, program="p11")), day=20))
    assert found.kind == "NEW"


def test_a_pass_and_a_failure_of_one_clean_revision_are_flaky(local: Settings) -> None:
    green = case(attempt(PASS, program="q"))
    remember(local, session("before", green, day=1, commit="same"))
    found = verdict(local, session("now", RED, day=2, commit="same"))
    assert found.kind == "FLAKY"
    assert "equal conditions" in found.reason


def test_a_modified_checkout_is_not_equal_to_its_revision(local: Settings) -> None:
    green = case(attempt(PASS, program="q"))
    remember(local, session("before", green, day=1, commit="same"))
    found = verdict(local, session("now", RED, day=2, commit="same", checkout="modified"))
    assert found.kind == "NEW"


def test_catalogue_B5_versions_of_the_engine_split_the_statistics(local: Settings) -> None:
    old, new = "FVP 11.24", "FVP 11.27"
    records = [
        session(f"o{i}", case(attempt(FAULT if i % 2 else PASS, engine="fvp", engine_version=old)), day=i)
        for i in range(10)
    ]
    records += [
        session(f"n{i}", case(attempt(engine="fvp", engine_version=new)), day=20 + i) for i in range(10)
    ]
    remember(local, *records)
    found = verdict(local, session("now", case(attempt(FAULT, engine="fvp", engine_version=new)), day=40))
    assert found.kind == "FLAKY"
    assert "5 of 10 failed" in found.reason
    assert "under other versions (engine_version FVP 11.24 -> FVP 11.27" in found.reason


def test_engines_never_mix(local: Settings) -> None:
    days(local, *[GREEN] * 5)
    found = verdict(local, session("now", case(attempt(FAULT, engine="fvp")), day=9))
    assert found.kind == "NEW_TEST"
    assert "5 runs on other engines do not count" in found.reason


def test_catalogue_V3_two_commits_of_the_kernels_split_the_history(local: Settings) -> None:
    flaky = [RED, GREEN, RED, GREEN, RED]
    remember(local, *(session(f"a{i}", t, day=i, kernels="k1") for i, t in enumerate(flaky)))
    remember(local, *(session(f"b{i}", GREEN, day=10 + i, kernels="k2") for i in range(4)))
    found = verdict(local, session("now", RED, day=20, kernels="k2"))
    assert found.kind == "FLAKY"
    assert "3 of 5 failed" in found.reason
    assert "kernels k1 -> k2" in found.reason


def test_catalogue_V5_a_red_release_branch_leaves_main_alone(local: Settings) -> None:
    remember(local, *(session(f"r{i}", RED, day=i, branch="release/1.0") for i in range(5)))
    days(local, *[GREEN] * 5)
    found = verdict(local, session("now", RED, day=9))
    assert found.kind == "NEW"
    assert "passed 5 of 5" in found.reason
    released = verdict(local, session("again", RED, day=9, branch="release/1.0", merge_base="commit-d4"))
    assert released.kind == "NEW"
    assert "5 of 5 runs failed before" in released.reason


def test_a_version_step_at_the_same_revision_is_version_skew(local: Settings) -> None:
    remember(local, session("old", GREEN, day=1, commit="same"))
    found = verdict(local, session("now", RED, day=2, commit="same", ethos_u_vela="5.1.0"))
    assert found.kind == "VERSION_SKEW"
    assert "ethos-u-vela 5.0.0 -> 5.1.0" in found.reason
    assert found.since == "ethos-u-vela 5.0.0 -> 5.1.0"


def test_many_tests_at_one_step_are_version_skew_and_one_is_not(local: Settings) -> None:
    names = [f"t.py::test_{i}" for i in range(4)]
    remember(local, session("old", *(case(attempt(), nodeid=name) for name in names), day=1))
    reds = [case(attempt(WRONG), nodeid=name) for name in names]
    found = classify(session("now", *reds, day=2, ethos_u_vela="5.1.0"), local)
    assert {record.kind for record in found.values()} == {"VERSION_SKEW"}
    assert "4 tests turned red at it" in found[names[0]].reason
    single = classify(session("now", reds[0], day=2, ethos_u_vela="5.1.0"), local)
    assert single[names[0]].kind == "NEW"
    assert "where ethos-u-vela 5.0.0 -> 5.1.0 changed too" in single[names[0]].reason


def test_catalogue_V1_unexpected_passes_after_a_step_are_listed(local: Settings) -> None:
    days(local, *[XFAIL] * 10)
    after = [XFAIL, XPASS, XFAIL, XFAIL, XPASS, XFAIL, XFAIL, XFAIL, XFAIL]
    remember(local, *(session(f"n{i}", t, day=20 + i, ethos_u_vela="5.1.0") for i, t in enumerate(after)))
    found = verdict(local, session("now", XPASS, day=40, ethos_u_vela="5.1.0"))
    assert found.kind == "PROMOTE"
    assert "3 of 10 runs since ethos-u-vela 5.0.0 -> 5.1.0" in found.reason
    assert "promote:" not in found.reason


@pytest.mark.parametrize(("passes", "promote"), [(7, False), (59, True)])
def test_catalogue_R8_sixty_unexpected_passes_promote_and_eight_do_not(
    local: Settings, passes: int, promote: bool
) -> None:
    remember(local, *(session(f"d{i}", XPASS, day=i / 10) for i in range(passes)))
    found = verdict(local, session("now", XPASS, day=40))
    assert found.kind == "PROMOTE"
    assert ("promote: the failure rate is below 4.9 %" in found.reason) is promote
    assert ("up to 31 % is possible (59 clean runs exclude 5 %)" in found.reason) is not promote


def test_infrastructure_needs_no_history(local: Settings) -> None:
    found = classify(
        session(
            "now",
            case(attempt(NO_LICENCE, engine=None), nodeid="t.py::licence"),
            case(nodeid="t.py::dead", result="crashed"),
            case(attempt(WRONG), nodeid="t.py::slow", verdict="HOST_SLOW"),
        ),
        replace(local, ledger="off"),
    )
    assert {name: record.kind for name, record in found.items()} == dict.fromkeys(
        ("t.py::licence", "t.py::dead", "t.py::slow"), "INFRA"
    )


def test_a_session_in_which_most_tests_do_not_boot_is_infrastructure(local: Settings) -> None:
    from harness.outcomes import Outcome, OutcomeClass, Phase

    silent = Outcome(Phase.BOOT, OutcomeClass.TIMEOUT, "ended by the silence limit")
    reds = [case(attempt(silent), nodeid=f"t.py::t{i}") for i in range(9)]
    found = classify(session("now", *reds, case(attempt(WRONG), nodeid="t.py::wrong")), local)
    assert {found[f"t.py::t{i}"].kind for i in range(9)} == {"INFRA"}
    assert found["t.py::wrong"].kind == "NEW_TEST"


def test_catalogue_K5_two_jobs_with_one_signature_have_one_label(local: Settings) -> None:
    days(local, *[GREEN] * 3)
    first = session("job1", RED, day=9, branch="feature", commit="pr")
    found = classify(first, local)
    assert found[NODE].kind == "NEW"
    labelled = replace(first, tests=(replace(RED, history=found[NODE]),))
    remember(local, labelled)
    # The other job has a test of its own, without any history, that fails in the same way.
    other = case(attempt(FAULT), nodeid="t.py::test_unknown_yet")
    second = classify(session("job2", other, day=9, branch="feature", commit="pr"), local)
    assert second["t.py::test_unknown_yet"].kind == "NEW"
    assert f"same signature as {NODE}" in second["t.py::test_unknown_yet"].reason
    # The same test in a second job.
    assert verdict(local, session("job3", RED, day=9, branch="feature", commit="pr")).kind == "NEW"


def test_catalogue_K5_equal_failures_of_one_session_have_one_label(local: Settings) -> None:
    days(local, RED)
    fresh = case(attempt(FAULT), nodeid="t.py::fresh")
    wrong = case(attempt(WRONG), nodeid="t.py::wrong")
    found = classify(
        session("now", RED, fresh, wrong, day=9, branch="feature", merge_base="commit-d0"), local
    )
    assert (found[NODE].kind, found["t.py::fresh"].kind) == ("BROKEN_BASE", "BROKEN_BASE")
    assert found["t.py::wrong"].kind == "NEW_TEST"


def test_a_test_that_passed_before_is_not_excused_by_another_one(local: Settings) -> None:
    passed = case(attempt(), nodeid="t.py::passed")
    remember(local, session("d0", RED, passed, day=0))
    failing = case(attempt(FAULT), nodeid="t.py::passed")
    found = classify(session("now", RED, failing, day=9, branch="feature", merge_base="commit-d0"), local)
    assert (found[NODE].kind, found["t.py::passed"].kind) == ("BROKEN_BASE", "NEW")
    assert found["t.py::passed"].reason.endswith(f"{NODE} with this signature is BROKEN_BASE")


def test_a_ledger_that_cannot_be_reached_is_said_and_harmless(
    local: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = replace(local, ledger="postgresql://u:geheim@/x?host=/nowhere")
    assert classify(session("now", RED), lost) == {}
    line = store(session("now", RED), lost)
    assert line.startswith("ledger: not stored")
    assert "geheim" not in line + capsys.readouterr().err


def test_the_flake_table_has_tests_with_two_outcomes(local: Settings) -> None:
    always = case(attempt(FAULT), nodeid="t.py::always")
    for i, test in enumerate([GREEN, RED, GREEN, GREEN]):
        store(session(f"d{i}", test, always, case(attempt(), nodeid="t.py::never"), day=i), local)
    (row,) = flake_table(session("now", GREEN, always, case(nodeid="t.py::never"), day=4), local)
    assert (row.nodeid, row.target, row.outcomes, row.failures, row.runs) == (
        NODE,
        "ethos-u85-256",
        "PFPP",
        1,
        4,
    )
    assert row.low < 0.25 < row.high
    assert row.since == "commit-d1 (2025-10-10)"
