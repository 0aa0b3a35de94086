"""Console bytes to lines: everything goes to a log file, a bounded part of it stays in memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import BinaryIO

from harness.flow import ConsoleLine

# A program that never ends its line must not fill the memory: its text is cut into pieces of this size.
LONGEST_LINE = 1 << 16  # [bytes]
# Text of one line that is kept in memory; the log file has all of it.
LONGEST_TEXT = 4096  # [bytes]


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
        significant: Callable[[bytes], str | None] = lambda _: None,
        head: int = 2000,
        tail: int = 2000,
        per_kind: int = 500,
    ) -> None:
        self._log = log
        self._significant = significant
        self._head_size, self._per_kind = head, per_kind
        self._head: list[ConsoleLine] = []
        # Raw, because most of these lines are dropped again.
        self._tail: deque[tuple[float, bytes]] = deque(maxlen=tail)
        self._middle: list[tuple[float, bytes]] = []
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
        return (*self._head, *(_decode(time, line) for time, line in (*self._middle, *self._tail)))

    def _take(self, lines: list[bytes], now: float) -> None:
        if not lines:
            return
        stamp = b"[%12.6f] " % now
        stripped = [line.rstrip(b"\r") for line in lines]
        self._log.write(stamp + (b"\n" + stamp).join(stripped) + b"\n")
        self.total_lines += len(lines)
        for line in stripped:
            if len(line) > LONGEST_TEXT:
                line = b"%b ... %d more bytes in the log" % (line[:LONGEST_TEXT], len(line) - LONGEST_TEXT)
            if len(self._head) < self._head_size:
                self._head.append(_decode(now, line))
            else:
                if len(self._tail) == self._tail.maxlen:
                    self._keep_if_significant(*self._tail[0])
                self._tail.append((now, line))

    def _keep_if_significant(self, time: float, line: bytes) -> None:
        kind = self._significant(line)
        if kind is not None and self._kinds[kind] < self._per_kind:
            self._kinds[kind] += 1
            self._middle.append((time, line))


def _decode(time: float, line: bytes) -> ConsoleLine:
    return ConsoleLine(time, line.decode("utf-8", "replace"))
