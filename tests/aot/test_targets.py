"""Targets: names, short ids, and what `-k` selects."""

from __future__ import annotations

import pytest

from harness.targets import (
    CORSTONE_300,
    CORSTONE_320,
    FVP_BOARDS,
    TARGETS,
    Isa,
    on_corstone_300,
    target_named,
)


def test_names_and_short_ids_are_unique() -> None:
    words = [word for target in TARGETS.values() for word in {target.name, target.short_id}]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("product", "default", "macs"),
    [
        ("u55", "ethos-u55-128", [32, 64, 128, 256]),
        ("u65", "ethos-u65-256", [256, 512]),
        ("u85", "ethos-u85-128", [128, 256, 512, 1024, 2048]),
    ],
)
def test_ethos_u_products(product: str, default: str, macs: list[int]) -> None:
    family = [target for target in TARGETS.values() if target.npu == product]
    assert [target.npu_macs for target in family] == macs
    assert [target.name for target in family] == [f"ethos-{product}-{count}" for count in macs]
    assert all(target.short_id.startswith(product) for target in family)
    assert target_named(product) is TARGETS[default]
    assert target_named(f"{product}-{macs[-1]}").npu_macs == macs[-1]


def test_boards() -> None:
    for target in TARGETS.values():
        assert FVP_BOARDS[target.fvp] is target.board
        assert target.cpu == target.board.cpu or target.isa is not Isa.MVE
        assert target.board is (CORSTONE_320 if target.short_id[:3] in ("m85", "u85") else CORSTONE_300)


def test_cores_without_vector_unit_run_on_corstone_300() -> None:
    levels = {name: TARGETS[name].isa for name in TARGETS if name.startswith("cortex-m")}
    assert levels == {
        "cortex-m0plus": Isa.SCALAR,
        "cortex-m4": Isa.DSP,
        "cortex-m7": Isa.DSP,
        "cortex-m55": Isa.MVE,
        "cortex-m85": Isa.MVE,
    }
    m85 = on_corstone_300(TARGETS["cortex-m85"])
    assert (m85.name, m85.cpu, m85.board) == ("cortex-m85", "cortex-m85", CORSTONE_300)
    assert FVP_BOARDS[m85.fvp] is CORSTONE_300


def test_unknown_target_names_the_known() -> None:
    with pytest.raises(KeyError, match=r"unknown target 'u99'.*ethos-u85-2048"):
        target_named("u99")
