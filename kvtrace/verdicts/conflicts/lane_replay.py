"""Replays of one program, or one store, in two orders of its lanes; different results show a race.

In the first order, all lanes do each op at once. In the second, one lane runs ahead of another: it
does its access before the other lane's access, which comes first in the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.requests import Request
from kvtrace.evaluate.rounding import to_memory
from kvtrace.evaluate.scope import Launch, Scope
from kvtrace.evaluate.types import ValueType
from kvtrace.ir import Module, Op
from kvtrace.ir.feeding import feeding
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import MEMORY, READING, effect_of
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.lane_orders import (
    ChangedLoadRun,
    LaneVisit,
    Overtaking,
    ProgramRun,
    ReorderedRun,
    Visit,
    WatchedByte,
)
from kvtrace.verdicts.conflicts.outcomes import Touch, Witness
from kvtrace.verdicts.replaying import WITNESS_LANES, run_with
from kvtrace.verdicts.rules.fills import Numbers, with_contents

_MADE_UP_NUMBERS: Final = range(1, 128)
"""Made-up numbers: their count is a prime, so numbers at strides of powers of two differ."""
_SAME_VALUE: Final = "lanes that store to the same byte store the same value in the replay"

#: Limit of pairs of executions that are run in another order.
_MAX_CANDIDATES: Final = 4
_ONE_RESULT: Final = "both orders of the lanes gave the same result in the replay"
_NOT_MET: Final = "no two lanes accessed the same byte in the replay"
_DEPENDENT: Final = "one lane stores a value that depends on what the other lane loads"
_TOO_LARGE: Final = "it stores too many bytes to compare"
_TRIAL_NUMBERS: Final = (400.0, -400.0, float("nan"))
"""Numbers loaded by one lane to find out whether another lane's stored value depends on them."""

Differ = Callable[[LaneVisit, LaneVisit], bool]
"""A function that returns whether the threads of two lanes may run in any order."""


def find_race(
    place: WatchedByte,
    ops: tuple[Op, Op],
    differ: Differ,
    *,
    is_repeated: bool = False,
    is_by_one_thread: bool = False,
    barriers_hold: bool = True,
) -> Witness | str:
    """Run a program in two orders of lanes; return a witness if results differ, else the reason.

    Args:
        place: a byte that both ops touch, and the program.
        ops: the two ops, at least one of them a store.
        differ: which lanes to run in another order.
        is_repeated: whether all threads do one of the two ops.
        is_by_one_thread: whether one thread does the other op then.
        barriers_hold: whether the lanes wait for each other at barriers.

    """

    def run_at(byte: int) -> ProgramRun:
        return ProgramRun(replace(place, byte=byte), ops, barriers_hold=barriers_hold).run()

    def race_in(run: ProgramRun) -> Witness | str:
        outcome: Witness | str = _NOT_MET
        single_thread_stores = run.single_thread_stores if is_by_one_thread else None
        candidates = _candidates(place.bound.call.module, run.visits, ops, differ)
        for left, right in islice(candidates, _MAX_CANDIDATES):
            overtaking = Overtaking(left, right, is_repeated, single_thread_stores)
            outcome = _compare_orders(run, overtaking)
            if isinstance(outcome, Witness) or outcome == _TOO_LARGE:
                return outcome
        return outcome

    first_run = run_at(place.byte)
    if first_run.failure:
        return first_run.failure
    outcome = race_in(first_run)
    for byte in first_run.meeting_bytes():
        if isinstance(outcome, Witness):
            break
        other_outcome = race_in(run_at(byte))
        if other_outcome != _NOT_MET:
            outcome = other_outcome
    return outcome


def _compare_orders(first_run: ProgramRun, overtaking: Overtaking) -> Witness | str:
    """Run with one lane ahead of the other; return a witness if results differ, else the reason."""
    place = first_run.place
    if _depends_on_load(place, overtaking):
        return _DEPENDENT
    second_run = ReorderedRun(place, overtaking).run()
    if second_run.failure or not second_run.is_same:
        return second_run.failure or _DEPENDENT
    has_same_result = second_run.has_same_result_as(first_run)
    if has_same_result is None:
        return _TOO_LARGE
    if has_same_result:
        return _ONE_RESULT + _made_up(place.bound)
    lanes = overtaking.first, overtaking.second
    first, second = (lane.touch(place.bound.call, place.program) for lane in lanes)
    return Witness(first, second, place.byte)


def _made_up(bound: BoundCall) -> str:
    """Return text that names the tensors of which a replay had made-up numbers, "" if of none."""
    loads = {access.op.index for access in bound.summary.accesses if access.kind == "load"}
    names = dict.fromkeys(tensor.name for tensor in bound.contents.read_by(loads))
    return f", which did not have the data of {', '.join(names)}" if names else ""


def _candidates(
    module: Module, visits: Sequence[Visit], ops: tuple[Op, Op], differ: Differ
) -> Iterator[tuple[LaneVisit, LaneVisit]]:
    """Yield pairs of lanes that touch the byte with no barrier and no other store between them."""
    for position, earlier in enumerate(visits):
        for later in visits[position + 1 :]:
            if later.phase != earlier.phase:
                break
            if {earlier.op, later.op} == set(ops) and _can_be_reordered(
                module, earlier.op, later.op
            ):
                lane_pair = _first_differing_lanes(earlier, later, differ)
                if lane_pair is not None:
                    yield lane_pair
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
    left: Visit, right: Visit, differ: Differ
) -> tuple[LaneVisit, LaneVisit] | None:
    """Return the first lanes of two visits whose threads may run in any order, else None."""
    lane_pairs = (
        (LaneVisit(left, left_lane), LaneVisit(right, right_lane))
        for left_lane in left.lanes[:64]
        for right_lane in right.lanes[-64:][::-1]
    )
    return next((pair for pair in lane_pairs if differ(*pair)), None)


def _depends_on_load(place: WatchedByte, overtaking: Overtaking) -> bool:
    """Return whether the second lane's stored value depends on the first lane's load."""
    load, second = overtaking.first, overtaking.second.visit
    if load.visit.op.name not in READING or overtaking.repeated or effect_of(second.op) == "load":
        return False
    for number in _TRIAL_NUMBERS:
        visits = ChangedLoadRun(place, load, number).run().visits
        match = next((visit for visit in visits if visit.execution == second.execution), None)
        if match is None or match.after != second.after:
            return True
    return False


# Replay of one store whose lanes may come in any order; different results show a conflict.
#
# Two lanes that store different bytes to one place leave those of the later one. If lanes update
# values that they load, one lane's update is put into memory before the other lane's load: if that
# lane then stores another value, one of the updates is lost. Example: two lanes add 1 to the same
# 0, and both store 1; with the first lane's 1 in memory, the second lane stores 2.


class Conflict(Struct, frozen=True):
    """Two lanes of a program that store different values to a byte, the first that they share.

    `is_update`: the second lane would store another value if it loaded the first lane's.
    """

    witness: Witness
    values: tuple[Any, Any]
    is_update: bool = False


class _StoreExecution(Struct, frozen=True):
    """The active lanes of one execution of a store, flat, with their bytes and values."""

    request: Request
    lanes: NDArray[np.int64]
    starts: NDArray[np.int64]
    bytes: NDArray[np.uint8]
    values: NDArray[Any]

    def conflict(self, left: int, right: int, *, is_update: bool = False) -> Conflict:
        """Return the conflict of two lanes, by their positions among the active lanes."""
        first, second = self._touch(left), self._touch(right)
        witness = Witness(first, second, int(max(self.starts[left], self.starts[right])))
        values = self.values[left].item(), self.values[right].item()
        return Conflict(witness, values, is_update)

    def _touch(self, position: int) -> Touch:
        request, scope = self.request, self.request.scope
        return Touch(
            request.op,
            int(scope.linear[0]),
            scope.iteration,
            tuple(map(int, np.unravel_index(self.lanes[position], request.type_.shape))),
            request.argument,
            int(self.starts[position]) - request.tensor.offset_bytes,
        )


def _execution(request: Request, values: Any) -> _StoreExecution:
    element = request.type_.element
    lane_starts = request.lane_bytes()
    active = request.lane_mask().reshape(-1)
    active_values = np.broadcast_to(values, lane_starts.shape).reshape(-1)[active]
    raw_bytes = np.ascontiguousarray(to_memory(active_values, element)).view(np.uint8)
    return _StoreExecution(
        request,
        np.flatnonzero(active),
        lane_starts.reshape(-1)[active],
        raw_bytes.reshape(len(active_values), element.bytes),
        active_values,
    )


class _Overlap(Struct, frozen=True):
    """Two lanes (positions among the active lanes) that share bytes in a numbered execution."""

    execution: int
    stored: _StoreExecution
    left: int
    right: int


class _WatchedMemory(Memory):
    """A memory whose watch sees the executions of one store."""

    def __init__(self, launch: Launch, watch: _StoreWatch) -> None:
        super().__init__(launch.arguments, launch.memory.written)
        self._watch = watch

    def load(
        self, op: Op, scope: Scope, pointer: Any, mask: Any, other: Any, type_: ValueType
    ) -> Any:
        """Load; in the replayed execution, the left lane's update is in memory meanwhile."""
        watch, replayed = self._watch, self._watch.replayed
        watch.loads += op is watch.load
        if op is not watch.load or replayed is None or watch.loads != replayed.execution:
            return super().load(op, scope, pointer, mask, other, type_)
        start = int(replayed.stored.starts[replayed.left])
        update = replayed.stored.bytes[replayed.left]
        data = self.bytes_of(replayed.stored.request.tensor.storage)
        saved = data[start : start + len(update)].copy()
        data[start : start + len(update)] = update
        loaded = super().load(op, scope, pointer, mask, other, type_)
        if isinstance(loaded, np.ndarray):
            loaded = loaded.copy()
        data[start : start + len(update)] = saved
        return loaded

    def write(self, request: Request, values: Any) -> None:
        """Store, after the watch has seen it if the op is the watched store."""
        if request.op is self._watch.store:
            self._watch.see(request, values)
        super().write(request, values)


class _StoreWatch(Instrument):
    """An instrument of one run that searches for conflicts of `store`, or replays an overlap.

    A search sets `overlap`, the first two lanes that share bytes, and `conflict`, the first that
    store different bytes there. A replay of `replayed` sets `stored_after`, the lanes' stores after
    a load that saw the left lane's update.
    """

    def __init__(self, store: Op, load: Op | None, replayed: _Overlap | None = None) -> None:
        super().__init__()
        self.store, self.load, self.replayed = store, load, replayed
        self.stores = self.loads = 0
        self.conflict: Conflict | None = None
        self.overlap: _Overlap | None = None
        self.stored_after: _StoreExecution | None = None

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Replace the launch's memory by one that is watched."""
        del values
        launch.memory = _WatchedMemory(launch, self)

    def see(self, request: Request, values: Any) -> None:
        """Compare two orders of the lanes, or keep the replayed execution."""
        self.stores += 1
        if self.replayed is None and self.conflict is None:
            self._compare_lanes(_execution(request, values))
        elif self.replayed is not None and self.stores == self.replayed.execution:
            self.stored_after = _execution(request, values)

    def _compare_lanes(self, stored: _StoreExecution) -> None:
        order = np.argsort(stored.starts, kind="stable")
        overlapping = np.flatnonzero(np.diff(stored.starts[order]) < stored.bytes.shape[1])
        if not len(overlapping):
            return
        if self.overlap is None:
            left, right = sorted((int(order[overlapping[0]]), int(order[overlapping[0] + 1])))
            self.overlap = _Overlap(self.stores, stored, left, right)
        pair = _lanes_with_different_bytes(stored, order)
        if pair is not None:
            left, right = sorted(pair)
            self.conflict = stored.conflict(left, right)


def _lanes_with_different_bytes(
    stored: _StoreExecution, order: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Return two overlapping lanes that store different bytes; `order` sorts lanes by address."""
    starts, raw_bytes = stored.starts[order], stored.bytes[order]
    is_first = np.diff(starts, prepend=starts[0] - 1) > 0
    first_positions = np.maximum.accumulate(np.where(is_first, np.arange(len(starts)), 0))
    differing = np.flatnonzero((raw_bytes != raw_bytes[first_positions]).any(axis=1))
    if len(differing):
        return int(order[first_positions[differing[0]]]), int(order[differing[0]])
    size = raw_bytes.shape[1]
    for position in np.flatnonzero(is_first)[1:].tolist():
        gap = int(starts[position] - starts[position - 1])
        if (
            gap < size
            and (raw_bytes[position - 1][gap:] != raw_bytes[position][: size - gap]).any()
        ):
            return int(order[position - 1]), int(order[position])
    return None


def conflict_of(
    bound: BoundCall, store: Op, load: Op | None, programs: Sequence[int]
) -> Conflict | str:
    """Run programs until two orders of a store's lanes differ; return the conflict, or a reason.

    `load` reads the values that the store's lanes update, if any. Unrecorded contents are made up,
    except for those that decide an address, a mask or a branch.
    """
    arguments = with_contents(bound.call.arguments, _contents_for(bound))
    evaluated = partial(run_with, bound.call, arguments, (), lanes=WITNESS_LANES)
    reason = "two lanes that access the same byte by formulas did not do so in the replay"
    for program in programs:
        search = _StoreWatch(store, load)
        failure = evaluated((program,), instrument=search)
        if search.conflict is not None:
            return search.conflict
        if search.overlap is None:
            reason = failure or reason
            continue
        reason = _SAME_VALUE
        if load is not None:
            replay = _StoreWatch(store, load, replayed=search.overlap)
            evaluated((program,), instrument=replay)
            conflict = _lost_update(search.overlap, replay.stored_after)
            if conflict is not None:
                return conflict
    return reason


def _lost_update(overlap: _Overlap, replayed: _StoreExecution | None) -> Conflict | None:
    """Return the conflict if the right lane stores another value after the left lane's update."""
    stored, right = overlap.stored, overlap.right
    if replayed is None or not np.array_equal(replayed.lanes, stored.lanes):
        return None
    if not np.array_equal(replayed.starts, stored.starts):
        return None
    if np.array_equal(replayed.bytes[right], stored.bytes[right]):
        return None
    values = stored.values[right].item(), replayed.values[right].item()
    return replace(stored.conflict(overlap.left, right, is_update=True), values=values)


def _contents_for(bound: BoundCall) -> Any:
    """Return a function that makes up contents for a tensor without recorded contents."""
    module = bound.call.module
    feeders = frozenset[int]().union(
        *(feeding(op, module) for op in module.ops if op.name in MEMORY)
    )
    deciding_loads = {op.index for op in module.ops if op.name in READING} & feeders
    storages = {
        tensor.storage
        for access in bound.summary.accesses
        if access.op.index in deciding_loads and (tensor := bound.call.tensor_at(access.argument))
    }
    deciding_names = {
        tensor.name
        for tensor in bound.call.arguments
        if isinstance(tensor, TensorArgument) and tensor.storage in storages
    }
    is_lost = any(
        access.op.index in deciding_loads and access.argument is None
        for access in bound.summary.accesses
    )

    def numbers(argument: TensorArgument) -> Numbers:
        if is_lost or argument.name in deciding_names:
            return None
        if argument.element.kind == "f":
            return [number / 64 for number in _MADE_UP_NUMBERS]
        return _MADE_UP_NUMBERS

    return numbers
