"""The list of the catalogue's rows and the tests that exist agree."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROWS: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("rows.yaml").read_text())
# Rows of each section of the catalogue.
SECTIONS = {
    "A": 12,
    "B": 12,
    "C": 13,
    "D": 8,
    "E": 8,
    "F": 11,
    "G": 8,
    "V": 6,
    "P": 7,
    "R": 13,
    "K": 6,
    "L": 7,
}


def rows_with_a_test() -> set[str]:
    """Row ids in the names of the tests below tests/harness."""
    files = Path(__file__).parents[1].rglob("test_*.py")
    names = (
        name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    )
    return {row for name in names for row in re.findall(r"catalogue_([A-Z]\d+)_", name)}


def test_catalogue_every_row_is_listed_once() -> None:
    rows = {f"{section}{number}" for section, size in SECTIONS.items() for number in range(1, size + 1)}
    assert ROWS["tested"].keys() | ROWS["not_tested"].keys() == rows
    assert not ROWS["tested"].keys() & ROWS["not_tested"].keys()
    assert all(text for part in ROWS.values() for text in part.values())


def test_catalogue_every_row_has_its_test() -> None:
    found = rows_with_a_test()
    assert sorted(ROWS["tested"].keys() - found) == [], "these rows have no test"
    assert sorted(found - ROWS["tested"].keys()) == [], "these rows have a test and are listed as not tested"
