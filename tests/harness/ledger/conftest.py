"""Fixtures: an empty ledger in each kind of database; a PostgreSQL of the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ledger.store import Ledger
from harness.settings import Settings, resolve
from tests.harness.ledger.server import Server, start_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server that listens on a socket in a directory of its own."""
    with start_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    server: Server = request.getfixturevalue("postgres")
    return server.emptied()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """An empty ledger in each kind of database."""
    with Ledger(url) as opened:
        yield opened


@pytest.fixture
def local(tmp_path: Path) -> Settings:
    """Settings with a ledger of the test's own, without a quarantine file."""
    empty = tmp_path / "quarantine.yaml"
    empty.write_text("")
    given = {"ledger": str(tmp_path / "ledger.sqlite"), "quarantine": str(empty), "cache": str(tmp_path)}
    return resolve(lambda option: given.get(option.name), environment={})
