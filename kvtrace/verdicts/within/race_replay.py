"""Running one program in two orders of its lanes, which leave two results: a race within it.

In the first order each op is done by all lanes at once. In the second, one lane runs ahead of
another: it does its access before the other's, which comes first in the program. Where contents
were not recorded there are made-up ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Argument, Observer, Storage, TensorArgument, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.ops import BARRIERS, MEMORY, READING, effect_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.walk_types import shape_of
from kvtrace.verdicts.fills import with_contents
from kvtrace.verdicts.replaying import Limit
from kvtrace.verdicts.within.threads import Lane

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Scope
    from kvtrace.verdicts.binding import BoundCall

#: Bytes around the one that lanes meet at that are given numbers that differ.
_WINDOW: Final = 1 << 16
#: Bytes that a program may store to be compared.
_MOST_COMPARED: Final = 1 << 26

_OTHERS: Final = (400.0, -400.0, float("nan"))
"""Numbers that a lane is given to see whether what another stores follows from it."""


@dataclass(frozen=True)
class Touch:
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
class Side:
    """A touch by one of its lanes; `address_offset` counts from the argument's data pointer."""

    touch: Touch
    lane: Lane

    def address_offset(self, bound: BoundCall) -> int:
        """Return where the element begins, from the data pointer of the argument."""
        argument = bound.call.arguments[self.touch.argument]
        assert isinstance(argument, TensorArgument)
        return self.touch.start - argument.offset_bytes


@dataclass(frozen=True)
class Witness:
    """Two lanes of a program that race; in the program `first` comes before `second`."""

    first: Side
    second: Side
    program: int
    byte: int


@dataclass
class _Memory:
    """A program's storages, with contents that it may change."""

    arguments: tuple[Argument, ...]
    watched: NDArray[np.uint8]
    stored: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The bytes of each storage, by id, between the first and the last that was stored to."""

    def held(self, argument: int, start: int, end: int) -> bytes:
        """Return bytes of the storage of an argument."""
        return self._data(argument)[start:end].tobytes()

    def put(self, argument: int, start: int, held: bytes) -> None:
        """Write bytes to the storage of an argument."""
        self._data(argument)[start : start + len(held)] = np.frombuffer(held, np.uint8)

    def _data(self, argument: int) -> NDArray[np.uint8]:
        tensor = self.arguments[argument]
        assert isinstance(tensor, TensorArgument)
        assert tensor.storage.data is not None
        return tensor.storage.data

    def result(self) -> dict[int, bytes] | None:
        """Return what was stored, by the number of an argument; None: it is too much."""
        if sum(end - start for start, end in self.stored.values()) > _MOST_COMPARED:
            return None
        found = {}
        for number, argument in enumerate(self.arguments):
            if isinstance(argument, TensorArgument) and id(argument.storage) in self.stored:
                start, end = self.stored[id(argument.storage)]
                found[number] = self.held(number, max(start, 0), end)
        return found


class _Watch(Observer):
    """Tells an instrument of the accesses of the op that runs."""

    def __init__(self, lanes: _Lanes) -> None:
        self._lanes = lanes

    def access(self, access: Access) -> None:
        """Pass it on."""
        self._lanes.saw(access)


class _Lanes(Instrument):
    """Lists who touches a byte; overridden, does it in another order."""

    def __init__(
        self, memory: _Memory, storage: Storage, byte: int, ops: tuple[Op, Op] | None = None
    ) -> None:
        """`ops` are those of which it is noted where else they meet."""
        super().__init__()
        self._memory = memory
        self._storage = storage
        self.byte = byte
        self.ops = ops
        self._starts: dict[Op, list[NDArray[np.int64]]] = {op: [] for op in ops or ()}
        self._phase = 0
        self._counts: dict[Op, int] = {}
        self._seen: list[tuple[tuple[Lane, ...], int, int, int, int]] | None = None
        self._stored: tuple[int, int, int] | None = None
        self.touches: list[Touch] = []
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
        self._phase += 1

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
            self.touches.append(
                Touch(op, number, self._phase, lanes, argument, start, width, iteration, before,
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
            low, high = self._memory.stored.get(id(argument.storage), (begin, end))
            self._memory.stored[id(argument.storage)] = min(low, begin), max(high, end)
            assert access.argument is not None
            if begin >= 0 and end <= argument.storage.nbytes:
                self._stored = access.argument, begin, end
        if self._seen is None or argument.storage is not self._storage or access.parts is None:
            return
        if not begin <= self.byte < end and access.op not in self._starts:
            return
        parts, assert_argument = access.parts, access.argument
        assert assert_argument is not None
        offsets = np.full((1,) * (1 + len(parts.block)), parts.constant, np.int64)
        for term in parts.terms:
            offsets = offsets + term
        offsets = offsets + argument.offset_bytes
        active = np.ones((1,) * (1 + len(parts.block)), np.bool_)
        for factor in parts.factors:
            active = active & factor
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
class _Ahead:
    """The second lane's access is done before the first's.

    `repeated`: all threads load what one side loads, so that who stores has loaded it itself, and
    stores what it stored in the first order: the second, and all `by_one`, if one thread does.
    """

    first: Side
    second: Side
    repeated: bool
    by_one: Mapping[tuple[Op, int], tuple[int, int, bytes]] | None


class _Reordered(_Lanes):
    """Runs a program with one lane ahead of another."""

    def __init__(self, memory: _Memory, storage: Storage, byte: int, ahead: _Ahead) -> None:
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
            self._reached = self._reached or (op, number) == (second.touch.op, second.touch.number)
            return
        if (op, number) == (second.touch.op, second.touch.number):
            self._reached = True
            if effect_of(op) == "load":  # it finds what was there before the first one's store
                self._other_load(op, step, values, scope, second, first.touch, first.touch.before)
            else:
                step(values, scope)
                self._end(first.touch, second.touch)
        elif (op, number) == (first.touch.op, first.touch.number) and effect_of(op) == "load":
            self._other_load(op, step, values, scope, first, second.touch, second.touch.after)
        else:
            step(values, scope)

    def _end(self, first: Touch, second: Touch) -> None:
        if effect_of(first.op) != "load":
            _put(self.data, first, first.after)
        elif self._ahead.repeated:
            _put(self.data, second, second.after)
        else:
            after = self.data[second.start : second.start + second.width].tobytes()
            self._kept = self._kept and after == second.after

    def _other_load(
        self, op: Op, step: Step, values: list[Any], scope: Scope, side: Side, at: Touch,
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


class _Given(_Lanes):
    """Runs a program in which one lane of a load is given another number."""

    def __init__(
        self, memory: _Memory, storage: Storage, byte: int, side: Side, number: float
    ) -> None:
        super().__init__(memory, storage, byte)
        self._side = side
        self._number = number

    def _run(self, op: Op, number: int, step: Step, values: list[Any], scope: Scope) -> None:
        self._watched(op, number, lambda: step(values, scope))
        if (op, number) == (self._side.touch.op, self._side.touch.number):
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


def _put(data: NDArray[np.uint8], at: Touch, held: bytes) -> None:
    data[at.start : at.start + at.width] = np.frombuffer(held, np.uint8)


def raced(
    bound: BoundCall,
    ops: tuple[Op, Op],
    program: int,
    storage: Storage,
    byte: int,
    differ: Callable[[Side, Side], bool],
    threads: Callable[[Side, Side], tuple[bool, bool]],
) -> Witness | str:
    """Run a program in two orders of lanes at a byte of a storage; say why if no two results show.

    Args:
        bound: the call.
        ops: those that are to touch the byte, one of them with a store.
        program: its linear id.
        storage: one of the call's arguments'.
        byte: from the storage's start.
        differ: whether two lanes may be done in any order, as far as threads go.
        threads: whether all threads do one of them, and whether one thread does the other then.

    """

    def listing(memory: _Memory, held: Storage, at: int) -> _Lanes:
        return _Lanes(memory, held, at, ops)

    first = _Run(bound, program, storage, byte)
    watched = first.run(listing)
    if first.failure:
        return first.failure
    found = _at_byte(bound, watched, first.memory.result(), program, storage, differ, threads)
    for other in watched.meeting_bytes():
        if isinstance(found, Witness):
            break
        again = _Run(bound, program, storage, other)
        watched = again.run(listing)
        found = _at_byte(bound, watched, again.memory.result(), program, storage, differ, threads)
    return found


def _at_byte(
    bound: BoundCall,
    watched: _Lanes,
    result: dict[int, bytes] | None,
    program: int,
    storage: Storage,
    differ: Callable[[Side, Side], bool],
    threads: Callable[[Side, Side], tuple[bool, bool]],
) -> Witness | str:
    """Run a program again with one of the lanes ahead that touch the byte that was watched."""
    byte, reason = watched.byte, "no two of its lanes were seen to do so when it was run"
    assert watched.ops is not None
    for one, other in _candidates(watched.touches, watched.ops, differ):
        repeated, alone = threads(one, other)
        ahead = _Ahead(one, other, repeated, watched.by_one if alone else None)
        if _follows(bound, program, storage, byte, ahead):
            reason = "what one stores follows from what the other has loaded"
            continue
        again = _Run(bound, program, storage, byte)
        reordered = again.run(partial(_Reordered, ahead=ahead))
        reordered.finish()
        if again.failure or not reordered.kept:
            reason = again.failure or "what one stores follows from what the other has loaded"
        elif result is None:
            return "it stores too much to be compared"
        elif again.memory.result() != result:
            return Witness(one, other, program, byte)
        else:
            reason = "both orders left the same when it was run"
    return reason


def _candidates(
    touches: Iterable[Touch], ops: tuple[Op, Op], differ: Callable[[Side, Side], bool]
) -> Iterator[tuple[Side, Side]]:
    """Yield pairs of lanes that touch the byte with no barrier and no store between them."""
    found = list(touches)
    yielded = 0
    for position, one in enumerate(found):
        for other in found[position + 1 :]:
            if other.phase != one.phase:
                break
            kinds = {effect_of(one.op), effect_of(other.op)}
            if {one.op, other.op} == set(ops) and "store" in kinds and "atomic" not in kinds:
                sides = _sides(one, other, differ)
                if sides is not None:
                    yield sides
                    yielded += 1
                    if yielded == _MOST_CANDIDATES:
                        return
            if effect_of(other.op) != "load":
                break


_MOST_CANDIDATES: Final = 4


def _sides(
    one: Touch, other: Touch, differ: Callable[[Side, Side], bool]
) -> tuple[Side, Side] | None:
    for lane in one.lanes[:64]:
        for other_lane in other.lanes[-64:][::-1]:
            if differ(Side(one, lane), Side(other, other_lane)):
                return Side(one, lane), Side(other, other_lane)
    return None


def _follows(bound: BoundCall, program: int, storage: Storage, byte: int, ahead: _Ahead) -> bool:
    """Whether what the second stores changes with what the first loads."""
    loads = ahead.first.touch.op.name in READING
    if not loads or ahead.repeated or effect_of(ahead.second.touch.op) == "load":
        return False
    for number in _OTHERS:
        again = _Run(bound, program, storage, byte)
        given = again.run(partial(_Given, side=ahead.first, number=number))
        second = ahead.second.touch
        same = [t for t in given.touches if (t.op, t.number) == (second.op, second.number)]
        if not same or same[0].after != second.after:
            return True
    return False


_Made = TypeVar("_Made", bound=_Lanes)


class _Run:
    """One evaluation of a program, with memory of its own."""

    def __init__(self, bound: BoundCall, program: int, storage: Storage, byte: int) -> None:
        self._bound = bound
        self._program = program
        self._byte = byte
        self._position = next(
            number
            for number, argument in enumerate(bound.call.arguments)
            if isinstance(argument, TensorArgument) and argument.storage is storage
        )
        self.failure: str | None = None
        self.memory: _Memory

    def run(self, make: Callable[[_Memory, Storage, int], _Made]) -> _Made:
        """Evaluate under what `make` returns; `failure` says why the end was not reached."""
        call = self._bound.call
        arguments = _writable(call.arguments, self._position, self._byte)
        watched = arguments[self._position]
        assert isinstance(watched, TensorArgument)
        assert watched.storage.data is not None
        self.memory = _Memory(arguments, watched.storage.data)
        lanes = make(self.memory, watched.storage, self._byte)
        limit = Limit(self._bound.budget.replay_lanes)
        try:
            evaluate(
                call.module,
                arguments,
                call.grid,
                observers=(_Watch(lanes), limit),
                kernel=call.kernel,
                programs=np.array([self._program], np.int64),
                instrument=lanes,
                most_steps=MOST_STEPS,
            )
        except KvtraceError as error:
            self.failure = str(error)
        except (*UNFIT, MemoryError) as error:
            self.failure = f"it could not be run ({type(error).__name__})"
        return lanes


def _writable(arguments: Iterable[Argument], position: int, byte: int) -> tuple[Argument, ...]:
    """Return arguments with contents of their own, which differ around a byte of one of them."""
    arguments = tuple(arguments)
    known = {id(a.storage) for a in arguments
             if isinstance(a, TensorArgument) and a.storage.data is not None}  # fmt: skip
    made: dict[int, Storage] = {}
    found: list[Argument] = []
    for number, argument in enumerate(with_contents(arguments)):
        original = arguments[number]
        if not isinstance(argument, TensorArgument) or not isinstance(original, TensorArgument):
            found.append(argument)
            continue
        storage = made.get(id(original.storage))
        if storage is None:
            data = argument.storage.data
            assert data is not None
            data = data if data.flags.writeable else data.copy()
            storage = Storage(argument.storage.nbytes, data, argument.storage.address)
            made[id(original.storage)] = storage
        if number == position and id(original.storage) not in known:
            _fill(replace(argument, storage=storage), byte)
        found.append(replace(argument, storage=storage))
    return tuple(found)


def _fill(tensor: TensorArgument, byte: int) -> None:
    """Put small numbers that differ from their neighbors around a byte of a tensor's storage."""
    from kvtrace.evaluate.rounding import to_memory

    size, data = tensor.element.bytes, tensor.storage.data
    assert data is not None
    first = max(byte - _WINDOW, tensor.offset_bytes % size)
    first -= (first - tensor.offset_bytes) % size
    first += size if first < 0 else 0
    count = (min(byte + _WINDOW, len(data)) - first) // size
    places = np.arange(first // size, first // size + count)
    numbers = (1 + (7 * places + places // 13) % 13).astype(tensor.element.value)
    held = np.ascontiguousarray(to_memory(numbers, tensor.element)).view(np.uint8)
    data[first : first + count * size] = held[: count * size]
