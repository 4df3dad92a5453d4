"""Replay of one program in two orders of its lanes; different results show a race.

In the first order, all lanes do each op at once. In the second, one lane runs ahead of another: it
does its access before the other lane's access, which comes first in the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kvtrace.ir import Module, Op
from kvtrace.ir.flow import flow_of
from kvtrace.ir.ops import READING, effect_of
from kvtrace.verdicts.conflicts.lane_orders import (
    ChangedLoadRun,
    LaneVisit,
    Overtaking,
    ProgramRun,
    ReorderedRun,
    Visit,
    WatchedByte,
)
from kvtrace.verdicts.conflicts.outcomes import Witness

#: Limit of pairs of executions that are run in another order.
_MAX_CANDIDATES: Final = 4
_DEPENDENT: Final = "one lane stores a value that depends on what the other lane loads"

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

    def race_at(first_run: ProgramRun) -> Witness | str:
        reason = "no two lanes accessed the same byte in the replay"
        call = place.bound.call
        for left, right in _candidates(call.module, first_run.visits, ops, differ):
            stores = first_run.single_thread_stores if is_by_one_thread else None
            overtaking = Overtaking(left, right, is_repeated, stores)
            if _depends_on_load(first_run.place, overtaking):
                reason = _DEPENDENT
                continue
            second_run = ReorderedRun(first_run.place, overtaking).run()
            if second_run.failure or not second_run.is_same:
                reason = second_run.failure or _DEPENDENT
                continue
            is_same = second_run.has_same_result_as(first_run)
            if is_same is None:
                return "it stores too many bytes to compare"
            if not is_same:
                first, second = (side.touch(call, place.program) for side in (left, right))
                return Witness(first, second, first_run.place.byte)
            reason = "both orders of the lanes gave the same result in the replay"
        return reason

    first_run = ProgramRun(place, ops, barriers_hold=barriers_hold).run()
    if first_run.failure:
        return first_run.failure
    result = race_at(first_run)
    for byte in first_run.meeting_bytes():
        if isinstance(result, Witness):
            break
        other_place = replace(place, byte=byte)
        result = race_at(ProgramRun(other_place, ops, barriers_hold=barriers_hold).run())
    return result


def _candidates(
    module: Module, visits: Sequence[Visit], ops: tuple[Op, Op], differ: Differ
) -> Iterator[tuple[LaneVisit, LaneVisit]]:
    """Yield pairs of lanes that touch the byte with no barrier and no other store between them."""
    count = 0
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
    left: Visit, right: Visit, differ: Differ
) -> tuple[LaneVisit, LaneVisit] | None:
    """Return the first lanes of two visits whose threads may run in any order, else None."""
    for left_lane in left.lanes[:64]:
        for right_lane in right.lanes[-64:][::-1]:
            if differ(LaneVisit(left, left_lane), LaneVisit(right, right_lane)):
                return LaneVisit(left, left_lane), LaneVisit(right, right_lane)
    return None


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
