"""Any version of Vela, each in a virtual environment of its own without torch; and what it compiles.

The packing of Vela's output into a delegate's bytes follows the format that the Ethos-U backend reads:
blocks of a 16-byte name, a size, an external flag and 11 reserved bytes, then data padded to 16 bytes.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from time import sleep
from typing import Any

from filelock import FileLock
from packaging.version import InvalidVersion, Version

from harness.aot.child import Ended, run_tool
from harness.cache import mark_used
from harness.outcomes import OutcomeClass
from harness.repro.confined import BundleError
from harness.reruns.policy import POLICIES

PACKAGE = "ethos-u-vela"
# Older ones do not read TOSA 1.0 graphs at all.
OLDEST = Version("4.4.0")
# [s] For one delegate; and for pip.
TIME_LIMIT = 300.0
_INSTALL_LIMIT = 600.0
# [s] Before the first repetition of a download; each further one waits twice as long.
BACK_OFF = 1.0
# What pip says of an archive that is none, has another hash, or did not arrive.
_BROKEN_DOWNLOAD = re.compile(
    r"is invalid|do not match the hashes|not a zip file|incomplete-?download|read timed out|connection|"
    r"http error 5\d\d|temporary failure|hash mismatch",
    re.IGNORECASE,
)
_FLAG = re.compile(r"--[a-z][a-z0-9-]*(=[A-Za-z0-9_./-]+)?")
# Flags that name files or directories of ours.
_REFUSED = ("--output-dir", "--config", "--enable-debug-db")

Progress = Callable[[str], None]


class NotTestableError(Exception):
    """A version of Vela cannot say anything about a graph; the message is its own, one line."""


@dataclass(frozen=True)
class Tool:
    """One version of Vela and the Python that runs it."""

    version: str
    python: str


def installed() -> Tool:
    """The Vela beside this harness.

    Raises:
        BundleError: there is none.
    """
    try:
        return Tool(installed_version(PACKAGE), sys.executable)
    except PackageNotFoundError as error:
        raise BundleError(f"{PACKAGE} is not installed here") from error


def environment(version: str, cache: Path, progress: Progress = lambda _: None) -> Tool:
    """`version` of Vela in its own environment below `cache`, installed if need be.

    Raises:
        NotTestableError: it cannot be installed.
    """
    directory = cache / "vela" / f"{version}-py{sys.version_info.major}{sys.version_info.minor}"
    python = directory / "bin" / "python"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{directory}.lock"):
        done = directory / "done"
        if not done.is_file():
            progress(f"installing {PACKAGE} {version}")
            _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(directory)], version)
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
            options = ["--disable-pip-version-check", "--no-input", "--no-compile"]
            _download([*pip, *options, f"{PACKAGE}=={version}"], version, progress)
            done.touch()
    mark_used(directory)
    return Tool(version, str(python))


def _download(argv: list[str], version: str, progress: Progress) -> None:
    """Run pip; again, without its cache, if what it got over the network was broken."""
    kind = OutcomeClass.INFRA_DOWNLOAD
    for again in range(POLICIES[kind].most):
        try:
            return _run(argv, version)
        except NotTestableError as error:
            if not _BROKEN_DOWNLOAD.search(str(error)):
                raise
            pause = BACK_OFF * 2**again
            progress(f"{kind.value}: {error}; tried again in {pause:g} s")
            sleep(pause)
        argv = [*argv, *({"--no-cache-dir"} - set(argv))]
    return _run(argv, version)


def _run(argv: list[str], version: str) -> None:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_INSTALL_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotTestableError(f"{PACKAGE} {version} cannot be installed: pip does not end") from error
    if done.returncode != 0:
        lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        why = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "no message")
        raise NotTestableError(f"{PACKAGE} {version} cannot be installed: {why.strip()[:300]}")


def versions_between(first: str, last: str, cache: Path) -> tuple[str, ...]:
    """Released versions from `first` to `last`, both included, oldest first.

    Without a package index, those that were installed before.

    Raises:
        BundleError: no versions, or `first` is older than OLDEST.
    """
    try:
        low, high = Version(first), Version(last)
    except InvalidVersion as error:
        raise BundleError(f"{error}; write for example vela=4.5.0..5.1.0") from error
    if low < OLDEST:
        raise BundleError(f"Vela {first} reads no TOSA graphs of today; begin at {OLDEST}")
    if high < low:
        raise BundleError(f"{last} is older than {first}")
    known = {Version(text) for text in (*_released(), *_cached(cache), first, last)}
    return tuple(str(version) for version in sorted(known) if low <= version <= high)


def _released() -> list[str]:
    argv = [sys.executable, "-m", "pip", "index", "versions", PACKAGE, "--disable-pip-version-check"]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = re.search(r"^Available versions: (.*)$", done.stdout, re.MULTILINE)
    return found[1].replace(" ", "").split(",") if found else []


def _cached(cache: Path) -> list[str]:
    return [done.parent.name.rpartition("-py")[0] for done in (cache / "vela").glob("*/done")]


def checked_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Flags from a bundle or a command line, without those that name files.

    Raises:
        BundleError: a word that is no flag of Vela's, or one that names a file.
    """
    for flag in flags:
        value = flag.partition("=")[2]
        names_file = flag.startswith(_REFUSED) and flag != "--config=Arm/vela.ini"
        if not _FLAG.fullmatch(flag) or names_file or ".." in value or value.startswith("/"):
            raise BundleError(f"Vela's flag {flag!r:.100} is not taken: write --name or --name=value")
    return tuple(flags)


def compile_graph(tool: Tool, graph: bytes, flags: Sequence[str]) -> bytes:
    """A delegate's bytes, compiled from a TOSA graph.

    Raises:
        NotTestableError: Vela refuses the graph, crashes or does not end; the message is Vela's.
        BundleError: see `checked_flags`.
    """
    import numpy as np  # takes a tenth of a second, which a replay without Vela does not spend

    words = checked_flags(flags)
    with tempfile.TemporaryDirectory(prefix="harness-vela-") as name:
        directory = Path(name)
        (directory / "out.tosa").write_bytes(graph)
        arguments = [*words, "--output-dir=output", "out.tosa"]
        ended = run_tool("vela", arguments, directory, TIME_LIMIT, tool.python)
        if ended.status != 0:
            raise NotTestableError(_reason(ended))
        try:
            with np.load(directory / "output" / "out_vela.npz", allow_pickle=False) as output:
                return pack(output)
        except (OSError, ValueError, KeyError, struct.error) as error:
            raise NotTestableError(f"Vela left no output that can be packed: {error}") from error


def _reason(ended: Ended) -> str:
    """The line in which Vela says why: an error message of its own, or the last line."""
    lines = [line.strip() for line in ended.text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(?i)(vela[: ]+)?error\b|.*\bError: ", line)]
    return f"Vela {ended.how}: {(errors or [ended.last_line])[-1][:300]}"


def pack(output: Any) -> bytes:
    """The delegate's bytes from the arrays of Vela's raw output format.

    Raises:
        KeyError, ValueError, struct.error: it is not that format.
    """
    blocks = {
        "vela_bin_stream": b"",
        "cmd_data": output["cmd_data"].tobytes(),
        "weight_data": output["weight_data"].tobytes(),
        "scratch_size": struct.pack("<I", int(output["scratch_shape"][0])),
        "inputs": _places(output, "input"),
        "outputs": _places(output, "output"),
        "vela_end_stream": b"",
    }
    packed = b""
    for name, data in blocks.items():
        packed += struct.pack("<16sIB11x", name.encode(), len(data), 0) + data + bytes(-len(data) % 16)
    return packed


def _places(output: Any, role: str) -> bytes:
    shapes = output[f"{role}_shape"]
    packed = struct.pack("<i", len(shapes))
    for i, shape in enumerate(shapes):
        numbers = [int(output[f"{role}_{name}"][i]) for name in ("elem_size", "offset", "region")]
        packed += struct.pack("<9i", *(int(size) for size in shape), *numbers)
    return packed
