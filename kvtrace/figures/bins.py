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
#: More than the greatest bin of a time of 63 bits.
BINS: Final = 1 << 12


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


def medians_of_bins(
    codes: Integers, bins: Integers, counts: Integers, size: int
) -> npt.NDArray[np.float64]:
    """Return the median of each code below `size`, in ns; NaN for a code without times.

    `counts` has how many times of a code are in a bin; a pair of code and bin may come repeatedly.
    Of n times in a bin, that of rank r (from 0) is taken to be (r + 1/2) / n of the way from the
    bin's least time to its most. The median of an even number is the mean of the two in the middle.
    """
    keys = codes * BINS + bins
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return _medians(keys[first], np.add.reduceat(counts, first) if first.size else counts, size)


def medians_of_counts(counts: Integers, size: int) -> npt.NDArray[np.float64]:
    """Return medians as `medians_of_bins`; `counts` has the numbers of all `BINS` of each code."""
    keys = np.flatnonzero(counts)
    return _medians(keys, counts[keys], size)


def _medians(keys: Integers, counts: Integers, size: int) -> npt.NDArray[np.float64]:
    """Return the medians of codes, given distinct ascending keys, code * `BINS` + bin."""
    medians = np.full(size, np.nan)
    if not keys.size:
        return medians
    upto = np.cumsum(counts)
    first = np.flatnonzero(np.diff(keys // BINS, prepend=-1))
    before = np.append(0, upto)[first]
    totals = np.append(before[1:], upto[-1]) - before
    both = []
    for rank in ((totals - 1) // 2, totals // 2):
        row = np.searchsorted(upto, before + rank, side="right")
        place = (before + rank - (upto[row] - counts[row]) + 0.5) / counts[row]
        both.append(times_at(keys[row] % BINS, place))
    medians[keys[first] // BINS] = (both[0] + both[1]) / 2
    return medians
