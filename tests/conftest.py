"""Tests of this project: sessions that they start themselves leave nothing in the user's ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_ledger_for_inner_sessions() -> Iterator[None]:
    """The session itself has resolved its options by now; its children read the environment."""
    with pytest.MonkeyPatch.context() as patch:
        if "CORSTONE_LEDGER" not in os.environ:
            patch.setenv("CORSTONE_LEDGER", "off")
        yield
