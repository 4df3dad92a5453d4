"""Bins of times, whose width grows with the time: of at most 1/64 of it.

Below 128 ns a bin is one time. From there on each power of two is divided into 64 bins, as in the
buckets of Gil Tene's HdrHistogram. A time that stands for a bin is its middle, so that it is wrong
by less than 1 part in 128.
"""

from typing import Final

#: Most by which a time that stands for its bin is wrong, as a share of the time.
PRECISION: Final = 1 / 128


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
