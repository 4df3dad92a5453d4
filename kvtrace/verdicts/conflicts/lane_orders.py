"""Runs of one program: its ops in order, or with one lane ahead of another.

A run has a memory of its own, whose contents are made up where none were recorded, and records each
execution of an op that touches the watched byte, with the lanes that touch it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Final, NamedTuple, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.evaluate import Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.ops import BARRIERS, MEMORY, effect_of
from kvtrace.ir.types import shape_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.outcomes import Touch
from kvtrace.verdicts.conflicts.threads import Lane
from kvtrace.verdicts.replaying import run_with, writable
from kvtrace.verdicts.rules.fills import Numbers, small_numbers, with_contents

#: Bytes on each side of the watched byte that are filled with distinct numbers.
_WINDOW: Final = 1 << 16
#: Period of made-up floats: a prime, so that no tile's width is a multiple of it.
_PRIME: Final = 127
#: Limit of a program's stored bytes that are compared between two runs.
_MAX_COMPARED_BYTES: Final = 1 << 26

Execution = tuple[Op, int]
"""An op, and the count of its executions so far."""


class WatchedByte(Struct, frozen=True):
    """A byte of a storage (from its start), watched in runs of one program (a linear id)."""

    bound: BoundCall
    program: int
    storage: Storage
    byte: int


class Visit(Struct, frozen=True):
    """One execution of an op that touches the watched byte, with the `lanes` that touch it.

    `phase` is the count of barriers so far. `start` and `width` are of the element that has the
    byte; `before` and `after` are its bytes around the execution.
    """

    execution: Execution
    phase: int
    lanes: tuple[Lane, ...]
    argument: int
    start: int
    width: int
    iteration: int
    before: bytes
    after: bytes

    @property
    def op(self) -> Op:
        """The op that was executed."""
        return self.execution[0]


class LaneVisit(Struct, frozen=True):
    """A visit reduced to one of its lanes."""

    visit: Visit
    lane: Lane

    def touch(self, call: Call, program: int) -> Touch:
        """Return the visit as one side of a witness, with its offset in the argument."""
        visit, argument = self.visit, call.tensor(self.visit.argument)
        return Touch(
            visit.op, program, visit.iteration, self.lane, visit.argument,
            visit.start - argument.offset_bytes,
        )  # fmt: skip


class _Touch(NamedTuple):
    """The lanes of a batch of accesses that touch the watched byte, and the first one's element."""

    lanes: tuple[Lane, ...]
    argument: int
    start: int
    width: int
    iteration: int


class _Stored(NamedTuple):
    """Bytes that an access has stored, from `start` on in the storage of an argument."""

    argument: int
    start: int
    content: bytes


class ProgramRun(Instrument, Observer):
    """A run of a program that records visits to a byte; subclasses run ops in another order.

    `ops`: bytes that all of these touch are recorded, too. `barriers_hold` False: barriers do not
    order the lanes in question, and are not counted. `failure`: why the run ended early, else None.
    """

    def __init__(
        self, place: WatchedByte, ops: Iterable[Op] = (), *, barriers_hold: bool = True
    ) -> None:
        super().__init__()
        self.place = place
        self.failure: str | None = None
        self._barriers_hold = barriers_hold
        originals = place.bound.call.arguments
        position = next(
            position
            for position, argument in enumerate(originals)
            if isinstance(argument, TensorArgument) and argument.storage is place.storage
        )
        self._arguments = _writable(originals, place, position)
        self._positions: dict[int, int] = {}
        """The position of the first argument with a storage, by the storage's id."""
        for at, argument in enumerate(self._arguments):
            if isinstance(argument, TensorArgument):
                self._positions.setdefault(id(argument.storage), at)
        self.data = self._data(position)
        """The current bytes of the watched storage."""
        self._starts: dict[Op, list[NDArray[np.int64]]] = {op: [] for op in ops}
        self._phase = 0
        self._counts: dict[Op, int] = {}
        self._touching: list[_Touch] | None = None
        self._last_store: tuple[int, int, int] | None = None
        """Argument, first and end offset of an op's last store."""
        self._spans: dict[int, tuple[int, int]] = {}
        """The first and end offset of stored bytes, by position of the storage's argument."""
        self.visits: list[Visit] = []
        self.single_thread_stores: dict[Execution, _Stored] = {}

    def run(self) -> Self:
        """Evaluate the program."""
        bound = self.place.bound
        self.failure = run_with(
            bound.call, self._arguments, (self,), (self.place.program,),
            lanes=bound.budget.replay_lanes, instrument=self,
        )  # fmt: skip
        return self

    def _data(self, position: int) -> NDArray[np.uint8]:
        tensor = self._arguments[position]
        assert isinstance(tensor, TensorArgument)
        assert tensor.storage.data is not None
        return tensor.storage.data

    # -- results -------------------------------------------------------------------------------

    def has_same_result_as(self, other: ProgramRun) -> bool | None:
        """Return whether all bytes stored in either run are equal; None: too many to compare."""
        spans = dict(self._spans)
        for position, (begin, end) in other._spans.items():
            low, high = spans.get(position, (begin, end))
            spans[position] = max(min(low, begin), 0), max(high, end)
        if sum(end - begin for begin, end in spans.values()) > _MAX_COMPARED_BYTES:
            return None
        return all(
            np.array_equal(self._data(position)[begin:end], other._data(position)[begin:end])
            for position, (begin, end) in spans.items()
        )

    def _record_stored(self, position: int, begin: int, end: int) -> None:
        """Extend the recorded span of stored bytes of an argument's storage."""
        argument = self._arguments[position]
        assert isinstance(argument, TensorArgument)
        position = self._positions[id(argument.storage)]
        low, high = self._spans.get(position, (begin, end))
        self._spans[position] = min(low, begin), max(high, end)

    def meeting_bytes(self) -> list[int]:
        """Return up to four other bytes that all of `ops` touched, spread over the block."""
        if not all(self._starts.values()):
            return []
        start_sets = [np.unique(np.concatenate(starts)) for starts in self._starts.values()]
        common = start_sets[0]
        for starts in start_sets[1:]:
            common = np.intersect1d(common, starts)
        count = len(common)
        positions = {count // 2, count - 1, count // 3, count * 3 // 4} if count else set()
        return sorted({int(common[p]) for p in positions} - {self.place.byte}, reverse=True)

    # -- executions ----------------------------------------------------------------------------

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap barriers to count them, and memory ops to record their visits."""
        if op.name in BARRIERS:
            return self._barrier
        if op.name not in MEMORY:
            return step

        def run(values: list[Any], scope: Scope) -> None:
            self._counts[op] = self._counts.get(op, 0) + 1
            self._run((op, self._counts[op]), step, values, scope)

        return run

    def _barrier(self, _values: list[Any], _scope: Scope) -> None:
        self._phase += int(self._barriers_hold)

    def _run(self, execution: Execution, step: Step, values: list[Any], scope: Scope) -> None:
        """Run a step, and record a visit if it touches the watched byte."""
        low = max(self.place.byte - 16, 0)
        bytes_before = self.data[low : self.place.byte + 16].copy()
        self._touching = []
        step(values, scope)
        touching, self._touching = self._touching, None
        if touching:
            lanes = tuple(lane for touch in touching for lane in touch.lanes)
            _, argument, start, width, iteration = touching[0]
            before = bytes_before[start - low : start - low + width].tobytes()
            after = self.data[start : start + width].tobytes()
            self.visits.append(
                Visit(
                    execution, self._phase, lanes, argument, start, width, iteration, before, after
                )
            )
        if _is_by_one_thread(execution[0]) and self._last_store is not None:
            argument, start, end = self._last_store
            stored = self._data(argument)[start:end].tobytes()
            self.single_thread_stores[execution] = _Stored(argument, start, stored)
        self._last_store = None

    def access(self, access: Access) -> None:
        """Record an access's stored span, and the lanes that cover the watched byte."""
        argument = None if access.argument is None else self._arguments[access.argument]
        if not isinstance(argument, TensorArgument) or access.lowest is None:
            return
        assert access.highest is not None
        assert access.argument is not None
        origin, byte, width = argument.offset_bytes, self.place.byte, access.element_bytes
        begin, end = access.lowest + origin, access.highest + origin + width
        if access.kind != "load":
            self._record_stored(access.argument, begin, end)
            if begin >= 0 and end <= argument.storage.nbytes:
                self._last_store = access.argument, begin, end
        parts, is_watched = access.parts, argument.storage.data is self.data
        if self._touching is None or parts is None or not is_watched:
            return
        if access.op in self._starts:
            offsets, active = np.broadcast_arrays(
                parts.offsets() + origin, parts.active_of(np.ones((1,) * len(parts.shape), bool))
            )
            self._starts[access.op].append(offsets[active])
        covers = parts.covers(byte - origin, width) if begin <= byte < end else np.zeros(1, bool)
        if covers.any():
            lanes = tuple(tuple(map(int, index)) for index in np.argwhere(covers[0]))
            offsets = np.broadcast_to(parts.offsets(), covers.shape)
            start = int(offsets[(0, *lanes[0])]) + origin
            self._touching.append(_Touch(lanes, access.argument, start, width, parts.iteration))


class Overtaking(Struct, frozen=True):
    """An order of two lanes in which the second lane's access comes before the first's.

    `repeated`: all threads do one of the loads, so each thread that stores has loaded the value
    itself, and stores the same as in the first order. `single_thread_stores` has all stores by
    one thread, if one thread does both accesses.
    """

    first: LaneVisit
    second: LaneVisit
    repeated: bool
    single_thread_stores: Mapping[Execution, _Stored] | None


class ReorderedRun(ProgramRun):
    """A run of a program with one lane ahead of another lane.

    `is_same`: the lane that was ahead has run, and stored the same as in the first order.
    """

    def __init__(self, place: WatchedByte, ahead: Overtaking) -> None:
        super().__init__(place)
        self._ahead = ahead
        self._reached = False
        self._stored_alike = True
        self._pending = dict(ahead.single_thread_stores or {})

    @property
    def is_same(self) -> bool:
        """The lane that was ahead has run, and stored the same as in the first order."""
        return self._stored_alike and self._reached

    def run(self) -> Self:
        """Evaluate the program, and then do the remaining stores of the thread that was ahead."""
        super().run()
        for stored in self._pending.values():
            self._do_store(stored)
        return self

    def _do_store(self, stored: _Stored) -> None:
        argument, start, end = stored.argument, stored.start, stored.start + len(stored.content)
        self._record_stored(argument, start, end)
        self._data(argument)[start:end] = np.frombuffer(stored.content, np.uint8)

    def _run(self, execution: Execution, step: Step, values: list[Any], scope: Scope) -> None:
        first, second, op = self._ahead.first, self._ahead.second, execution[0]
        is_second = execution == second.visit.execution
        self._reached = self._reached or is_second
        if self._ahead.single_thread_stores is not None and _is_by_one_thread(op):
            stored = self._pending.pop(execution, None)
            if stored is not None:
                self._do_store(stored)
        elif is_second and effect_of(op) == "load":
            # Memory still has the bytes from before the first store.
            self._load_with(op, step, values, scope, second, first.visit, first.visit.before)
        elif is_second:
            step(values, scope)
            self._restore_order(first.visit, second.visit)
        elif execution == first.visit.execution and effect_of(op) == "load":
            self._load_with(op, step, values, scope, first, second.visit, second.visit.after)
        else:
            step(values, scope)

    def _restore_order(self, first: Visit, second: Visit) -> None:
        """Redo the first access's store after the second, or compare the second's result."""
        if effect_of(first.op) != "load":
            self._put(first, first.after)
        elif self._ahead.repeated:
            self._put(second, second.after)
        else:
            after = self.data[second.start : second.start + second.width].tobytes()
            self._stored_alike = self._stored_alike and after == second.after

    def _put(self, visit: Visit, new_bytes: bytes) -> None:
        self.data[visit.start : visit.start + visit.width] = np.frombuffer(new_bytes, np.uint8)

    def _load_with(
        self, op: Op, step: Step, values: list[Any], scope: Scope, side: LaneVisit, visit: Visit,
        new_bytes: bytes,
    ) -> None:  # fmt: skip
        """Load for one lane (all lanes of a scalar) with other bytes in memory."""
        result, type_ = op.results[0].id, value_type(op.results[0].type)
        step(values, scope)
        loaded_values = values[result]
        saved_bytes = self.data[visit.start : visit.start + visit.width].tobytes()
        self._put(visit, new_bytes)
        step(values, scope)
        self._put(visit, saved_bytes)
        other_values = values[result]
        if isinstance(loaded_values, Unknown) or isinstance(other_values, Unknown) or type_.pointer:
            self._stored_alike = False
            return
        merged_values = np.array(full_array(loaded_values, type_))
        merged_values[(0, *side.lane)] = full_array(other_values, type_)[(0, *side.lane)]
        values[result] = merged_values


class ChangedLoadRun(ProgramRun):
    """A run of a program in which one lane of a load reads another number."""

    def __init__(self, place: WatchedByte, side: LaneVisit, number: float) -> None:
        super().__init__(place)
        self._side = side
        self._number = number

    def _run(self, execution: Execution, step: Step, values: list[Any], scope: Scope) -> None:
        super()._run(execution, step, values, scope)
        if execution != self._side.visit.execution:
            return
        result = execution[0].results[0]
        type_ = value_type(result.type)
        if isinstance(values[result.id], Unknown) or type_.pointer:
            return
        changed_values = np.array(full_array(values[result.id], type_))
        lane = (0, *self._side.lane)
        if np.issubdtype(changed_values.dtype, np.inexact):
            changed_values[lane] = self._number
        elif self._number == self._number:
            changed_values[lane] += int(self._number) // 40
        values[result.id] = changed_values


def _is_by_one_thread(op: Op) -> bool:
    """Return whether an op stores a single element, which one thread does."""
    return effect_of(op) == "store" and prod(shape_of(op.operand("value").type)) == 1


# -- contents --------------------------------------------------------------------------------------


def _writable(
    arguments: Sequence[Argument], place: WatchedByte, position: int
) -> tuple[Argument, ...]:
    """Return arguments with writable contents; made-up ones differ around the watched byte.

    `position` is that of the first argument with the byte's storage.
    """
    contents = with_contents(arguments, partial(_distinct_numbers, arguments))
    copies = with_storages(contents, writable)
    tensor = copies[position]
    if place.storage.data is None and isinstance(tensor, TensorArgument):
        _fill(tensor, place.byte)
    return copies


def _distinct_numbers(arguments: Sequence[Argument], argument: TensorArgument) -> Numbers:
    """Return floats that differ within a tile and between tensors; zeros for integers.

    A lane that copies from or to another tile than in the first order then leaves a different
    result.
    """
    if argument.element.kind != "f":
        return small_numbers(argument)
    first = (
        _PRIME // 4 * next(n for n, other in enumerate(arguments) if other.name == argument.name)
    )
    return [(1 + (first + number) % _PRIME) / 64 for number in range(_PRIME)]


def _fill(tensor: TensorArgument, byte: int) -> None:
    """Fill a window around a byte of a tensor's storage with numbers that differ from neighbors."""
    from kvtrace.evaluate.rounding import to_memory

    size, data = tensor.element.bytes, tensor.storage.data
    assert data is not None
    first_byte = max(byte - _WINDOW, tensor.offset_bytes % size)
    first_byte -= (first_byte - tensor.offset_bytes) % size
    first_byte += size if first_byte < 0 else 0
    count = (min(byte + _WINDOW, len(data)) - first_byte) // size
    element_indices = np.arange(first_byte // size, first_byte // size + count)
    numbers = (1 + (7 * element_indices + element_indices // 13) % 13).astype(tensor.element.value)
    raw = np.ascontiguousarray(to_memory(numbers, tensor.element)).view(np.uint8)
    data[first_byte : first_byte + count * size] = raw[: count * size]
