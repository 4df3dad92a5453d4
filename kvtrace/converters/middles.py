"""Exact medians by key of any number of times, in memory that goes with the keys.

Times are counted by key and value. Where the values are too many, neighbours are counted as one, in
bins whose width is a share of the value; a second pass over the same times then counts those alone
that are in the bins that hold the middle, and so on until these are single nanoseconds.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.columns import Integers

#: Values that are told apart at the same time, over all keys.
MOST_VALUES: Final = 1 << 21
#: Of one key.
FEWEST_VALUES: Final = 64
#: A bin is a floating-point number with so many bits behind the point. Numbers below 2**33 are told
#: apart by that; the bits above are the key's, or that of one of its two middles.
_FINE: Final = 32
#: Bits of the exponent of a number below 2**63, and of one below 1.
_EXPONENT: Final = 7
_MANTISSA: Final = 52
_ZERO: Final = 1_022
#: Codes that wait to be counted, at least.
_FEW: Final = 1 << 20


class Middles:
    """Medians of the times that each key is given, in one or several passes over the same times.

    while another:
        for key, ns, times in …:
            middles.add(key, ns, times)
        another = middles.settle()
    """

    def __init__(self, most: int = MOST_VALUES, fewest: int = FEWEST_VALUES) -> None:
        """Hold at most about `most` values, or `fewest` of each key where these are more."""
        self._limits = most, fewest
        self._tally = _Tally(most, fewest)
        self._began = False
        #: Of the two times in the middle of each key, one behind the other: the bin that holds it,
        #: from first to before last, and its place in the order of those in the bin. A time that is
        #: known is the first of a bin that is empty; -1 stands for none.
        self._first = self._last = self._place = np.zeros(0, np.int64)

    def add(self, key: Integers, ns: Integers, times: Integers) -> None:
        """Add times in ns, 0 or more, of keys from 0; each stands for one or more, as `times` says.

        Keys are below 2**23.
        """
        if not self._began:
            self._count(key, ns, times)
            return
        known = key < self._first.size >> 1
        key, ns, times = key[known], ns[known], times[known]
        for middle in (2 * key, 2 * key + 1):
            inside = (self._first[middle] <= ns) & (ns < self._last[middle])
            chosen = middle[inside]
            self._count(chosen, ns[inside] - self._first[chosen], times[inside])

    def _count(self, key: Integers, ns: Integers, times: Integers) -> None:
        if key.size:
            self._tally.add(key, ns, times)

    def settle(self) -> bool:
        """End a pass; return whether another one over the same times is needed."""
        codes, counts = self._tally.counted()
        bits = self._tally.bits
        self._tally = _Tally(*self._limits)
        key = codes >> (bits + _EXPONENT)
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        key = key[starts]
        reached = np.cumsum(counts)
        before = (reached - counts)[starts]
        if not self._began:
            key, before = self._begin(key, before, reached[-1:])
        at = np.searchsorted(reached, before + self._place[key])
        bins = codes[at] & ((1 << (bits + _EXPONENT)) - 1)
        begin, end = (self._first[key] + _edge(each, bits) for each in (bins, bins + 1))
        self._place[key] -= (reached - counts)[at] - before
        self._first[key], self._last[key] = begin, np.where(end - begin == 1, begin, end)
        return bool((self._last > self._first).any())

    def _begin(
        self, key: Integers, before: Integers, reached: Integers
    ) -> tuple[Integers, Integers]:
        """Find the places of both middles of each key; return both, and what is before them."""
        self._began = True
        total = np.diff(before, append=reached)
        size = 2 * int(key.max(initial=-1)) + 2
        self._first, self._last = np.full(size, -1), np.full(size, -1)
        self._place = np.zeros(size, np.int64)
        self._place[2 * key], self._place[2 * key + 1] = (total + 1) // 2, total // 2 + 1
        middle = np.concatenate([2 * key, 2 * key + 1])
        self._first[middle] = 0
        return middle, np.concatenate([before, before])

    def medians(self, keys: int) -> npt.NDArray[np.float64]:
        """Return the medians of keys below a number, NaN where a key had no times."""
        low, high = self._first[0::2][:keys], self._first[1::2][:keys]
        found = np.full(keys, np.nan)
        found[: low.size] = np.where(low < 0, np.nan, low + (high - low) / 2)
        return found


class _Tally:
    """How often each code came; where there are too many, those of neighbouring bins are one."""

    def __init__(self, most: int, fewest: int) -> None:
        self._most, self._fewest = most, fewest
        self._codes = self._counts = np.zeros(0, np.int64)
        self._waiting: list[tuple[Integers, Integers]] = []
        self._held = 0
        self.bits = _FINE

    def add(self, key: Integers, ns: Integers, times: Integers) -> None:
        self._waiting.append(_alike(key << (self.bits + _EXPONENT) | _bins(ns, self.bits), times))
        self._held += self._waiting[-1][0].size
        if self._held > max(min(_FEW, self._most), self._codes.size):
            self.counted()

    def counted(self) -> tuple[Integers, Integers]:
        """Return the codes, sorted, and how often each came."""
        together = [(self._codes, self._counts), *self._waiting]
        codes, counts = (np.concatenate(list(each)) for each in zip(*together, strict=True))
        codes, counts = _alike(codes, counts)
        # Once there are too many, they are made far fewer, so that what comes soon counts as known.
        least = self._fewest * (
            1 + int(np.count_nonzero(np.diff(codes >> (self.bits + _EXPONENT))))
        )
        enough = max(self._most, least)
        if codes.size > enough:
            enough = max(self._most >> 3, least)
        while codes.size > enough and self.bits:
            self.bits -= 1
            codes, counts = _alike(codes >> 1, counts)
        self._codes, self._counts, self._waiting, self._held = codes, counts, [], 0
        return codes, counts


def _alike(codes: Integers, times: Integers) -> tuple[Integers, Integers]:
    """Return the different codes, sorted, and the sum of `times` of each."""
    if not codes.size:
        return codes, times
    once = bool(times.max() == 1)
    if once:
        codes = np.sort(codes)
    else:
        order = np.argsort(codes)
        codes, times = codes[order], times[order]
    fresh = np.append(True, codes[1:] != codes[:-1])
    if fresh.all():
        return codes, times
    starts = np.flatnonzero(fresh)
    counts = np.diff(starts, append=codes.size) if once else np.add.reduceat(times, starts)
    return codes[starts], counts


def _bins(ns: Integers, bits: int) -> Integers:
    """Return the number of the bin of each time; a greater time has none below."""
    if ns.max() >> _MANTISSA:  # a floating-point number would be rounded, perhaps up
        ns = np.where(ns >> _MANTISSA > 0, ns & -(1 << (63 - _MANTISSA)), ns)
    number = ns.astype(np.float64).view(np.int64) >> (_MANTISSA - bits)
    bins: Integers = np.maximum(number - (_ZERO << bits), 0)
    return bins


def _edge(bins: Integers, bits: int) -> Integers:
    """Return the least time, a whole number, that is in a bin or above it."""
    number = (bins + (_ZERO << bits)) << (_MANTISSA - bits)
    edge = np.ceil(number.view(np.float64))
    return np.where(bins > 0, np.minimum(edge, 2.0**63 - 1024), 0).astype(np.int64)
