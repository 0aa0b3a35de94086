"""What is known of upstream's suites, and what counts as a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.upstream import expectations
from harness.upstream.expectations import Expectations, Group, Totals, changes, counts
from harness.upstream.recorder import Record
from harness.upstream.suites import SUITES

PASSED = Record("test_add.py::test_add_u55_INT[a]", "passed", boots=1, seconds=1.0)
IDLE = Record("test_bmm.py::test_bmm_u55_INT[b]", "passed", boots=0, seconds=1.0)
RED = Record("test_sin.py::test_sin_u85_INT[c]", "failed", boots=1, seconds=1.0, reason="off by 3")
KNOWN_IDLE = Expectations(without_boot=(Group("nothing is delegated", ("test_bmm.py::test_bmm_*",)),))
KNOWN_RED = Expectations(not_passed=(Group("a defect", ("test_sin.py::test_sin_u85_INT[c]",), "failed"),))


@pytest.mark.parametrize(
    ("record", "known", "said"),
    [
        (PASSED, Expectations(), None),
        (Record("t[u55]", "xfailed", 0, 0.0), Expectations(), None),
        (Record("t[u55]", "skipped", 0, 0.0), Expectations(), None),
        (IDLE, KNOWN_IDLE, None),
        (RED, KNOWN_RED, None),
        (IDLE, Expectations(), "passed, but nothing was booted"),
        (RED, Expectations(), "failed: off by 3"),
        (Record("t[u55]", "xpassed", 1, 0.0), Expectations(), "xpassed"),
        (Record(IDLE.id, "passed", 1, 0.0), KNOWN_IDLE, "known to pass without"),
        (Record(RED.id, "passed", 1, 0.0), KNOWN_RED, "known as failed"),
        (Record(RED.id, "xfailed", 1, 0.0), KNOWN_RED, "known as failed"),
    ],
)
def test_every_difference_is_a_change(record: Record, known: Expectations, said: str | None) -> None:
    found = changes([record], known)
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_brackets_in_ids_are_text_not_patterns() -> None:
    assert not Group("reason", ("test_a.py::test_a[x]",)).has("test_a.py::test_ax")
    assert Group("reason", ("test_a.py::test_a[*]",)).has("test_a.py::test_a[x, y]")


def test_a_whole_part_must_boot_as_often_as_known() -> None:
    known = Expectations(totals={"u55": Totals(tests=2, boots=2)}, without_boot=KNOWN_IDLE.without_boot)
    assert changes([PASSED, IDLE], known) == ["u55: 1 tests booted, 2 have to"]
    assert changes([PASSED], known) == []  # a selection of the part


def test_counts_tell_a_boot_from_a_pass() -> None:
    assert counts([PASSED, IDLE, RED]) == {
        "tests": 3,
        "booted": 2,
        "passed without boot": 1,
        "passed": 2,
        "failed": 1,
    }


@pytest.mark.parametrize("path", sorted(expectations._FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_committed_files_are_valid(path: Path) -> None:
    assert path.stem in SUITES
    known = expectations.load(path.stem)
    assert known.executorch
    assert known.totals


def test_an_expectation_without_a_reason_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arm.yaml").write_text('executorch: "1"\nnot_passed:\n- tests: ["a"]\n  result: failed\n')
    monkeypatch.setattr(expectations, "_FOLDER", tmp_path)
    with pytest.raises(ValueError, match="needs its reason"):
        expectations.load("arm")
