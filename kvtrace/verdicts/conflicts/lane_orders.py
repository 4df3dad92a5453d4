"""One program as it runs, and as it runs with one lane ahead of another: instruments for both.

They look at one byte of a storage: which executions of which ops touch it, by which lanes.
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

#: Bytes that a program may store to be compared.
_MOST_COMPARED: Final = 1 << 26


@dataclass(frozen=True)
class Visit:
    """One execution of an op that touches the byte: its `lanes` that do, and its element there.

    `number` counts the op's executions, `phase` the barriers before it. `before` and `after` are
    the element's bytes around the execution.
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
    """One execution of an op, with one of its lanes that touch the byte."""

    visit: Visit
    lane: Lane

    def of(self, call: Call, program: int) -> Touch:
        """Return the execution as one side of a witness."""
        visit, argument = self.visit, call.arguments[self.visit.argument]
        assert isinstance(argument, TensorArgument)
        return Touch(
            visit.op, program, visit.iteration, self.lane, visit.argument,
            visit.start - argument.offset_bytes,
        )  # fmt: skip


@dataclass
class Memory:
    """A program's storages, with contents that it may change."""

    arguments: tuple[Argument, ...]
    watched: NDArray[np.uint8]
    stored: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The bytes of each storage, by id, between the first and the last that was stored to."""

    def held(self, argument: int, start: int, end: int) -> bytes:
        """Return bytes of the storage of an argument."""
        return self._data(argument)[start:end].tobytes()

    def put(self, argument: int, start: int, held: bytes) -> None:
        """Write bytes to the storage of an argument, as a store does."""
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        self.wrote(tensor.storage, start, start + len(held))
        self._data(argument)[start : start + len(held)] = np.frombuffer(held, np.uint8)

    def wrote(self, storage: Storage, begin: int, end: int) -> None:
        """Note that bytes of a storage were stored to."""
        low, high = self.stored.get(id(storage), (begin, end))
        self.stored[id(storage)] = min(low, begin), max(high, end)

    def _data(self, argument: int) -> NDArray[np.uint8]:
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        assert tensor.storage.data is not None
        return tensor.storage.data

    def is_left_as(self, other: Memory) -> bool | None:
        """Tell whether two runs left the same wherever one of them stored; None: it is too much."""
        spans: dict[int, tuple[int, int]] = {}
        for memory in (self, other):
            for number, (start, end) in memory._spans():
                low, high = spans.get(number, (start, end))
                spans[number] = min(low, start), max(high, end)
        if sum(end - start for start, end in spans.values()) > _MOST_COMPARED:
            return None
        return all(
            self.held(number, max(start, 0), end) == other.held(number, max(start, 0), end)
            for number, (start, end) in spans.items()
        )

    def _spans(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the numbers of arguments whose storage was stored to, with those bytes."""
        for number, argument in enumerate(self.arguments):
            if isinstance(argument, TensorArgument) and id(argument.storage) in self.stored:
                yield number, self.stored[id(argument.storage)]


class Watch(Observer):
    """Tells an instrument of the accesses of the op that runs."""

    def __init__(self, lanes: Touches) -> None:
        self._lanes = lanes

    def access(self, access: Access) -> None:
        """Pass it on."""
        self._lanes.saw(access)


class Touches(Instrument):
    """Lists who touches a byte; overridden, does it in another order."""

    def __init__(
        self,
        memory: Memory,
        storage: Storage,
        byte: int,
        ops: tuple[Op, Op] | None = None,
        *,
        barriers_hold: bool = True,
    ) -> None:
        """`ops` are those of which it is noted where else they meet.

        Barriers that do not hold the lanes in question do not count.
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
        self._seen: list[tuple[tuple[Lane, ...], int, int, int, int]] | None = None
        self._stored: tuple[int, int, int] | None = None
        self.visits: list[Visit] = []
        self.by_one: dict[tuple[Op, int], tuple[int, int, bytes]] = {}
        """What one thread stored, by op and number: argument, first byte of its storage, bytes."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of the storage that is watched."""
        return self._memory.watched

    def wrapped(self, op: Op, step: Step) -> Step:
        """Count barriers, and look at what goes to memory."""
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
        if _is_by_one(op) and self._stored is not None:
            argument, start, end = self._stored
            self.by_one[op, number] = argument, start, self._memory.held(argument, start, end)
        self._stored = None

    def _watched(self, op: Op, number: int, step: Callable[[], None]) -> None:
        """Run a step, and note how it touches the byte."""
        self._seen = []
        copy = self._around()
        step()
        seen, self._seen = self._seen, None
        if seen:
            lanes, argument, start, width, iteration = seen[0]
            low = start - self._low
            before = copy[low : low + width].tobytes()
            after = self.data[start : start + width].tobytes()
            lanes = tuple(each for found in seen for each in found[0])
            self.visits.append(
                Visit(op, number, self._phase, lanes, argument, start, width, iteration, before,
                      after)
            )  # fmt: skip

    @property
    def _low(self) -> int:
        return max(self.byte - 16, 0)

    def _around(self) -> NDArray[np.uint8]:
        return self.data[self._low : self.byte + 16].copy()

    def saw(self, access: Access) -> None:
        """Note the lanes of an access that cover the byte."""
        argument = None if access.argument is None else self._memory.arguments[access.argument]
        if not isinstance(argument, TensorArgument) or access.lowest is None:
            return
        assert access.highest is not None
        begin = access.lowest + argument.offset_bytes
        end = access.highest + argument.offset_bytes + access.element_bytes
        if access.kind != "load":
            self._memory.wrote(argument.storage, begin, end)
            assert access.argument is not None
            if begin >= 0 and end <= argument.storage.nbytes:
                self._stored = access.argument, begin, end
        if self._seen is None or argument.storage is not self._storage or access.parts is None:
            return
        if not begin <= self.byte < end and access.op not in self._starts:
            return
        parts, assert_argument = access.parts, access.argument
        assert assert_argument is not None
        offsets = parts.offsets() + argument.offset_bytes
        active = parts.active_of(np.ones_like(offsets, np.bool_))
        if access.op in self._starts:
            flat, on = np.broadcast_arrays(offsets, active)
            self._starts[access.op].append(flat[on])
        covers = (offsets <= self.byte) & (self.byte < offsets + access.element_bytes) & active
        covers = np.broadcast_to(covers, (1, *parts.block))
        places = np.argwhere(covers[0])
        if not len(places):
            return
        lanes = tuple(tuple(map(int, place)) for place in places)
        start = int(np.broadcast_to(offsets, covers.shape)[(0, *lanes[0])])
        iteration = int(np.max(np.asarray(parts.iteration), initial=0))
        self._seen.append((lanes, assert_argument, start, access.element_bytes, iteration))

    def meeting_bytes(self) -> list[int]:
        """Return some more bytes that the ops have both touched, from all over the block."""
        sets = [np.unique(np.concatenate(starts)) for starts in self._starts.values() if starts]
        if not sets or len(sets) < len(self._starts):
            return []
        common = sets[0] if len(sets) == 1 else np.intersect1d(sets[0], sets[1])
        places = {len(common) // 2, len(common) - 1, len(common) // 3, len(common) * 3 // 4}
        found = {int(common[place]) for place in places if 0 <= place < len(common)}
        return sorted(found - {self.byte}, reverse=True)


@dataclass(frozen=True)
class Ahead:
    """The second lane's access is done before the first's.

    `repeated`: all threads load what one side loads, so that who stores has loaded it itself, and
    stores what it stored in the first order: the second, and all `by_one`, if one thread does.
    """

    first: LaneVisit
    second: LaneVisit
    repeated: bool
    by_one: Mapping[tuple[Op, int], tuple[int, int, bytes]] | None


class Reordered(Touches):
    """Runs a program with one lane ahead of another."""

    def __init__(self, memory: Memory, storage: Storage, byte: int, ahead: Ahead) -> None:
        super().__init__(memory, storage, byte)
        self._ahead = ahead
        self._reached = False
        self._kept = True
        self._left = dict(ahead.by_one or {})

    @property
    def kept(self) -> bool:
        """Whether the lane that was ahead did there what it had done in the first order."""
        return self._kept and self._reached

    def finish(self) -> None:
        """Store what the thread that was ahead has left to store."""
        for stored in self._left.values():
            self._memory.put(*stored)
        self._left.clear()

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        first, second = self._ahead.first, self._ahead.second
        if self._ahead.by_one is not None and _is_by_one(op):
            stored = self._left.pop((op, number), None)
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
            self._kept = self._kept and after == second.after

    def _other_load(
        self, op: Op, step: Step, values: list[Any], scope: Scope, side: LaneVisit, at: Visit,
        holding: bytes,
    ) -> None:  # fmt: skip
        """Load, one lane finding other bytes than there are (or all lanes, of a scalar)."""
        result, type_ = op.results[0].id, value_type(op.results[0].type)
        step(values, scope)
        found = values[result]
        now = self.data[at.start : at.start + at.width].tobytes()
        _put(self.data, at, holding)
        step(values, scope)
        _put(self.data, at, now)
        other = values[result]
        if isinstance(found, Unknown) or isinstance(other, Unknown) or type_.pointer:
            self._kept = False
            return
        whole = np.array(full_array(found, type_))
        whole[(0, *side.lane)] = full_array(other, type_)[(0, *side.lane)]
        values[result] = whole


class GivenNumber(Touches):
    """Runs a program in which one lane of a load is given another number."""

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
            place = (0, *self._side.lane)
            if np.issubdtype(whole.dtype, np.inexact):
                whole[place] = self._number
            else:
                whole[place] += 0 if self._number != self._number else int(self._number) // 40
            values[result] = whole


def _is_by_one(op: Op) -> bool:
    """Whether one thread stores what an op does: a scalar, or a block of one element."""
    return effect_of(op) == "store" and prod(shape_of(op.operand("value").type)) == 1


def _put(data: NDArray[np.uint8], at: Visit, held: bytes) -> None:
    data[at.start : at.start + at.width] = np.frombuffer(held, np.uint8)
