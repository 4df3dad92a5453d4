"""Alignment of two sequences: the pairs that all longest common subsequences contain.

Example: of `a b a` and `a b`, every longest common subsequence is `a b`, with the first `a` only;
so both positions of the second sequence have a certain partner. Of `a b a` and `a`, the partner is
not certain.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Integers

#: Most compared pairs of positions; two tables of 4 bytes per pair are in memory.
_MOST_PAIRS: Final = 1 << 24


def can_align(first: Integers, second: Integers) -> bool:
    """Return whether `certain_partners` has enough memory for sequences of these lengths."""
    return (first.size + 1) * (second.size + 1) <= _MOST_PAIRS


def certain_partners(first: Integers, second: Integers) -> Integers:
    """Return for each position of `second` the position of its partner in `first`, or -1.

    Positions are partners if every longest common subsequence pairs the two. The
    lengths of common subsequences of all prefixes and of all suffixes are computed row by row
    (https://en.wikipedia.org/wiki/Longest_common_subsequence).
    """
    prefix_lengths = _common_lengths(first, second)
    suffix_lengths = _common_lengths(first[::-1], second[::-1])[::-1, ::-1]
    longest = prefix_lengths[-1, -1]
    partner = np.full(second.size, -1)
    pair_counts = np.zeros(second.size, np.int64)
    may_be_skipped = np.zeros(second.size, bool)
    for row in range(first.size + 1):
        may_be_skipped |= prefix_lengths[row, :-1] + suffix_lengths[row, 1:] == longest
        if row == first.size:
            break
        pairs = (first[row] == second) & (
            prefix_lengths[row, :-1] + 1 + suffix_lengths[row + 1, 1:] == longest
        )
        pair_counts += pairs
        partner[pairs] = row
    partner[may_be_skipped | (pair_counts != 1)] = -1
    return partner


def _common_lengths(first: Integers, second: Integers) -> npt.NDArray[np.int32]:
    """Return a table: at [i, j] the length of the longest common subsequence of two prefixes.

    These are the first i values of `first`, and the first j of `second`.
    """
    lengths = np.zeros((first.size + 1, second.size + 1), np.int32)
    for row, value in enumerate(first.tolist()):
        above = lengths[row]
        longer = np.where(second == value, above[:-1] + 1, above[1:])
        np.maximum.accumulate(longer, out=lengths[row + 1, 1:])
    return lengths
