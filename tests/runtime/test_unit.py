"""Parts of the runtime on the host, under sanitizers; its symbols beside those of the wheel's library."""

from __future__ import annotations

import re
import subprocess

from tests.runtime.conftest import Driver, call, executorch_root

# Declared nowhere in public headers, for profiling builds, or private to the wheel's implementation.
NOT_OURS = re.compile(
    r"Profiler|profil|prof_|track_allocat|ExtendedHeader|deserialization::|validate_program"
    r"|Method::log_outputs|execution_plan"
)


def test_parts(ours: Driver) -> None:
    done = subprocess.run(
        [str(ours.executable.parent / "unit")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "0 failures\n"


def test_primitives(ours: Driver, wheel: Driver) -> None:
    """What the wheel's primitive operators compute, ours do; -0 and 0 are the same number."""
    results = []
    for driver in (ours, wheel):
        lines = call(driver.executable, "--primitives").splitlines()
        results.append({re.sub(r" -0$", " 0", line) for line in lines})
    assert len(results[1]) > 900
    assert results[1] - results[0] == set()


def _symbols(*nm: object) -> set[str]:
    """Strong functions of the executorch::runtime namespace."""
    lines = (line.split(maxsplit=2) for line in call("nm", "-C", "--defined-only", *nm).splitlines() if line)
    names = {words[2] for words in lines if len(words) == 3 and words[1] == "T"}
    return {name for name in names if name.startswith("executorch::runtime::")}


def test_symbols(ours: Driver) -> None:
    """Whatever links with the wheel's library links with ours."""
    wheel = _symbols("-D", executorch_root() / "lib" / "libexecutorch.so")
    expected = {name for name in wheel if not NOT_OURS.search(name)}
    assert len(expected) > 120
    assert expected - _symbols(ours.executable.parent / "runtime" / "libruntime.a") == set()
