"""Tests of this project: the same examples in every run, and nothing in the user's ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np  # noqa: F401  here, since an inner session would import it anew each time, and it breaks
import pytest
from hypothesis import settings

from harness.repro import ENTRY

settings.register_profile("corstone", derandomize=True, database=None, deadline=None)
settings.load_profile("corstone")
os.environ.pop(ENTRY, None)  # tests read the lines that are to be called


@pytest.fixture(autouse=True, scope="session")
def no_ledger_for_inner_sessions() -> Iterator[None]:
    """The session itself has resolved its options by now; its children read the environment."""
    with pytest.MonkeyPatch.context() as patch:
        if "CORSTONE_LEDGER" not in os.environ:
            patch.setenv("CORSTONE_LEDGER", "off")
        yield
