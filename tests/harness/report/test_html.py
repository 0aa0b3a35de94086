from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from harness.report.history import FlakeRow
from harness.report.html import html_report
from harness.report.pictures import CELLS, heat_maps, histogram_bars, sparkline
from tests.harness.report.browser import open_page
from tests.harness.report.records import a_session, a_test, attempt, failed, flaky, with_evidence

_LIMIT_BYTES, _LIMIT_MILLISECONDS = 10_000_000, 3000


def test_a_report_of_2000_results_opens_in_chromium(tmp_path: Path) -> None:
    evidence = with_evidence(tmp_path / "evidence", 300, 200)
    (evidence / "console.log").write_text(
        "[    0.010000] a line of the console, as long as lines are\n" * 5000
    )
    record = attempt(1, directory=str(evidence))
    red = [
        failed(
            f"tests/ops/test_mul.py::test_mul[u85-case{i}]",
            attempts=(replace(record, signature=f"verify|{i}"),),
        )
        for i in range(400)
    ]
    green = [a_test(f"tests/ops/test_add.py::test_add[m55-case{i}]") for i in range(1600)]
    flakes = [FlakeRow(test.nodeid, "u85", "PPF" * 30, 30, 90, 0.24, 0.44, 0.6, "abc") for test in red]
    text = html_report(a_session(*green, *red, flaky()), flakes)
    assert len(text.encode()) < _LIMIT_BYTES
    file = tmp_path / "report.html"
    file.write_text(text)
    page = open_page(file, tmp_path / "profile")
    assert page.console == ()
    # On a machine that is busy with other tests, wall time measures those.
    assert min(page.loaded, 1000 * page.processor) < _LIMIT_MILLISECONDS
    assert "2001 of 2001" in page.document  # the script has counted the rows
    assert page.document.count('<div class="row" role="row" data-result') == 2001


def test_a_report_loads_nothing_and_runs_nothing_of_a_test(tmp_path: Path) -> None:
    evil = "<script>document.title='evil'</script><img src=x onerror=\"document.title='evil'\">"
    record = attempt(1, summary=evil, signature=evil, directory=str(with_evidence(tmp_path / "evidence")))
    test = failed("t.py::t[" + evil + "]", message=evil, repro=evil, attempts=(record,))
    text = html_report(a_session(test, argv=("pytest", evil)), notes=[evil])
    sources = re.findall(r"<[a-z]+[^>]*?(?:src|href)=[\"']?([^\"'>]*)", text)
    assert sources
    assert all(source.startswith("data:") for source in sources)
    (tmp_path / "report.html").write_text(text)
    page = open_page(tmp_path / "report.html", tmp_path / "profile")
    assert page.console == ()
    assert "<title>corstone-harness: 1 failed</title>" in page.document
    assert "document.title='evil'" in page.document  # shown as text, from the console too


def test_everything_of_a_failure_is_in_the_report(tmp_path: Path) -> None:
    record = attempt(1, directory=str(with_evidence(tmp_path / "evidence")))
    text = html_report(a_session(a_test(), failed(attempts=(record, attempt(2)))))
    for words in (
        "DETERMINISTIC",
        "same-bytes: outputs 00000001 = 00000001",
        "NEW",
        "green in 40 runs before",
        "harness repro attempts/mul",
        "[    0.012345] I [executorch:main.cpp:1 main()] Running executor with parameter:",
        "data:image/png;base64,",
        "3 of 64 elements differ, full colour = 4",
        "-2: 1",  # a bar of the histogram
        "attempt 2, same-bytes: WRONG",
    ):
        assert words in text, words


def test_a_report_survives_the_loss_of_its_evidence(tmp_path: Path) -> None:
    evidence = with_evidence(tmp_path / "evidence")
    (evidence / "runspec.json").write_text("{")
    gone = attempt(1, directory=str(tmp_path / "gone"))
    text = html_report(
        a_session(
            failed(attempts=(gone,)), failed("t.py::b", attempts=(attempt(1, directory=str(evidence)),))
        )
    )
    assert "data:image/png" not in text


def test_a_heat_map_has_a_cell_for_the_worst_of_many_elements(tmp_path: Path) -> None:
    [small] = heat_maps(with_evidence(tmp_path / "small", 4, 6))
    assert (small.rows, small.columns) == (4, 6)
    [large] = heat_maps(with_evidence(tmp_path / "large", 1000, 500))
    assert large.rows <= CELLS
    assert large.columns <= CELLS
    assert "one cell = the worst of up to 66 elements" in large.caption


def test_equal_outputs_and_foreign_paths_give_no_picture(tmp_path: Path) -> None:
    evidence = with_evidence(tmp_path / "equal")
    (evidence / "out-0.bin").write_bytes((evidence / "ref-0.bin").read_bytes())
    assert heat_maps(evidence) == ()
    outside = with_evidence(tmp_path / "outside")
    spec = (outside / "runspec.json").read_text()
    (outside / "runspec.json").write_text(spec.replace("ref-0.bin", "../equal/out-0.bin"))
    assert heat_maps(outside) == ()


def test_bars_and_sparklines() -> None:
    bars = histogram_bars({3: 1, 0: 100, -1: 10})
    assert [bar.label for bar in bars] == ["-1", "0", "+3"]
    assert max(bars, key=lambda bar: bar.height).label == "0"
    assert histogram_bars({}) == ()
    line = sparkline("PFK?P")
    assert line["width"] == 20
    assert [line[letter].count("M") for letter in "PFK"] == [2, 1, 1]
