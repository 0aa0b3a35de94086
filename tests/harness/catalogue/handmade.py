"""A program and a bundle made by hand, of int8 tensors with two elements.

Field numbers are those of ExecuTorch's program.fbs and bundled_program_schema.fbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import flatbuffers

_INT8 = 1
_PROGRAM_TENSOR, _BUNDLE_TENSOR = 5, 1


class _Builder:
    def __init__(self) -> None:
        self.buffer = flatbuffers.Builder()

    def tables(self, offsets: Sequence[int]) -> int:
        self.buffer.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.buffer.PrependUOffsetTRelative(offset)
        return int(self.buffer.EndVector())

    def integers(self, numbers: Sequence[int]) -> int:
        self.buffer.StartVector(4, len(numbers), 4)
        for number in reversed(numbers):
            self.buffer.PrependInt32(number)
        return int(self.buffer.EndVector())

    def table(self, fields: Mapping[int, int], scalars: Mapping[int, int] | None = None) -> int:
        self.buffer.StartObject(10)
        for slot, offset in fields.items():
            self.buffer.PrependUOffsetTRelativeSlot(slot, offset, 0)
        for slot, number in (scalars or {}).items():
            self.buffer.PrependByteSlot(slot, number, 0)
        return int(self.buffer.EndObject())

    def finish(self, root: int, identifier: bytes) -> bytes:
        self.buffer.Finish(root, file_identifier=identifier)
        return bytes(self.buffer.Output())


def program(outputs: int) -> bytes:
    """A program `forward` without inputs and operators that has `outputs` outputs."""
    builder = _Builder()
    tensor = builder.table({2: builder.integers([2])}, {0: _INT8})
    value = builder.table({1: tensor}, {0: _PROGRAM_TENSOR})
    name = builder.buffer.CreateString("forward")
    values, indices = builder.tables([value] * outputs), builder.integers(range(outputs))
    plan = builder.table({0: name, 2: values, 4: indices})
    return builder.finish(builder.table({1: builder.tables([plan])}), b"ET12")


def bundle(content: bytes, references: int) -> bytes:
    """A bundle of the program `content` with one test case that has `references` references."""
    builder = _Builder()
    data = builder.buffer.CreateByteVector(bytes(2))
    tensor = builder.table({1: builder.integers([2]), 2: data}, {0: _INT8})
    value = builder.table({1: tensor}, {0: _BUNDLE_TENSOR})
    case = builder.table({1: builder.tables([value] * references)})
    name = builder.buffer.CreateString("forward")
    suite = builder.table({0: name, 1: builder.tables([case])})
    embedded = builder.buffer.CreateByteVector(content)
    return builder.finish(builder.table({1: builder.tables([suite]), 2: embedded}), b"BP08")
