"""Bins of times, whose width grows with the time: of at most 1/64 of it.

Below 128 ns a bin is one time. From there on each power of two is divided into 64 bins, as in the
buckets of Gil Tene's HdrHistogram. The times in a bin are taken to be evenly spread over it, as in
medians of grouped data, so that a median is wrong by less than 1 part in 64, and usually much less.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Integers

#: Most by which a median of bins is wrong, as a share of it.
PRECISION: Final = 1 / 64


def bin_of(ns: str) -> str:
    """Return SQL of the bin of a time, where `ns` is SQL of a whole number that is not negative.

    The logarithm may be rounded to the next power of two, which does not change the bin.
    """
    exponent = f"(CAST(floor(log2({ns})) AS BIGINT) - 6)"
    return f"CASE WHEN {ns} < 128 THEN {ns} ELSE 64 * {exponent} + ({ns} >> {exponent}) END"


def times_at(bins: Integers, place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return times in bins, in ns, where `place` is 0 for a bin's least time and 1 for its most."""
    exponent = np.maximum(bins // 64 - 1, 0)
    least = (bins - 64 * exponent) << exponent
    times: npt.NDArray[np.float64] = least + ((1 << exponent) - 1) * place
    return times


def medians_of(
    codes: Integers, values: Integers, counts: Integers, *, binned: bool
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Return the distinct codes, ascending, and the median of each, in ns.

    `counts` has how many times of a code have a value: the time in ns, or its bin. Of n times in a
    bin, that of rank r (from 0) is taken to be (r + 1/2) / n of the way from the bin's least time
    to its most. The median of an even number is the mean of the two in the middle.
    """
    codes, values, counts = added_up(codes, values, counts)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    upto = np.cumsum(counts)
    before = np.append(0, upto)[first]
    totals = np.append(before[1:], upto[-1:]) - before
    middle = np.zeros(first.size)
    for rank in ((totals - 1) // 2, totals // 2):
        row = np.searchsorted(upto, before + rank, side="right")
        if binned:
            place = (before + rank - (upto[row] - counts[row]) + 0.5) / counts[row]
            middle += times_at(values[row], place)
        else:
            middle += values[row]
    return codes[first], middle / 2


def added_up(
    codes: Integers, values: Integers, counts: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return distinct pairs of code and value, ascending, and the sum of their counts."""
    if not codes.size:
        return codes, values, counts
    width = int(values.max()) + 1
    if width * (int(codes.max()) + 1) >= 1 << 63:  # one number does not hold a pair
        order = np.lexsort((values, codes))
        codes, values, counts = codes[order], values[order], counts[order]
        is_first = np.append(True, (codes[1:] != codes[:-1]) | (values[1:] != values[:-1]))
        first = np.flatnonzero(is_first)
        return codes[first], values[first], np.add.reduceat(counts, first)
    pairs = codes * width + values
    if (counts == 1).all():  # to sort numbers alone takes a fraction of the time
        pairs.sort()
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        counts = np.diff(first, append=pairs.size)
    else:
        order = np.argsort(pairs, kind="stable")
        pairs = pairs[order]
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        counts = np.add.reduceat(counts[order], first)
    return pairs[first] // width, pairs[first] % width, counts
