"""Launches and device executions as columns on a time axis: merged, and counted in bins.

There can be hundreds of thousands of rows, so columns are as narrow as their values allow, and no
function creates more than a few arrays of that length; other work is done in batches.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self, TypeVar

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Positions, narrow

#: Whole numbers of any width.
Integers = npt.NDArray[Any]

#: Value in `Slices.call`, `Slices.kernel` and `Slices.phase`: unknown, or not on the page.
NO_CALL: Final = -1
#: Key in `Bins` of kernels that are not told apart, as they are not among those with most time.
OTHERS: Final = -2
#: Represents null in columns of whole numbers.
MISSING: Final = int(np.iinfo(np.int64).min)
#: Number of bins over the whole timeline: no screen is wider.
BINS: Final = 2000
#: Upper limit of the number of device functions.
_MOST_NAMES: Final = 1 << 24
#: Entries of bins in memory, beyond which those of the same bin are added up.
_MOST_PENDING: Final = 1 << 21
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

    def narrowed(self) -> Self:
        """Return columns of the narrowest types that hold their values, but `begin` in 64 bits."""
        columns = {f.name: narrow(getattr(self, f.name)) for f in fields(self)}
        return replace(self, **columns | {"begin": self.begin})

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


#: Launches, or executions.
SlicesType = TypeVar("SlicesType", bound=Slices)


def _keys(slices: Slices, kernels: int) -> Integers:
    """Return what each row is summed by: its kernel, or NO_CALL.

    Of an execution without a kernel it is the number of kernels plus its name.
    """
    if not isinstance(slices, Executions):
        return slices.kernel
    return np.where(slices.kernel == NO_CALL, slices.name.astype(np.int64) + kernels, slices.kernel)


@dataclass(frozen=True, slots=True)
class Bins:
    """Counts and durations of slices by track, bin and key; bins are `width_ns` wide.

    Columns have one entry per occurring (track, bin, key), where keys are those of `_keys`, or
    `OTHERS`.
    `count` counts slices that begin in the bin, `busy_ns` is the time of slices within the bin.
    """

    width_ns: int
    track: Integers
    bin: Integers
    key: Integers
    count: Integers
    busy_ns: Integers

    def __len__(self) -> int:
        return len(self.track)

    def coarser(self, times: int) -> "Bins":
        """Return bins that are `times` as wide, with the sums of the merged bins."""
        if times == 1:
            return self
        codes = _Codes(int(self.bin.max(initial=0)) + 1, int(self.key.max(initial=0)) + 1)
        merged = codes.of(self.track, self.bin // times, self.key)
        return codes.bins(self.width_ns * times, merged, self.count, self.busy_ns)


@dataclass(frozen=True, slots=True)
class _Codes:
    """Codes of (track, bin, key) as one number; limits are above all bins and keys."""

    bin_limit: int
    key_limit: int

    def of(self, track: Integers, bin_: Integers, key: Integers) -> Integers:
        codes: Integers = (track.astype(np.int64) * self.bin_limit + bin_) * (self.key_limit + 2)
        return codes + key + 2

    def bins(self, width: int, codes: Integers, count: Integers, busy: Integers) -> Bins:
        """Return the bins with the sums of equal codes."""
        codes, count, busy = _sums_by_key(codes, count, busy)
        track_and_bin, key = np.divmod(codes, self.key_limit + 2)
        return Bins(width, *np.divmod(track_and_bin, self.bin_limit), key - 2, count, busy)


class BinCounter:
    """Counter of slices, or of sums of slices, which come in batches, in bins over a timeline.

    The time of a slice is split exactly over the bins that it overlaps. Memory is that of the
    occurring (track, bin, key).
    """

    def __init__(self, width_ns: int, span_ns: int, kernels: int) -> None:
        """Count in bins of `width_ns`; `kernels` is the number of kernels of the report."""
        self._width = width_ns
        self._kernels = kernels
        self._codes = _Codes(span_ns // width_ns + 2, kernels + _MOST_NAMES)
        self._sums: list[tuple[Integers, ...]] = []

    def add(self, slices: Slices) -> None:
        """Count the slices of a batch."""
        for batch in slices.batches():
            self._append(*self._entries(batch))

    def add_sums(
        self, track: Integers, bin_: Integers, key: Integers, count: Integers, busy: Integers
    ) -> None:
        """Count sums of slices: how many begin in a bin, and their time within it, by key."""
        self._append(self._codes.of(track, bin_, key), count, busy)

    def _append(self, codes: Integers, count: Integers, busy: Integers) -> None:
        self._sums.append(_sums_by_key(codes, count, busy))
        if sum(len(codes) for codes, _, _ in self._sums) > _MOST_PENDING:
            self._sums = [_sums_by_key(*self._entries_so_far())]

    def bins(self) -> Bins:
        """Return the bins of all slices so far."""
        return self._codes.bins(self._width, *self._entries_so_far())

    def _entries_so_far(self) -> tuple[Integers, Integers, Integers]:
        if not self._sums:
            return (np.zeros(0, np.int64),) * 3
        codes, count, busy = map(np.concatenate, zip(*self._sums, strict=True))
        return codes, count, busy

    def _entries(self, slices: Slices) -> tuple[Integers, Integers, Integers]:
        """Return columns with an entry per slice and bin that it overlaps: code, count, ns.

        The count is 1 in the bin where the slice begins, else 0.
        """
        width, begin = self._width, slices.begin.astype(np.int64)
        end = begin + slices.duration
        first_bin = begin // width
        repeats = np.maximum(end - 1, begin) // width - first_bin + 1
        rows = np.repeat(np.arange(len(slices)), repeats)
        bin_of_slice = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        bin_index = first_bin[rows] + bin_of_slice
        begin_in_bin = np.maximum(begin[rows], bin_index * width)
        end_in_bin = np.minimum(end[rows], (bin_index + 1) * width)
        codes = self._codes.of(slices.track[rows], bin_index, _keys(slices, self._kernels)[rows])
        return codes, (bin_of_slice == 0).astype(np.int64), end_in_bin - begin_in_bin


def bin_slices(slices: Slices, span_ns: int, kernels: int, bins: int = BINS) -> Bins:
    """Return slices counted in `bins` equal bins over `span_ns`.

    `kernels` is the number of kernels of the report.
    """
    counter = BinCounter(max(-(-span_ns // bins), 1), span_ns, kernels)
    counter.add(slices)
    return counter.bins()


def _sums_by_key(keys: Integers, *columns: Integers) -> tuple[Integers, ...]:
    """Return the distinct keys in order, and the sums of each column by key."""
    if not len(keys):
        return (keys, *columns)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return (keys[starts], *(np.add.reduceat(column[order], starts) for column in columns))
