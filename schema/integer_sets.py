"""Sets of integers with few gaps, as ids, stored as ranges: a hundred million take two numbers."""

from bisect import bisect_right

import pyarrow as pa
import pyarrow.compute as pc

#: Fewest ranges that wait before they are merged into the set.
_FEW = 1 << 16
_NONE = pa.array([], pa.int64())


class IntegerSet:
    """A set of 64-bit integers, stored as ranges; memory grows with the number of gaps."""

    def __init__(self) -> None:
        self._first = self._last = _NONE
        self._waiting: list[tuple[pa.Array, pa.Array]] = []
        self._waiting_ranges = 0

    def add(self, values: pa.Array) -> None:
        """Add 64-bit values without nulls, in any order and any number of times."""
        first, last = _ranges(values)
        self._waiting.append((first, last))
        self._waiting_ranges += len(first)
        # Merging costs time linear in the set: so wait until the number of ranges has doubled.
        if self._waiting_ranges > max(_FEW, len(self._first)):
            self._join()

    def __len__(self) -> int:
        """Return the number of distinct values."""
        self._join()
        return len(self._first) + (pc.sum(pc.subtract(self._last, self._first)).as_py() or 0)

    @property
    def first(self) -> int | None:
        """The least value; None if the set is empty."""
        self._join()
        return self._first[0].as_py() if len(self._first) else None

    def has(self, values: pa.Array) -> pa.Array:
        """Return a mask of the values that are in the set."""
        self._join()
        if len(self._first) == 1:
            first, last = self._first[0], self._last[0]
            return pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
        firsts, lasts = self._first.to_pylist(), self._last.to_pylist()
        places = [bisect_right(firsts, value) - 1 for value in values.to_pylist()]
        reach = pa.array([None if place < 0 else lasts[place] for place in places], pa.int64())
        return pc.fill_null(pc.less_equal(values, reach), False)

    def _join(self) -> None:
        if not self._waiting:
            return
        first = pa.concat_arrays([self._first, *(ranges[0] for ranges in self._waiting)])
        last = pa.concat_arrays([self._last, *(ranges[1] for ranges in self._waiting)])
        self._waiting, self._waiting_ranges = [], 0
        order = pc.sort_indices(first)
        first, reach = first.take(order), pc.cumulative_max(last.take(order))
        # A new range begins where nothing before reaches up to it.
        self._first, self._last = _apart(first, reach)


def _ranges(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the first and last values of the ranges that values form."""
    if len(values) > 1 and not _all(pc.greater(values[1:], values[:-1])):
        values = pc.unique(values).sort()
    return _apart(values, values)


def _apart(first: pa.Array, reach: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return separate ranges, merged from sorted first values and running maxima of last values."""
    if not len(first):
        return first, reach
    later = first[1:]
    # One less than the least integer wraps around, but the least integer follows no other value.
    gaps = pc.and_(pc.greater(later, reach[:-1]), pc.not_equal(pc.subtract(later, 1), reach[:-1]))
    border = pa.array([True])
    begins, ends = pa.concat_arrays([border, gaps]), pa.concat_arrays([gaps, border])
    return first.filter(begins), reach.filter(ends)


def _all(flags: pa.Array) -> bool:
    return bool(pc.all(flags).as_py())
