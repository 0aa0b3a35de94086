"""The cache of lowered programs: keys, damage, several processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.aot import compiler, load_program, lower, lower_timed
from harness.flow import Case
from harness.outcomes import HarnessError, OutcomeClass
from harness.targets import Isa, target_named

CHILD = Path(__file__).parent / "lower_child.py"


def small(rows: int = 2) -> Case:
    return Case(
        lambda rng: torch.nn.Linear(4, 3),
        lambda rng: (torch.randn(rows, 4, generator=rng),),
        target_named("m55"),
    )


def children(*arguments: Sequence[str]) -> list[Any]:
    """Run children at the same time; their answers."""
    processes = [
        subprocess.Popen([sys.executable, str(CHILD), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for words in arguments
    ]
    answers = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err.decode()
        assert err == b""
        answers.append(json.loads(out))
    return answers


def entries(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.name != ".locks")


def test_processes_agree_and_share_one_entry(tmp_path: Path) -> None:
    shared, alone = str(tmp_path / "shared"), str(tmp_path / "alone")
    first, second = children([shared], [shared])
    (other,) = children([alone, "executorch-first"])
    assert sorted([first["cached"], second["cached"]]) == [False, True]
    assert not other["cached"]
    assert entries(tmp_path / "shared") == [first["key"]]
    assert first["key"] == second["key"] == other["key"]
    assert first["hashes"] == second["hashes"] == other["hashes"]
    hit = first if first["cached"] else second
    assert "quantize" not in hit["steps"]


def test_second_lowering_is_a_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lower_timed(small(), tmp_path)

    def fail(*_: Any) -> None:
        raise AssertionError("lowered again")

    for name in ("import_executorch", "quantize", "to_edge", "run_passes", "run", "to_executorch"):
        monkeypatch.setattr(compiler, name, fail)
    second = lower_timed(small(), tmp_path)
    assert (first.cached, second.cached) == (False, True)
    assert second.program == first.program
    assert second.original == first.original
    assert first.program == load_program(first.program.directory)


def test_what_decides_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = small()
    variants = [
        base,
        replace(base, seed=1),
        replace(base, quantize=False),
        replace(base, target=replace(base.target, isa=Isa.DSP)),
        replace(base, target=replace(base.target, name="another")),
        replace(base, calibration=lambda rng: [(torch.ones(2, 4),)]),
        replace(base, inputs=lambda rng: (torch.ones(2, 4),)),
        replace(base, module=lambda rng: torch.nn.Linear(4, 3, bias=False)),
    ]
    keys = [lower(case, tmp_path).directory.name for case in variants]
    monkeypatch.setattr("harness.aot.digest.versions", lambda: {"torch": "0"})
    keys.append(lower(base, tmp_path).directory.name)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("program.pte", "flip"),
        ("program.json", "flip"),
        ("program.json", "cut"),
        ("program.bpte", "cut"),
        ("ref-0.bin", "delete"),
        ("graph.json", "delete"),
    ],
)
def test_damaged_entry_is_made_again(
    tmp_path_factory: pytest.TempPathFactory, name: str, damage: str
) -> None:
    cache = tmp_path_factory.getbasetemp() / "damage-cache"
    program = lower(small(), cache)
    path = program.directory / name
    good = path.read_bytes()
    if damage == "delete":
        path.unlink()
    else:
        half = len(good) // 2
        path.write_bytes(good[:half] + (bytes([good[half] ^ 1]) + good[half + 1 :]) * (damage == "flip"))
    with pytest.raises(HarnessError) as caught:
        load_program(program.directory)
    assert caught.value.outcome.kind is OutcomeClass.BUNDLE_INVALID
    again = lower_timed(small(), cache)
    assert not again.cached
    assert again.program.hashes == program.hashes
    if name != "program.json":  # it holds durations
        assert path.read_bytes() == good
    assert lower_timed(small(), cache).cached


def test_left_over_half_written_entry(tmp_path: Path) -> None:
    program = lower(small(), tmp_path)
    half = tmp_path / f".new-{program.directory.name}"
    program.directory.rename(half)
    (half / "junk").write_text("x")
    again = lower_timed(small(), tmp_path)
    assert not again.cached
    assert not (again.program.directory / "junk").exists()
    assert entries(tmp_path) == [program.directory.name]


def test_a_failure_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("out of ideas")

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "to_executorch", broken)
        with pytest.raises(HarnessError):
            lower(small(), tmp_path)
    assert entries(tmp_path) == ["failures"]
    assert not lower_timed(small(), tmp_path).cached


def test_not_a_program_directory(tmp_path: Path) -> None:
    for text in (None, "", "[]", "{}", '{"format": 1, "self": 1}', "null"):
        if text is not None:
            (tmp_path / "program.json").write_text(text)
        with pytest.raises(HarnessError) as caught:
            load_program(tmp_path)
        assert caught.value.outcome.kind is OutcomeClass.BUNDLE_INVALID
