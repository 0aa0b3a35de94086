"""Console bytes to lines: everything goes to a log file, a bounded part of it stays in memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import BinaryIO

from harness.flow import ConsoleLine

# A program that never ends its line must not fill the memory: its text is cut into pieces of this size.
LONGEST_LINE = 1 << 16  # [bytes]
# Text of one line that is kept in memory; the log file has all of it.
LONGEST_TEXT = 4096  # [characters]


class LineSplitter:
    """Cuts a stream of bytes at line ends; a line of more than `longest` bytes is cut into pieces."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their line feed."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) >= self._longest:
            lines.append(self._rest[: self._longest])
            self._rest = self._rest[self._longest :]
        return lines

    def finish(self) -> list[bytes]:
        """The last line, if it has no line end."""
        lines, self._rest = ([self._rest] if self._rest else []), b""
        return lines


class Recorder:
    """Writes each line to `log` with a time stamp and keeps a bounded record.

    Kept are the first `head` and the last `tail` lines, and between them up to `per_kind` lines
    of each kind that `significant` names. Bytes that are no UTF-8 are replaced in the record and
    kept as they are in the log.
    """

    def __init__(
        self,
        log: BinaryIO,
        significant: Callable[[str], str | None] = lambda _: None,
        head: int = 2000,
        tail: int = 2000,
        per_kind: int = 500,
    ) -> None:
        self._log = log
        self._significant = significant
        self._head_size, self._per_kind = head, per_kind
        self._head: list[ConsoleLine] = []
        self._tail: deque[ConsoleLine] = deque(maxlen=tail)
        self._middle: list[ConsoleLine] = []
        self._kinds: Counter[str] = Counter()
        self._splitter = LineSplitter()
        self.total_lines = 0
        self.total_bytes = 0

    def feed(self, data: bytes, now: float) -> None:
        """Take `data`, read `now` seconds after the launch."""
        self.total_bytes += len(data)
        self._take(self._splitter.feed(data), now)

    def finish(self, now: float) -> None:
        """Take what is left when the stream has ended."""
        self._take(self._splitter.finish(), now)

    @property
    def lines(self) -> tuple[ConsoleLine, ...]:
        """The kept lines in order."""
        return (*self._head, *self._middle, *self._tail)

    def _take(self, lines: list[bytes], now: float) -> None:
        if not lines:
            return
        stamp = b"[%12.6f] " % now
        stripped = [line.rstrip(b"\r") for line in lines]
        self._log.write(b"".join(b"%b%b\n" % (stamp, line) for line in stripped))
        self._log.flush()
        self.total_lines += len(lines)
        for line in stripped:
            self._keep(ConsoleLine(now, _text(line)))

    def _keep(self, line: ConsoleLine) -> None:
        if len(self._head) < self._head_size:
            self._head.append(line)
            return
        if len(self._tail) == self._tail.maxlen:
            self._keep_significant(self._tail[0])
        self._tail.append(line)

    def _keep_significant(self, line: ConsoleLine) -> None:
        kind = self._significant(line.text)
        if kind is not None and self._kinds[kind] < self._per_kind:
            self._kinds[kind] += 1
            self._middle.append(line)


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]} … {len(text) - LONGEST_TEXT} more characters in the log"
