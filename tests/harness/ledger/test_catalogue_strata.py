"""Rows A2 and E8: what differs by build key or toolchain is not flaky."""

from __future__ import annotations

from harness.ledger.fingerprint import changes, in_words, stratum
from harness.ledger.session import classify
from harness.ledger.store import Ledger
from harness.records import HistoryRecord, SessionRecord
from harness.settings import Settings
from tests.harness.ledger.records import FAULT, NODE, attempt, case, session

GREEN, RED = case(attempt()), case(attempt(FAULT))


def history(settings: Settings, now: SessionRecord, *before: SessionRecord) -> HistoryRecord:
    """What the ledger says of the one test of `now` after the sessions `before`."""
    with Ledger(settings.ledger) as ledger:
        for record in before:
            ledger.add(record)
    return classify(now, settings)[NODE]


def test_catalogue_A2_two_hosts_with_other_build_keys_are_two_strata(local: Settings) -> None:
    """Green on one host, red on the other, at one revision and in turn: the build differs, not the luck."""
    pairs = [
        [
            session(f"a{day}", GREEN, day=2 * day, commit="same", kernels="k1"),
            session(f"b{day}", RED, day=2 * day + 1, commit="same", kernels="k2"),
        ]
        for day in range(4)
    ]
    now = session("now", RED, day=20, commit="same", kernels="k2")
    found = history(local, now, *(record for pair in pairs for record in pair))
    assert found.kind != "FLAKY", found
    here, there = now.environment, pairs[0][0].environment
    assert stratum(here) != stratum(there)
    assert in_words(changes(there, here)) == "kernels k1 -> k2"


def test_catalogue_E8_a_failure_of_one_toolchain_is_deterministic_there(local: Settings) -> None:
    old, new = "arm-none-eabi-g++ 12.2.1", "armclang 6.22"
    before = [session(f"g{day}", GREEN, day=2 * day, commit="same", compiler=old) for day in range(4)]
    before += [session(f"c{day}", RED, day=2 * day + 1, commit="same", compiler=new) for day in range(4)]
    found = history(local, session("now", RED, day=20, commit="same", compiler=new), *before)
    assert found.kind == "VERSION_SKEW", found
    assert f"compiler {old} -> {new}" in found.reason
