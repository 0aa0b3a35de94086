"""Semihosting files never leave their directory."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from errno import EACCES, EISDIR, ELOOP, ENOENT, ENOTDIR
from pathlib import Path

import pytest

from harness.standin.confined import Confinement, RefusedError

from .conftest import SEMIHOSTING, Firmware, RunStandin


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A directory with one of everything, next to a secret."""
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "file").write_bytes(b"inside")
    (inside / "sub" / "file").write_bytes(b"sub")
    (tmp_path / "secret").write_bytes(b"secret")
    os.mkfifo(inside / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(inside / "socket"))
    for name, target in {
        "link-in": "sub/file",
        "link-via-sub": "sub/../file",
        "link-dir": "sub",
        "link-out": "../secret",
        "link-abs": str(tmp_path / "secret"),
        "link-abs-in": str(inside / "file"),
        "link-dir-out": "..",
        "link-new": "../new",
        "link-loop": "link-loop",
        "link-dev": "/dev/null",
        "link-chain": "link-dir/../link-out",
    }.items():
        (inside / name).symlink_to(target)
    return inside


def read(files: Confinement, name: str) -> bytes:
    descriptor = files.open(name.encode(), os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("file", b"inside"),
        ("./file", b"inside"),
        ("sub//file", b"sub"),
        ("sub/../file", b"inside"),
        ("link-in", b"sub"),
        ("link-via-sub", b"inside"),
        ("link-dir/file", b"sub"),
    ],
)
def test_files_inside_are_served(name: str, content: bytes, inside: Path) -> None:
    assert read(Confinement(str(inside)), name) == content


REFUSED = {
    "../secret": EACCES,
    "sub/../../secret": EACCES,
    "..": EACCES,
    "/etc/passwd": EACCES,
    "//etc/passwd": EACCES,
    "/dev/null": EACCES,
    "link-out": EACCES,
    "link-abs": EACCES,
    "link-abs-in": EACCES,
    "link-dir-out/secret": EACCES,
    "link-new": EACCES,
    "link-dev": EACCES,
    "link-chain": EACCES,
    "fifo": EACCES,
    "socket": EACCES,
    "sub": EISDIR,
    ".": EISDIR,
    "link-dir": EISDIR,
}


@pytest.mark.parametrize(
    "flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_CREAT]
)
@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused(name: str, flags: int, inside: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        Confinement(str(inside)).open(name.encode(), flags)
    assert refused.value.errno == REFUSED[name]
    assert refused.value.filename == name
    assert (inside.parent / "secret").read_bytes() == b"secret"
    assert not (inside.parent / "new").exists()


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("absent", ENOENT),
        ("absent/file", ENOENT),
        ("file/below", ENOTDIR),
        ("link-loop", ELOOP),
        ("", ENOENT),
    ],
)
def test_plain_errors(name: str, number: int, inside: Path) -> None:
    with pytest.raises(OSError) as error:  # noqa: PT011 - the number is checked
        Confinement(str(inside)).open(name.encode(), os.O_RDONLY)
    assert error.value.errno == number
    assert not isinstance(error.value, RefusedError)


@pytest.mark.parametrize("operation", ["unlink", "rename-from", "rename-to", "stat"])
@pytest.mark.parametrize("name", [name for name in REFUSED if name != "link-new"])
def test_other_operations_are_refused_too(operation: str, name: str, inside: Path) -> None:
    files = Confinement(str(inside))
    path = name.encode()
    operate: Callable[[], object] = {
        "unlink": lambda: files.unlink(path),
        "rename-from": lambda: files.rename(path, b"file"),
        "rename-to": lambda: files.rename(b"file", path),
        "stat": lambda: files.stat(path),
    }[operation]
    with pytest.raises(RefusedError):
        operate()
    assert (inside / "file").read_bytes() == b"inside"
    assert (inside.parent / "secret").read_bytes() == b"secret"


def test_descriptors_are_not_leaked(inside: Path) -> None:
    files = Confinement(str(inside))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for name in REFUSED:
        with pytest.raises(RefusedError):
            files.open(name.encode(), os.O_RDONLY)
    read(files, "link-via-sub")
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_firmware_works_with_files(firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    line = "w:a a:a r:a m:a:b r:a r:b d:b d:b"
    run = run_standin(firmware("files"), *SEMIHOSTING, "-C", f"cpu0.semihosting-cmd_line={line}")
    assert run.stdout.partition(b"\n")[2].decode() == (
        "w:a 0\na:a 0\nr:a [text+] 0\nm:a:b 0\nr:a -1 errno 2\nr:b [text+] 0\nd:b 0\nd:b -1 errno 2\n"
    )
    assert run.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_firmware_stays_inside(firmware: Firmware, run_standin: RunStandin, inside: Path) -> None:
    words = ["r:../secret", "w:../new", "r:/etc/passwd", "r:link-out", "w:link-new", "d:../secret", "r:fifo"]
    words += ["r:/dev/zero", "m:file:../new", "m:../secret:mine", "r:sub", "x:ls", "r:file"]
    run = run_standin(
        firmware("files"),
        *SEMIHOSTING,
        "-C",
        f"cpu0.semihosting-cwd={inside}",
        "-C",
        f"cpu0.semihosting-cmd_line='{' '.join(words)}'",
        cwd=inside.parent,
    )
    lines = run.stdout.decode().splitlines()
    for word in words[:-1]:
        name = word.split(":")[2] if word == "m:file:../new" else word.split(":")[1]
        number = 21 if word == "r:sub" else 13
        # The result line of a refused access is interrupted by the warning that names the file.
        at = lines.index(f"{word} ")
        assert lines[at + 1].startswith(f"Warning: stand-in: semihosting access to '{name}' refused: ")
        assert lines[at + 2] == f"-1 errno {number}"
    assert lines[-1] == "r:file [inside] 0"
    assert (inside.parent / "secret").read_bytes() == b"secret"
    assert sorted(path.name for path in inside.parent.iterdir()) == ["inside", "secret"]


def test_missing_directory_is_an_error(firmware: Firmware, run_standin: RunStandin) -> None:
    run = run_standin(firmware("files"), *SEMIHOSTING, "-C", "cpu0.semihosting-cwd=absent")
    assert run.returncode == 2
    assert b"semihosting-cwd 'absent'" in run.stdout
