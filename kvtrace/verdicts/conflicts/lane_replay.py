"""Replay of one program in two orders of its lanes; two different results show a race.

In the first order each op is done by all lanes at once. In the second, one lane runs ahead of
another: it does its access before the other lane's access, which comes first in the program.
Contents that were not recorded are made up.
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
    ChangedLoad,
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

#: Bytes on each side of the watched byte that are filled with distinct numbers.
_WINDOW: Final = 1 << 16
#: Period of made-up floats: a prime, so no tile's width is a multiple.
_PRIME: Final = 127
_DEPENDENT: Final = "one lane stores a value that depends on what the other lane loads"
#: Most pairs of executions that are run in another order.
_MOST_CANDIDATES: Final = 4

_TRIAL_NUMBERS: Final = (400.0, -400.0, float("nan"))
"""Numbers put into a lane to see whether another lane's stored value depends on it."""


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
    """Run a program in two orders of lanes; return a witness if results differ, else the reason.

    Args:
        bound: the call.
        ops: the two ops that touch the byte, at least one of them a store.
        program: its linear id.
        storage: the storage of one of the call's arguments.
        byte: from the storage's start.
        differ: whether the threads of two lanes may run in any order.
        threads: whether all threads do one of two lanes, and whether one thread does the other.
        barriers_hold: whether lanes in any order wait for each other at barriers.

    """

    def listing(memory: Memory, storage_: Storage, at: int) -> Touches:
        return Touches(memory, storage_, at, ops, barriers_hold=barriers_hold)

    first = _Run(bound, program, storage, byte)
    watched = first.run(listing)
    if first.failure:
        return first.failure
    result = _at_byte(bound, watched, first.memory, program, storage, differ, threads)
    for other in watched.meeting_bytes():
        if isinstance(result, Witness):
            break
        again = _Run(bound, program, storage, other)
        watched = again.run(listing)
        result = _at_byte(bound, watched, again.memory, program, storage, differ, threads)
    return result


def _at_byte(
    bound: BoundCall,
    watched: Touches,
    memory: Memory,
    program: int,
    storage: Storage,
    differ: Callable[[LaneVisit, LaneVisit], bool],
    threads: Callable[[LaneVisit, LaneVisit], tuple[bool, bool]],
) -> Witness | str:
    """Run a program again with one of two lanes ahead that touch the watched byte."""
    byte, reason = watched.byte, "no two lanes accessed the same byte in the replay"
    assert watched.ops is not None
    call = bound.call
    for one, other in _candidates(call.module, watched.visits, watched.ops, differ):
        repeated, alone = threads(one, other)
        ahead = Ahead(one, other, repeated, watched.by_one if alone else None)
        if _depends_on_load(bound, program, storage, byte, ahead):
            reason = _DEPENDENT
            continue
        again = _Run(bound, program, storage, byte)
        reordered = again.run(partial(Reordered, ahead=ahead))
        reordered.finish()
        if again.failure or not reordered.is_same:
            reason = again.failure or _DEPENDENT
            continue
        is_same = again.memory.has_same_result_as(memory)
        if is_same is None:
            return "it stores too many bytes to compare"
        if not is_same:
            return Witness(one.touch(call, program), other.touch(call, program), byte)
        reason = "both orders of the lanes gave the same result in the replay"
    return reason


def _candidates(
    module: Module,
    visits: Iterable[Visit],
    ops: tuple[Op, Op],
    differ: Callable[[LaneVisit, LaneVisit], bool],
) -> Iterator[tuple[LaneVisit, LaneVisit]]:
    """Yield pairs of lanes that touch the byte with no barrier and no store between them."""
    all_visits = list(visits)
    yielded = 0
    for position, one in enumerate(all_visits):
        for other in all_visits[position + 1 :]:
            if other.phase != one.phase:
                break
            if {one.op, other.op} == set(ops) and _can_be_reordered(module, one.op, other.op):
                sides = _sides(one, other, differ)
                if sides is not None:
                    yield sides
                    yielded += 1
                    if yielded == _MOST_CANDIDATES:
                        return
            if effect_of(other.op) != "load":
                break


def _can_be_reordered(module: Module, first: Op, second: Op) -> bool:
    """Return whether a run with the second op's lane ahead shows what a device may do.

    An atomic behind a store then has no known result, and no result is made up for an atomic that a
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


def _depends_on_load(
    bound: BoundCall, program: int, storage: Storage, byte: int, ahead: Ahead
) -> bool:
    """Return whether the value that the second stores changes with the value the first loads."""
    loads = ahead.first.visit.op.name in READING
    if not loads or ahead.repeated or effect_of(ahead.second.visit.op) == "load":
        return False
    for number in _TRIAL_NUMBERS:
        again = _Run(bound, program, storage, byte)
        changed = again.run(partial(ChangedLoad, side=ahead.first, number=number))
        second = ahead.second.visit
        matches = [t for t in changed.visits if (t.op, t.number) == (second.op, second.number)]
        if not matches or matches[0].after != second.after:
            return True
    return False


_Lanes = TypeVar("_Lanes", bound=Touches)


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

    def run(self, make: Callable[[Memory, Storage, int], _Lanes]) -> _Lanes:
        """Evaluate with the instrument that `make` returns, and return the instrument.

        If the evaluation broke off, `self.failure` has the reason.
        """
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
    """Return arguments with new contents, distinct in a window around a byte of one argument."""
    arguments = tuple(arguments)
    recorded = {id(a.storage) for a in arguments
             if isinstance(a, TensorArgument) and a.storage.data is not None}  # fmt: skip
    copies: dict[int, Storage] = {}
    new_arguments: list[Argument] = []
    for number, argument in enumerate(
        with_contents(arguments, partial(_distinct_numbers, arguments))
    ):
        original = arguments[number]
        if not isinstance(argument, TensorArgument) or not isinstance(original, TensorArgument):
            new_arguments.append(argument)
            continue
        storage = copies.get(id(original.storage))
        if storage is None:
            data = argument.storage.data
            assert data is not None
            data = data if data.flags.writeable else data.copy()
            storage = Storage(argument.storage.nbytes, data, argument.storage.address)
            copies[id(original.storage)] = storage
        if number == position and id(original.storage) not in recorded:
            _fill(replace(argument, storage=storage), byte)
        new_arguments.append(replace(argument, storage=storage))
    return tuple(new_arguments)


def _distinct_numbers(arguments: tuple[Argument, ...], argument: TensorArgument) -> Numbers:
    """Return floats that differ within a tile and from tensor to tensor; zeros for integers.

    A lane that copies another tile than before, or to another place, then leaves a different
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
    first = max(byte - _WINDOW, tensor.offset_bytes % size)
    first -= (first - tensor.offset_bytes) % size
    first += size if first < 0 else 0
    count = (min(byte + _WINDOW, len(data)) - first) // size
    places = np.arange(first // size, first // size + count)
    numbers = (1 + (7 * places + places // 13) % 13).astype(tensor.element.value)
    raw = np.ascontiguousarray(to_memory(numbers, tensor.element)).view(np.uint8)
    data[first : first + count * size] = raw[: count * size]
