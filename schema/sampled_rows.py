"""Sampling of launches: one launch in N recorded, all launches counted (the setting `sample`).

Of each N consecutive launches one is chosen, pseudorandomly by launch number, so that a program
with a period of N launches is still sampled evenly. Other rows refer to launches; so these are
recorded as well: the first launch of each call and phase, launches with copied contents, and
launches captured into a graph. A row's weight is the number of launches of its call and phase since
the previous recorded one, so the weights sum to the number of launches; at the end the last launch
of each call and phase is recorded with the weight that remains.

Example: N = 4, ten launches of one call, chosen numbers 2, 5, 8: recorded are 0 (weight 1),
2 (weight 2), 5 (3), 8 (3) and, at the end, 9 (1); the sum is 10.

The journal's thread samples the rows that the hot path has recorded as usual, by Arrow's functions,
which do not hold the interpreter's lock; so the program's threads pay next to nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.arrays import array_of
from kvtrace.schema.spool import PHASES

#: Constants as Arrow's scalars, made without `pa.scalar` (see `arrays.py`).
_ZERO, _ONE_ROW, _KINDS, _GRAPH_CAPTURE = array_of(
    [0, 1, len(PHASES), PHASES.index("graph_capture")], pa.int64()
)
_NOTHING: Final = array_of([None], pa.int64())[0]
_BETWEEN, _UNKNOWN = array_of(["\0", ""], pa.string())
_YES: Final = array_of([True], pa.bool_())
_NO: Final = array_of([False], pa.bool_())[0]
#: Multipliers, and shifts, of splitmix64 and its finalizer, which mixes all bits of a number.
_STEP, _FIRST, _SECOND, _30, _27, _31, _ONE = array_of(
    [0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 30, 27, 31, 1], pa.uint64()
)


def are_chosen(numbers: pa.Array, one_in: int) -> pa.Array:
    """Return for each number whether it is the sampled one in its block of `one_in` numbers."""
    size = array_of([one_in], pa.uint64())[0]
    numbers = numbers.view(pa.uint64())
    block = pc.divide(numbers, size)
    mixed = pc.multiply(pc.add(block, _ONE), _STEP)
    for shift, multiplier in ((_30, _FIRST), (_27, _SECOND), (_31, _ONE)):
        mixed = pc.multiply(pc.bit_wise_xor(mixed, pc.shift_right(mixed, shift)), multiplier)
    return pc.equal(_rest(mixed, size), _rest(numbers, size))


def _rest(numbers: pa.Array, size: pa.Scalar) -> pa.Array:
    return pc.subtract(numbers, pc.multiply(pc.divide(numbers, size), size))


class _Sampler:
    """The sampler of rows that have keys, which are counted from one batch of rows to the next."""

    def __init__(self) -> None:
        #: The last row of each key, with `key`, and in `waiting` the rows since a recorded one.
        self._last: pa.Table | None = None

    def recorded(self, rows: pa.Table, keys: pa.Array, chosen: pa.Array) -> pa.Table:
        """Return the chosen rows and the first row of each key, with the column `weight`."""
        if not len(rows):
            return rows.append_column("weight", keys)
        counts, parts, known = pa.repeat(_ONE_ROW, len(rows)), [], 0
        if self._last is not None:
            is_here = pc.is_in(self._last["key"], keys)
            before, known = self._last.filter(is_here), pc.sum(is_here).as_py() or 0
            parts.append(self._last.filter(pc.invert(is_here)))
            keys = pa.concat_arrays([*before["key"].chunks, keys])
            counts = pa.concat_arrays([*before["waiting"].chunks, counts])
            chosen = pa.concat_arrays([pa.repeat(_NO, known), chosen])
        # By key: what is known of it, then its rows. So a row that begins a key is its first one.
        order = pc.array_sort_indices(keys)
        keys, counts, chosen = keys.take(order), counts.take(order), chosen.take(order)
        changes = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1))
        begins, ends = pa.concat_arrays([_YES, changes]), pa.concat_arrays([changes, _YES])
        is_row = pc.greater_equal(order, array_of([known], pa.uint64())[0])
        chosen = pc.or_(chosen, pc.and_(begins, is_row))
        # Rows are counted through all keys; a weight is what came since a recorded row or a begin.
        counted = pc.cumulative_sum(counts)
        begun = pc.if_else(begins, pc.subtract(counted, counts), _NOTHING)
        after = pc.fill_null_forward(pc.if_else(chosen, counted, begun))
        until = pc.coalesce(
            begun, pa.concat_arrays([after.slice(0, 1), after.slice(0, len(after) - 1)])
        )
        place = pc.subtract(order, array_of([known], pa.uint64())[0])
        last = rows.take(place.filter(ends)).append_column("key", keys.filter(ends))
        parts.append(last.append_column("waiting", pc.subtract(counted, after).filter(ends)))
        self._last = _joined(parts)
        place, weights = place.filter(chosen), pc.subtract(counted, until).filter(chosen)
        in_order = pc.array_sort_indices(place)
        recorded = rows.take(place.take(in_order))
        return recorded.append_column("weight", weights.take(in_order))

    def rest(self) -> pa.Table | None:
        """Return the last row of each key with unrecorded rows, with weights; None without any."""
        if self._last is None:
            return None
        waiting = self._last["waiting"]
        left = self._last.filter(pc.greater(waiting, _ZERO))
        place = self._last.schema.get_field_index("waiting")
        nothing = pa.repeat(_ZERO, len(waiting))
        self._last = self._last.set_column(place, "waiting", nothing)
        left = left.drop_columns(["key"]).rename_columns({"waiting": "weight"})
        return left if len(left) else None


def _joined(parts: Sequence[pa.Table]) -> pa.Table:
    """Return rows of several tables in one piece, by which the batches they came from are freed."""
    rows = pa.concat_tables(parts, promote_options="permissive")
    return rows.unify_dictionaries().combine_chunks()


class SampledLaunches:
    """The sampler of a run's launches; one in `one_in` is recorded."""

    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self._sampler = _Sampler()

    def chosen(
        self, columns: Mapping[str, Any], copied: Sequence[tuple[int, int, int]]
    ) -> pa.Table:
        """Return the launches to record, with weights.

        `copied` has in each second place the number of a launch with copied contents.
        """
        rows = pa.table({name: values for name, values in columns.items() if name != "addresses"})
        phases = columns["phase"].indices.cast(pa.int64())
        keys = pc.add(pc.multiply(columns["call_id"], _KINDS), phases)
        with_contents = array_of([seq for _, seq, _ in copied], pa.int64())
        referred_to = pc.or_(
            pc.is_in(columns["seq"], with_contents), pc.equal(phases, _GRAPH_CAPTURE)
        )
        chosen = pc.or_(are_chosen(columns["seq"], self._one_in), referred_to)
        return self._sampler.recorded(rows, keys, chosen)

    def rest(self) -> pa.Table | None:
        """Return the last launch of each call and phase with unrecorded launches, weighted."""
        rows = self._sampler.rest()
        return None if rows is None else rows.take(pc.sort_indices(rows["seq"]))


class SampledExecutions:
    """The sampler of a run's executions (`gpu_kernels`); one in `one_in` is recorded.

    An execution of a launch is sampled by the launch's number, an execution from a graph, or
    without a launch, by its own number.
    """

    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self._sampler = _Sampler()
        #: Negative keys of executions without a call, by kind and name.
        self._keys: dict[str, int] = {}

    def chosen(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are recorded, with the column `weight`."""
        rows = rows.combine_chunks()
        launch, graph, record = (_array(rows, n) for n in ("launch_seq", "graph_id", "record"))
        of_launch = pc.and_(pc.is_valid(launch), pc.is_null(graph))
        chosen = are_chosen(pc.if_else(of_launch, launch, record), self._one_in)
        # A key's first execution is kept, but perhaps not its launch: then it names none.
        launch = pc.if_else(pc.or_(pc.invert(of_launch), chosen), launch, _NOTHING)
        rows = rows.set_column(rows.schema.get_field_index("launch_seq"), "launch_seq", launch)
        return self._sampler.recorded(rows, self._keys_of(rows), chosen)

    def rest(self) -> pa.Table | None:
        """Return the last execution of each key that has unrecorded ones, with weights, or None."""
        return self._sampler.rest()

    def _keys_of(self, rows: pa.Table) -> pa.Array:
        """Return calls' ids, and negative numbers of kind and name where there is no call."""
        texts = (pc.coalesce(_array(rows, n).cast(pa.string()), _UNKNOWN) for n in ("kind", "name"))
        kinds = pc.binary_join_element_wise(*texts, _BETWEEN).dictionary_encode()
        keys = [self._keys.setdefault(t, ~len(self._keys)) for t in kinds.dictionary.to_pylist()]
        own = array_of(keys, pa.int64()).take(kinds.indices)
        return pc.coalesce(_array(rows, "call_id"), own)


def _array(rows: pa.Table, name: str) -> pa.Array:
    return pa.concat_arrays(rows[name].chunks)
