"""Running one program in two orders of its lanes, which leave two results: a race within it.

In the first order each op is done by all lanes at once. In the second, one lane runs ahead of
another: it does its access before the other's, which comes first in the program. Where contents
were not recorded there are made-up ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from kvtrace.evaluate import Argument, Storage, TensorArgument, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import READING, effect_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.conflicts.lane_orders import (
    Ahead,
    GivenNumber,
    LaneVisit,
    Memory,
    Reordered,
    Touches,
    Visit,
    Watch,
)
from kvtrace.verdicts.conflicts.outcomes import Witness
from kvtrace.verdicts.replaying import Limit
from kvtrace.verdicts.rules.fills import Numbers, small_numbers, with_contents

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

#: Bytes around the one that lanes meet at that are given numbers that differ.
_WINDOW: Final = 1 << 16
#: Made-up floats come round after so many: no multiple of a tile's width.
_PRIME: Final = 127
#: Pairs of executions that are run in another order.
_MOST_CANDIDATES: Final = 4

_OTHERS: Final = (400.0, -400.0, float("nan"))
"""Numbers that a lane is given to see whether what another stores follows from it."""


def raced(
    bound: BoundCall,
    ops: tuple[Op, Op],
    program: int,
    storage: Storage,
    byte: int,
    differ: Callable[[LaneVisit, LaneVisit], bool],
    threads: Callable[[LaneVisit, LaneVisit], tuple[bool, bool]],
    *,
    barriers_hold: bool = True,
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
        barriers_hold: whether lanes that may be done in any order wait for each other at barriers.

    """

    def listing(memory: Memory, held: Storage, at: int) -> Touches:
        return Touches(memory, held, at, ops, barriers_hold=barriers_hold)

    first = _Run(bound, program, storage, byte)
    watched = first.run(listing)
    if first.failure:
        return first.failure
    found = _at_byte(bound, watched, first.memory, program, storage, differ, threads)
    for other in watched.meeting_bytes():
        if isinstance(found, Witness):
            break
        again = _Run(bound, program, storage, other)
        watched = again.run(listing)
        found = _at_byte(bound, watched, again.memory, program, storage, differ, threads)
    return found


def _at_byte(
    bound: BoundCall,
    watched: Touches,
    memory: Memory,
    program: int,
    storage: Storage,
    differ: Callable[[LaneVisit, LaneVisit], bool],
    threads: Callable[[LaneVisit, LaneVisit], tuple[bool, bool]],
) -> Witness | str:
    """Run a program again with one of the lanes ahead that touch the byte that was watched."""
    byte, reason = watched.byte, "no two of its lanes were seen to do so when it was run"
    assert watched.ops is not None
    call = bound.call
    for one, other in _candidates(call.module, watched.visits, watched.ops, differ):
        repeated, alone = threads(one, other)
        ahead = Ahead(one, other, repeated, watched.by_one if alone else None)
        if _follows(bound, program, storage, byte, ahead):
            reason = "what one stores follows from what the other has loaded"
            continue
        again = _Run(bound, program, storage, byte)
        reordered = again.run(partial(Reordered, ahead=ahead))
        reordered.finish()
        if again.failure or not reordered.kept:
            reason = again.failure or "what one stores follows from what the other has loaded"
            continue
        is_same = again.memory.is_left_as(memory)
        if is_same is None:
            return "it stores too much to be compared"
        if not is_same:
            return Witness(one.of(call, program), other.of(call, program), byte)
        reason = "both orders left the same when it was run"
    return reason


def _candidates(
    module: Module,
    visits: Iterable[Visit],
    ops: tuple[Op, Op],
    differ: Callable[[LaneVisit, LaneVisit], bool],
) -> Iterator[tuple[LaneVisit, LaneVisit]]:
    """Yield pairs of lanes that touch the byte with no barrier and no store between them."""
    found = list(visits)
    yielded = 0
    for position, one in enumerate(found):
        for other in found[position + 1 :]:
            if other.phase != one.phase:
                break
            if {one.op, other.op} == set(ops) and _can_be_turned(module, one.op, other.op):
                sides = _sides(one, other, differ)
                if sides is not None:
                    yield sides
                    yielded += 1
                    if yielded == _MOST_CANDIDATES:
                        return
            if effect_of(other.op) != "load":
                break


def _can_be_turned(module: Module, first: Op, second: Op) -> bool:
    """Whether an evaluation with the second op's lane ahead does what a device may do.

    An atomic behind a store has no result then that is known, and none is made up for one that a
    store overtakes.
    """
    kinds = effect_of(first), effect_of(second)
    if "atomic" not in kinds:
        return "store" in kinds
    unused = not any(map(flow_of(module).uses, second.results))
    return "load" in kinds or (kinds == ("store", "atomic") and unused)


def _sides(
    one: Visit, other: Visit, differ: Callable[[LaneVisit, LaneVisit], bool]
) -> tuple[LaneVisit, LaneVisit] | None:
    for lane in one.lanes[:64]:
        for other_lane in other.lanes[-64:][::-1]:
            if differ(LaneVisit(one, lane), LaneVisit(other, other_lane)):
                return LaneVisit(one, lane), LaneVisit(other, other_lane)
    return None


def _follows(bound: BoundCall, program: int, storage: Storage, byte: int, ahead: Ahead) -> bool:
    """Whether what the second stores changes with what the first loads."""
    loads = ahead.first.visit.op.name in READING
    if not loads or ahead.repeated or effect_of(ahead.second.visit.op) == "load":
        return False
    for number in _OTHERS:
        again = _Run(bound, program, storage, byte)
        given = again.run(partial(GivenNumber, side=ahead.first, number=number))
        second = ahead.second.visit
        same = [t for t in given.visits if (t.op, t.number) == (second.op, second.number)]
        if not same or same[0].after != second.after:
            return True
    return False


_Made = TypeVar("_Made", bound=Touches)


class _Run:
    """One evaluation of a program, with separate memory."""

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
        self.memory: Memory

    def run(self, make: Callable[[Memory, Storage, int], _Made]) -> _Made:
        """Evaluate under what `make` returns; `failure` says why the end was not reached."""
        call = self._bound.call
        arguments = _writable(call.arguments, self._position, self._byte)
        watched = arguments[self._position]
        assert isinstance(watched, TensorArgument)
        assert watched.storage.data is not None
        self.memory = Memory(arguments, watched.storage.data)
        lanes = make(self.memory, watched.storage, self._byte)
        limit = Limit(self._bound.budget.replay_lanes)
        try:
            evaluate(
                call.module,
                arguments,
                call.grid,
                observers=(Watch(lanes), limit),
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
    """Return arguments with new contents, which differ around a byte of one of them."""
    arguments = tuple(arguments)
    known = {id(a.storage) for a in arguments
             if isinstance(a, TensorArgument) and a.storage.data is not None}  # fmt: skip
    made: dict[int, Storage] = {}
    found: list[Argument] = []
    for number, argument in enumerate(with_contents(arguments, partial(_unlike, arguments))):
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


def _unlike(arguments: tuple[Argument, ...], argument: TensorArgument) -> Numbers:
    """Return floats that differ within a tile and from one tensor to the next; zeros of integers.

    A lane that copies another tile than before, or a tile to another place, has to leave a trace.
    """
    if argument.element.kind != "f":
        return small_numbers(argument)
    first = _PRIME // 4 * next(n for n, each in enumerate(arguments) if each.name == argument.name)
    return [(1 + (first + number) % _PRIME) / 64 for number in range(_PRIME)]


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
