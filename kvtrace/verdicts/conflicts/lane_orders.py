"""Instruments that run one program's ops in order, or with one lane ahead of another.

They record each execution of an op that touches the watched byte, with the lanes that touch it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.ops import BARRIERS, MEMORY, effect_of
from kvtrace.symbolic.walk_types import shape_of
from kvtrace.verdicts.conflicts.outcomes import Touch
from kvtrace.verdicts.conflicts.threads import Lane

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Scope
    from kvtrace.recorded_calls.recorded import Call

#: Limit of a program's stored bytes that are compared between two runs.
_MAX_COMPARED_BYTES: Final = 1 << 26


@dataclass(frozen=True)
class Visit:
    """One execution of an op that touches the watched byte, with the `lanes` that touch it.

    `number` is the count of the op's executions, `phase` the count of barriers so far. `start` and
    `width` are of the element that has the byte; `before` and `after` are its bytes around the
    execution.
    """

    op: Op
    number: int
    phase: int
    lanes: tuple[Lane, ...]
    argument: int
    start: int
    width: int
    iteration: int
    before: bytes
    after: bytes


@dataclass(frozen=True)
class LaneVisit:
    """A visit reduced to one of its lanes."""

    visit: Visit
    lane: Lane

    def touch(self, call: Call, program: int) -> Touch:
        """Return the visit as one side of a witness, with its offset in the argument."""
        visit, argument = self.visit, call.arguments[self.visit.argument]
        assert isinstance(argument, TensorArgument)
        return Touch(
            visit.op, program, visit.iteration, self.lane, visit.argument,
            visit.start - argument.offset_bytes,
        )  # fmt: skip


@dataclass
class Memory:
    """The writable storages of one run, with the span of bytes stored to in each."""

    arguments: tuple[Argument, ...]
    watched: NDArray[np.uint8]
    stored: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The first and end offset of stored bytes, by the storage's id."""

    def bytes_of(self, argument: int, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` of an argument's storage."""
        return self._data(argument)[start:end].tobytes()

    def put(self, argument: int, start: int, data: bytes) -> None:
        """Store bytes at `start` of an argument's storage, and record their span as stored."""
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        self.record_stored(tensor.storage, start, start + len(data))
        self._data(argument)[start : start + len(data)] = np.frombuffer(data, np.uint8)

    def record_stored(self, storage: Storage, begin: int, end: int) -> None:
        """Extend the recorded span of stored bytes of a storage."""
        low, high = self.stored.get(id(storage), (begin, end))
        self.stored[id(storage)] = min(low, begin), max(high, end)

    def _data(self, argument: int) -> NDArray[np.uint8]:
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        assert tensor.storage.data is not None
        return tensor.storage.data

    def has_same_result_as(self, other: Memory) -> bool | None:
        """Return whether all bytes stored in either run are equal; None: too many to compare."""
        spans: dict[int, tuple[int, int]] = {}
        for memory in (self, other):
            for argument, (start, end) in memory._spans():
                low, high = spans.get(argument, (start, end))
                spans[argument] = min(low, start), max(high, end)
        if sum(end - start for start, end in spans.values()) > _MAX_COMPARED_BYTES:
            return None
        return all(
            self.bytes_of(argument, max(start, 0), end)
            == other.bytes_of(argument, max(start, 0), end)
            for argument, (start, end) in spans.items()
        )

    def _spans(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the position of each argument with stored bytes, and the span of these bytes."""
        for position, argument in enumerate(self.arguments):
            if isinstance(argument, TensorArgument) and id(argument.storage) in self.stored:
                yield position, self.stored[id(argument.storage)]


class AccessForwarder(Observer):
    """An observer that forwards each access to a recorder."""

    def __init__(self, recorder: VisitRecorder) -> None:
        self._recorder = recorder

    def access(self, access: Access) -> None:
        """Forward an access to the recorder."""
        self._recorder.note(access)


class VisitRecorder(Instrument):
    """An instrument that records visits to a byte; subclasses run ops in another order."""

    def __init__(
        self,
        memory: Memory,
        storage: Storage,
        byte: int,
        ops: tuple[Op, Op] | None = None,
        *,
        barriers_hold: bool = True,
    ) -> None:
        """Watch a byte of a storage; `ops` also records other bytes that both ops touch.

        `barriers_hold` False: barriers do not order the lanes in question, and are not counted.
        """
        super().__init__()
        self._barriers_hold = barriers_hold
        self._memory = memory
        self._storage = storage
        self.byte = byte
        self.ops = ops
        self._starts: dict[Op, list[NDArray[np.int64]]] = {op: [] for op in ops or ()}
        self._phase = 0
        self._counts: dict[Op, int] = {}
        self._touching: list[tuple[tuple[Lane, ...], int, int, int, int]] | None = None
        self._stored: tuple[int, int, int] | None = None
        self.visits: list[Visit] = []
        self.single_thread_stores: dict[tuple[Op, int], tuple[int, int, bytes]] = {}
        """Stores by one thread, by op and execution: argument, start in its storage, bytes."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """The current bytes of the watched storage."""
        return self._memory.watched

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap barriers to count them, and memory ops to record their visits."""
        if op.name in BARRIERS:
            return self._barrier
        if op.name not in MEMORY:
            return step

        def run(values: list[Any], scope: Scope) -> None:
            number = self._counts[op] = self._counts.get(op, 0) + 1
            self._run(op, number, step, values, scope)

        return run

    def _barrier(self, _values: list[Any], _scope: Scope) -> None:
        self._phase += int(self._barriers_hold)

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        self._record_visit(op, number, lambda: step(values, scope))
        if _is_by_one_thread(op) and self._stored is not None:
            argument, start, end = self._stored
            self.single_thread_stores[op, number] = (
                argument,
                start,
                self._memory.bytes_of(argument, start, end),
            )
        self._stored = None

    def _record_visit(self, op: Op, number: int, step: Callable[[], None]) -> None:
        """Run a step, and record a visit if it touches the watched byte."""
        self._touching = []
        bytes_before = self._around()
        step()
        touching, self._touching = self._touching, None
        if touching:
            lanes, argument, start, width, iteration = touching[0]
            offset = start - self._low
            before = bytes_before[offset : offset + width].tobytes()
            after = self.data[start : start + width].tobytes()
            lanes = tuple(lane for touch in touching for lane in touch[0])
            self.visits.append(
                Visit(op, number, self._phase, lanes, argument, start, width, iteration, before,
                      after)
            )  # fmt: skip

    @property
    def _low(self) -> int:
        return max(self.byte - 16, 0)

    def _around(self) -> NDArray[np.uint8]:
        return self.data[self._low : self.byte + 16].copy()

    def note(self, access: Access) -> None:
        """Record an access's stored span, and the lanes that cover the watched byte."""
        argument = None if access.argument is None else self._memory.arguments[access.argument]
        if not isinstance(argument, TensorArgument) or access.lowest is None:
            return
        assert access.highest is not None
        begin = access.lowest + argument.offset_bytes
        end = access.highest + argument.offset_bytes + access.element_bytes
        if access.kind != "load":
            self._memory.record_stored(argument.storage, begin, end)
            assert access.argument is not None
            if begin >= 0 and end <= argument.storage.nbytes:
                self._stored = access.argument, begin, end
        if self._touching is None or argument.storage is not self._storage or access.parts is None:
            return
        if not begin <= self.byte < end and access.op not in self._starts:
            return
        parts, argument_position = access.parts, access.argument
        assert argument_position is not None
        offsets = parts.offsets() + argument.offset_bytes
        active = parts.active_of(np.ones_like(offsets, np.bool_))
        if access.op in self._starts:
            flat_offsets, is_active = np.broadcast_arrays(offsets, active)
            self._starts[access.op].append(flat_offsets[is_active])
        covers = (offsets <= self.byte) & (self.byte < offsets + access.element_bytes) & active
        covers = np.broadcast_to(covers, (1, *parts.block))
        indices = np.argwhere(covers[0])
        if not len(indices):
            return
        lanes = tuple(tuple(map(int, index)) for index in indices)
        start = int(np.broadcast_to(offsets, covers.shape)[(0, *lanes[0])])
        iteration = int(np.max(np.asarray(parts.iteration), initial=0))
        self._touching.append((lanes, argument_position, start, access.element_bytes, iteration))

    def meeting_bytes(self) -> list[int]:
        """Return up to four other bytes that both `ops` touched, spread over the block."""
        start_sets = [
            np.unique(np.concatenate(starts)) for starts in self._starts.values() if starts
        ]
        if not start_sets or len(start_sets) < len(self._starts):
            return []
        common_starts = (
            start_sets[0] if len(start_sets) == 1 else np.intersect1d(start_sets[0], start_sets[1])
        )
        positions = {
            len(common_starts) // 2,
            len(common_starts) - 1,
            len(common_starts) // 3,
            len(common_starts) * 3 // 4,
        }
        selected = {
            int(common_starts[position])
            for position in positions
            if 0 <= position < len(common_starts)
        }
        return sorted(selected - {self.byte}, reverse=True)


@dataclass(frozen=True)
class LaneOvertaking:
    """An order of two lanes in which the second lane's access comes before the first's.

    `repeated`: all threads do one of the loads, so each thread that stores has loaded the value
    itself, and stores the same as in the first order. `single_thread_stores` has all stores by
    one thread (by op and execution), if one thread does both accesses.
    """

    first: LaneVisit
    second: LaneVisit
    repeated: bool
    single_thread_stores: Mapping[tuple[Op, int], tuple[int, int, bytes]] | None


class ReorderedRun(VisitRecorder):
    """An instrument that runs a program with one lane ahead of another lane."""

    def __init__(self, memory: Memory, storage: Storage, byte: int, ahead: LaneOvertaking) -> None:
        super().__init__(memory, storage, byte)
        self._ahead = ahead
        self._reached = False
        self._is_same = True
        self._pending = dict(ahead.single_thread_stores or {})

    @property
    def is_same(self) -> bool:
        """Whether the lane that was ahead has run, and stored the same as in the first order."""
        return self._is_same and self._reached

    def finish(self) -> None:
        """Do the remaining stores of the thread that was ahead."""
        for stored in self._pending.values():
            self._memory.put(*stored)
        self._pending.clear()

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        first, second = self._ahead.first, self._ahead.second
        if self._ahead.single_thread_stores is not None and _is_by_one_thread(op):
            stored = self._pending.pop((op, number), None)
            if stored is not None:
                self._memory.put(*stored)
            self._reached = self._reached or (op, number) == (
                second.visit.op,
                second.visit.number,
            )
            return
        if (op, number) == (second.visit.op, second.visit.number):
            self._reached = True
            if effect_of(op) == "load":  # memory still has the bytes from before the first store
                self._load_with(op, step, values, scope, second, first.visit, first.visit.before)
            else:
                step(values, scope)
                self._restore_order(first.visit, second.visit)
        elif (op, number) == (first.visit.op, first.visit.number) and effect_of(op) == "load":
            self._load_with(op, step, values, scope, first, second.visit, second.visit.after)
        else:
            step(values, scope)

    def _restore_order(self, first: Visit, second: Visit) -> None:
        """Redo the first access's store after the second, or compare the second's result."""
        if effect_of(first.op) != "load":
            _put(self.data, first, first.after)
        elif self._ahead.repeated:
            _put(self.data, second, second.after)
        else:
            after = self.data[second.start : second.start + second.width].tobytes()
            self._is_same = self._is_same and after == second.after

    def _load_with(
        self, op: Op, step: Step, values: list[Any], scope: Scope, side: LaneVisit, visit: Visit,
        new_bytes: bytes,
    ) -> None:  # fmt: skip
        """Load for one lane (all lanes of a scalar) with other bytes in memory."""
        result, type_ = op.results[0].id, value_type(op.results[0].type)
        step(values, scope)
        loaded_values = values[result]
        saved_bytes = self.data[visit.start : visit.start + visit.width].tobytes()
        _put(self.data, visit, new_bytes)
        step(values, scope)
        _put(self.data, visit, saved_bytes)
        other_values = values[result]
        if isinstance(loaded_values, Unknown) or isinstance(other_values, Unknown) or type_.pointer:
            self._is_same = False
            return
        merged_values = np.array(full_array(loaded_values, type_))
        merged_values[(0, *side.lane)] = full_array(other_values, type_)[(0, *side.lane)]
        values[result] = merged_values


class ChangedLoadRun(VisitRecorder):
    """An instrument that runs a program in which one lane of a load reads another number."""

    def __init__(
        self, memory: Memory, storage: Storage, byte: int, side: LaneVisit, number: float
    ) -> None:
        super().__init__(memory, storage, byte)
        self._side = side
        self._number = number

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        self._record_visit(op, number, lambda: step(values, scope))
        if (op, number) == (self._side.visit.op, self._side.visit.number):
            result, type_ = op.results[0].id, value_type(op.results[0].type)
            if isinstance(values[result], Unknown) or type_.pointer:
                return
            changed_values = np.array(full_array(values[result], type_))
            position = (0, *self._side.lane)
            if np.issubdtype(changed_values.dtype, np.inexact):
                changed_values[position] = self._number
            else:
                changed_values[position] += (
                    0 if self._number != self._number else int(self._number) // 40
                )
            values[result] = changed_values


def _is_by_one_thread(op: Op) -> bool:
    """Return whether an op stores a single element, which one thread does."""
    return effect_of(op) == "store" and prod(shape_of(op.operand("value").type)) == 1


def _put(data: NDArray[np.uint8], visit: Visit, new_bytes: bytes) -> None:
    data[visit.start : visit.start + visit.width] = np.frombuffer(new_bytes, np.uint8)
