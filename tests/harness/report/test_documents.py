from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from junitparser import xunit2 as surefire

from harness.redact import redact, redact_paths, redactor
from harness.report.github import LIMIT, job_summary, write_step_summary
from harness.report.junit import junit_report, names
from harness.report.session import latest_journal, start
from harness.report.shared import groups
from harness.report.testplan import plan_block
from harness.settings import Option, Settings, resolve
from tests.harness.report.records import a_session, a_test, attempt, comparison, failed, flaky, verdict


def strict(text: str) -> list[JUnitXml]:
    """Test cases by a reader that knows no Surefire."""
    return [case for suite in JUnitXml.fromroot(JUnitXml.fromstring(text)._elem) for case in suite]


def surefire_cases(text: str) -> list[surefire.TestCase]:
    return [case for suite in surefire.JUnitXml.fromstring(text) for case in suite]


def test_catalogue_R4_a_fail_then_pass_is_one_case_with_one_flaky_failure() -> None:
    [case] = surefire_cases(junit_report(a_session(flaky())))
    assert case.is_flaky
    assert not case.is_rerun
    [interim] = case.flaky_failures()
    assert "output 0 differs by 2 LSB" in interim.message
    assert "3 of 64 elements differ" in interim.stack_trace
    assert case.is_passed
    assert {p.name: p.value for p in case.properties()}["verdict"] == "ENGINE_NONDETERMINISTIC"


def test_a_test_that_stays_red_has_its_further_attempts_as_reruns() -> None:
    [case] = surefire_cases(junit_report(a_session(failed(attempts=(attempt(1), attempt(2), attempt(3))))))
    assert case.is_rerun
    assert [result.message.split(" ")[1] for result in case.rerun_failures()] == ["2", "3"]
    assert isinstance(case.result[0], Failure)
    assert "harness repro attempts/mul" in case.result[0].text


def test_catalogue_K3_a_common_reader_counts_both_styles_alike() -> None:
    session = a_session(a_test(), failed(), flaky(), a_test("t.py::s", result="skipped", attempts=()))
    documents = {plain: JUnitXml.fromstring(junit_report(session, plain)) for plain in (False, True)}
    for document in documents.values():
        assert [len(suite) for suite in document] == [4]
        assert (document.tests, document.errors) == (4, 0)
        cases = [case.name for suite in document for case in suite]
        assert len(set(cases)) == 4
    # Surefire's reader sees a pass that was flaky; a strict one has to see the failure.
    assert documents[False].failures == 1
    assert documents[True].failures == 2
    plain = junit_report(session, plain=True)
    assert "flakyFailure" not in plain
    assert "rerunFailure" not in plain


def test_plain_junit_keeps_every_attempt_as_text() -> None:
    [case] = surefire_cases(junit_report(a_session(flaky()), plain=True))
    assert "attempt 1" in case.result[0].text
    assert case.result[0].type == "FLAKY"


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ("error", Error),
        ("crashed", Error),
        ("failed", Failure),
        ("xpassed", Failure),
        ("skipped", Skipped),
        ("xfailed", Skipped),
        ("quarantined", Skipped),
    ],
)
def test_every_result_has_its_element(result: str, kind: type) -> None:
    test = a_test(result=result, attempts=(), message="last words")
    [case] = surefire_cases(junit_report(a_session(test)))
    assert [type(entry) for entry in case.result] == [kind]
    assert case.result[0].message == "last words"


def test_junit_is_well_formed_whatever_a_console_prints() -> None:
    nasty = '\x1b[31mred\x1b[0m \x00\x07 ]]> <&" \ufffe \ud800'
    test = failed("t.py::t[\x01]", message=nasty, attempts=(attempt(1, summary=nasty),))
    [case] = surefire_cases(junit_report(a_session(test, argv=("pytest", nasty))))
    assert "red" in case.result[0].text
    assert "\x1b" not in case.result[0].text


def test_names_are_those_of_pytest() -> None:
    assert names("tests/ops/test_a.py::TestB::test_c[m55-x::y/z]") == (
        "tests.ops.test_a.TestB",
        "test_c[m55-x::y/z]",
    )


def test_catalogue_R11_fifty_tests_with_one_signature_are_one_entry() -> None:
    session = a_session(
        *(failed(f"t.py::test_{i}") for i in range(50)),
        failed("t.py::x", attempts=(attempt(1, "TIMEOUT", signature="run|TIMEOUT|silence"),)),
    )
    found = groups(session)
    assert [len(group.tests) for group in found] == [50, 1]
    assert plan_block(session).count("- `verify|WRONG|output differs`: 50 tests") == 1
    assert job_summary(session).count("### `verify|WRONG|output differs`") == 1


def test_a_test_plan_of_a_green_session_says_what_ran_where() -> None:
    text = plan_block(a_session(a_test(), a_test("t.py::b")))
    for words in (
        "$ pytest -k 'u85 and not slow'",
        "**2 passed** in 12.5 s, exit status 0",
        "| commit | " + "a" * 40,
        "| merge base | " + "b" * 40,
        "0 of 2 on Arm's FVP; 2 of 2 on the stand-in",
        "| executorch | 1.5.1 |",
        "| ethos-u-vela | 5.1.0 |",
    ):
        assert words in text
    assert "signature" not in text


def test_markdown_of_a_test_cannot_break_out() -> None:
    evil = "a`b ``c`` | <img src=x onerror=alert(1)> @everyone #1 [x](javascript:1)\n# title"
    test = failed(attempts=(attempt(1, signature=evil, summary=evil),), verdict=verdict(), history=None)
    for text in (plan_block(a_session(test, host=evil)), job_summary(a_session(test))):
        assert "\n# title" not in text
        outside = [part for line in text.splitlines() for part in line.split("```")[::2] if "host" in line]
        assert not any("<img" in part.replace("\\<img", "") for part in outside)
    assert "@everyone" not in plan_block(a_session(a_test(), branch=evil))


def test_a_job_summary_stays_below_githubs_limit() -> None:
    many = (
        failed(f"t.py::test_{i}", attempts=(attempt(1, signature=f"verify|WRONG|{i}" + "x" * 300),))
        for i in range(3000)
    )
    text = job_summary(a_session(*many, a_test()))
    assert LIMIT // 2 < len(text.encode()) <= LIMIT
    assert "further signatures did not fit" in text
    assert "## Test plan" in text
    assert len(job_summary(a_session(failed()), 200).encode()) <= 200


def test_a_step_summary_counts_what_is_there_already(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("x" * (LIMIT - 3000))
    many = a_session(*(failed(f"t.py::t{i}", attempts=(attempt(1, signature=f"s{i}"),)) for i in range(50)))
    assert write_step_summary(many, {"GITHUB_STEP_SUMMARY": str(path)}) == path
    assert LIMIT - 3000 < path.stat().st_size <= LIMIT
    assert write_step_summary(many, {}) is None
    assert write_step_summary(many, {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "file")}) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd /home/alice/project/x", "cd ~/project/x"),
        ("C:/Users /Users/bob/x", "C:/Users ~/x"),
        ("/root/notes and /rooted", "~/notes and /rooted"),
        ("https://me:pass@host/x", "https://***@host/x"),
        ("token: ghp_abcdefghij0123456789", "token: ***"),
        ("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer ***"),
        ("--password=hunter22 --level=2", "--password=*** --level=2"),
        ("--api-token hunter22 next", "--api-token *** next"),
        ("tokens: 17 of 20", "tokens: 17 of 20"),
    ],
)
def test_catalogue_L5_texts_are_redacted(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_catalogue_L5_values_of_secret_variables_are_redacted() -> None:
    own = redactor({"LEDGER_PASSWORD": "s3cr3t-value", "PATH": "/usr/local/bin"}, "/srv/ci-user")
    assert own("url?x=s3cr3t-value in /srv/ci-user/work") == "url?x=*** in ~/work"
    assert own("/usr/local/bin and /srv/ci-user2") == "/usr/local/bin and /srv/ci-user2"


def test_binary_data_keeps_its_size_when_paths_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/alice")
    theirs = b"/home/packager/newlib.c\0/srv/alice2/x\0"
    data = b"\x7fELF\0/srv/alice/src/main.cpp\0" + theirs
    assert redact_paths(data) == b"\x7fELF\0" + b"~" * 10 + b"/src/main.cpp\0" + theirs


def settings(tmp_path: Path, **given: object) -> Settings:
    values: Mapping[str, object] = {"cache": str(tmp_path / "cache"), **given}

    def command_line(option: Option) -> object:
        return values.get(option.name.replace("-", "_"))

    return resolve(command_line, environment={})


def test_a_session_writes_all_reports_into_its_directory(tmp_path: Path) -> None:
    session = a_session(a_test(), failed(), exit_status=1)
    reporter = start(settings(tmp_path, report_dir=str(tmp_path / "out")), session)
    for test in session.tests:
        reporter.add(test)
    [line] = reporter.finish(session, environment={})
    assert str(tmp_path / "out") in line
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"report.html", "junit.xml", "testplan.md", f"session-{session.id}.jsonl"}


def test_without_a_directory_the_journal_is_below_the_cache_and_is_found_again(tmp_path: Path) -> None:
    options = settings(tmp_path)
    for number in range(60):
        reporter = start(options, a_session(id=f"s{number}"))
        reporter.finish(a_session(id=f"s{number}"), environment={})
        os.utime(reporter.journal, (number, number))
    assert latest_journal(options) == reporter.journal
    assert len(list(reporter.journal.parent.iterdir())) == 50


def test_comparisons_reach_the_text_of_an_attempt() -> None:
    record = attempt(1, comparisons=(comparison(message="output 0: worst at (0, 3)"),))
    text = io.StringIO(junit_report(a_session(failed(attempts=(record,))))).getvalue()
    assert "worst at (0, 3)" in text


def test_a_flaky_test_without_a_red_boot_is_no_plain_pass_in_junit() -> None:
    """As a merge makes it of a failure in a fixture and a pass."""
    test = flaky(attempts=(attempt(kind="PASS"),), verdict=None, message="fixture 'x' broke")
    text = junit_report(a_session(test))
    assert "<flakyFailure" in text
    assert "fixture 'x' broke" in text
