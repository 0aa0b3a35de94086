"""An ETDump on the console: it arrives as base64 inside a shell script, which nobody runs."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

BEGIN, END = b"#[RUN THIS]", b"#[END]"
# Everything else on these lines is somebody's shell script.
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
# A log may claim to hold anything; a profile of a real run has a few hundred kilobytes.
LARGEST = 64 << 20  # [bytes] of base64


def decode(lines: Iterable[bytes]) -> bytes | None:
    """The bytes between the two markers; None without both markers or without valid base64.

    Only whole lines of base64 count: of the script around them nothing is read, and nothing executed.

    Args:
        lines: of the console, or of its log file with time stamps.
    """
    found: list[bytes] | None = None
    size = 0
    for line in lines:
        # Each line of a log file begins with a time stamp in brackets.
        text = line.partition(b"] ")[2] if line.startswith(b"[") else line
        text = text.strip()
        if BEGIN in text:
            found, size = [], 0
        elif found is not None and END in text:
            return _decoded(b"".join(found))
        elif found is not None and _BASE64.fullmatch(text):
            size += len(text)
            if size > LARGEST:
                return None
            found.append(text)
    return None


def _decoded(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) or None
    except binascii.Error:
        return None
