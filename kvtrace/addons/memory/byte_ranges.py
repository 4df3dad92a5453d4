"""Sets of bytes of a storage as sorted ranges, with the operations of sets.

Most sets are one range: all that a kernel stores to a contiguous tensor. A column of a matrix has a
range for each row. Sets of more than MOST_RANGES ranges are not represented; what would make one
raises `TooManyRanges` of `kvtrace.metrics.unique_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.metrics.unique_bytes import Ranges, TooManyRanges, merged

MOST_RANGES: Final = 1 << 20
"""Limit of ranges of a set: 16 MiB."""

_NO_NUMBERS: Final = np.zeros(0, np.int64)


class ByteRanges:
    """An immutable set of bytes: disjoint ranges [begin, end) from a storage's first byte.

    >>> row, tail = ByteRanges.of(0, 64), ByteRanges.of(32, 128)
    >>> tail - row, tail & row, tail | row
    (ByteRanges([64, 128)), ByteRanges([32, 64)), ByteRanges([0, 128)))
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Ranges | None = None) -> None:
        """Take ranges that ascend with gaps between them; None: no bytes.

        Raises:
            TooManyRanges: there are more than MOST_RANGES.
        """
        self._ranges = Ranges(_NO_NUMBERS, _NO_NUMBERS) if ranges is None else ranges
        if len(self._ranges.first) > MOST_RANGES:
            raise TooManyRanges

    @classmethod
    def of(cls, begin: int, end: int) -> ByteRanges:
        """Return the range [begin, end); no bytes if it is empty."""
        if begin >= end:
            return NOTHING
        return cls(Ranges(np.array([begin], np.int64), np.array([end], np.int64)))

    @classmethod
    def union_of(cls, sets: Iterable[ByteRanges]) -> ByteRanges:
        """Return the union of any number of sets; raise TooManyRanges."""
        non_empty = [byte_set for byte_set in sets if byte_set]
        if len(non_empty) < 2:
            return non_empty[0] if non_empty else NOTHING
        begins, ends = (
            np.concatenate([getattr(byte_set._ranges, name) for byte_set in non_empty])
            for name in ("first", "end")
        )
        return cls(merged(begins, ends))

    @property
    def array(self) -> NDArray[np.int64]:
        """The ranges as rows (begin, end), shape (n, 2), ascending with gaps between them."""
        return np.stack([self._ranges.first, self._ranges.end], axis=1)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self._ranges.size

    def __bool__(self) -> bool:
        """Return whether there are any bytes."""
        return bool(len(self._ranges.first))

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self._ranges.first)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges as (begin, end), ascending."""
        yield from zip(self._ranges.first.tolist(), self._ranges.end.tolist(), strict=True)

    def __repr__(self) -> str:
        """Return the ranges as a text; only the first eight."""
        texts = [f"[{begin}, {end})" for begin, end in self.array[:8].tolist()]
        return f"ByteRanges({', '.join(texts)}{', …' if len(self) > len(texts) else ''})"

    def __eq__(self, other: object) -> bool:
        """Return whether two sets have the same bytes."""
        if not isinstance(other, ByteRanges):
            return NotImplemented
        return np.array_equal(self._ranges.first, other._ranges.first) and np.array_equal(
            self._ranges.end, other._ranges.end
        )

    __hash__ = None  # type: ignore[assignment]  # sets are large; none is a key

    def moved(self, by: int) -> ByteRanges:
        """Return the bytes that lie `by` farther on."""
        return ByteRanges(Ranges(self._ranges.first + by, self._ranges.end + by))

    def __or__(self, other: ByteRanges) -> ByteRanges:
        """Return the union; raise TooManyRanges."""
        return ByteRanges.union_of((self, other))

    def __and__(self, other: ByteRanges) -> ByteRanges:
        """Return the intersection; raise TooManyRanges."""
        if len(self) > len(other):
            return other & self
        first, end = other._ranges.first, other._ranges.end
        # The ranges of `other` from `low` to before `high` overlap a range of `self`.
        low = np.searchsorted(end, self._ranges.first, "right")
        high = np.searchsorted(first, self._ranges.end, "left")
        counts = np.maximum(high - low, 0)
        own = np.repeat(np.arange(len(counts)), counts)
        if not len(own):
            return NOTHING
        begins_of_runs = np.cumsum(counts) - counts
        others = np.arange(len(own)) - begins_of_runs[own] + low[own]
        return ByteRanges(
            Ranges(
                np.maximum(self._ranges.first[own], first[others]),
                np.minimum(self._ranges.end[own], end[others]),
            )
        )

    def __sub__(self, other: ByteRanges) -> ByteRanges:
        """Return the bytes of this set that are not in the other; raise TooManyRanges."""
        if not self or not other:
            return self
        begin, stop = int(self._ranges.first[0]), int(self._ranges.end[-1])
        outside = ByteRanges.of(begin, stop) & other
        if not outside:
            return self
        first = np.concatenate([[begin], outside._ranges.end])
        end = np.concatenate([outside._ranges.first, [stop]])
        is_gap = first < end
        if not is_gap.any():
            return NOTHING
        return self & ByteRanges(Ranges(first[is_gap], end[is_gap]))


NOTHING: Final = ByteRanges()
"""The empty set."""
