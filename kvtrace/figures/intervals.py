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


def time_covered(first: Integers, last: Integers, begin: Integers, end: Integers) -> Integers:
    """Return the ns of each range that lie in the disjoint intervals from `first` to `last`."""
    if not first.size:
        return np.zeros_like(begin)
    total_before = np.append(0, np.cumsum(last - first))

    def covered_until(moment: Integers) -> Integers:
        count = np.searchsorted(first, moment, side="right")
        inside = np.where(count > 0, np.minimum(moment, last[count - 1]) - first[count - 1], 0)
        return np.asarray(np.where(count > 0, total_before[np.maximum(count - 1, 0)] + inside, 0))

    return covered_until(np.maximum(begin, end)) - covered_until(begin)
