"""Whether a bundle was made by this user on this machine: a message authentication code over its files.

The key is a file that only the user can read. A bundle from elsewhere, or one that was changed, has another
code or none: its ELF and its simulator arguments are then not trusted.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from harness.engines.directory import stream_sha256
from harness.repro.confined import BundleError, open_inside, read_text

ORIGIN_NAME = "origin"
_KEY_NAME = "bundle-key"
_KEY_SIZE = 32


def sign(directory: Path, names: Iterable[str], cache: Path) -> None:
    """Write the code of the files `names` in `directory`."""
    (directory / ORIGIN_NAME).write_text(_code(directory, names, _key(cache, make=True)) + "\n")


def is_own(directory: Path, names: Iterable[str], cache: Path) -> bool:
    """True if the files `names` are as this user's harness wrote them."""
    try:
        key = _key(cache, make=False)
        found = read_text(directory, ORIGIN_NAME).strip()
        return bool(key) and hmac.compare_digest(found, _code(directory, names, key))
    except (OSError, BundleError, TypeError):
        return False


def _code(directory: Path, names: Iterable[str], key: bytes) -> str:
    code = hmac.new(key, digestmod=hashlib.sha256)
    for name in sorted(set(names)):
        with open_inside(directory, name) as file:  # a link to a device has no end
            digest = stream_sha256(file)
        code.update(f"{name}\0{digest}\n".encode())
    return code.hexdigest()


def _key(cache: Path, make: bool) -> bytes:
    path = cache / _KEY_NAME
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        if not make:
            return b""
        key = _new_key(path)
    return key if len(key) == _KEY_SIZE else b""


def _new_key(path: Path) -> bytes:
    """Make the key file, whole or not at all; of two processes the first wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{_KEY_NAME}-{os.getpid()}-{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_KEY_SIZE))
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()
    return path.read_bytes()
