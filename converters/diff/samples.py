"""Times of launches of one side in compact arrays: about ten bytes each, some thousand per kernel.

A change is judged by single launches. All times are stored, or for a kernel with more than
`MOST_TIMES` every second, fourth, eighth … of each unique call.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.diff.times import Places, Samples
from kvtrace.figures.columns import Integers, Positions, integers, narrow, summed_by
from kvtrace.figures.times import steady_executions, steady_launches

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Most stored times of a kernel on one side.
MOST_TIMES: Final = 1 << 13
#: Least number of times between two thinnings.
_FEW: Final = 1 << 20


class Times:
    """Times of steady launches, or of executions, by variant."""

    def __init__(self, runs: Sequence[Places], kernels: Integers) -> None:
        """Create an empty store; `kernels` has the kernel number of each variant."""
        size = 1 + max((int(calls.place[-1]) for calls in runs if calls.place.size), default=-1)
        self._variant, self._work, self._run = (np.zeros(size, np.int64) for _ in range(3))
        self._runs = [(calls, Positions(calls.call)) for calls in runs]
        for number, calls in enumerate(runs):
            self._variant[calls.place] = calls.variant
            self._work[calls.place] = calls.work
            self._run[calls.place] = number
        self._kernel = kernels[self._variant] if size else self._variant
        #: Number of times by place; stride between stored times by kernel.
        self._seen = np.zeros(size, np.int64)
        self._every = np.ones(1 + int(self._kernel.max(initial=-1)), np.int64)
        #: Place, time, and the number of the launch in its place.
        self._waiting: list[tuple[Integers, Integers, Integers]] = []
        self._held = self._thinned = 0
        self._place = self._ns = self._at = np.zeros(0, np.int64)
        self._first = self._places = self._first_place = np.zeros(0, np.int64)

    def add(self, run: int, call: Integers, ns: Integers) -> None:
        """Add launches of the run with this number; launches of unknown calls are skipped."""
        calls, positions = self._runs[run]
        position = positions.of(call)
        self._keep(calls.place[position[position >= 0]], ns[position >= 0])

    def _keep(self, place: Integers, ns: Integers) -> None:
        order = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.diff(place[order], prepend=-1))
        counts = np.diff(starts, append=place.size)
        number = np.empty(place.size, np.int64)
        number[order] = np.arange(place.size) - np.repeat(starts, counts)
        number += self._seen[place]
        self._seen[place[order[starts]]] += counts
        chosen = number % self._every[self._kernel[place]] == 0
        self._waiting.append((narrow(place[chosen]), narrow(ns[chosen]), narrow(number[chosen])))
        self._held += int(chosen.sum())
        if self._held > max(_FEW, 2 * self._thinned):
            self._thin()

    def _thin(self) -> None:
        """Double the stride of kernels with too many times, until all are below the limit."""
        columns = [list(column) for column in zip(*self._waiting, strict=True)] or [[], [], []]
        empty = np.zeros(0, np.int8)
        place, ns, number = (np.concatenate([empty, *column]) for column in columns)
        kernel = self._kernel[place]
        # Of each unique call the first launch stays, however many calls there are.
        calls = np.bincount(self._kernel[self._seen > 0], minlength=self._every.size)
        most = np.maximum(calls, MOST_TIMES)
        while (many := np.bincount(kernel, minlength=self._every.size) > most).any():
            self._every[many] *= 2
            chosen = number % self._every[kernel] == 0
            place, ns, number, kernel = (column[chosen] for column in (place, ns, number, kernel))
        self._waiting = [(place, ns, number)]
        self._held = self._thinned = place.size

    def gather(self) -> "Times":
        """Group the times by variant, in the order of launches."""
        self._thin()
        ((place, ns, _),) = self._waiting
        self._waiting = []
        variant = narrow(self._variant)[place]
        order = narrow(np.argsort(variant, kind="stable"))
        most = int(self._variant.max(initial=-1)) + 1
        self._first = np.append(0, np.cumsum(np.bincount(variant, minlength=most)))
        self._place, self._ns, self._at = place[order], ns[order], order
        self._places = np.argsort(self._variant, kind="stable")
        self._first_place = np.append(0, np.cumsum(np.bincount(self._variant, minlength=most)))
        return self

    def of(self, variants: Sequence[int]) -> Samples:
        """Return the times of some variants, in the order of launches."""
        rows = _spans(self._first, variants)
        if len(variants) > 1:
            rows = rows[np.argsort(self._at[rows], kind="stable")]
        place = self._place[rows]
        variant, work, run = (column[place] for column in (self._variant, self._work, self._run))
        all_places = self._places[_spans(self._first_place, variants)]
        works, number = np.unique(self._work[all_places], return_inverse=True)
        launched = summed_by(number, self._seen[all_places])
        return Samples(
            variant, work, run, self._ns[rows], works[launched > 0], launched[launched > 0]
        )


def _spans(first: Integers, variants: Sequence[int]) -> Integers:
    """Return all indexes in the ranges of some variants."""
    present = [variant for variant in variants if variant + 1 < first.size]
    spans = [np.arange(first[variant], first[variant + 1]) for variant in present]
    return np.concatenate([np.zeros(0, np.int64), *spans])


def host_samples(
    trace: "Trace", runs: Sequence["Run"], places: Sequence[Places], kernels: Integers
) -> Times:
    """Read the host times of steady launches, by unique call."""
    return _gathered(steady_launches, trace, runs, places, kernels)


def device_samples(
    trace: "Trace", runs: Sequence["Run"], places: Sequence[Places], kernels: Integers
) -> Times:
    """Read the times of steady executions, by unique call."""
    return _gathered(steady_executions, trace, runs, places, kernels)


def _gathered(
    read: Callable[["Trace", "Run"], Iterator[pa.Table]],
    trace: "Trace",
    runs: Sequence["Run"],
    places: Sequence[Places],
    kernels: Integers,
) -> Times:
    times = Times(places, kernels)
    for number, run in enumerate(runs):
        for piece in read(trace, run):
            times.add(number, integers(piece["call_id"], -1), integers(piece["ns"]))
    return times.gather()
