"""Launches and device kernels as columns on a time axis: merged, thinned, counted in bins.

There can be tens of millions, so columns are as narrow as what they hold, and nothing here makes
more than a few arrays of their length; the rest goes piece by piece.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Positions, summed_by

__all__ = [
    "BIN_COUNTS",
    "MISSING",
    "NO_CALL",
    "Bins",
    "Executions",
    "Integers",
    "Lookup",
    "Slices",
    "Thinned",
    "bin_pieces",
    "bin_slices",
    "coarser",
    "thin",
]

#: Whole numbers of any width.
Integers = npt.NDArray[Any]

#: In `Slices.call`, `Slices.kernel` and `Slices.phase`: not known, or not on the page.
NO_CALL: Final = -1
#: Represents null in columns of whole numbers.
MISSING: Final = int(np.iinfo(np.int64).min)
#: Bins over the whole timeline; the finest that fit.
BIN_COUNTS: Final = (2000, 500, 100, 20)
#: Rows that are processed together.
_PIECE: Final = 1 << 18


class Lookup:
    """Ids to indices, for whole columns."""

    def __init__(self, ids: Integers, indices: Integers) -> None:
        order = np.argsort(ids, kind="stable")
        self._positions = Positions(ids[order])
        #: The last entry is that of unknown ids.
        self._indices = np.append(indices[order], NO_CALL)

    def of(self, ids: Integers) -> Integers:
        """Return the index of each id, NO_CALL for one that is not there."""
        return self._indices[self._positions.of(ids)]


@dataclass(frozen=True, slots=True)
class Slices:
    """Columns of equal length, sorted by `begin`; times are nanoseconds since the page's origin."""

    begin: Integers
    duration: Integers
    kernel: Integers
    """Index into the report's kernels."""
    call: Integers
    """Index into the report's calls."""
    track: Integers
    """Index into the report's tracks."""
    phase: Integers
    """Index into the report's phases; of an execution, that of its launch."""
    seq: Integers
    """`launches.seq` or `gpu_kernels.record`."""

    def __len__(self) -> int:
        return len(self.begin)

    @classmethod
    def empty(cls) -> Self:
        """Return slices with no rows."""
        return cls(*(np.zeros(0, np.int64) for _ in fields(cls)))

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the parts as one, sorted by begin; empties the list, lest both stay in memory.

        Rows that begin together keep their order: within a run, that of `seq`.
        """
        whole = [part for part in parts if len(part)]
        parts.clear()
        if not whole:
            return cls.empty()
        if len(whole) == 1:
            joined = whole.pop()
        else:
            names = [field.name for field in fields(cls)]
            columns = {n: np.concatenate([getattr(part, n) for part in whole]) for n in names}
            whole.clear()
            joined = cls(**columns)
        begin = joined.begin
        if np.all(begin[1:] >= begin[:-1]):
            return joined
        return joined.take(np.argsort(begin, kind="stable"))

    def take(self, rows: Integers) -> Self:
        """Return the rows at these positions."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def pieces(self) -> Iterator[Self]:
        """Return the rows in pieces, which are views."""
        for start in range(0, len(self), _PIECE):
            end = start + _PIECE
            yield replace(self, **{f.name: getattr(self, f.name)[start:end] for f in fields(self)})


@dataclass(frozen=True, slots=True)
class Executions(Slices):
    """Slices on the device."""

    launch: Integers
    """`seq` of the launch that caused it, in its run; NO_CALL where that is not known."""
    name: Integers
    """Index into the report's device names."""


class Thinned:
    """Chooses rows as they come: every n-th, and of each call the first and the longest yet."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._rows = 0
        self._longest = np.zeros(0, np.int64)

    def chosen(self, call: Integers, duration: Integers) -> npt.NDArray[np.bool_]:
        """Tell of each row whether it is kept; rows are given in their order."""
        chosen: npt.NDArray[np.bool_] = (self._rows + np.arange(len(call))) % self._every == 0
        self._rows += len(call)
        if self._every == 1 or not len(call):
            return chosen
        more = max(int(call.max()) + 1 - len(self._longest), 0)
        self._longest = np.append(self._longest, np.full(more, -1))
        known = np.flatnonzero(call != NO_CALL)
        new = known[self._longest[call[known]] < 0]
        chosen[new[np.unique(call[new], return_index=True)[1]]] = True
        longest = self._longest.copy()
        np.maximum.at(longest, call[known], duration[known])
        longer = known[duration[known] > self._longest[call[known]]]
        longer = longer[duration[longer] == longest[call[longer]]]
        chosen[longer[np.unique(call[longer], return_index=True)[1]]] = True
        self._longest = longest
        return chosen


def thin(slices: Slices, keep: int) -> Slices:
    """Return about `keep` rows: of each call the first and the longest, and every n-th of all.

    When the calls alone are more than half of `keep`, only every n-th row is kept.
    """
    count = len(slices)
    if count <= keep:
        return slices
    chosen = np.zeros(count, bool)
    first, longest = _first_and_longest(slices)
    if 4 * len(first) <= keep:
        chosen[first] = True
        chosen[longest] = True
    rest = max(keep - int(chosen.sum()), 0)
    chosen[np.linspace(0, count - 1, rest, dtype=np.int64)] = True
    return slices.take(np.flatnonzero(chosen))


def _first_and_longest(slices: Slices) -> tuple[Integers, Integers]:
    """Return the rows of each call's first and (first) longest slice."""
    calls = int(slices.call.max(initial=NO_CALL)) + 1
    first = np.full(calls, len(slices), np.int64)
    longest = np.full(calls, -1, np.int64)
    most = np.full(calls, -1, np.int64)
    start = 0
    for piece in slices.pieces():
        known = np.flatnonzero(piece.call != NO_CALL)
        call, duration = piece.call[known], piece.duration[known].astype(np.int64)
        np.minimum.at(first, call, start + known)
        longer = np.full(calls, -1, np.int64)
        np.maximum.at(longer, call, duration)
        here = np.flatnonzero((duration == longer[call]) & (duration > most[call]))[::-1]
        longest[call[here]] = start + known[here]  # the last write is the first row
        most = np.maximum(most, longer)
        start += len(piece)
    return first[first < len(slices)], longest[longest >= 0]


@dataclass(frozen=True, slots=True)
class Bins:
    """How many slices of each kernel began in each bin of a track, and how long they were in it.

    Sparse: one entry per (track, bin, kernel) that occurs. A bin is `width_ns` nanoseconds wide.
    """

    width_ns: int
    track: Integers
    bin: Integers
    kernel: Integers
    count: Integers
    busy_ns: Integers


def bin_slices(slices: Slices, span_ns: int, bins: int = 2000) -> Bins:
    """Count slices in equal bins over the span; a slice over several bins is shared out exactly."""
    width = max(-(-span_ns // bins), 1)
    kernels = int(slices.kernel.max(initial=0)) + 2
    places = span_ns // width + 2
    found = [_sums(*_shares(piece, width, kernels, places)) for piece in slices.pieces()]
    keys, count, busy = (
        np.concatenate([part[column] for part in found]) if found else np.zeros(0, np.int64)
        for column in range(3)
    )
    keys, count, busy = _sums(keys, count, busy)
    place, kernel = np.divmod(keys, kernels)
    track, index = np.divmod(place, places)
    return Bins(width, track, index, kernel - 1, count, busy)


def bin_pieces(
    pieces: Iterable[Slices], span_ns: int, bins: int, tracks: int, kernels: int
) -> Bins:
    """Count as `bin_slices` slices that are too many to be held, whose sums are not.

    `tracks` and `kernels` are how many there are at most.
    """
    width = max(-(-span_ns // bins), 1)
    places, kernels = span_ns // width + 2, kernels + 1
    count, busy = (np.zeros(tracks * places * kernels, np.int64) for _ in range(2))
    for piece in filter(len, pieces):
        keys, *columns = _shares(piece, width, kernels, places)
        first = int(keys.min())
        for total, column in zip((count, busy), columns, strict=True):
            sums = summed_by(keys - first, column)
            total[first : first + len(sums)] += sums
    keys = np.flatnonzero((count > 0) | (busy > 0))
    place, kernel = np.divmod(keys, kernels)
    track, index = np.divmod(place, places)
    return Bins(width, track, index, kernel - 1, count[keys], busy[keys])


def coarser(bins: Bins, times: int) -> Bins:
    """Return bins that are so many times as wide."""
    places, kernels = int(bins.bin.max(initial=0)) + 1, int(bins.kernel.max(initial=0)) + 2
    keys = (bins.track * places + bins.bin // times) * kernels + bins.kernel + 1
    keys, count, busy = _sums(keys, bins.count, bins.busy_ns)
    place, kernel = np.divmod(keys, kernels)
    track, index = np.divmod(place, places)
    return Bins(bins.width_ns * times, track, index, kernel - 1, count, busy)


def _shares(
    slices: Slices, width: int, kernels: int, places: int
) -> tuple[Integers, Integers, Integers]:
    """Return a key of (track, bin, kernel), a count and nanoseconds for each bin of each slice."""
    end = slices.begin + slices.duration
    first = slices.begin // width
    last = np.maximum(end - 1, slices.begin) // width
    repeats = last - first + 1
    rows = np.repeat(np.arange(len(slices)), repeats)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    where = first[rows] + within
    opens = np.maximum(slices.begin[rows], where * width)
    closes = np.minimum(end[rows], (where + 1) * width)
    keys = (slices.track[rows].astype(np.int64) * places + where) * kernels
    return keys + slices.kernel[rows] + 1, (within == 0).astype(np.int64), closes - opens


def _sums(keys: Integers, *columns: Integers) -> tuple[Integers, ...]:
    """Return the distinct keys in order, and for each the sums of some columns."""
    if not len(keys):
        return (keys, *columns)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return (keys[starts], *(np.add.reduceat(column[order], starts) for column in columns))
