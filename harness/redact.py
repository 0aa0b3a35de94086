"""Takes out of texts what must not leave this machine: home directories and secrets.

Reports and reproduction bundles are pasted into issues and uploaded by CI jobs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

_HIDDEN = "***"
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL|PRIVATE_KEY|AUTH", re.IGNORECASE)
# A shorter value ("1", "true", "none") would be found everywhere.
_SHORTEST_SECRET = 8
_PATTERNS = (
    # user and password in a URL
    (re.compile(r"(?<=://)[^/\s:@'\"]+:[^/\s@'\"]+(?=@)"), _HIDDEN),
    # tokens that show what they are: GitHub, GitLab, AWS, Slack, PyPI
    (re.compile(r"\b(?:gh[opsur]_|github_pat_|glpat-|xox[abp]-|pypi-)[A-Za-z0-9_-]{10,}"), _HIDDEN),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), _HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._-]{12,}"), rf"\1 {_HIDDEN}"),
    # --password=x, api_key: x
    (
        re.compile(r"(?i)\b([\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key))(\s*[=:]\s*)[^\s'\",}]+"),
        rf"\1\2{_HIDDEN}",
    ),
    # the words after a name that ends an option: --token x
    (re.compile(r"(?i)(--[\w-]*(?:token|secret|password|api-key)\s+)[^\s'\"-][^\s'\"]*"), rf"\1{_HIDDEN}"),
)
# Home directories of anybody, since a log may come from another machine.
_HOMES = re.compile(r"(?<![\w.])(?:/home/[^/\s:'\"]+|/Users/[^/\s:'\"]+|/root(?=[/\s:'\"]|$))")


def redact(text: str) -> str:
    """`text` with `~` for home directories and `***` for secrets.

    Secrets are the values of environment variables with a telling name, and what looks like one.
    """
    return own_redactor()(text)


def redact_paths(data: bytes) -> bytes:
    """Binary data with this user's home directory overwritten by as many `~`: offsets stay what they are.

    Other homes in it are those of who built the toolchain, and in everybody's ELF.
    """
    home = str(Path.home()).encode()
    if len(home) <= 1:
        return data
    return re.sub(re.escape(home) + rb"(?=[/\0\s:]|$)", lambda found: b"~" * len(found[0]), data)


@lru_cache(maxsize=1)
def own_redactor() -> Callable[[str], str]:
    """The redactor for this process's environment and user, made once."""
    return redactor(os.environ, str(Path.home()))


def redactor(environment: Mapping[str, str], home: str) -> Callable[[str], str]:
    """A function that redacts texts, given the environment with the secrets and the home directory."""
    secrets = {
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    known = re.compile("|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))) if secrets else None
    own = re.compile(re.escape(home) + r"(?![\w.-])") if len(home) > 1 else None

    def apply(text: str) -> str:
        if known is not None:
            text = known.sub(_HIDDEN, text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        if own is not None:
            text = own.sub("~", text)
        return _HOMES.sub("~", text)

    return apply
