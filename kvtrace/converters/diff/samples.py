"""The times of launches of a side, narrow: some ten bytes each, and of a kernel some thousands.

They are read in pieces. Sums are kept by distinct call; the times themselves stay, since a change
is judged by single launches: all of them, or of a kernel with more than `MOST_TIMES` every second,
every fourth, and so on, of each of its distinct calls.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.columns import Integers, Positions, narrow, summed_by
from kvtrace.converters.diff.times import Places, Samples
from kvtrace.converters.timed_rows import Executed, Launched, Mask, executed, launched

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: What is summed by call: launches (or executions), those of tuning, and of the others the steady
#: ones that are timed and their ns, and the compiling ones, those of them that are timed, their ns.
SUMS: Final = ("launches", "tuning", "timed", "total", "compiling", "slow_timed", "slow")


#: Launches of a kernel, on one side, whose times are kept.
MOST_TIMES: Final = 1 << 13
#: Times that wait to be thinned, at least.
_FEW: Final = 1 << 20


class Times:
    """Times of steady launches by variant, and sums of all launches by distinct call."""

    def __init__(self, runs: Sequence[Places], kernels: Integers) -> None:
        """Begin with nothing; `kernels` are those of the variants."""
        size = 1 + max((int(known.place[-1]) for known in runs if known.place.size), default=-1)
        self._variant, self._work, self._run = (np.zeros(size, np.int64) for _ in range(3))
        self._runs = [(known, Positions(known.call)) for known in runs]
        for number, known in enumerate(runs):
            self._variant[known.place] = known.variant
            self._work[known.place] = known.work
            self._run[known.place] = number
        self._kernel = kernels[self._variant] if size else self._variant
        self._sums = {name: np.zeros(size, np.int64) for name in SUMS}
        #: By place, how many times there were; by kernel, every how many-th is kept.
        self._seen = np.zeros(size, np.int64)
        self._every = np.ones(1 + int(self._kernel.max(initial=-1)), np.int64)
        #: Place, time, and the number of the launch in its place.
        self._waiting: list[tuple[Integers, Integers, Integers]] = []
        self._held = self._thinned = 0
        self._place = self._ns = self._at = np.zeros(0, np.int64)
        self._first = self._places = self._first_place = np.zeros(0, np.int64)

    def add(self, run: int, piece: Launched | Executed, slow: Mask) -> None:
        """Add launches of a run, by its number; those of calls that are not known are left out."""
        known, positions = self._runs[run]
        at = positions.of(piece.call)
        found = at >= 0
        timed, tuning, slow = piece.timed & found, piece.tuning & found, slow & found
        steady = piece.steady & found
        ns, times = piece.ns, piece.times
        all_ns = ns * times
        for name, chosen, amount in (
            ("launches", found & ~tuning, times),
            ("tuning", tuning, times),
            ("timed", steady, times),
            ("total", steady, all_ns),
            ("compiling", slow & ~tuning, times),
            ("slow_timed", slow & ~tuning & timed, times),
            ("slow", slow & ~tuning & timed, all_ns),
        ):
            counted = np.bincount(at[chosen], amount[chosen], minlength=known.call.size)
            self._sums[name][known.place] += counted.astype(np.int64)
        self._keep(known.place[at[steady]], ns[steady])

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
        """Have no kernel keep more than it may."""
        columns = [list(each) for each in zip(*self._waiting, strict=True)] or [[], [], []]
        empty = np.zeros(0, np.int8)
        place, ns, number = (np.concatenate([empty, *each]) for each in columns)
        kernel = self._kernel[place]
        # Of each distinct call the first launch stays, however many calls there are.
        calls = np.bincount(self._kernel[self._seen > 0], minlength=self._every.size)
        most = np.maximum(calls, MOST_TIMES)
        while (many := np.bincount(kernel, minlength=self._every.size) > most).any():
            self._every[many] *= 2
            chosen = number % self._every[kernel] == 0
            place, ns, number, kernel = (each[chosen] for each in (place, ns, number, kernel))
        self._waiting = [(place, ns, number)]
        self._held = self._thinned = place.size

    def gather(self) -> "Times":
        """Put the times of a variant together, in the order of launches."""
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

    def sums(self) -> pa.Table:
        """Return the sums by place; an amount of ns is null where nothing was timed."""
        columns = dict(self._sums)
        table = {"place": pa.array(np.arange(self._variant.size))}
        for name, values in columns.items():
            timed = {"total": "timed", "slow": "slow_timed"}.get(name)
            mask = None if timed is None else columns[timed] == 0
            table[name] = pa.array(values, mask=mask)
        return pa.table(table)

    def of(self, variants: Sequence[int]) -> Samples:
        """Return the times of some variants, in the order of launches."""
        rows = _spans(self._first, variants)
        if len(variants) > 1:
            rows = rows[np.argsort(self._at[rows], kind="stable")]
        place = self._place[rows]
        variant, work, run = (each[place] for each in (self._variant, self._work, self._run))
        all_places = self._places[_spans(self._first_place, variants)]
        works, number = np.unique(self._work[all_places], return_inverse=True)
        launched = summed_by(number, self._seen[all_places])
        return Samples(
            variant, work, run, self._ns[rows], works[launched > 0], launched[launched > 0]
        )

    def median(self, variants: Sequence[int]) -> float | None:
        """Return the median of the times of some variants; None without any."""
        ns = self._ns[_spans(self._first, variants)]
        return float(np.median(ns)) if ns.size else None


def _spans(first: Integers, variants: Sequence[int]) -> Integers:
    """Return all numbers that are in the spans of some variants."""
    known = [each for each in variants if each + 1 < first.size]
    spans = [np.arange(first[each], first[each + 1]) for each in known]
    return np.concatenate([np.zeros(0, np.int64), *spans])


def host_times(
    trace: "Trace", runs: Sequence["Run"], places: Sequence[Places], kernels: Integers
) -> Times:
    """Read the times of launches on the host, of runs with their distinct calls, as in `Times`."""
    times = Times(places, kernels)
    for number, run in enumerate(runs):
        for piece in launched(trace, run):
            times.add(number, piece, piece.compiling)
    return times.gather()


def device_times(
    trace: "Trace", runs: Sequence["Run"], places: Sequence[Places], kernels: Integers
) -> Times:
    """Read the times of executions on devices, of runs with their distinct calls, as in `Times`."""
    times = Times(places, kernels)
    for number, run in enumerate(runs):
        for piece in executed(trace, run):
            times.add(number, piece, np.zeros(piece.call.size, np.bool_))
    return times.gather()
