"""One launch in so many recorded in detail, all of them counted: the setting `sample`.

Of each N launches that follow each other one is chosen, by their numbers alone, and pseudorandomly:
a program that does the same every N launches is still seen whole. Recorded are besides, so that
what refers to a launch finds it, the first of each call and phase, those that something was copied
for, and those that were captured into a graph. A row's weight is the number of launches of its call
and phase since the one recorded before, so that the sum of weights is their number; at the end the
last one of each is recorded for those that are left.

This is done in the journal's thread with what the hot path has recorded as ever, which costs the
program's threads next to nothing: `_hot_rows.h` does what `SampledLaunches` does.
"""

from array import array
from collections.abc import Hashable
from struct import Struct
from types import ModuleType
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kvtrace.capture.hot_choice import compiled_part
from kvtrace.capture.records import GRAPH_CAPTURE
from kvtrace.schema.arrays import array_of
from kvtrace.schema.hot_rows import integers
from kvtrace.schema.spool import FIELDS, PHASE_MASK, PHASES, ROW

_KINDS: Final = len(PHASES)
#: Multipliers of the finalizer of splitmix64, which mixes all bits of a number.
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_STEP: Final = 0x9E3779B97F4A7C15
_64_BITS: Final = (1 << 64) - 1

#: What `_hot_rows.h` knows of a key: launches that wait (-1: none came), the last one's number and
#: row.
_KNOWN: Final = Struct(f"=qq{ROW.size}s")


def is_chosen(number: int, one_in: int) -> bool:
    """Tell whether a number is the chosen one of its N."""
    block, place = divmod(number, one_in)
    mixed = (block + 1) * _STEP & _64_BITS
    mixed = (mixed ^ mixed >> 30) * _FIRST & _64_BITS
    mixed = (mixed ^ mixed >> 27) * _SECOND & _64_BITS
    return (mixed ^ mixed >> 31) % one_in == place


class Weights:
    """Counts rows by key, until one of them is kept."""

    def __init__(self, one_in: int) -> None:
        """Keep one row in so many, and the first of each key."""
        self._one_in = one_in
        self._waiting: dict[Hashable, int] = {}

    def of(self, key: Hashable, number: int, *, always: bool = False) -> int:
        """Return a row's weight; 0: it is counted for the next of its key that is kept."""
        before = self._waiting.get(key)
        count = 1 + (before or 0)
        kept = before is None or always or is_chosen(number, self._one_in)
        self._waiting[key] = 0 if kept else count
        return count if kept else 0

    def rest(self) -> dict[Any, int]:
        """Return how many rows are left by key; they are left no longer."""
        left = {key: count for key, count in self._waiting.items() if count}
        self._waiting.update(dict.fromkeys(left, 0))
        return left


class Sample(NamedTuple):
    """Launches that are recorded: rows of `ROW`, their numbers and weights as 64 bits."""

    rows: bytes
    seq: bytes
    weights: bytes


class SampledLaunches:
    """Chooses among the launches of a run."""

    def __init__(self, one_in: int) -> None:
        """Record one in so many."""
        self._weights = Weights(one_in)
        self._last: dict[Hashable, tuple[int, bytes]] = {}

    def chosen(self, rows: bytes, first: int) -> Sample:
        """Return which launches are to be recorded; the first has that number."""
        kept, numbers, weights = [], array("q"), array("q")
        for seq, at in enumerate(range(0, len(rows), ROW.size), first):
            row = rows[at : at + ROW.size]
            launch = dict(zip(FIELDS, ROW.unpack(row), strict=True))
            phase = launch["phase"] & PHASE_MASK
            key = launch["call_id"] * _KINDS + phase
            always = launch["contents"] != 0 or phase == GRAPH_CAPTURE
            weight = self._weights.of(key, seq, always=always)
            self._last[key] = seq, row
            if weight:
                kept.append(row)
                numbers.append(seq)
                weights.append(weight)
        return Sample(b"".join(kept), numbers.tobytes(), weights.tobytes())

    def rest(self) -> Sample:
        """Return the last launch of each call that has some left."""
        left = self._weights.rest()
        return _in_order([(*self._last[key], count) for key, count in left.items()])


class NativeSampledLaunches:
    """Chooses as `SampledLaunches` does, in the compiled part."""

    def __init__(self, one_in: int, compiled: ModuleType) -> None:
        """Record one in so many."""
        self._one_in = one_in
        self._compiled = compiled
        self._known = bytearray()

    def chosen(self, rows: bytes, first: int) -> Sample:
        """Return which launches are to be recorded; the first has that number."""
        found = self._compiled.sampled_launches(rows, first, self._one_in, self._known)
        if isinstance(found, int):  # there are more calls than there is room for
            fresh = 2 * found - len(self._known) // _KNOWN.size
            self._known += _KNOWN.pack(-1, 0, b"") * fresh
            found = self._compiled.sampled_launches(rows, first, self._one_in, self._known)
        return Sample(*found)

    def rest(self) -> Sample:
        """Return the last launch of each call that has some left."""
        left = []
        for place, (waiting, seq, row) in enumerate(_KNOWN.iter_unpack(self._known)):
            if waiting > 0:
                left.append((seq, row, waiting))
                _KNOWN.pack_into(self._known, place * _KNOWN.size, 0, seq, row)
        return _in_order(left)


def sampled_launches(one_in: int) -> SampledLaunches | NativeSampledLaunches:
    """Return what chooses among a run's launches."""
    compiled, _ = compiled_part()
    return SampledLaunches(one_in) if compiled is None else NativeSampledLaunches(one_in, compiled)


def _in_order(left: list[tuple[int, bytes, int]]) -> Sample:
    left.sort()
    seq, rows, weights = zip(*left, strict=True) if left else ((), (), ())
    return Sample(b"".join(rows), array("q", seq).tobytes(), array("q", weights).tobytes())


class SampledExecutions:
    """Chooses among the rows of `gpu_kernels`.

    Those of a launch are recorded with it; those that ran from a graph, or without a launch, are
    chosen by their own numbers.
    """

    def __init__(self, one_in: int) -> None:
        """Record one in so many."""
        self._one_in = one_in
        self._weights = Weights(one_in)
        self._last: dict[Hashable, pa.Table] = {}

    def chosen(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are to be recorded, with their weights."""
        names = ("launch_seq", "graph_id", "record", "call_id", "kind", "name")
        places: list[int] = []
        launches: list[int | None] = []
        weights = array("q")
        last: dict[Hashable, int] = {}
        for place, row in enumerate(zip(*(rows[name].to_pylist() for name in names), strict=True)):
            launch, graph, record, call, kind, name = row
            of_launch = launch is not None and graph is None
            number = launch if of_launch else record
            key = (kind, name) if call is None else call
            weight = self._weights.of(key, number)
            # A first one's launch may not be recorded: then it has no row.
            lost = of_launch and not is_chosen(number, self._one_in)
            launches.append(None if lost else launch)
            last[key] = place
            if weight:
                places.append(place)
                weights.append(weight)
        column = rows.schema.get_field_index("launch_seq")
        found = rows.set_column(column, "launch_seq", array_of(launches, pa.int64()))
        held = found.take(integers(array("q", last.values())))  # and not all of the rows
        for place, key in enumerate(last):
            self._last[key] = held.slice(place, 1)
        return _weighted(found.take(integers(array("q", places))), weights)

    def rest(self) -> pa.Table | None:
        """Return the last execution of each kind that has some left; None where there is none."""
        left = self._weights.rest()
        if not left:
            return None
        rows = [self._last[key] for key in left]
        whole = pa.concat_tables(rows, promote_options="permissive").unify_dictionaries()
        return _weighted(whole, array("q", left.values()))


def _weighted(rows: pa.Table, weights: "array[int]") -> pa.Table:
    return rows.append_column("weight", integers(weights))
