"""The times of all launches of a side, narrow: some ten bytes each, however many runs there are.

They are read in pieces. Sums are kept by distinct call; the times themselves stay, since a change
is judged by single launches.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kvtrace.converters.columns import Integers, narrow
from kvtrace.converters.diff.times import Places, Samples, places_at
from kvtrace.converters.timed_rows import Executed, Launched, Mask, executed, launched

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: What is summed by call: launches (or executions), those of tuning, and of the others the steady
#: ones that are timed and their ns, and the compiling ones, those of them that are timed, their ns.
SUMS: Final = ("launches", "tuning", "timed", "total", "compiling", "slow_timed", "slow")


class Times:
    """Times of steady launches by variant, and sums of all launches by distinct call."""

    def __init__(self, runs: Sequence[Places]) -> None:
        size = 1 + max((int(known.place[-1]) for known in runs if known.place.size), default=-1)
        self._variant, self._work, self._run = (np.zeros(size, np.int64) for _ in range(3))
        for number, known in enumerate(runs):
            self._variant[known.place] = known.variant
            self._work[known.place] = known.work
            self._run[known.place] = number
        self._sums = {name: np.zeros(size, np.int64) for name in SUMS}
        self._waiting: list[tuple[Integers, Integers]] = []
        self._place = self._ns = self._at = self._first = np.zeros(0, np.int64)

    def add(self, known: Places, piece: Launched | Executed, slow: Mask) -> None:
        """Add launches of a run; those of calls that are not known are left out."""
        at, found = places_at(known, piece.call)
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
        self._waiting.append((narrow(known.place[at[steady]]), narrow(ns[steady])))

    def gather(self) -> "Times":
        """Put the times of a variant together, in the order of launches."""
        empty = np.zeros(0, np.int64)
        place = np.concatenate([place for place, _ in self._waiting] or [empty])
        ns = np.concatenate([ns for _, ns in self._waiting] or [empty])
        self._waiting = []
        variant = narrow(self._variant)[place]
        order = narrow(np.argsort(variant, kind="stable"))
        counts = np.bincount(variant, minlength=int(self._variant.max(initial=-1)) + 1)
        self._first = np.append(0, np.cumsum(counts))
        self._place, self._ns, self._at = place[order], ns[order], order
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
        rows = self._rows(variants)
        if len(variants) > 1:
            rows = rows[np.argsort(self._at[rows], kind="stable")]
        place = self._place[rows]
        variant, work, run = (
            narrow(each)[place] for each in (self._variant, self._work, self._run)
        )
        return Samples(variant, work, run, self._ns[rows], self._at[rows])

    def median(self, variants: Sequence[int]) -> float | None:
        """Return the median over all launches of some variants; None without any."""
        ns = self._ns[self._rows(variants)]
        return float(np.median(ns)) if ns.size else None

    def _rows(self, variants: Sequence[int]) -> Integers:
        known = [each for each in variants if each + 1 < self._first.size]
        spans = [np.arange(self._first[each], self._first[each + 1]) for each in known]
        return np.concatenate([np.zeros(0, np.int64), *spans])


def host_times(trace: "Trace", runs: Sequence["Run"], places: Sequence[Places]) -> Times:
    """Read the times of launches on the host, of runs with their distinct calls."""
    times = Times(places)
    for run, known in zip(runs, places, strict=True):
        for piece in launched(trace, run):
            times.add(known, piece, piece.compiling)
    return times.gather()


def device_times(trace: "Trace", runs: Sequence["Run"], places: Sequence[Places]) -> Times:
    """Read the times of executions on devices, of runs with their distinct calls."""
    times = Times(places)
    for run, known in zip(runs, places, strict=True):
        for piece in executed(trace, run):
            times.add(known, piece, np.zeros(piece.call.size, np.bool_))
    return times.gather()
