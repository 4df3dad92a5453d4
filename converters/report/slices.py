"""Launches and device kernels as columns on a time axis: merged, thinned, counted in bins."""

from dataclasses import dataclass, fields, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

__all__ = ["NO_CALL", "Bins", "Slices", "bin_slices", "thin"]

Integers = npt.NDArray[np.int64]

#: In `Slices.call` and `Slices.kernel`: not known, or not on the page.
NO_CALL: Final = -1


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
    """Index into the report's phases."""
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
        """Return the parts as one, sorted by begin (and by seq where two begin together)."""
        if not parts:
            return cls.empty()
        columns = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
        }
        begin, seq = columns["begin"], columns["seq"]
        if not np.all(begin[1:] > begin[:-1]):
            order = np.lexsort((seq, begin))
            columns = {name: column[order] for name, column in columns.items()}
        return cls(**columns)

    def take(self, rows: Integers) -> Self:
        """Return the rows at these positions."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def thin(slices: Slices, keep: int) -> Slices:
    """Return about `keep` rows: of each call the first and the longest, and every n-th of all.

    When the calls alone are more than half of `keep`, only every n-th row is kept.
    """
    count = len(slices)
    if count <= keep:
        return slices
    chosen = np.zeros(count, bool)
    known = np.flatnonzero(slices.call != NO_CALL)
    calls = slices.call[known]
    _, first = np.unique(calls, return_index=True)
    if 4 * len(first) <= keep:
        longest = np.zeros(int(calls.max(initial=0)) + 1, np.int64)
        by_duration = known[np.argsort(slices.duration[known], kind="stable")]
        longest[slices.call[by_duration]] = by_duration  # the last write is the longest
        chosen[known[first]] = True
        chosen[longest[calls[first]]] = True
    rest = max(keep - int(chosen.sum()), 0)
    chosen[np.linspace(0, count - 1, rest, dtype=np.int64)] = True
    return slices.take(np.flatnonzero(chosen))


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
    first = slices.begin // width
    last = np.maximum(slices.begin + slices.duration - 1, slices.begin) // width
    repeats = last - first + 1
    rows = np.repeat(np.arange(len(slices)), repeats)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    where = first[rows] + within
    opens = np.maximum(slices.begin[rows], where * width)
    closes = np.minimum(slices.begin[rows] + slices.duration[rows], (where + 1) * width)
    kernels = int(slices.kernel.max(initial=0)) + 2
    key = (slices.track[rows] * (int(where.max(initial=0)) + 1) + where) * kernels
    key += slices.kernel[rows] + 1
    unique, inverse = np.unique(key, return_inverse=True)
    # Sums stay exact: float64 counts whole nanoseconds up to 104 days, and a bin is far shorter.
    busy = np.bincount(inverse, weights=closes - opens, minlength=len(unique)).astype(np.int64)
    count = np.bincount(inverse, weights=(within == 0), minlength=len(unique)).astype(np.int64)
    place, kernel = np.divmod(unique, kernels)
    track, index = np.divmod(place, int(where.max(initial=0)) + 1)
    return Bins(width, track, index, kernel - 1, count, busy)
