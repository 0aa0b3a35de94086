"""What a suite should not contain: markers of other rerun plugins, which hide what this one proves."""

from __future__ import annotations

import pytest


class FlakyMarkerWarning(pytest.PytestWarning):
    """A test carries a marker that asks another plugin for reruns."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Name each selected test with `@pytest.mark.flaky`."""
    for item in session.items:
        if item.get_closest_marker("flaky") is not None:
            item.warn(
                FlakyMarkerWarning(
                    f"{item.nodeid} carries @pytest.mark.flaky: reruns follow from the class of a failure "
                    "(docs/verdicts.md), and a known flake belongs into the quarantine, with owner and expiry"
                )
            )
