"""Sets of bytes of a storage as sorted ranges, with the operations of sets: exact, small if dense.

Most sets are one range: all that a kernel stores to a contiguous tensor. A column of a matrix has a
range for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

MOST_RANGES: Final = 1 << 20
"""Limit of ranges of the result of an operation: 16 MiB."""

_NO_NUMBERS: Final[Integers] = np.zeros(0, np.int64)


class TooManyRanges(Exception):
    """The error of a set with more ranges than the limit."""


class ByteRanges:
    """An immutable set of bytes: ranges [first, end), ascending and with gaps between them.

    >>> row, tail = ByteRanges.of(0, 64), ByteRanges.of(32, 128)
    >>> tail - row, tail & row, tail | row
    (ByteRanges([64, 128)), ByteRanges([32, 64)), ByteRanges([0, 128)))

    Results of more than MOST_RANGES ranges are not represented: operations raise TooManyRanges.
    """

    __slots__ = ("end", "first")

    def __init__(self, first: Integers = _NO_NUMBERS, end: Integers = _NO_NUMBERS) -> None:
        self.first = first
        self.end = end

    @classmethod
    def of(cls, begin: int, end: int) -> ByteRanges:
        """Return the range [begin, end); no bytes if it is empty."""
        if begin >= end:
            return NOTHING
        return cls(np.array([begin], np.int64), np.array([end], np.int64))

    @classmethod
    def of_elements(cls, begins: Integers, element_bytes: int) -> ByteRanges:
        """Return the bytes of elements that begin at offsets; raise TooManyRanges."""
        return _limited(merged(begins, begins + element_bytes))

    @classmethod
    def union_of(cls, sets: Iterable[ByteRanges]) -> ByteRanges:
        """Return the union of any number of sets; raise TooManyRanges."""
        non_empty = [byte_set for byte_set in sets if byte_set]
        return _limited(joined(non_empty)) if non_empty else NOTHING

    @property
    def array(self) -> Integers:
        """The ranges as rows (begin, end), shape (n, 2), ascending with gaps between them."""
        return np.stack([self.first, self.end], axis=1)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return int((self.end - self.first).sum())

    def __bool__(self) -> bool:
        """Return whether there are any bytes."""
        return bool(len(self.first))

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges as (begin, end), ascending."""
        yield from zip(self.first.tolist(), self.end.tolist(), strict=True)

    def __repr__(self) -> str:
        """Return the ranges as a text; only the first eight."""
        texts = [f"[{begin}, {end})" for begin, end in self.array[:8].tolist()]
        return f"ByteRanges({', '.join(texts)}{', …' if len(self) > len(texts) else ''})"

    def __eq__(self, other: object) -> bool:
        """Return whether two sets have the same bytes."""
        if not isinstance(other, ByteRanges):
            return NotImplemented
        return np.array_equal(self.first, other.first) and np.array_equal(self.end, other.end)

    __hash__ = None  # type: ignore[assignment]  # sets are large; none is a key

    def moved(self, by: int) -> ByteRanges:
        """Return the bytes that lie `by` farther on."""
        return ByteRanges(self.first + by, self.end + by)

    def __or__(self, other: ByteRanges) -> ByteRanges:
        """Return the union; raise TooManyRanges."""
        return ByteRanges.union_of((self, other))

    def __and__(self, other: ByteRanges) -> ByteRanges:
        """Return the intersection; raise TooManyRanges."""
        if len(self) > len(other):
            return other & self
        # The ranges of `other` from `low` to before `high` overlap a range of `self`.
        low = np.searchsorted(other.end, self.first, "right")
        high = np.searchsorted(other.first, self.end, "left")
        counts = np.maximum(high - low, 0)
        left_rows = np.repeat(np.arange(len(counts)), counts)
        if not len(left_rows):
            return NOTHING
        begins_of_runs = np.cumsum(counts) - counts
        right_rows = np.arange(len(left_rows)) + (low - begins_of_runs)[left_rows]
        return _limited(
            ByteRanges(
                np.maximum(self.first[left_rows], other.first[right_rows]),
                np.minimum(self.end[left_rows], other.end[right_rows]),
            )
        )

    def __sub__(self, other: ByteRanges) -> ByteRanges:
        """Return the bytes of this set that are not in the other; raise TooManyRanges."""
        if not self or not other:
            return self
        begin, stop = int(self.first[0]), int(self.end[-1])
        outside = ByteRanges.of(begin, stop) & other
        if not outside:
            return self
        first = np.concatenate([[begin], outside.end])
        end = np.concatenate([outside.first, [stop]])
        is_gap = first < end
        return self & ByteRanges(first[is_gap], end[is_gap])


NOTHING: Final = ByteRanges()
"""The empty set."""


def _limited(byte_set: ByteRanges) -> ByteRanges:
    """Return a set; raise TooManyRanges if it has more than MOST_RANGES."""
    if len(byte_set) > MOST_RANGES:
        raise TooManyRanges
    return byte_set


def merged(first: Integers, end: Integers) -> ByteRanges:
    """Return ranges sorted, with ranges joined that overlap or touch."""
    if len(first) < 2:
        return ByteRanges(first, end)
    if (first[1:] < first[:-1]).any():
        order = np.argsort(first, kind="stable")
        first, end = first[order], end[order]
    highest_end = np.maximum.accumulate(end)
    gaps = np.flatnonzero(first[1:] > highest_end[:-1])
    return ByteRanges(
        np.concatenate([first[:1], first[gaps + 1]]),
        np.concatenate([highest_end[gaps], highest_end[-1:]]),
    )


def joined(sets: Sequence[ByteRanges]) -> ByteRanges:
    """Return the union of one or more sets, with any number of ranges."""
    if len(sets) == 1:
        return sets[0]
    return merged(
        np.concatenate([byte_set.first for byte_set in sets]),
        np.concatenate([byte_set.end for byte_set in sets]),
    )
