"""Replay of one program in two orders of its lanes; different results show a race.

In the first order, all lanes do each op at once. In the second, one lane runs ahead of
another: it does its access before the other lane's access, which comes first in the program.
Contents that were not recorded are made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from kvtrace.evaluate import Argument, Storage, TensorArgument
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import READING, effect_of
from kvtrace.verdicts.conflicts.lane_orders import (
    AccessForwarder,
    ChangedLoadRun,
    LaneOvertaking,
    LaneVisit,
    Memory,
    ReorderedRun,
    Visit,
    VisitRecorder,
)
from kvtrace.verdicts.conflicts.outcomes import Witness
from kvtrace.verdicts.replaying import Limit, run_with
from kvtrace.verdicts.rules.fills import Numbers, small_numbers, with_contents

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

#: Bytes on each side of the watched byte that are filled with distinct numbers.
_WINDOW: Final = 1 << 16
#: Period of made-up floats: a prime, so that no tile's width is a multiple of it.
_PRIME: Final = 127
_DEPENDENT: Final = "one lane stores a value that depends on what the other lane loads"
#: Limit of pairs of executions that are run in another order.
_MAX_CANDIDATES: Final = 4

_TRIAL_NUMBERS: Final = (400.0, -400.0, float("nan"))
"""Numbers loaded by one lane to find out whether another lane's stored value depends on them."""


def find_race(
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
        program: linear id of the program.
        storage: the storage of one of the call's arguments.
        byte: offset from the storage's start.
        differ: returns whether the threads of two lanes may run in any order.
        threads: returns whether all threads do one of two visits, and if one thread does the other.
        barriers_hold: whether the lanes wait for each other at barriers.

    """

    def listing(memory: Memory, storage_: Storage, at: int) -> VisitRecorder:
        return VisitRecorder(memory, storage_, at, ops, barriers_hold=barriers_hold)

    first_run = _Run(bound, program, storage, byte)
    recorder = first_run.run(listing)
    if first_run.failure:
        return first_run.failure
    result = _find_race_at(bound, recorder, first_run.memory, program, storage, differ, threads)
    for other_byte in recorder.meeting_bytes():
        if isinstance(result, Witness):
            break
        second_run = _Run(bound, program, storage, other_byte)
        recorder = second_run.run(listing)
        result = _find_race_at(
            bound, recorder, second_run.memory, program, storage, differ, threads
        )
    return result


def _find_race_at(
    bound: BoundCall,
    recorder: VisitRecorder,
    memory: Memory,
    program: int,
    storage: Storage,
    differ: Callable[[LaneVisit, LaneVisit], bool],
    threads: Callable[[LaneVisit, LaneVisit], tuple[bool, bool]],
) -> Witness | str:
    """Run a program again with one lane ahead, for each pair of lanes at the watched byte."""
    byte, reason = recorder.byte, "no two lanes accessed the same byte in the replay"
    assert recorder.ops is not None
    call = bound.call
    for left, right in _candidates(call.module, recorder.visits, recorder.ops, differ):
        is_repeated, is_single_thread = threads(left, right)
        overtaking = LaneOvertaking(
            left, right, is_repeated, recorder.single_thread_stores if is_single_thread else None
        )
        if _depends_on_load(bound, program, storage, byte, overtaking):
            reason = _DEPENDENT
            continue
        second_run = _Run(bound, program, storage, byte)
        reordered = second_run.run(partial(ReorderedRun, ahead=overtaking))
        reordered.finish()
        if second_run.failure or not reordered.is_same:
            reason = second_run.failure or _DEPENDENT
            continue
        is_same = second_run.memory.has_same_result_as(memory)
        if is_same is None:
            return "it stores too many bytes to compare"
        if not is_same:
            return Witness(left.touch(call, program), right.touch(call, program), byte)
        reason = "both orders of the lanes gave the same result in the replay"
    return reason


def _candidates(
    module: Module,
    visits: Iterable[Visit],
    ops: tuple[Op, Op],
    differ: Callable[[LaneVisit, LaneVisit], bool],
) -> Iterator[tuple[LaneVisit, LaneVisit]]:
    """Yield pairs of lanes that touch the byte with no barrier and no other store between them."""
    all_visits = list(visits)
    count = 0
    for position, earlier in enumerate(all_visits):
        for later in all_visits[position + 1 :]:
            if later.phase != earlier.phase:
                break
            if {earlier.op, later.op} == set(ops) and _can_be_reordered(
                module, earlier.op, later.op
            ):
                lane_pair = _first_differing_lanes(earlier, later, differ)
                if lane_pair is not None:
                    yield lane_pair
                    count += 1
                    if count == _MAX_CANDIDATES:
                        return
            if effect_of(later.op) != "load":
                break


def _can_be_reordered(module: Module, first: Op, second: Op) -> bool:
    """Return whether a run with the second op's lane ahead has a result that a device may have.

    An atomic after a store has no known result then, and no result is made up for an atomic that a
    store overtakes.
    """
    kinds = effect_of(first), effect_of(second)
    if "atomic" not in kinds:
        return "store" in kinds
    unused = not any(map(flow_of(module).uses, second.results))
    return "load" in kinds or (kinds == ("store", "atomic") and unused)


def _first_differing_lanes(
    left: Visit, right: Visit, differ: Callable[[LaneVisit, LaneVisit], bool]
) -> tuple[LaneVisit, LaneVisit] | None:
    """Return the first lanes of two visits whose threads may run in any order, else None."""
    for left_lane in left.lanes[:64]:
        for right_lane in right.lanes[-64:][::-1]:
            if differ(LaneVisit(left, left_lane), LaneVisit(right, right_lane)):
                return LaneVisit(left, left_lane), LaneVisit(right, right_lane)
    return None


def _depends_on_load(
    bound: BoundCall, program: int, storage: Storage, byte: int, overtaking: LaneOvertaking
) -> bool:
    """Return whether the second lane's stored value depends on the first lane's load."""
    is_load = overtaking.first.visit.op.name in READING
    if not is_load or overtaking.repeated or effect_of(overtaking.second.visit.op) == "load":
        return False
    for number in _TRIAL_NUMBERS:
        trial_run = _Run(bound, program, storage, byte)
        recorder = trial_run.run(partial(ChangedLoadRun, side=overtaking.first, number=number))
        second = overtaking.second.visit
        matches = [
            visit
            for visit in recorder.visits
            if (visit.op, visit.number) == (second.op, second.number)
        ]
        if not matches or matches[0].after != second.after:
            return True
    return False


_Recorder = TypeVar("_Recorder", bound=VisitRecorder)


class _Run:
    """One evaluation of a program with its own copy of memory."""

    def __init__(self, bound: BoundCall, program: int, storage: Storage, byte: int) -> None:
        self._bound = bound
        self._program = program
        self._byte = byte
        self._position = next(
            position
            for position, argument in enumerate(bound.call.arguments)
            if isinstance(argument, TensorArgument) and argument.storage is storage
        )
        self.failure: str | None = None
        self.memory: Memory

    def run(self, make: Callable[[Memory, Storage, int], _Recorder]) -> _Recorder:
        """Evaluate with the recorder that `make` returns, and return the recorder.

        If the evaluation ended early, `self.failure` has the reason.
        """
        call = self._bound.call
        arguments = _writable(call.arguments, self._position, self._byte)
        watched_argument = arguments[self._position]
        assert isinstance(watched_argument, TensorArgument)
        assert watched_argument.storage.data is not None
        self.memory = Memory(arguments, watched_argument.storage.data)
        recorder = make(self.memory, watched_argument.storage, self._byte)
        observers = AccessForwarder(recorder), Limit(self._bound.budget.replay_lanes)
        self.failure = run_with(call, arguments, observers, (self._program,), instrument=recorder)
        return recorder


def _writable(arguments: Iterable[Argument], position: int, byte: int) -> tuple[Argument, ...]:
    """Return arguments with writable contents; made-up ones differ around a byte."""
    arguments = tuple(arguments)
    recorded = {id(a.storage) for a in arguments
             if isinstance(a, TensorArgument) and a.storage.data is not None}  # fmt: skip
    copies: dict[int, Storage] = {}
    new_arguments: list[Argument] = []
    for index, argument in enumerate(
        with_contents(arguments, partial(_distinct_numbers, arguments))
    ):
        original = arguments[index]
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
        if index == position and id(original.storage) not in recorded:
            _fill(replace(argument, storage=storage), byte)
        new_arguments.append(replace(argument, storage=storage))
    return tuple(new_arguments)


def _distinct_numbers(arguments: tuple[Argument, ...], argument: TensorArgument) -> Numbers:
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
