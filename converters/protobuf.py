"""Protocol Buffers wire format, for many messages of one shape at a time.

A batch of messages is a list of pieces, each of which contributes some bytes to every row:
constants, varints, 64-bit words, and entries of a table of ready-made bytes. `concatenate_rows`
works out all lengths by column and scatters the pieces into one buffer, so the cost is a few
NumPy operations per piece and none per message. Single messages (headers) have scalar functions.

Format: https://protobuf.dev/programming-guides/encoding/
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Index = npt.NDArray[np.int64]

_SEVEN_BITS: Final = np.uint64(0x7F)
_SHIFT: Final = np.uint64(7)
_MASK_64: Final = (1 << 64) - 1
_THRESHOLDS: Final = tuple(1 << (7 * n) for n in range(1, 10))
_WORD: Final = np.dtype((np.void, 8))  # eight bytes without alignment


def varint(value: int) -> bytes:
    """Encode one integer; a negative one takes ten bytes, as int64 does."""
    value &= _MASK_64
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def integer_field(number: int, value: int) -> bytes:
    """Encode a field of type uint32, uint64, int32, int64, bool or enum."""
    return varint(number << 3) + varint(value)


def double_field(number: int, value: float) -> bytes:
    """Encode a field of type double."""
    return varint(number << 3 | 1) + struct.pack("<d", value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    """Encode a field of type bytes, string or message."""
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint_lengths(values: Words) -> Lengths:
    """Return how many bytes (1 to 10) each value takes as a varint."""
    lengths = np.ones(values.shape, np.int64)
    if not values.size:
        return lengths
    largest = int(values.max())
    for threshold in _THRESHOLDS:
        if largest < threshold:
            break
        lengths += values >= np.uint64(threshold)
    return lengths


class Piece(Protocol):
    """Bytes that one part of a message contributes to every row of a batch."""

    def lengths(self) -> Lengths | int:
        """Return the bytes it takes in each row, or one number for all rows."""

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write its bytes of each row at that row's position."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bytes in every row: tags, and fields that do not vary."""

    content: bytes

    def lengths(self) -> int:
        """Return the length, for all rows alike."""
        return len(self.content)

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the bytes at each position."""
        word = np.dtype((np.void, len(self.content)))
        _windows(buffer, word)[positions] = np.frombuffer(self.content, word)


class Varint:
    """An unsigned integer in each row, without its tag."""

    def __init__(self, values: npt.NDArray[np.integer]) -> None:
        self._values: Words = values.astype(np.uint64, copy=False)
        self._lengths = varint_lengths(self._values)

    def lengths(self) -> Lengths:
        """Return 1 to 10 for each row."""
        return self._lengths

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the values, seven bits a byte, lowest first."""
        if not self._values.size:
            return
        rest = self._values.copy()
        lengths = self._lengths
        shortest, longest = int(lengths.min()), int(lengths.max())
        for offset in range(longest):
            if offset >= shortest:  # from here on only some rows have a byte
                keep = np.flatnonzero(lengths > offset)
                rest, lengths, positions = rest[keep], lengths[keep], positions[keep]
                shortest = int(lengths.min())
            byte = (rest & _SEVEN_BITS).astype(np.uint8)
            byte |= (lengths > offset + 1).view(np.uint8) << np.uint8(7)
            buffer[positions + offset] = byte
            rest >>= _SHIFT


@dataclass(frozen=True, slots=True)
class Fixed64:
    """A 64-bit word in each row, without its tag."""

    values: Words

    def lengths(self) -> int:
        """Return 8, for all rows alike."""
        return 8

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the words, lowest byte first."""
        _windows(buffer)[positions] = self.values.astype("<u8").view(_WORD)


class ByteTable:
    """Ready-made byte strings that the rows of a batch refer to by index."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        self.lengths: Lengths = np.array([len(entry) for entry in entries], np.int64)
        self.starts: Index = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)[:-1]
        self.content: Bytes = np.frombuffer(b"".join(entries), np.uint8)


class Lookup:
    """An entry of a table in each row."""

    def __init__(self, table: ByteTable, index: npt.NDArray[np.integer]) -> None:
        self._table = table
        self._lengths: Lengths = table.lengths[index]
        self._starts: Index = table.starts[index]

    def lengths(self) -> Lengths:
        """Return the length of each row's entry."""
        return self._lengths

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Copy the entries eight bytes at a time; short ones byte by byte."""
        if not positions.size:
            return
        short = np.flatnonzero(self._lengths < _WORD.itemsize)
        self._copy_bytes(buffer, positions, short)
        if short.size == positions.size:
            return
        self._copy_words(buffer, positions, np.flatnonzero(self._lengths >= _WORD.itemsize))

    def _copy_bytes(self, buffer: Bytes, positions: Index, rows: Index) -> None:
        for offset in range(_WORD.itemsize):
            rows = rows[self._lengths[rows] > offset]
            buffer[positions[rows] + offset] = self._table.content[self._starts[rows] + offset]

    def _copy_words(self, buffer: Bytes, positions: Index, rows: Index) -> None:
        source, target = _windows(self._table.content), _windows(buffer)
        starts, targets, lengths = self._starts[rows], positions[rows], self._lengths[rows]
        # The last word ends where the entry ends, so that nothing behind it is touched.
        last = lengths - _WORD.itemsize
        target[targets + last] = source[starts + last]
        for offset in range(0, int(last.max()), _WORD.itemsize):
            if offset >= int(last.min()):
                keep = np.flatnonzero(last > offset)
                starts, targets, last = starts[keep], targets[keep], last[keep]
            target[targets + offset] = source[starts + offset]


class Some:
    """Pieces that only some rows have: `rows` are their indices, `pieces` have one row for each."""

    def __init__(self, rows: Index, pieces: Sequence[Piece], count: int) -> None:
        self._rows = rows
        self._pieces = pieces
        self._lengths = np.zeros(count, np.int64)
        self._lengths[rows] = total_lengths(pieces, rows.size)

    def lengths(self) -> Lengths:
        """Return the pieces' lengths together in the rows that have them, else 0."""
        return self._lengths

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the pieces one behind the other in the rows that have them."""
        _place_all(self._pieces, buffer, positions[self._rows])


def total_lengths(pieces: Sequence[Piece], count: int) -> Lengths:
    """Return the bytes that the pieces take together in each of `count` rows."""
    total = np.zeros(count, np.int64)
    for piece in pieces:
        total += piece.lengths()
    return total


def length_prefixed(tag: bytes, pieces: Sequence[Piece], count: int) -> list[Piece]:
    """Make the pieces the content of a field of type message: tag, length, content."""
    return [Constant(tag), Varint(total_lengths(pieces, count)), *pieces]


def concatenate_rows(pieces: Sequence[Piece], count: int) -> Bytes:
    """Return the bytes of `count` rows, one behind the other."""
    lengths = total_lengths(pieces, count)
    ends = np.cumsum(lengths)
    buffer = np.empty(int(ends[-1]) if count else 0, np.uint8)
    _place_all(pieces, buffer, ends - lengths)
    return buffer


def _place_all(pieces: Sequence[Piece], buffer: Bytes, positions: Index) -> None:
    for piece in pieces:
        piece.place(buffer, positions)
        positions = positions + piece.lengths()


def _windows(buffer: Bytes, word: "np.dtype[np.void]" = _WORD) -> npt.NDArray[np.void]:
    """View every run of bytes as long as a word as one unaligned word; word i begins at byte i."""
    count = max(buffer.size - word.itemsize + 1, 0)
    return np.ndarray((count,), word, buffer, strides=(1,))
