"""Launches and device executions as columns on a time axis: merged, thinned, counted in bins.

There can be tens of millions of rows, so columns are as narrow as their values allow, and no
function creates more than a few arrays of that length; other work is done in batches.
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
    "RowSelector",
    "Slices",
    "bin_batches",
    "bin_slices",
    "coarser",
    "thin",
]

#: Whole numbers of any width.
Integers = npt.NDArray[Any]

#: Value in `Slices.call`, `Slices.kernel` and `Slices.phase`: unknown, or not on the page.
NO_CALL: Final = -1
#: Represents null in columns of whole numbers.
MISSING: Final = int(np.iinfo(np.int64).min)
#: Numbers of bins over the whole timeline; the largest number that fits is used.
BIN_COUNTS: Final = (2000, 500, 100, 20)
#: Rows that are processed together.
_BATCH_ROWS: Final = 1 << 18


class Lookup:
    """Map from ids to indexes that looks up whole columns."""

    def __init__(self, ids: Integers, indices: Integers) -> None:
        order = np.argsort(ids, kind="stable")
        self._positions = Positions(ids[order])
        #: The last entry is the index of unknown ids.
        self._indices = np.append(indices[order], NO_CALL)

    def of(self, ids: Integers) -> Integers:
        """Return the index of each id, or NO_CALL for unknown ids."""
        return self._indices[self._positions.of(ids)]


@dataclass(frozen=True, slots=True)
class Slices:
    """Launches or executions as columns of equal length, sorted by `begin`.

    Times are nanoseconds since the page's origin.
    """

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
        """Return the concatenated parts, sorted by begin; empties the list to save memory.

        Rows with the same begin keep their order: within a run, that of `seq`.
        """
        non_empty = [part for part in parts if len(part)]
        parts.clear()
        if not non_empty:
            return cls.empty()
        if len(non_empty) == 1:
            joined = non_empty.pop()
        else:
            names = [field.name for field in fields(cls)]
            columns = {n: np.concatenate([getattr(part, n) for part in non_empty]) for n in names}
            non_empty.clear()
            joined = cls(**columns)
        begin = joined.begin
        if np.all(begin[1:] >= begin[:-1]):
            return joined
        return joined.take(np.argsort(begin, kind="stable"))

    def take(self, rows: Integers) -> Self:
        """Return the rows at these positions, in this order."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def batches(self) -> Iterator[Self]:
        """Yield the rows in batches, as views."""
        for start in range(0, len(self), _BATCH_ROWS):
            end = start + _BATCH_ROWS
            yield replace(self, **{f.name: getattr(self, f.name)[start:end] for f in fields(self)})


@dataclass(frozen=True, slots=True)
class Executions(Slices):
    """Executions on devices."""

    launch: Integers
    """`seq` of the launch that caused the execution, in its run; NO_CALL if unknown."""
    name: Integers
    """Index into the report's device names."""


class RowSelector:
    """Streaming selection of rows: every n-th, and each call's first and longest so far."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._rows = 0
        self._longest = np.zeros(0, np.int64)

    def chosen(self, call: Integers, duration: Integers) -> npt.NDArray[np.bool_]:
        """Return for each row of the next batch whether it is selected.

        Batches must come in order, since row numbers and longest durations are carried over.
        """
        selected: npt.NDArray[np.bool_] = (self._rows + np.arange(len(call))) % self._every == 0
        self._rows += len(call)
        if self._every == 1 or not len(call):
            return selected
        new_calls = max(int(call.max()) + 1 - len(self._longest), 0)
        self._longest = np.append(self._longest, np.full(new_calls, -1))
        with_call = np.flatnonzero(call != NO_CALL)
        first_rows = with_call[self._longest[call[with_call]] < 0]
        selected[first_rows[np.unique(call[first_rows], return_index=True)[1]]] = True
        longest = self._longest.copy()
        np.maximum.at(longest, call[with_call], duration[with_call])
        new_longest_rows = with_call[duration[with_call] > self._longest[call[with_call]]]
        new_longest_rows = new_longest_rows[
            duration[new_longest_rows] == longest[call[new_longest_rows]]
        ]
        selected[new_longest_rows[np.unique(call[new_longest_rows], return_index=True)[1]]] = True
        self._longest = longest
        return selected


def thin(slices: Slices, keep: int) -> Slices:
    """Return about `keep` rows: the first and the longest of each call, and every n-th.

    If the calls' rows alone are more than half of `keep`, only every n-th row is selected.
    """
    count = len(slices)
    if count <= keep:
        return slices
    selected = np.zeros(count, bool)
    first, longest = _first_and_longest(slices)
    if 4 * len(first) <= keep:
        selected[first] = True
        selected[longest] = True
    remaining = max(keep - int(selected.sum()), 0)
    selected[np.linspace(0, count - 1, remaining, dtype=np.int64)] = True
    return slices.take(np.flatnonzero(selected))


def _first_and_longest(slices: Slices) -> tuple[Integers, Integers]:
    """Return the positions of each call's first and longest rows; of equal ones, the first."""
    calls = int(slices.call.max(initial=NO_CALL)) + 1
    first = np.full(calls, len(slices), np.int64)
    longest = np.full(calls, -1, np.int64)
    longest_ns = np.full(calls, -1, np.int64)
    start = 0
    for batch in slices.batches():
        with_call = np.flatnonzero(batch.call != NO_CALL)
        call, duration = batch.call[with_call], batch.duration[with_call].astype(np.int64)
        np.minimum.at(first, call, start + with_call)
        longest_of_batch = np.full(calls, -1, np.int64)
        np.maximum.at(longest_of_batch, call, duration)
        new_longest = np.flatnonzero(
            (duration == longest_of_batch[call]) & (duration > longest_ns[call])
        )[::-1]
        longest[call[new_longest]] = (
            start + with_call[new_longest]
        )  # the last write is the first row
        longest_ns = np.maximum(longest_ns, longest_of_batch)
        start += len(batch)
    return first[first < len(slices)], longest[longest >= 0]


@dataclass(frozen=True, slots=True)
class Bins:
    """Counts and durations of slices by track, bin and kernel; bins are `width_ns` wide.

    Columns have one entry per occurring (track, bin, kernel). `count` counts slices that begin in
    the bin, `busy_ns` is the time of slices within the bin.
    """

    width_ns: int
    track: Integers
    bin: Integers
    kernel: Integers
    count: Integers
    busy_ns: Integers


def bin_slices(slices: Slices, span_ns: int, bins: int = 2000) -> Bins:
    """Return slices counted in `bins` equal bins over `span_ns`.

    The time of a slice is split exactly over the bins that it overlaps.
    """
    width = max(-(-span_ns // bins), 1)
    kernels = int(slices.kernel.max(initial=0)) + 2
    bins_per_track = span_ns // width + 2
    parts = [
        _sums_by_key(*_slice_bins(batch, width, kernels, bins_per_track))
        for batch in slices.batches()
    ]
    keys, count, busy = (
        np.concatenate([part[column] for part in parts]) if parts else np.zeros(0, np.int64)
        for column in range(3)
    )
    keys, count, busy = _sums_by_key(keys, count, busy)
    track_and_bin, kernel = np.divmod(keys, kernels)
    track, index = np.divmod(track_and_bin, bins_per_track)
    return Bins(width, track, index, kernel - 1, count, busy)


def bin_batches(
    batches: Iterable[Slices], span_ns: int, bins: int, tracks: int, kernels: int
) -> Bins:
    """Return the bins of slices that come in batches and do not fit into memory together.

    `tracks` and `kernels` are upper limits of the numbers of tracks and kernels.
    """
    width = max(-(-span_ns // bins), 1)
    bins_per_track, kernels = span_ns // width + 2, kernels + 1
    count, busy = (np.zeros(tracks * bins_per_track * kernels, np.int64) for _ in range(2))
    for batch in filter(len, batches):
        keys, *columns = _slice_bins(batch, width, kernels, bins_per_track)
        first = int(keys.min())
        for total, column in zip((count, busy), columns, strict=True):
            sums = summed_by(keys - first, column)
            total[first : first + len(sums)] += sums
    keys = np.flatnonzero((count > 0) | (busy > 0))
    track_and_bin, kernel = np.divmod(keys, kernels)
    track, index = np.divmod(track_and_bin, bins_per_track)
    return Bins(width, track, index, kernel - 1, count[keys], busy[keys])


def coarser(bins: Bins, times: int) -> Bins:
    """Return bins that are `times` as wide, with the sums of the merged bins."""
    bins_per_track, kernels = int(bins.bin.max(initial=0)) + 1, int(bins.kernel.max(initial=0)) + 2
    keys = (bins.track * bins_per_track + bins.bin // times) * kernels + bins.kernel + 1
    keys, count, busy = _sums_by_key(keys, bins.count, bins.busy_ns)
    track_and_bin, kernel = np.divmod(keys, kernels)
    track, index = np.divmod(track_and_bin, bins_per_track)
    return Bins(bins.width_ns * times, track, index, kernel - 1, count, busy)


def _slice_bins(
    slices: Slices, width: int, kernels: int, bins_per_track: int
) -> tuple[Integers, Integers, Integers]:
    """Return columns with an entry per slice and bin that it overlaps: key, count, nanoseconds.

    The key encodes (track, bin, kernel) by `bins_per_track` and `kernels`. The count is 1 in the
    bin where the slice begins, else 0.
    """
    end = slices.begin + slices.duration
    first_bin = slices.begin // width
    last_bin = np.maximum(end - 1, slices.begin) // width
    repeats = last_bin - first_bin + 1
    rows = np.repeat(np.arange(len(slices)), repeats)
    bin_of_slice = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    bin_index = first_bin[rows] + bin_of_slice
    begin_in_bin = np.maximum(slices.begin[rows], bin_index * width)
    end_in_bin = np.minimum(end[rows], (bin_index + 1) * width)
    keys = (slices.track[rows].astype(np.int64) * bins_per_track + bin_index) * kernels
    return (
        keys + slices.kernel[rows] + 1,
        (bin_of_slice == 0).astype(np.int64),
        end_in_bin - begin_in_bin,
    )


def _sums_by_key(keys: Integers, *columns: Integers) -> tuple[Integers, ...]:
    """Return the distinct keys in order, and the sums of each column by key."""
    if not len(keys):
        return (keys, *columns)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return (keys[starts], *(np.add.reduceat(column[order], starts) for column in columns))
