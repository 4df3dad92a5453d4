"""Instruments that run one program in its order, and with one lane ahead of another lane.

They watch one byte of a storage, and record which executions of which ops touch it, by which lanes.
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

#: Most bytes stored by a program that are compared.
_MOST_COMPARED: Final = 1 << 26


@dataclass(frozen=True)
class Visit:
    """One execution of an op that touches the watched byte, with the `lanes` that touch it.

    `number` counts the op's executions, `phase` the barriers before this one. `start` and `width`
    are of the element that has the byte; `before` and `after` are its bytes around the execution.
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
    """One execution of an op, with one of its lanes that touch the watched byte."""

    visit: Visit
    lane: Lane

    def touch(self, call: Call, program: int) -> Touch:
        """Return the execution as one side of a witness."""
        visit, argument = self.visit, call.arguments[self.visit.argument]
        assert isinstance(argument, TensorArgument)
        return Touch(
            visit.op, program, visit.iteration, self.lane, visit.argument,
            visit.start - argument.offset_bytes,
        )  # fmt: skip


@dataclass
class Memory:
    """The storages of a program, with contents that the program may change."""

    arguments: tuple[Argument, ...]
    watched: NDArray[np.uint8]
    stored: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The bytes of each storage, by id, between the first and the last that was stored to."""

    def bytes_of(self, argument: int, start: int, end: int) -> bytes:
        """Return bytes of the storage of an argument, from `start` up to `end`."""
        return self._data(argument)[start:end].tobytes()

    def put(self, argument: int, start: int, data: bytes) -> None:
        """Store bytes to the storage of an argument, and note them as stored."""
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        self.note_stored(tensor.storage, start, start + len(data))
        self._data(argument)[start : start + len(data)] = np.frombuffer(data, np.uint8)

    def note_stored(self, storage: Storage, begin: int, end: int) -> None:
        """Extend the span of a storage that was stored to."""
        low, high = self.stored.get(id(storage), (begin, end))
        self.stored[id(storage)] = min(low, begin), max(high, end)

    def _data(self, argument: int) -> NDArray[np.uint8]:
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        assert tensor.storage.data is not None
        return tensor.storage.data

    def has_same_result_as(self, other: Memory) -> bool | None:
        """Return whether two runs left the same bytes; None: too many bytes to compare."""
        spans: dict[int, tuple[int, int]] = {}
        for memory in (self, other):
            for number, (start, end) in memory._spans():
                low, high = spans.get(number, (start, end))
                spans[number] = min(low, start), max(high, end)
        if sum(end - start for start, end in spans.values()) > _MOST_COMPARED:
            return None
        return all(
            self.bytes_of(number, max(start, 0), end) == other.bytes_of(number, max(start, 0), end)
            for number, (start, end) in spans.items()
        )

    def _spans(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the numbers of arguments with stored bytes, and the span of these bytes."""
        for number, argument in enumerate(self.arguments):
            if isinstance(argument, TensorArgument) and id(argument.storage) in self.stored:
                yield number, self.stored[id(argument.storage)]


class Watch(Observer):
    """An observer that passes accesses on to an instrument."""

    def __init__(self, lanes: Touches) -> None:
        self._lanes = lanes

    def access(self, access: Access) -> None:
        """Pass an access on."""
        self._lanes.note(access)


class Touches(Instrument):
    """An instrument that records visits to a byte; subclasses run them in another order."""

    def __init__(
        self,
        memory: Memory,
        storage: Storage,
        byte: int,
        ops: tuple[Op, Op] | None = None,
        *,
        barriers_hold: bool = True,
    ) -> None:
        """Watch `byte` of a storage, and record other bytes at which both `ops` meet.

        `barriers_hold` False: barriers do not hold the lanes in question, and are not counted.
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
        self.by_one: dict[tuple[Op, int], tuple[int, int, bytes]] = {}
        """Stores by one thread, by op and number: argument, first byte in its storage, bytes."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of the watched storage."""
        return self._memory.watched

    def wrapped(self, op: Op, step: Step) -> Step:
        """Count barriers, and wrap memory ops so that their visits are recorded."""
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
        self._watched(op, number, lambda: step(values, scope))
        if _is_by_one_thread(op) and self._stored is not None:
            argument, start, end = self._stored
            self.by_one[op, number] = argument, start, self._memory.bytes_of(argument, start, end)
        self._stored = None

    def _watched(self, op: Op, number: int, step: Callable[[], None]) -> None:
        """Run a step, and record how it touches the byte."""
        self._touching = []
        around = self._around()
        step()
        touching, self._touching = self._touching, None
        if touching:
            lanes, argument, start, width, iteration = touching[0]
            low = start - self._low
            before = around[low : low + width].tobytes()
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
        """Note the lanes of an access that cover the byte."""
        argument = None if access.argument is None else self._memory.arguments[access.argument]
        if not isinstance(argument, TensorArgument) or access.lowest is None:
            return
        assert access.highest is not None
        begin = access.lowest + argument.offset_bytes
        end = access.highest + argument.offset_bytes + access.element_bytes
        if access.kind != "load":
            self._memory.note_stored(argument.storage, begin, end)
            assert access.argument is not None
            if begin >= 0 and end <= argument.storage.nbytes:
                self._stored = access.argument, begin, end
        if self._touching is None or argument.storage is not self._storage or access.parts is None:
            return
        if not begin <= self.byte < end and access.op not in self._starts:
            return
        parts, number = access.parts, access.argument
        assert number is not None
        offsets = parts.offsets() + argument.offset_bytes
        active = parts.active_of(np.ones_like(offsets, np.bool_))
        if access.op in self._starts:
            flat, on = np.broadcast_arrays(offsets, active)
            self._starts[access.op].append(flat[on])
        covers = (offsets <= self.byte) & (self.byte < offsets + access.element_bytes) & active
        covers = np.broadcast_to(covers, (1, *parts.block))
        indices = np.argwhere(covers[0])
        if not len(indices):
            return
        lanes = tuple(tuple(map(int, index)) for index in indices)
        start = int(np.broadcast_to(offsets, covers.shape)[(0, *lanes[0])])
        iteration = int(np.max(np.asarray(parts.iteration), initial=0))
        self._touching.append((lanes, number, start, access.element_bytes, iteration))

    def meeting_bytes(self) -> list[int]:
        """Return up to four more bytes that both ops have touched, spread over the block."""
        sets = [np.unique(np.concatenate(starts)) for starts in self._starts.values() if starts]
        if not sets or len(sets) < len(self._starts):
            return []
        common = sets[0] if len(sets) == 1 else np.intersect1d(sets[0], sets[1])
        positions = {len(common) // 2, len(common) - 1, len(common) // 3, len(common) * 3 // 4}
        chosen = {int(common[position]) for position in positions if 0 <= position < len(common)}
        return sorted(chosen - {self.byte}, reverse=True)


@dataclass(frozen=True)
class Ahead:
    """An order of two lanes in which the second does its access before the first.

    `repeated`: all threads load what one side loads, so each thread that stores has loaded it
    itself, and stores what it stored in the first order. `by_one` has all stores of one thread (by
    op and number), if one thread does both.
    """

    first: LaneVisit
    second: LaneVisit
    repeated: bool
    by_one: Mapping[tuple[Op, int], tuple[int, int, bytes]] | None


class Reordered(Touches):
    """An instrument that runs a program with one lane ahead of another lane."""

    def __init__(self, memory: Memory, storage: Storage, byte: int, ahead: Ahead) -> None:
        super().__init__(memory, storage, byte)
        self._ahead = ahead
        self._reached = False
        self._is_same = True
        self._pending = dict(ahead.by_one or {})

    @property
    def is_same(self) -> bool:
        """The lane that was ahead has stored what it had stored in the first order."""
        return self._is_same and self._reached

    def finish(self) -> None:
        """Do the remaining stores of the thread that was ahead."""
        for stored in self._pending.values():
            self._memory.put(*stored)
        self._pending.clear()

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        first, second = self._ahead.first, self._ahead.second
        if self._ahead.by_one is not None and _is_by_one_thread(op):
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
            if effect_of(op) == "load":  # it finds what was there before the first one's store
                self._other_load(op, step, values, scope, second, first.visit, first.visit.before)
            else:
                step(values, scope)
                self._end(first.visit, second.visit)
        elif (op, number) == (first.visit.op, first.visit.number) and effect_of(op) == "load":
            self._other_load(op, step, values, scope, first, second.visit, second.visit.after)
        else:
            step(values, scope)

    def _end(self, first: Visit, second: Visit) -> None:
        if effect_of(first.op) != "load":
            _put(self.data, first, first.after)
        elif self._ahead.repeated:
            _put(self.data, second, second.after)
        else:
            after = self.data[second.start : second.start + second.width].tobytes()
            self._is_same = self._is_same and after == second.after

    def _other_load(
        self, op: Op, step: Step, values: list[Any], scope: Scope, side: LaneVisit, at: Visit,
        holding: bytes,
    ) -> None:  # fmt: skip
        """Load with other bytes in memory for one lane (for all lanes, of a scalar)."""
        result, type_ = op.results[0].id, value_type(op.results[0].type)
        step(values, scope)
        loaded = values[result]
        current = self.data[at.start : at.start + at.width].tobytes()
        _put(self.data, at, holding)
        step(values, scope)
        _put(self.data, at, current)
        other = values[result]
        if isinstance(loaded, Unknown) or isinstance(other, Unknown) or type_.pointer:
            self._is_same = False
            return
        whole = np.array(full_array(loaded, type_))
        whole[(0, *side.lane)] = full_array(other, type_)[(0, *side.lane)]
        values[result] = whole


class ChangedLoad(Touches):
    """An instrument that runs a program in which one lane of a load receives another number."""

    def __init__(
        self, memory: Memory, storage: Storage, byte: int, side: LaneVisit, number: float
    ) -> None:
        super().__init__(memory, storage, byte)
        self._side = side
        self._number = number

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        self._watched(op, number, lambda: step(values, scope))
        if (op, number) == (self._side.visit.op, self._side.visit.number):
            result, type_ = op.results[0].id, value_type(op.results[0].type)
            if isinstance(values[result], Unknown) or type_.pointer:
                return
            whole = np.array(full_array(values[result], type_))
            position = (0, *self._side.lane)
            if np.issubdtype(whole.dtype, np.inexact):
                whole[position] = self._number
            else:
                whole[position] += 0 if self._number != self._number else int(self._number) // 40
            values[result] = whole


def _is_by_one_thread(op: Op) -> bool:
    """Return whether one thread does a store: of a scalar, or of a block of one element."""
    return effect_of(op) == "store" and prod(shape_of(op.operand("value").type)) == 1


def _put(data: NDArray[np.uint8], at: Visit, new: bytes) -> None:
    data[at.start : at.start + at.width] = np.frombuffer(new, np.uint8)
