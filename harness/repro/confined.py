"""Reading of what came from elsewhere: names that stay inside, regular files only, sizes that are bounded."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import BinaryIO

# [bytes] of one bundle, unpacked; of its largest text.
LARGEST_BUNDLE = 2 << 30
# What reading a damaged archive raises.
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError)
LARGEST_TEXT = 4 << 20
_MOST_FILES = 4096
_BLOCK = 1 << 20
# As the runner's command line takes them, and nothing that means something to a shell or a terminal.
_NAME = re.compile(r"[A-Za-z0-9_+=@,][A-Za-z0-9_+=@,.-]{0,127}")


class BundleError(ValueError):
    """A bundle cannot be used; the message says what is wrong with it in one line."""


def checked_name(name: str, what: str) -> str:
    """`name` if it is the plain name of a file in a bundle.

    Raises:
        BundleError: it is a path, or has characters that do not belong into a name.
    """
    if not _NAME.fullmatch(name):
        raise BundleError(f"{what} has the name {name!r:.100}, which is not that of a file in the bundle")
    return name


def open_inside(directory: Path, name: str) -> BinaryIO:
    """Open the regular file `name` of `directory` for reading, without following a link.

    Raises:
        BundleError: no such file, or something else than a regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(directory / checked_name(name, "a file"), flags)
    except OSError as error:
        why = "a link or no file" if error.errno == 40 else error.strerror
        raise BundleError(f"{name} cannot be read: {why}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BundleError(f"{name} is not a regular file")
    return os.fdopen(descriptor, "rb")


def read_text(directory: Path, name: str) -> str:
    """A text of the bundle, at most LARGEST_TEXT bytes.

    Raises:
        BundleError: as `open_inside`, or it is longer.
    """
    with open_inside(directory, name) as file:
        data = file.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise BundleError(f"{name} has more than {LARGEST_TEXT} bytes")
    return data.decode("utf-8", "replace")


def copy_inside(source: Path, name: str, target: Path, room: int) -> int:
    """Copy a file of the bundle to `target`; returns what is left of `room`.

    Raises:
        BundleError: as `open_inside`, or it is larger than `room` bytes.
    """
    with open_inside(source, name) as file, (target / name).open("xb") as copy:
        return _copy(file, copy, room, name)


def unzip(archive: Path, target: Path, largest: int = LARGEST_BUNDLE) -> None:
    """Unpack a bundle into the empty directory `target`.

    The sizes that the archive promises are not believed: what comes out is counted.

    Raises:
        BundleError: not a zip file, a damaged one, a name that leads out of the bundle, a link, too
            many files, or more than `largest` bytes.
    """
    room = largest
    try:
        with zipfile.ZipFile(archive) as packed:
            members = packed.infolist()
            if len(members) > _MOST_FILES:
                raise BundleError(f"{archive.name} has {len(members)} entries, more than {_MOST_FILES}")
            for member in members:
                if member.is_dir():
                    continue
                name = _member_name(member)
                with packed.open(member) as file, (target / name).open("xb") as copy:
                    room = _copy(file, copy, room, name)  # type: ignore[arg-type]
    except FileExistsError as error:
        raise BundleError(f"{archive.name} has {Path(error.filename).name} twice") from error
    except (*_DAMAGED, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"{archive.name} is no zip file that can be read: {error}") from error


def _member_name(member: zipfile.ZipInfo) -> str:
    """Name of the file that an entry becomes; one directory around all files is left out."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise BundleError(f"{member.filename!r:.100} in the archive is a link or a device")
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or len(path.parts) > 2:
        raise BundleError(f"{member.filename!r:.100} in the archive leads out of the bundle")
    return checked_name(path.name, "an entry of the archive")


def _copy(source: BinaryIO, target: BinaryIO, room: int, name: str) -> int:
    while block := source.read(_BLOCK):
        room -= len(block)
        if room < 0:
            raise BundleError(f"the bundle is larger than {LARGEST_BUNDLE} bytes (at {name})")
        target.write(block)
    return room


def free_space(directory: Path) -> int:
    """Bytes that fit into the file system of `directory`."""
    return shutil.disk_usage(directory).free
