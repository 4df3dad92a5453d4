"""Sets of a key column's values: texts, or integers as ranges.

Ids have few gaps: a hundred million of them are two numbers.
"""

from bisect import bisect_right
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

#: Fewest ranges that wait before they are merged into the set.
_LEAST_MERGED: Final = 1 << 16
_NO_INTEGERS: Final = pa.nulls(0, pa.int64())


class KeySet:
    """The distinct values of a key column: texts, or integers as ranges to save memory."""

    def __init__(self, kind: pa.DataType) -> None:
        self._texts = None if pa.types.is_integer(kind) else pa.nulls(0, kind)
        self._numbers = IntegerSet()
        self.rows = 0

    def add(self, column: pa.ChunkedArray) -> None:
        """Add the values of a piece of the column, and its length to `rows`."""
        self.rows += len(column)
        if self._texts is None:
            for chunk in column.chunks:  # to combine none, Arrow would import pandas
                self._numbers.add(chunk.drop_null().cast(pa.int64()))
        else:
            self._texts = pc.unique(pa.concat_arrays([self._texts, pc.unique(column)]))

    def __len__(self) -> int:
        return len(self._numbers if self._texts is None else self._texts)

    @property
    def first(self) -> int:
        """Smallest integer, or the largest 64-bit integer if the set is empty."""
        first = self._numbers.first
        return (1 << 63) - 1 if first is None else first

    def contains_each(self, values: pa.Array) -> pa.Array:
        """Return a boolean array: for each of `values`, whether it is a key."""
        if self._texts is None:
            return self._numbers.contains_each(values.cast(pa.int64()))
        return pc.is_in(values, value_set=self._texts)


class IntegerSet:
    """A set of 64-bit integers, stored as ranges; memory grows with the number of gaps."""

    def __init__(self) -> None:
        self._range_starts = self._range_ends = _NO_INTEGERS
        self._unmerged: list[tuple[pa.Array, pa.Array]] = []
        self._unmerged_count = 0

    def add(self, values: pa.Array) -> None:
        """Add 64-bit values without nulls, in any order and any number of times."""
        starts, ends = _ranges(values)
        self._unmerged.append((starts, ends))
        self._unmerged_count += len(starts)
        # Merging costs time linear in the set: so wait until the number of ranges has doubled.
        if self._unmerged_count > max(_LEAST_MERGED, len(self._range_starts)):
            self._merge_ranges()

    def __len__(self) -> int:
        """Return the number of distinct values."""
        self._merge_ranges()
        return len(self._range_starts) + (
            pc.sum(pc.subtract(self._range_ends, self._range_starts)).as_py() or 0
        )

    @property
    def first(self) -> int | None:
        """Smallest integer in the set; None if the set is empty."""
        self._merge_ranges()
        return self._range_starts[0].as_py() if len(self._range_starts) else None

    def contains_each(self, values: pa.Array) -> pa.Array:
        """Return a boolean array: for each of `values`, whether the set contains it."""
        self._merge_ranges()
        if len(self._range_starts) == 1:
            start, end = self._range_starts[0], self._range_ends[0]
            return pc.and_(pc.greater_equal(values, start), pc.less_equal(values, end))
        starts, ends = self._range_starts.to_pylist(), self._range_ends.to_pylist()
        indices = [bisect_right(starts, value) - 1 for value in values.to_pylist()]
        ends_of_ranges = pa.array(
            [None if index < 0 else ends[index] for index in indices],
            pa.int64(),
        )
        return pc.fill_null(pc.less_equal(values, ends_of_ranges), False)

    def _merge_ranges(self) -> None:
        if not self._unmerged:
            return
        starts = pa.concat_arrays([self._range_starts, *(ranges[0] for ranges in self._unmerged)])
        ends = pa.concat_arrays([self._range_ends, *(ranges[1] for ranges in self._unmerged)])
        self._unmerged, self._unmerged_count = [], 0
        order = pc.sort_indices(starts)
        starts, reach = starts.take(order), pc.cumulative_max(ends.take(order))
        # A new range begins where nothing before reaches up to it.
        self._range_starts, self._range_ends = _separate_ranges(starts, reach)


def _ranges(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the first and last integers of the ranges of consecutive integers in `values`."""
    if len(values) > 1 and not pc.all(pc.greater(values[1:], values[:-1])).as_py():
        values = pc.unique(values).sort()
    return _separate_ranges(values, values)


def _separate_ranges(starts: pa.Array, reach: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return starts and ends of ranges after merging those that overlap or are adjacent.

    `starts` are sorted; `reach` has the running maxima of the ends in the same order.
    """
    if not len(starts):
        return starts, reach
    following = starts[1:]
    # One less than the least integer wraps around, but the least integer follows no other value.
    gaps = pc.and_(
        pc.greater(following, reach[:-1]),
        pc.not_equal(pc.subtract(following, 1), reach[:-1]),
    )
    edge = pa.array([True])
    begins, ends = pa.concat_arrays([edge, gaps]), pa.concat_arrays([gaps, edge])
    return starts.filter(begins), reach.filter(ends)
