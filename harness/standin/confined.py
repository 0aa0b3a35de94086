"""File access that cannot leave one directory.

A path is walked component by component from a directory handle, without letting the kernel follow
links. Links are resolved here: one that stays inside is followed, one that leads out is refused.
Only regular files can be opened; a device is not even opened to find out.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EISDIR, ELOOP, ENOENT

_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MAX_LINKS = 40


class RefusedError(OSError):
    """An access that was refused because of what the path names; `strerror` says why."""


def _refuse(path: bytes, why: str) -> RefusedError:
    return RefusedError(EACCES, why, os.fsdecode(path))


class Confinement:
    """A directory whose files may be used by name, and nothing outside of it."""

    def __init__(self, directory: str) -> None:
        self._root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def open(self, path: bytes, flags: int) -> int:
        """A descriptor of the regular file `path`, opened with `flags` (O_CREAT included, mode 0666).

        Raises:
            RefusedError: not inside, or not a regular file.
            OSError: as open(2).
        """
        with self._located(path) as (directory, name):
            self._check_regular(path, directory, name)
            descriptor = os.open(name, flags & ~os.O_TRUNC | _PLAIN, 0o666, dir_fd=directory)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _refuse(path, "not a regular file")
            if flags & os.O_TRUNC:
                os.ftruncate(descriptor, 0)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def unlink(self, path: bytes) -> None:
        """Remove the file `path`."""
        with self._located(path) as (directory, name):
            self._check_regular(path, directory, name)
            os.unlink(name, dir_fd=directory)

    def rename(self, old: bytes, new: bytes) -> None:
        """Rename a file; an existing file `new` is replaced."""
        with self._located(old) as (source, old_name), self._located(new) as (target, new_name):
            self._check_regular(old, source, old_name)
            self._check_regular(new, target, new_name)
            os.rename(old_name, new_name, src_dir_fd=source, dst_dir_fd=target)

    def stat(self, path: bytes) -> os.stat_result:
        """Status of the file `path`."""
        with self._located(path) as (directory, name):
            self._check_regular(path, directory, name)
            return os.stat(name, dir_fd=directory, follow_symlinks=False)

    @staticmethod
    def _check_regular(path: bytes, directory: int, name: bytes) -> None:
        try:
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        if stat.S_ISDIR(mode):
            raise RefusedError(EISDIR, "a directory", os.fsdecode(path))
        if not stat.S_ISREG(mode):
            raise _refuse(path, "not a regular file")

    @contextmanager
    def _located(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """Handle of the directory that holds `path`'s last component, links resolved, and its name."""
        stack = [os.dup(self._root)]
        try:
            name = self._walk(path, stack)
            yield stack[-1], name
        finally:
            for descriptor in stack:
                os.close(descriptor)

    @staticmethod
    def _walk(path: bytes, stack: list[int]) -> bytes:
        pending = deque(_components(path, path))
        links = 0
        while pending:
            name = pending.popleft()
            if name == b"..":
                if len(stack) == 1:
                    raise _refuse(path, "outside of the directory")
                os.close(stack.pop())
                continue
            try:
                mode = os.stat(name, dir_fd=stack[-1], follow_symlinks=False).st_mode
            except FileNotFoundError:
                if pending:
                    raise
                return name
            if stat.S_ISLNK(mode):
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(ELOOP, os.strerror(ELOOP))
                target = os.readlink(name, dir_fd=stack[-1])
                pending.extendleft(reversed(_components(target, path)))
            elif pending:
                stack.append(os.open(name, _DIRECTORY, dir_fd=stack[-1]))
            else:
                return name
        if not path:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
        raise RefusedError(EISDIR, "a directory", os.fsdecode(path))


def _components(part: bytes, path: bytes) -> list[bytes]:
    if part.startswith(b"/"):
        raise _refuse(path, "an absolute path" if part == path else "a link that leads out")
    return [name for name in part.split(b"/") if name not in (b"", b".")]
