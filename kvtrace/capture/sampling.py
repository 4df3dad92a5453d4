"""Sampling of launches: one launch in N recorded, all launches counted (the setting `sample`).

Of each N consecutive launches one is chosen, pseudorandomly by launch number, so that a program
with a period of N launches is still sampled evenly. Other rows refer to launches; so these are
recorded as well: the first launch of each call and phase, launches with copied contents, and
launches captured into a graph. A row's weight is the number of launches of its call and phase since
the previous recorded one, so the weights sum to the number of launches; at the end the last launch
of each call and phase is recorded with the weight that remains.

Example: N = 4, ten launches of one call, chosen numbers 2, 5, 8: recorded are 0 (weight 1),
2 (weight 2), 5 (3), 8 (3) and, at the end, 9 (1); the sum is 10.

The journal's thread samples the rows that the hot path has recorded as usual, so the program's
threads pay next to nothing; `_hot_rows.h` implements `SampledLaunches` in C.
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

#: State of a key in `_hot_rows.h`: unweighted launches (-1: no launch so far), and number and row
#: of the last launch.
_STATE: Final = Struct(f"=qq{ROW.size}s")


def is_chosen(number: int, one_in: int) -> bool:
    """Return whether `number` is the sampled one, by a hash, in its block of `one_in` numbers."""
    block, position = divmod(number, one_in)
    mixed = (block + 1) * _STEP & _64_BITS
    mixed = (mixed ^ mixed >> 30) * _FIRST & _64_BITS
    mixed = (mixed ^ mixed >> 27) * _SECOND & _64_BITS
    return (mixed ^ mixed >> 31) % one_in == position


class Weights:
    """Weights of sampled rows: for each key, the count of rows since its last recorded row.

    One row in `one_in` is recorded, and the first row of each key.
    """

    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self._waiting: dict[Hashable, int] = {}

    def of(self, key: Hashable, number: int, *, always: bool = False) -> int:
        """Return the weight of the row `number`, or 0 if the row is not to be recorded.

        A row that is not recorded adds 1 to the weight of the key's next recorded row.
        """
        waiting = self._waiting.get(key)
        count = 1 + (waiting or 0)
        is_recorded = waiting is None or always or is_chosen(number, self._one_in)
        self._waiting[key] = 0 if is_recorded else count
        return count if is_recorded else 0

    def rest(self) -> dict[Any, int]:
        """Return, by key, the count of rows since the last recorded one, if above 0; clear them."""
        counts = {key: count for key, count in self._waiting.items() if count}
        self._waiting.update(dict.fromkeys(counts, 0))
        return counts


class Sample(NamedTuple):
    """Recorded launches: rows packed by `ROW`, and 64-bit launch numbers and weights."""

    rows: bytes
    seq: bytes
    weights: bytes


class SampledLaunches:
    """The sampler of a run's launches in Python; one in `one_in` is recorded."""

    def __init__(self, one_in: int) -> None:
        self._weights = Weights(one_in)
        self._last: dict[Hashable, tuple[int, bytes]] = {}

    def chosen(self, rows: bytes, first: int) -> Sample:
        """Return the launches to record; `first` is the number of the first row."""
        recorded, numbers, weights = [], array("q"), array("q")
        for seq, offset in enumerate(range(0, len(rows), ROW.size), first):
            row = rows[offset : offset + ROW.size]
            launch = dict(zip(FIELDS, ROW.unpack(row), strict=True))
            phase = launch["phase"] & PHASE_MASK
            key = launch["call_id"] * _KINDS + phase
            always = launch["contents"] != 0 or phase == GRAPH_CAPTURE
            weight = self._weights.of(key, seq, always=always)
            self._last[key] = seq, row
            if weight:
                recorded.append(row)
                numbers.append(seq)
                weights.append(weight)
        return Sample(b"".join(recorded), numbers.tobytes(), weights.tobytes())

    def rest(self) -> Sample:
        """Return the last launch of each call and phase with unrecorded launches, weighted."""
        counts = self._weights.rest()
        return _in_order([(*self._last[key], count) for key, count in counts.items()])


class NativeSampledLaunches:
    """The sampler of a run's launches in C, which selects the same as `SampledLaunches`."""

    def __init__(self, one_in: int, compiled: ModuleType) -> None:
        self._one_in = one_in
        self._compiled = compiled
        self._states = bytearray()

    def chosen(self, rows: bytes, first: int) -> Sample:
        """Return the launches to record; `first` is the number of the first row."""
        sample = self._compiled.sampled_launches(rows, first, self._one_in, self._states)
        if isinstance(sample, int):  # the number of calls, more than there is room for
            new_states = 2 * sample - len(self._states) // _STATE.size
            self._states += _STATE.pack(-1, 0, b"") * new_states
            sample = self._compiled.sampled_launches(rows, first, self._one_in, self._states)
        return Sample(*sample)

    def rest(self) -> Sample:
        """Return the last launch of each call and phase with unrecorded launches, weighted."""
        launches = []
        for index, (unweighted, seq, row) in enumerate(_STATE.iter_unpack(self._states)):
            if unweighted > 0:
                launches.append((seq, row, unweighted))
                _STATE.pack_into(self._states, index * _STATE.size, 0, seq, row)
        return _in_order(launches)


def sampled_launches(one_in: int) -> SampledLaunches | NativeSampledLaunches:
    """Return the sampler of a run's launches, native if possible."""
    compiled, _ = compiled_part()
    return SampledLaunches(one_in) if compiled is None else NativeSampledLaunches(one_in, compiled)


def _in_order(launches: list[tuple[int, bytes, int]]) -> Sample:
    launches.sort()
    seq, rows, weights = zip(*launches, strict=True) if launches else ((), (), ())
    return Sample(b"".join(rows), array("q", seq).tobytes(), array("q", weights).tobytes())


class SampledExecutions:
    """The sampler of a run's executions (`gpu_kernels`); one in `one_in` is recorded.

    An execution of a launch is sampled by the launch's number, an execution from a graph, or
    without a launch, by its own number.
    """

    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self._weights = Weights(one_in)
        self._last: dict[Hashable, pa.Table] = {}

    def chosen(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are recorded, with the column `weight`."""
        names = ("launch_seq", "graph_id", "record", "call_id", "kind", "name")
        recorded: list[int] = []
        launches: list[int | None] = []
        weights = array("q")
        last: dict[Hashable, int] = {}
        for index, row in enumerate(zip(*(rows[name].to_pylist() for name in names), strict=True)):
            launch, graph, record, call, kind, name = row
            of_launch = launch is not None and graph is None
            number = launch if of_launch else record
            key = (kind, name) if call is None else call
            weight = self._weights.of(key, number)
            # The launch of a kind's first execution may not be recorded, and then has no row.
            lost = of_launch and not is_chosen(number, self._one_in)
            launches.append(None if lost else launch)
            last[key] = index
            if weight:
                recorded.append(index)
                weights.append(weight)
        column = rows.schema.get_field_index("launch_seq")
        executions = rows.set_column(column, "launch_seq", array_of(launches, pa.int64()))
        last_rows = executions.take(integers(array("q", last.values())))  # a copy: frees the rest
        for index, key in enumerate(last):
            self._last[key] = last_rows.slice(index, 1)
        return _weighted(executions.take(integers(array("q", recorded))), weights)

    def rest(self) -> pa.Table | None:
        """Return the last execution of each key that has unrecorded ones, with weights, or None."""
        counts = self._weights.rest()
        if not counts:
            return None
        rows = [self._last[key] for key in counts]
        executions = pa.concat_tables(rows, promote_options="permissive").unify_dictionaries()
        return _weighted(executions, array("q", counts.values()))


def _weighted(rows: pa.Table, weights: "array[int]") -> pa.Table:
    return rows.append_column("weight", integers(weights))
