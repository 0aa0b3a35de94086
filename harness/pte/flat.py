"""FlatBuffers tables read with every offset checked; nothing is trusted but the buffer's length.

The layout is that of the FlatBuffers binary format: a table starts with the distance to its
vtable, the vtable holds the offset of each field, vectors and strings start with their length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeVar

_SIZES = {"?": 1, "b": 1, "B": 1, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "d": 8}
_Number = TypeVar("_Number", int, float)


class MalformedError(ValueError):
    """The bytes are not what their schema says."""


class Buffer:
    """Bytes with checked reads and an allowance for work.

    Offsets may share their targets, so a small file can describe a huge tree. What a reader
    visits and copies is therefore charged against a multiple of the file's own size.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data)
        self._allowance = 4 * len(self.data) + 1024

    def charge(self, amount: int) -> None:
        """Account for `amount` bytes or elements; raises MalformedError when the file cannot hold them."""
        self._allowance -= amount
        if self._allowance < 0:
            raise MalformedError("it describes more than it can hold")

    def number(self, code: str, position: int) -> int:
        """The little-endian integer with struct code `code` at `position`."""
        return int(self._unpack(code, position))

    def double(self, position: int) -> float:
        """The little-endian float64 at `position`."""
        return float(self._unpack("d", position))

    def _unpack(self, code: str, position: int) -> int | float:
        if not 0 <= position <= len(self.data) - _SIZES[code]:
            raise MalformedError(f"offset {position} lies outside of its {len(self.data)} bytes")
        value: int | float = struct.unpack_from("<" + code, self.data, position)[0]
        return value

    def follow(self, position: int) -> int:
        """The target of the forward offset at `position`."""
        return position + self.number("I", position)

    def root(self) -> Table:
        """The root table."""
        return Table(self, self.follow(0))

    def span(self, position: int, size: int) -> memoryview:
        """`size` bytes from `position` on."""
        if not 0 <= position <= len(self.data) or not 0 <= size <= len(self.data) - position:
            raise MalformedError(f"{size} bytes at offset {position} exceed its {len(self.data)} bytes")
        return self.data[position : position + size]


class Table:
    """One table; fields are asked for by their index in the schema.

    The table size in the vtable is not used: writers share a vtable between tables that differ
    in size, so it may be too small (the Python writer does, e.g. for int and double values).
    """

    def __init__(self, buffer: Buffer, position: int) -> None:
        buffer.charge(1)
        self._buffer = buffer
        self._position = position
        self._vtable = position - buffer.number("i", position)
        self._vtable_size = buffer.number("H", self._vtable)
        buffer.span(self._vtable, self._vtable_size)

    def _field(self, index: int, size: int) -> int | None:
        slot = 4 + 2 * index
        if slot + 2 > self._vtable_size:
            return None
        offset = self._buffer.number("H", self._vtable + slot)
        if offset == 0:
            return None
        self._buffer.span(self._position + offset, size)
        return self._position + offset

    def place(self, index: int, size: int) -> int | None:
        """Position in the buffer of field `index` of `size` bytes, None if it is not stored."""
        return self._field(index, size)

    def has(self, index: int) -> bool:
        """True if field `index` is stored."""
        return self._field(index, 1) is not None

    def integer(self, index: int, code: str, default: int = 0) -> int:
        """The integer field `index`."""
        position = self._field(index, _SIZES[code])
        return default if position is None else self._buffer.number(code, position)

    def double(self, index: int) -> float:
        """The float64 field `index`."""
        position = self._field(index, 8)
        return 0.0 if position is None else self._buffer.double(position)

    def table(self, index: int) -> Table | None:
        """The table that field `index` refers to, None if absent."""
        position = self._field(index, 4)
        return None if position is None else Table(self._buffer, self._buffer.follow(position))

    def required(self, index: int, what: str) -> Table:
        """As `table`; raises MalformedError if `what` is absent."""
        table = self.table(index)
        if table is None:
            raise MalformedError(f"{what} is missing")
        return table

    def _vector(self, index: int, element: int) -> tuple[int, int]:
        """Position of the first element and number of elements of size `element` bytes."""
        position = self._field(index, 4)
        if position is None:
            return 0, 0
        start = self._buffer.follow(position)
        length = self._buffer.number("I", start)
        self._buffer.span(start + 4, length * element)
        self._buffer.charge(length * element)
        return start + 4, length

    def integers(self, index: int, code: str) -> tuple[int, ...]:
        """The vector of integers in field `index`, empty if absent."""
        start, length = self._vector(index, _SIZES[code])
        return struct.unpack_from(f"<{length}{code}", self._buffer.data, start) if length else ()

    def octets(self, index: int) -> bytes:
        """The vector of bytes in field `index`, empty if absent."""
        start, length = self._vector(index, 1)
        return bytes(self._buffer.span(start, length))

    def string(self, index: int) -> str:
        """The string in field `index`, empty if absent."""
        try:
            return self.octets(index).decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedError("a name is not UTF-8") from error

    def tables(self, index: int) -> Iterator[Table]:
        """The tables that the vector in field `index` refers to."""
        start, length = self._vector(index, 4)
        for i in range(length):
            yield Table(self._buffer, self._buffer.follow(start + 4 * i))

    def pick(self, index: int, element: int, what: str) -> Table:
        """Table `element` of the vector in field `index`; `what` names the vector in errors."""
        position = self._field(index, 4)
        start = self._buffer.follow(position) if position is not None else 0
        length = self._buffer.number("I", start) if position is not None else 0
        if not 0 <= element < length:
            raise MalformedError(f"{what} {element} of {length} does not exist")
        self._buffer.charge(1)
        return Table(self._buffer, self._buffer.follow(start + 4 + 4 * element))
