"""What is asked for and cannot be had is said at once: no traceback, no green session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.whole import CUT_SHORT

QUIET = ("-q", "-p", "no:cacheprovider", "--ledger", "off", "--cache", "cache")
PASSES = "def test_passes(): pass"


@pytest.mark.parametrize("flag", ["--report-dir", "--cache", "--artifacts"])
def test_a_place_that_cannot_be_written_is_a_usage_error(pytester: pytest.Pytester, flag: str) -> None:
    pytester.makepyfile(PASSES)
    (pytester.path / "file").write_text("")
    result = pytester.runpytest_subprocess(*QUIET, flag, "file/below")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {flag} *file/below: cannot be written (*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_cache_that_nobody_has_named_is_done_without(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(PASSES)
    (pytester.path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "file"))
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "--ledger", "off")
    assert result.ret == 0
    result.assert_outcomes(passed=1)


def test_a_base_revision_that_git_does_not_know_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PASSES)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "init", "-q"], cwd=pytester.path, check=True)
    words = ["git", *identity, "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(words, cwd=pytester.path, check=True)
    result = pytester.runpytest_subprocess(*QUIET, "--base-revision", "mian")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --base-revision mian: git knows no such revision in *"])


def test_a_test_that_leaves_the_process_does_not_end_the_session_green(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import os\ndef test_leaves(): os._exit(0)")
    result = pytester.runpytest_subprocess(*QUIET)
    assert result.ret == CUT_SHORT
    result.stderr.fnmatch_lines(["Error: os._exit(0) was called before the session had ended*"])


def test_a_forked_child_may_leave_as_it_likes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import os\n"
        "def test_forks():\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    assert pytester.runpytest_subprocess(*QUIET).ret == 0


def test_a_limit_that_ends_the_collection_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import threading\nthreading.Event().wait()")
    result = pytester.runpytest_subprocess(*QUIET, "--session-limit", "1")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["the session was ended by the session limit of 1 s *"])


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_session_that_is_terminated_is_reported(pytester: pytest.Pytester, workers: str) -> None:
    pytester.makepyfile(
        "import os, signal, threading\n"
        "def test_before(): pass\n"
        "def test_is_cancelled():\n"
        f"    os.kill(os.getppid() if {workers} else os.getpid(), signal.SIGTERM)\n"
        "    threading.Event().wait()\n"
    )
    result = pytester.runpytest_subprocess(*QUIET, "-n", workers, "--report-dir", "reports")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["the session was ended by SIGTERM"])
    assert "test_before" in (pytester.path / "reports" / "junit.xml").read_text()


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from harness.cli import main; main()", "run", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["model.py"], CUT_SHORT, "os._exit(0) was called before `harness run` had ended"),
        (["model.py", "--directory", "used"], 2, "--directory used: is not empty"),
        (["model.py", "--npu-trace", "trace.jsonl"], 2, "--npu-trace: cortex-m55 has no NPU"),
        (["absent.pte"], 1, "CONFIG/INPUT in phase load: cannot read absent.pte"),
        ([".."], 1, "CONFIG/INPUT"),
    ],
)
def test_harness_run_refuses_at_once(tmp_path: Path, words: list[str], status: int, told: str) -> None:
    (tmp_path / "model.py").write_text("import os\nos._exit(0)\n")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "runspec.json").write_text("{}")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
