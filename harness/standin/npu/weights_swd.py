"""Decoder of the compressed weight bit stream "SWD", also known as mlw (reference section 9.1).

A stream is a sequence of slices of up to 32768 weights. Weights and the zero runs between them are
Golomb-Rice codes, whose unary parts arrive in chunks of 12 symbols and whose remainders follow one chunk
later. Where a chunk begins depends on the one before, so a Python loop walks over the chunks and notes
where they are; quotients, remainders, palette and zero runs of a whole slice are then computed with numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.standin.npu.errors import NpuError, parse_error

Ints = NDArray[np.int64]

_CHUNK = 12
_NO_ZERO_RUNS = 6
_END_OF_STREAM = 7
_UNCOMPRESSED = 7
_ONES = [bin(value).count("1") for value in range(1 << _CHUNK)]
_ONES_ARRAY = np.array(_ONES, np.int64)
_MASKS = [(1 << length) - 1 for length in range(_CHUNK + 1)]


@dataclass(frozen=True)
class _Palette:
    entries: Ints
    direct_offset: int
    bits: int


@dataclass(frozen=True)
class _Slice:
    """A slice header: numbers of weights and of zero runs, widths of their remainders in bits.

    `zero_unary_bits` is the unary length of a chunk's zero runs, 0 in a slice without any.
    """

    weights: int
    weight_bits: int
    compressed: bool
    truncated: bool
    zeros: int
    zero_bits: int
    zero_unary_bits: int


@dataclass(frozen=True)
class _Symbols:
    """The symbols of a slice by chunk: unary codes (a row each), position and number of the remainders."""

    codes: Ints
    at: Ints
    counts: Ints


class _Bits:
    """The stream, least significant bit first, and the position in it."""

    def __init__(self, data: bytes) -> None:
        self.size = 8 * len(data)
        self.at = 0
        padded = np.frombuffer(data + bytes(8), np.uint8).astype(np.int64)
        self.pairs = padded[:-1] | padded[1:] << 8
        self.words: list[int] = (self.pairs[:-6] | self.pairs[2:-4] << 16 | self.pairs[4:-2] << 32).tolist()

    def take(self, count: int) -> int:
        """Return the next `count` (at most 32) bits."""
        if self.at + count > self.size:
            raise self.ended()
        value = self.words[self.at >> 3] >> (self.at & 7)
        self.at += count
        return value & ((1 << count) - 1)

    def ended(self) -> NpuError:
        """The error of a stream that is too short."""
        return parse_error(f"the weight stream ends after {self.size // 8} bytes, in the middle of a slice")

    def gather(self, at: Ints, counts: Ints, width: int) -> Ints:
        """Return `counts[i]` numbers of `width` (at most 9) bits from position `at[i]` on, for all i."""
        total = int(counts.sum())
        if width == 0:
            return np.zeros(total, np.int64)
        skipped = (np.cumsum(counts) - counts) * width
        where = np.repeat(at - skipped, counts) + np.arange(total) * width
        return np.asarray(self.pairs[where >> 3] >> (where & 7) & ((1 << width) - 1))


def decode_swd(data: bytes, count: int) -> NDArray[np.int16]:
    """Decode a weight stream.

    Args:
        data: The stream, with or without its 0xFF padding.
        count: Number of weights that the operation's element order asks for.

    Returns:
        int16 array of shape (count,), each a signed 9-bit weight.

    Raises:
        NpuError: The stream is malformed or holds another number of weights.
    """
    bits = _Bits(data)
    palette: _Palette | None = None
    parts: list[Ints] = []
    left = count
    while bits.at + 3 <= bits.size:
        zero_bits = bits.take(3)
        if zero_bits == _END_OF_STREAM:
            bits.at = (bits.at + 7) & ~7
            palette = None
            continue
        header, palette, lead = _slice_header(bits, zero_bits, palette)
        if header.weights > left:
            raise parse_error(
                f"the weight stream holds more than the {count} weights that the operation needs"
            )
        parts.append(_decode_slice(bits, header, palette, lead, left))
        left -= parts[-1].size
        if bits.at > bits.size:
            raise bits.ended()
    if left:
        raise parse_error(f"the weight stream holds {count - left} weights, the operation needs {count}")
    return np.concatenate(parts).astype(np.int16) if parts else np.zeros(0, np.int16)


def _slice_header(bits: _Bits, zero_bits: int, palette: _Palette | None) -> tuple[_Slice, _Palette, bool]:
    weights = bits.take(15) + 1
    weight_bits, truncated, new = bits.take(3), bits.take(1), bits.take(1)
    if new:
        palette = _read_palette(bits)
    compressed = weight_bits != _UNCOMPRESSED
    if palette is None or zero_bits in (4, 5) or weight_bits == 6:
        raise parse_error("the weight stream has a slice with reserved codes or without a palette")
    if not compressed:
        entries = palette.entries.size
        weight_bits = (entries - 1).bit_length() if entries else palette.bits
    zeros = zero_bits != _NO_ZERO_RUNS
    header = _Slice(
        weights=weights,
        weight_bits=weight_bits,
        compressed=compressed,
        truncated=bool(truncated),
        zeros=weights + new if zeros else 0,
        zero_bits=zero_bits,
        zero_unary_bits=0 if not zeros else 12 if zero_bits < 3 else 8,
    )
    return header, palette, bool(new)


def _read_palette(bits: _Bits) -> _Palette:
    offset, size, width = bits.take(5), bits.take(5), bits.take(3) + 2
    entries = [bits.take(width) for _ in range(size + 1 if size else 0)]
    return _Palette(np.array(entries, np.int64), offset, width)


def _decode_slice(bits: _Bits, header: _Slice, palette: _Palette, lead: bool, room: int) -> Ints:
    """Return the weights of one slice with its zero runs, `lead` first; they must fit into `room`."""
    try:
        if not header.zero_unary_bits:
            return _from_palette(_plain_values(bits, header), palette)
        values, runs = _values_and_runs(bits, header)
    except IndexError:
        raise bits.ended() from None
    weights = _from_palette(values, palette)
    total = weights.size + int(runs.sum())
    if total > room:
        raise parse_error("the weight stream has a zero run beyond what the operation needs")
    if not lead:
        runs = np.concatenate([np.zeros(1, np.int64), runs])
    out = np.zeros(total, np.int64)
    out[np.arange(weights.size) + np.cumsum(runs[:-1])] = weights
    return out


def _plain_values(bits: _Bits, header: _Slice) -> Ints:
    """Decode a slice without zero runs: plain numbers, or chunks of unary codes and remainders."""
    if not header.compressed:
        start = bits.at
        bits.at += header.weights * header.weight_bits
        return bits.gather(np.array([start]), np.array([header.weights]), header.weight_bits)
    words, at, left = bits.words, bits.at, header.weights
    starts: list[int] = []
    windows: list[int] = []
    remainders = 0
    while left > 0:
        window = words[at >> 3] >> (at & 7)
        starts.append(at)
        windows.append(window)
        length = _ONES[window & 0xFFF]
        at += _CHUNK + length + remainders
        new = _CHUNK if header.truncated else _CHUNK - _ONES[window >> _CHUNK & _MASKS[length]]
        remainders = new * header.weight_bits
        left -= new
    bits.at = at + remainders + left * header.weight_bits
    window_array = np.array(windows, np.int64)
    unary0 = window_array & 0xFFF
    lengths = _ONES_ARRAY[unary0]
    codes = _weight_codes(unary0, window_array >> _CHUNK)
    counts = np.full(len(starts), _CHUNK) if header.truncated else (codes < 2).sum(axis=1)
    counts[-1] += left
    where = np.append((np.array(starts) + _CHUNK + lengths)[1:], at)
    return _numbers(bits, _Symbols(codes, where, counts), header.weight_bits, 3 if header.truncated else 2)


def _values_and_runs(bits: _Bits, header: _Slice) -> tuple[Ints, Ints]:
    """Decode a slice with zero runs, whose chunks keep pace with the weights'."""
    words, at, weights, zeros = bits.words, bits.at, 0, 0
    weight_chunks: list[tuple[int, int]] = []
    weight_rests: list[tuple[int, int]] = []
    zero_chunks: list[int] = []
    zero_rests: list[tuple[int, int]] = []
    zero_mask = (1 << header.zero_unary_bits) - 1
    new_weights = new_zeros = 0
    while True:
        balance = weights - zeros
        with_weights = balance < 8 and weights < header.weights
        with_zeros = balance >= 0 and zeros < header.zeros
        window = words[at >> 3] >> (at & 7)
        rest_weights, rest_zeros, new_weights, new_zeros = new_weights, new_zeros, 0, 0
        unary0 = 0
        if with_weights and header.compressed:
            unary0 = window & 0xFFF
            window >>= _CHUNK
            at += _CHUNK
        if with_zeros:
            unary = window & zero_mask
            window >>= header.zero_unary_bits
            at += header.zero_unary_bits
            zero_chunks.append(unary)
            new_zeros = min(header.zero_unary_bits - _ONES[unary], header.zeros - zeros)
        if with_weights:
            length = _ONES[unary0]
            unary1 = window & _MASKS[length]
            at += length
            weight_chunks.append((unary0, unary1))
            new_weights = _CHUNK if header.truncated else _CHUNK - _ONES[unary1]
            if not header.compressed and header.weight_bits > 5:
                new_weights = 8
            new_weights = min(new_weights, header.weights - weights)
        if rest_weights:
            weight_rests.append((at, rest_weights))
            at += rest_weights * header.weight_bits
        if rest_zeros:
            zero_rests.append((at, rest_zeros))
            at += rest_zeros * header.zero_bits
        if not (with_weights or with_zeros):
            break
        weights += new_weights
        zeros += new_zeros
    bits.at = at
    zero_codes = np.array(zero_chunks, np.int64)[:, None] >> np.arange(header.zero_unary_bits) & 1
    runs = _numbers(bits, _Symbols(zero_codes, *_columns(zero_rests)), header.zero_bits, 1)
    codes = _weight_codes(*_columns(weight_chunks))
    values = _numbers(
        bits, _Symbols(codes, *_columns(weight_rests)), header.weight_bits, 2 + header.truncated
    )
    return values, runs


def _columns(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _weight_codes(unary0: Ints, unary1: Ints) -> Ints:
    """Unary codes 0, 1 or 2 of 12 positions a chunk: a bit of `unary0`, and where it is 1 one of `unary1`."""
    nonzero = unary0[:, None] >> np.arange(_CHUNK) & 1
    rank = np.cumsum(nonzero, axis=1) - nonzero
    return np.asarray(nonzero * (1 + (unary1[:, None] >> rank & 1)))


def _numbers(bits: _Bits, symbols: _Symbols, width: int, goes_on: int) -> Ints:
    """Quotients and remainders put together; a quotient adds up codes until one below `goes_on`."""
    values = bits.gather(symbols.at, symbols.counts, width)
    codes = symbols.codes.ravel()
    quotients: Ints = np.diff(np.cumsum(codes)[codes < goes_on], prepend=0)
    return np.asarray(values + (quotients[: values.size] << width))


def _from_palette(values: Ints, palette: _Palette) -> Ints:
    """Palette entries or direct values; bit 0 is the sign, the rest the magnitude."""
    size = palette.entries.size
    index = values - size + palette.direct_offset
    if size:
        index = np.where(values < size, palette.entries[np.minimum(values, size - 1)], index)
    return np.asarray(np.where(index & 1, -(index >> 1), index >> 1))
