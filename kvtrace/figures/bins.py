"""Bins of times, whose width grows with the time: of at most 1/64 of it.

Below 128 ns a bin is one time. From there on each power of two is divided into 64 bins, as in the
buckets of Gil Tene's HdrHistogram. A time that stands for a bin is its middle, so that it is wrong
by less than 1 part in 128.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Integers

#: Most by which a time that stands for its bin is wrong, as a share of the time.
PRECISION: Final = 1 / 128
#: More than the greatest bin of a time of 63 bits.
BINS: Final = 1 << 12


def bin_of(ns: str) -> str:
    """Return SQL of the bin of a time, where `ns` is SQL of a whole number that is not negative.

    The logarithm may be rounded to the next power of two, which does not change the bin.
    """
    exponent = f"(CAST(floor(log2({ns})) AS BIGINT) - 6)"
    return f"CASE WHEN {ns} < 128 THEN {ns} ELSE 64 * {exponent} + ({ns} >> {exponent}) END"


def middle_of(number: str) -> str:
    """Return SQL of the time, in ns, that stands for a bin, where `number` is SQL of the bin."""
    exponent = f"({number} // 64 - 1)"
    low = f"(({number} - 64 * {exponent}) << {exponent})"
    half = f"((1 << {exponent}) // 2)"
    return f"CASE WHEN {number} < 128 THEN {number} ELSE {low} + {half} END"


def middles(bins: Integers) -> Integers:
    """Return the times, in ns, that stand for bins."""
    exponent = np.maximum(bins // 64 - 1, 0)
    times: Integers = ((bins - 64 * exponent) << exponent) + ((1 << exponent) // 2)
    return times


def medians_of_bins(
    codes: Integers, bins: Integers, counts: Integers, size: int
) -> npt.NDArray[np.float64]:
    """Return the median of each code below `size`, in ns; NaN for a code without times.

    `counts` has how many times of a code are in a bin; a pair of code and bin may come repeatedly.
    The median of an even number is the mean of the two times in the middle.
    """
    keys = codes * BINS + bins
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return _medians(keys[first], np.add.reduceat(counts, first) if first.size else counts, size)


def medians_of_counts(counts: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Return medians as `medians_of_bins`; `counts` has the numbers of all `BINS` of each code."""
    keys = np.flatnonzero(counts)
    return _medians(keys, counts[keys].astype(np.int64), size)  # counts are whole below 2 ** 53


def _medians(keys: Integers, counts: Integers, size: int) -> npt.NDArray[np.float64]:
    """Return the medians of codes, given distinct ascending keys, code * `BINS` + bin."""
    medians = np.full(size, np.nan)
    if not keys.size:
        return medians
    upto = np.cumsum(counts)
    first = np.flatnonzero(np.diff(keys // BINS, prepend=-1))
    before = np.append(0, upto)[first]
    totals = np.append(before[1:], upto[-1]) - before
    times = middles(keys % BINS)
    low, high = (
        times[np.searchsorted(upto, before + rank, side="right")]
        for rank in ((totals - 1) // 2, totals // 2)
    )
    medians[keys[first] // BINS] = (low + high) / 2
    return medians
