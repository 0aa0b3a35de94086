"""The fingerprint of an environment, and what splits a history."""

from __future__ import annotations

import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from harness import doctor
from harness.ledger.fingerprint import FACTORS, changes, fingerprint, in_words, stratum


def test_catalogue_V6_versions_are_in_the_fingerprint() -> None:
    found = fingerprint()
    for package in ("torch", "torchao", "executorch", "ethos-u-vela"):
        assert found[package] == metadata.version(package)
    assert found["compiler"].startswith("arm-none-eabi-g++ ")
    assert len(found["kernels"]) == 64
    assert found["checkout"] in ("clean", "modified")
    assert found["host"]
    assert "load" not in found


def test_a_fingerprint_outside_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert "checkout" not in fingerprint()


@pytest.mark.parametrize(
    ("ignored", "state"), [("", "modified"), ("new.py\n.gitignore\n", "clean")], ids=["untracked", "ignored"]
)
def test_a_file_that_git_does_not_know_modifies_the_checkout_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignored: str, state: str
) -> None:
    checkout, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    # A user's own setting for a quick `git status` must not hide it.
    subprocess.run(["git", "-C", str(checkout), "config", "status.showUntrackedFiles", "no"], check=True)
    monkeypatch.chdir(elsewhere)
    assert fingerprint(checkout)["checkout"] == "clean"
    (checkout / ".gitignore").write_text(ignored)
    (checkout / "new.py").write_text("")
    assert fingerprint(checkout)["checkout"] == state
    assert "checkout" not in fingerprint()


def test_a_checkout_too_large_to_look_at_in_time_is_not_clean(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def late(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 30)

    fingerprint()  # what else is asked for is known by then
    monkeypatch.setattr(subprocess, "run", late)
    assert fingerprint(tmp_path)["checkout"] == "modified"


def test_a_stratum_is_made_of_known_factors() -> None:
    values = {"torch": "2.13", "host": "h", "engine": "fvp", "kernels": "k"}
    assert stratum(values) == (("engine", "fvp"), ("torch", "2.13"), ("kernels", "k"))
    assert dict(stratum(dict.fromkeys(FACTORS, "x"))) == dict.fromkeys(FACTORS, "x")


def test_changes_in_words() -> None:
    before = {"torch": "2.12", "kernels": "a" * 64, "ethos-u-vela": "5.0.0"}
    after = {"torch": "2.13", "kernels": "b" * 64, "executorch": "1.5.1"}
    changed = changes(before, after)
    assert in_words(changed) == f"torch 2.12 -> 2.13, kernels {'a' * 12} -> {'b' * 12}"
    assert changes(before, before) == {}


@pytest.mark.parametrize("name", ["torch", "ethos-u-vela"])
def test_catalogue_V4_another_version_than_the_pin_is_red(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def installed(package: str) -> str:
        return "5.0.0" if package == name else doctor.EXPECTED_PACKAGES[package]

    monkeypatch.setattr(doctor, "version", installed)
    red = [
        finding for finding in doctor.examine() if finding.name in doctor.EXPECTED_PACKAGES and not finding.ok
    ]
    assert [finding.name for finding in red] == [name]
    assert red[0].needed
    assert f"5.0.0  (expected {doctor.EXPECTED_PACKAGES[name]})" in red[0].found
