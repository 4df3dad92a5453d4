"""TimeStore of single launches of one side, in arrays of about ten bytes per launch.

All times of a kernel are stored, or if there are more than `MOST_TIMES`, every second, fourth,
eighth … launch of each unique call. Of very many launches of a side, a sample is added
(`read_times.py`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.diff.read_times import (
    MOST_TIMES,
    STRETCHES,
    TimesKind,
    is_sampled,
    read_times,
)
from kvtrace.converters.diff.times import RunCalls, Samples
from kvtrace.figures.columns import Integers, Positions, integers, narrow, summed_by
from kvtrace.schema.window import split_by_run

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Least number of new times before the stored times are thinned.
_LEAST_THINNED: Final = 1 << 20


class TimeStore:
    """Store of times of steady launches, or of executions: `add` all, then `gather`, then `of`."""

    def __init__(self, runs: Sequence[RunCalls], kernels: Integers) -> None:
        """Create an empty store for some runs; `kernels` has the kernel number of each variant."""
        size = 1 + max((int(calls.place[-1]) for calls in runs if calls.place.size), default=-1)
        self._variant, self._work, self._run = (np.zeros(size, np.int64) for _ in range(3))
        self._runs = [(calls, Positions(calls.call)) for calls in runs]
        for number, calls in enumerate(runs):
            self._variant[calls.place] = calls.variant
            self._work[calls.place] = calls.work
            self._run[calls.place] = number
        self._kernel = kernels[self._variant] if size else self._variant
        #: Number of launches so far by place; n if every n-th time is stored, by kernel.
        self._seen = np.zeros(size, np.int64)
        self._every = np.ones(1 + int(self._kernel.max(initial=-1)), np.int64)
        #: Batches of place, time in ns, and the launch's number among those of its place.
        self._batches: list[tuple[Integers, Integers, Integers]] = []
        self._stored = self._stored_after_thinning = 0
        #: Number of launches by place if a sample of them is added, else None.
        self._launched: Integers | None = None
        self._place = self._ns = self._launch_order = np.zeros(0, np.int64)
        self._first = self._places = self._first_place = np.zeros(0, np.int64)

    def add(self, run: int, call: Integers, ns: Integers) -> None:
        """Add the call ids and times of launches of the run with this number.

        Launches of unknown calls are skipped.
        """
        calls, positions = self._runs[run]
        position = positions.of(call)
        self._store(calls.place[position[position >= 0]], ns[position >= 0])

    def count(self, run: int, call: Integers, launches: Integers) -> None:
        """Set the numbers of launches of a run's calls, if those that are added are a sample."""
        calls, positions = self._runs[run]
        position = positions.of(call)
        if self._launched is None:
            self._launched = np.zeros_like(self._seen)
        self._launched[calls.place[position[position >= 0]]] = launches[position >= 0]

    def _store(self, place: Integers, ns: Integers) -> None:
        order_by_place = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.diff(place[order_by_place], prepend=-1))
        counts = np.diff(starts, append=place.size)
        launch_number = np.empty(place.size, np.int64)
        launch_number[order_by_place] = np.arange(place.size) - np.repeat(starts, counts)
        launch_number += self._seen[place]
        self._seen[place[order_by_place[starts]]] += counts
        is_stored = launch_number % self._every[self._kernel[place]] == 0
        self._batches.append(
            (narrow(place[is_stored]), narrow(ns[is_stored]), narrow(launch_number[is_stored]))
        )
        self._stored += int(is_stored.sum())
        if self._stored > max(_LEAST_THINNED, 2 * self._stored_after_thinning):
            self._thin()

    def _thin(self) -> None:
        """Double the stride of kernels with too many times, until all are below the limit."""
        columns = [list(column) for column in zip(*self._batches, strict=True)] or [[], [], []]
        empty = np.zeros(0, np.int8)
        place, ns, number = (np.concatenate([empty, *column]) for column in columns)
        kernel = self._kernel[place]
        # The limit is at least the number of unique calls, as the first launch of each stays.
        calls = np.bincount(self._kernel[self._seen > 0], minlength=self._every.size)
        limits = np.maximum(calls, MOST_TIMES)
        while (has_too_many := np.bincount(kernel, minlength=self._every.size) > limits).any():
            self._every[has_too_many] *= 2
            is_stored = number % self._every[kernel] == 0
            place, ns, number, kernel = (
                column[is_stored] for column in (place, ns, number, kernel)
            )
        self._batches = [(place, ns, number)]
        self._stored = self._stored_after_thinning = place.size

    def gather(self) -> "TimeStore":
        """Group the stored times by variant, in the order of launches, and return the store."""
        self._thin()
        ((place, ns, _),) = self._batches
        self._batches = []
        variant = narrow(self._variant)[place]
        order = narrow(np.argsort(variant, kind="stable"))
        variant_count = int(self._variant.max(initial=-1)) + 1
        self._first = np.append(0, np.cumsum(np.bincount(variant, minlength=variant_count)))
        self._place, self._ns, self._launch_order = place[order], ns[order], order
        self._places = np.argsort(self._variant, kind="stable")
        self._first_place = np.append(
            0, np.cumsum(np.bincount(self._variant, minlength=variant_count))
        )
        return self

    def of(self, variants: Sequence[int]) -> Samples:
        """Return the times of some variants, in the order of launches."""
        rows = _index_ranges(self._first, variants)
        if len(variants) > 1:
            rows = rows[np.argsort(self._launch_order[rows], kind="stable")]
        place = self._place[rows]
        variant, work, run = (column[place] for column in (self._variant, self._work, self._run))
        all_places = self._places[_index_ranges(self._first_place, variants)]
        works, number = np.unique(self._work[all_places], return_inverse=True)
        launched = self._seen if self._launched is None else self._launched
        launch_counts = summed_by(number, launched[all_places])
        return Samples(
            variant,
            work,
            run,
            self._ns[rows],
            works[launch_counts > 0],
            launch_counts[launch_counts > 0],
            None if self._launched is None else STRETCHES,
        )


def _index_ranges(first: Integers, variants: Sequence[int]) -> Integers:
    """Return the concatenated index ranges of some variants; `first` has each range's first."""
    present = [variant for variant in variants if variant + 1 < first.size]
    spans = [np.arange(first[variant], first[variant + 1]) for variant in present]
    return np.concatenate([np.zeros(0, np.int64), *spans])


def read_samples(
    kind: TimesKind,
    trace: "Trace",
    runs: Sequence["Run"],
    places: Sequence[RunCalls],
    kernels: Integers,
    figures: pa.Table,
) -> TimeStore:
    """Return a store with the host or device times of steady launches of some runs.

    `figures` has the launches or executions of each call, as `host_times(trace, runs).calls`.
    """
    times = TimeStore(places, kernels)
    for run, rows in read_times(trace, runs, kind, figures):
        times.add(run, integers(rows["call_id"], -1), integers(rows["ns"]))
    if not is_sampled(trace, runs, kind, figures):
        return times.gather()
    numbers = {run.run_id: number for number, run in enumerate(runs)}
    for run_id, rows in split_by_run(figures.sort_by("run")):
        times.count(numbers[run_id], integers(rows["call_id"], -1), integers(rows[kind.rows]))
    return times.gather()
