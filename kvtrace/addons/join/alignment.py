"""Two sequences that differ: the pairs that all of their longest common subsequences have."""

from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Integers

#: So many pairs of positions are compared at most; two tables of 4 bytes a pair are held.
_MOST_PAIRS: Final = 1 << 24


def can_align(first: Integers, second: Integers) -> bool:
    """Whether `certain_partners` takes sequences of this length."""
    return (first.size + 1) * (second.size + 1) <= _MOST_PAIRS


def certain_partners(first: Integers, second: Integers) -> Integers:
    """Return for each position of `second` its partner in `first`, or -1.

    It has one if every longest common subsequence of the two pairs it, and with the same position.
    The lengths of common subsequences of all beginnings and of all ends are filled in row by row
    (https://en.wikipedia.org/wiki/Longest_common_subsequence).
    """
    before = _common(first, second)
    after = _common(first[::-1], second[::-1])[::-1, ::-1]
    total = before[-1, -1]
    partner = np.full(second.size, -1)
    times = np.zeros(second.size, np.int64)
    skipped = np.zeros(second.size, bool)
    for row in range(first.size + 1):
        skipped |= before[row, :-1] + after[row, 1:] == total
        if row == first.size:
            break
        pairs = (first[row] == second) & (before[row, :-1] + 1 + after[row + 1, 1:] == total)
        times += pairs
        partner[pairs] = row
    partner[skipped | (times != 1)] = -1
    return partner


def _common(first: Integers, second: Integers) -> npt.NDArray[np.int32]:
    """Return the longest common subsequence's length for each pair of beginnings."""
    lengths = np.zeros((first.size + 1, second.size + 1), np.int32)
    for row, value in enumerate(first.tolist()):
        above = lengths[row]
        longer = np.where(second == value, above[:-1] + 1, above[1:])
        np.maximum.accumulate(longer, out=lengths[row + 1, 1:])
    return lengths
