"""Launches and device kernels as columns on a time axis: merged, thinned, counted in bins.

There can be tens of millions, so columns are as narrow as what they hold, and nothing here makes
more than a few arrays of their length; the rest goes piece by piece.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

__all__ = [
    "NO_CALL",
    "Bins",
    "Executions",
    "Integers",
    "Slices",
    "bin_slices",
    "medians",
    "thin",
]

#: Whole numbers of any width.
Integers = npt.NDArray[Any]

#: In `Slices.call`, `Slices.kernel` and `Slices.phase`: not known, or not on the page.
NO_CALL: Final = -1
#: Rows that are looked at together.
_PIECE: Final = 1 << 18
#: Durations above 18 minutes are alike as far as medians are concerned.
_MEDIAN_BITS: Final = 40
_LONGEST: Final = (1 << _MEDIAN_BITS) - 1


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


def medians(
    slices: Slices, left_out: Sequence[int] = (), but: Sequence[tuple[int, int]] = ()
) -> dict[int, float]:
    """Return the median duration of each known call; phases in `left_out` do not count.

    Nor do slices of the calls and durations in `but`, each once.
    """
    wanted = slices.call != NO_CALL
    for phase in left_out:
        wanted &= slices.phase != phase
    keys = slices.call[wanted].astype(np.int64) << _MEDIAN_BITS
    duration = slices.duration[wanted]
    keys |= np.minimum(duration, _LONGEST) if duration.itemsize == 8 else duration
    keys.sort()
    keys = np.delete(keys, _found(keys, [call << _MEDIAN_BITS | ns for call, ns in but]))
    calls = np.arange(int(keys[-1] >> _MEDIAN_BITS) + 2) if len(keys) else np.zeros(1, np.int64)
    bounds = np.searchsorted(keys, calls << _MEDIAN_BITS)
    found = {}
    for call in np.flatnonzero(np.diff(bounds)).tolist():
        first, last = int(bounds[call]), int(bounds[call + 1])
        middle = keys[[(first + last - 1) // 2, (first + last) // 2]] & _LONGEST
        found[call] = float(middle.mean())
    return found


def _found(keys: Integers, wanted: list[int]) -> list[int]:
    """Return where in sorted keys each wanted one is; of one that is wanted twice, two places."""
    found: list[int] = []
    for key, times in Counter(wanted).items():
        first, last = np.searchsorted(keys, [key, key + 1]).tolist()
        found += range(first, min(first + times, last))
    return found


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
