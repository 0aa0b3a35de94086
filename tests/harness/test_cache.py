"""`harness cache`: what is in it, and that only what nobody used goes."""

from __future__ import annotations

import os
from pathlib import Path
from time import time

import pytest
from typer.testing import CliRunner

from harness.cache import delete_unused, entries, mark_used
from harness.cli import app

DAY = 86400.0
KEY = "0123456789abcdef" * 2


def aged(path: Path, days: float) -> Path:
    """A directory with 8 KiB in a file, last used `days` ago."""
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * 8192)
    os.utime(path, (time() - days * DAY,) * 2)
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    for name in (KEY, "firmware/old", "ccache", "sessions"):
        aged(tmp_path / name, 40)
    aged(tmp_path / "firmware" / "new", 2)
    (tmp_path / "ledger.sqlite").write_bytes(bytes(8192))
    return tmp_path


def test_what_was_not_used_is_deleted_and_the_rest_stays(cache: Path) -> None:
    gone = [entry.path.relative_to(cache) for entry in delete_unused(cache, 30)]
    assert gone == [Path(KEY), Path("firmware/old")]
    left = {str(entry.path.relative_to(cache)) for entry in entries(cache)}
    assert left == {"firmware/new", "ccache", "sessions", "ledger.sqlite"}
    assert not list(cache.rglob(".deleted-*"))


def test_a_hit_keeps_an_entry(cache: Path) -> None:
    mark_used(cache / KEY)
    assert [entry.path.name for entry in delete_unused(cache, 30)] == ["old"]


@pytest.mark.parametrize("days", [0.0, 0.99, -1.0, float("nan")])
def test_what_a_session_may_need_is_not_deleted(cache: Path, days: float) -> None:
    with pytest.raises(ValueError, match="at least 1 day"):
        list(delete_unused(cache, days))
    assert (cache / KEY).is_dir()


def test_the_command_shows_sizes_and_deletes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(cache))
    shown = CliRunner().invoke(app, ["cache"])
    assert shown.exit_code == 0
    assert "built runners" in shown.output
    assert "lowered programs" in shown.output
    deleted = CliRunner().invoke(app, ["cache", "--unused", "30"])
    assert "in 2 entries deleted, unused for 30 days" in deleted.output
    assert not (cache / KEY).exists()


def test_no_cache_is_no_error(tmp_path: Path) -> None:
    assert not list(entries(tmp_path / "none"))
    assert not list(delete_unused(tmp_path / "none", 1))
