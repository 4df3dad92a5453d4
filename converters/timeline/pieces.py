"""Byte strings of many rows with one structure, built by column with NumPy.

A batch of rows is a list of pieces, each of which contributes bytes to every row: constants,
numbers, and entries of a table of encoded bytes. The pieces `"n":` and Decimal([7, 42]) give the
rows `"n":7` and `"n":42`. `concatenate_rows` computes all lengths by column and writes the pieces
into one buffer, so the cost is a few NumPy operations per piece, not per row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]
Index = npt.NDArray[np.int64]

#: Eight bytes without alignment.
WORD: Final = np.dtype((np.void, 8))
_TENS: Final = tuple(10**n for n in range(1, 19))


class Piece(Protocol):
    """Interface of pieces: the bytes of one part of a message, in every row of a batch."""

    def lengths(self) -> Lengths | int:
        """Return the number of bytes in each row, or one number for all rows."""

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the bytes of each row into `buffer`, at the row's position."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The same bytes in every row: tags, and fields that do not vary."""

    content: bytes

    def lengths(self) -> int:
        """Return the length of the content."""
        return len(self.content)

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the bytes at each position."""
        word = np.dtype((np.void, len(self.content)))
        windows(buffer, word)[positions] = np.frombuffer(self.content, word)


class Decimal:
    """An integer from 0 to 2^63 - 1 in each row, as decimal digits."""

    def __init__(self, values: npt.NDArray[np.integer]) -> None:
        self._values = values.astype(np.int64, copy=False)
        self._lengths = digit_counts(self._values, _TENS)

    def lengths(self) -> Lengths:
        """Return the number of digits of each row, 1 to 19."""
        return self._lengths

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the digits from the last to the first."""
        rest, targets = self._values, positions + self._lengths - 1
        while rest.size:
            higher = rest // 10
            buffer[targets] = (rest - higher * 10 + ord("0")).astype(np.uint8)
            more = np.flatnonzero(higher)
            rest, targets = (
                (higher, targets - 1)
                if more.size == higher.size
                else (higher[more], targets[more] - 1)
            )


def digit_counts(values: npt.NDArray[np.integer], powers: Sequence[int]) -> Lengths:
    """Return the number of digits of each value, given the powers of the base from the first on."""
    lengths = np.ones(values.shape, np.int64)
    largest = int(values.max()) if values.size else 0
    for power in powers:
        if largest < power:
            break
        lengths += values >= values.dtype.type(power)
    return lengths


class ByteTable:
    """Encoded byte strings that the rows of a batch refer to by index."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        self.lengths: Lengths = np.array([len(entry) for entry in entries], np.int64)
        self.starts: Index = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)[:-1]
        self.content: Bytes = np.frombuffer(b"".join(entries), np.uint8)


Caption = TypeVar("Caption")


def used_entries(
    captions: Sequence[Caption], used: Index, encode: Callable[[Caption], bytes]
) -> tuple[ByteTable, Index]:
    """Return a table of the encoded captions whose index is in `used`, and indexes into it.

    The second array has the index of each caption's entry.
    """
    is_used = np.bincount(used, minlength=len(captions)) > 0
    entries = [encode(captions[index]) for index in np.flatnonzero(is_used)]
    return ByteTable(entries), np.cumsum(is_used, dtype=np.int64) - 1


class Lookup:
    """An entry of a table in each row, given by its index."""

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
        short = np.flatnonzero(self._lengths < WORD.itemsize)
        self._copy_bytes(buffer, positions, short)
        if short.size == positions.size:
            return
        self._copy_words(buffer, positions, np.flatnonzero(self._lengths >= WORD.itemsize))

    def _copy_bytes(self, buffer: Bytes, positions: Index, rows: Index) -> None:
        for offset in range(WORD.itemsize):
            rows = rows[self._lengths[rows] > offset]
            buffer[positions[rows] + offset] = self._table.content[self._starts[rows] + offset]

    def _copy_words(self, buffer: Bytes, positions: Index, rows: Index) -> None:
        source, target = windows(self._table.content), windows(buffer)
        starts, targets, lengths = self._starts[rows], positions[rows], self._lengths[rows]
        # The last word ends where the entry ends, so that no byte behind the entry is written.
        last = lengths - WORD.itemsize
        target[targets + last] = source[starts + last]
        for offset in range(0, int(last.max()), WORD.itemsize):
            if offset >= int(last.min()):
                keep = np.flatnonzero(last > offset)
                starts, targets, last = starts[keep], targets[keep], last[keep]
            target[targets + offset] = source[starts + offset]


class PartialRows:
    """Pieces that only some of `count` rows have: those with the indexes `rows`.

    `pieces` have one row for each of these.
    """

    def __init__(self, rows: Index, pieces: Sequence[Piece], count: int) -> None:
        self._rows = rows
        self._pieces = pieces
        self._lengths = np.zeros(count, np.int64)
        self._lengths[rows] = total_lengths(pieces, rows.size)

    def lengths(self) -> Lengths:
        """Return the total length of the pieces in rows that have them, else 0."""
        return self._lengths

    def place(self, buffer: Bytes, positions: Index) -> None:
        """Write the pieces one after another into the rows that have them."""
        _place_all(self._pieces, buffer, positions[self._rows])


def total_lengths(pieces: Sequence[Piece], count: int) -> Lengths:
    """Return the total length in bytes of the pieces in each of `count` rows."""
    total = np.zeros(count, np.int64)
    for piece in pieces:
        total += piece.lengths()
    return total


def concatenate_rows(pieces: Sequence[Piece], count: int) -> Bytes:
    """Return the bytes of `count` rows, one row after another."""
    lengths = total_lengths(pieces, count)
    ends = np.cumsum(lengths)
    buffer = np.empty(int(ends[-1]) if count else 0, np.uint8)
    _place_all(pieces, buffer, ends - lengths)
    return buffer


def _place_all(pieces: Sequence[Piece], buffer: Bytes, positions: Index) -> None:
    for piece in pieces:
        piece.place(buffer, positions)
        positions = positions + piece.lengths()


def windows(buffer: Bytes, word: "np.dtype[np.void]" = WORD) -> npt.NDArray[np.void]:
    """Return a view of the buffer as overlapping words, where word i begins at byte i."""
    count = max(buffer.size - word.itemsize + 1, 0)
    return np.ndarray((count,), word, buffer, strides=(1,))
