"""Unions of many intervals, and how much of other ranges they cover, as NumPy arrays."""

import numpy as np

from kvtrace.figures.columns import Integers


def union_of(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Return the begins and ends of the intervals' union, as disjoint intervals in order."""
    if not begin.size:
        return begin, end
    if not (begin[1:] >= begin[:-1]).all():
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], end[order]
    latest_end = np.maximum.accumulate(end)
    is_first = np.append(True, begin[1:] > latest_end[:-1])
    last_rows = np.append(np.flatnonzero(is_first)[1:] - 1, begin.size - 1)
    return begin[is_first], latest_end[last_rows]


class Coverage:
    """Length of any ranges that disjoint intervals in order cover; all times in ns."""

    def __init__(self, first: Integers, last: Integers) -> None:
        self._first, self._last = first, last
        self._total_before = np.append(0, np.cumsum(last - first))

    def of(self, begin: Integers, end: Integers) -> Integers:
        """Return the ns of each range from `begin` to `end` that lie in the intervals."""
        if not self._first.size:
            return np.zeros_like(begin)
        return self._until(np.maximum(begin, end)) - self._until(begin)

    def _until(self, moment: Integers) -> Integers:
        """Return the ns of the intervals before each moment."""
        count = np.searchsorted(self._first, moment, side="right")
        place = np.maximum(count - 1, 0)
        inside = np.minimum(moment, self._last[place]) - self._first[place]
        covered = np.where(count > 0, self._total_before[place] + inside, 0)
        return np.asarray(covered)
