"""One launch in so many recorded in detail, all of them counted: the setting `sample`.

Of each N launches that follow each other one is chosen, by their numbers alone, and pseudorandomly:
a program that does the same every N launches is still seen whole. Recorded are besides, so that
what refers to a launch finds it, the first of each call and phase, those that something was copied
for, and those that were captured into a graph. A row's weight is the number of launches of its call
and phase since the one recorded before, so that the sum of weights is their number; at the end the
last one of each is recorded for those that are left.

This is done in the journal's thread with what the hot path has recorded as ever, which costs the
program's threads nothing.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.capture.launch_rows import LAYOUT, PHASE_MASK
from kvtrace.capture.records import GRAPH_CAPTURE, PHASES
from kvtrace.schema.arrays import are_null, array_of_numpy, numpy_of

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_KINDS: Final = len(PHASES)
_NO_CALL: Final = -1
#: Multipliers of the finaliser of splitmix64, which mixes all bits of a number.
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)


def is_chosen(numbers: Numbers, one_in: int) -> Mask:
    """Tell which numbers are the chosen ones of their N."""
    block = (numbers // one_in).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (block + np.uint64(1)) * _STEP
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        mixed ^= mixed >> np.uint64(31)
    chosen: Mask = (mixed % np.uint64(one_in)).astype(np.int64) == numbers % one_in
    return chosen


class Weights:
    """Counts rows by key, dense numbers from 0, until one of them is kept."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._left = np.zeros(0, np.int64)
        self._seen = np.zeros(0, bool)

    def firsts(self, keys: Numbers) -> Mask:
        """Tell which rows are the first of their key."""
        self._reserve(keys)
        places = np.unique(keys, return_index=True)[1]
        found = np.zeros(len(keys), bool)
        found[places] = ~self._seen[keys[places]]
        self._seen[keys] = True
        return found

    def of(self, keys: Numbers, kept: Mask) -> Numbers:
        """Return the weights of the kept rows; the others are counted for the next of their key."""
        self._reserve(keys)
        order = np.argsort(keys, kind="stable")
        ranks = np.empty(len(keys), np.int64)
        ranks[order] = np.arange(len(keys))  # neighbors are of one key, in order
        at = np.sort(ranks[kept])
        by = keys[order]
        begins = np.flatnonzero(np.diff(by, prepend=-1))
        begin = begins[np.searchsorted(begins, at, side="right") - 1]
        before = np.concatenate(([-1], at[:-1]))
        first = before < begin
        found = np.where(first, at - begin + 1 + self._left[by[at]], at - before)
        weights = np.empty(len(keys), np.int64)
        weights[order[at]] = found
        counts = np.bincount(keys, minlength=len(self._left))
        self._left += counts
        np.subtract.at(self._left, by[at], found)
        return weights[kept]

    def rest(self) -> tuple[Numbers, Numbers]:
        """Return the keys of which rows are left, and how many; they are left no longer."""
        keys = np.flatnonzero(self._left)
        counts = self._left[keys]
        self._left[keys] = 0
        return keys, counts

    def _reserve(self, keys: Numbers) -> None:
        more = int(keys.max(initial=-1)) + 1 - len(self._left)
        if more > 0:
            more += len(self._left)  # doubles
            self._left = np.pad(self._left, (0, more))
            self._seen = np.pad(self._seen, (0, more))


class SampledLaunches:
    """Chooses among the launches of a run."""

    def __init__(self, one_in: int) -> None:
        """Record one in so many."""
        self.one_in = one_in
        self._weights = Weights()
        self._last = np.zeros(0, LAYOUT)
        self._last_seq = np.zeros(0, np.int64)

    def chosen(self, rows: npt.NDArray[Any], seq: Numbers) -> tuple[Mask, Numbers]:
        """Tell which launches (of `LAYOUT`) are to be recorded; return those with their weights."""
        phases = rows["phase"] & PHASE_MASK
        keys = rows["call_id"] * _KINDS + phases
        kept = is_chosen(seq, self.one_in) | self._weights.firsts(keys)
        kept |= (rows["contents"] != 0) | (phases == GRAPH_CAPTURE)
        weights = self._weights.of(keys, kept)
        self._remember(keys, rows, seq)
        return kept, weights

    def rest(self) -> tuple[npt.NDArray[Any], Numbers, Numbers]:
        """Return the last launch of each call that has some left, their numbers and weights."""
        keys, weights = self._weights.rest()
        order = np.argsort(self._last_seq[keys])
        keys = keys[order]
        return self._last[keys], self._last_seq[keys], weights[order]

    def _remember(self, keys: Numbers, rows: npt.NDArray[Any], seq: Numbers) -> None:
        more = int(keys.max(initial=-1)) + 1 - len(self._last)
        if more > 0:
            self._last = np.pad(self._last, (0, more + len(self._last)))
            self._last_seq = np.pad(self._last_seq, (0, more + len(self._last_seq)))
        self._last[keys] = rows  # of rows of one key the last one stays
        self._last_seq[keys] = seq


class SampledExecutions:
    """Chooses among the rows of `gpu_kernels`.

    Those of a launch are recorded with it; those that ran from a graph, or without a launch, are
    chosen by their own numbers.
    """

    def __init__(self, one_in: int) -> None:
        """Record one in so many."""
        self.one_in = one_in
        self._weights = Weights()
        self._keys: dict[tuple[Any, ...], int] = {}
        self._last: dict[int, pa.Table] = {}

    def chosen(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are to be recorded, with their weights."""
        keys = self._numbers(rows)
        launch = rows["launch_seq"].combine_chunks()
        of_launch = ~are_null(launch) & are_null(rows["graph_id"].combine_chunks())
        record = numpy_of(rows["record"].combine_chunks())
        numbers = np.where(of_launch, numpy_of(launch), record)
        chosen = is_chosen(numbers, self.one_in)
        kept = chosen | self._weights.firsts(keys)
        weights = self._weights.of(keys, kept)
        # A first one's launch may not be recorded: then it has no row.
        found = _without_launches(rows, of_launch & ~chosen)
        last = len(keys) - 1 - np.unique(keys[::-1], return_index=True)[1]
        held = found.take(array_of_numpy(last))  # and not all of the rows
        for place, key in enumerate(keys[last].tolist()):
            self._last[key] = held.slice(place, 1)
        return _weighted(found.filter(array_of_numpy(kept)), weights)

    def rest(self) -> pa.Table | None:
        """Return the last execution of each kind that has some left; None where there is none."""
        keys, weights = self._weights.rest()
        if not len(keys):
            return None
        rows = [self._last[key] for key in keys.tolist()]
        whole = pa.concat_tables(rows, promote_options="permissive").unify_dictionaries()
        return _weighted(whole, weights)

    def _numbers(self, rows: pa.Table) -> Numbers:
        """Number each row's call, or else its kind and name."""
        call = numpy_of(rows["call_id"].combine_chunks(), _NO_CALL)
        by_name = call == _NO_CALL
        kind, name = (_codes(rows[column]) for column in ("kind", "name"))
        codes = np.stack([call, np.where(by_name, kind, -1), np.where(by_name, name, -1)])
        places, inverse = np.unique(codes, axis=1, return_index=True, return_inverse=True)[1:]
        found = []
        for place in places.tolist():
            row = rows.slice(place, 1).select(["call_id", "kind", "name"]).to_pylist()[0]
            key = tuple(row.values()) if row["call_id"] is None else (row["call_id"],)
            found.append(self._keys.setdefault(key, len(self._keys)))
        return np.asarray(found, np.int64)[inverse.reshape(-1)]


def _codes(column: pa.ChunkedArray) -> Numbers:
    """Return a number for each text of a dictionary-encoded column."""
    indices = column.combine_chunks().indices
    codes: Numbers = numpy_of(indices, -1).astype(np.int64)
    return codes


def _weighted(rows: pa.Table, weights: Numbers) -> pa.Table:
    return rows.append_column("weight", array_of_numpy(weights))


def _without_launches(rows: pa.Table, which: Mask) -> pa.Table:
    place = rows.schema.get_field_index("launch_seq")
    column = rows.column(place).combine_chunks()
    fresh = array_of_numpy(numpy_of(column), are_null(column) | which)
    return rows.set_column(place, "launch_seq", fresh)
