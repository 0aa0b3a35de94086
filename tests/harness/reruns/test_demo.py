"""A slice of the demonstration; all of it is `harness demo verdicts --seeds 20`."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.demo import planted
from harness.demo.verdicts import FAULTS, show
from harness.outcomes import OutcomeClass, Verdict


def test_a_lowering_that_depends_on_hash_order_is_found_and_named(tmp_path: Path) -> None:
    (shown,) = show(tmp_path, 1, ("lowering",))
    assert shown.right, shown
    assert "the first stage that differs is 'program'" in shown.reason
    assert shown.runs == 3


def test_expectations_use_the_vocabulary() -> None:
    for fault in FAULTS:
        if fault.verdict:
            assert Verdict(fault.verdict).value == fault.verdict
            assert OutcomeClass(fault.kind).value == fault.kind


def test_the_planted_branch_has_a_place_in_the_kernel(tmp_path: Path) -> None:
    tree = planted.planted_sources(tmp_path / "sources")
    text = (tree / "kernels" / "op_quantize_per_tensor.cpp").read_text()
    assert text.count("plant(input, out);") == 1
    assert text.index("volatile const Planted") < text.index("plant(input, out);")


def test_the_bucket_is_patched_into_the_one_place(tmp_path: Path) -> None:
    elf = tmp_path / "runner"
    elf.write_bytes(b"\x7fELF..PLANTED!\xff\xff\xff\xff..")
    planted.choose_bucket(elf, 42)
    assert elf.read_bytes() == b"\x7fELF..PLANTED!\x2a\0\0\0.."
    elf.write_bytes(b"\x7fELF")
    with pytest.raises(ValueError, match="does not have the planted branch"):
        planted.choose_bucket(elf, 42)


def test_buckets_are_those_of_fnv_1a() -> None:
    assert planted.bucket_of(b"a") == 0xE40C292C % 100
