"""Races that atomics leave, found in runs of a call in several orders of its programs.

A run shows one order of the programs, and an order that is chance in one run is not kept in
another. So `races_in_orders` runs several orders, and one where each program lets the others run
before each op that may race. A program that gets to such an op then did not wait for the first one,
as with a turn that begins too early. For programs that wait for too few others, each program in
turn is held back alone, once as the first and once as the last to begin: it does what may race when
no other program can go on. The others begin in a cycle, so that each draws each number once, and
in a small grid in all cycles.

One run is enough if `fixed_waits.py` finds that all orders have its waits in common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Storage
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, to_array
from kvtrace.ir import Op, Value
from kvtrace.ir.ops import READING, waits_for_memory
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.conflicts.clocks import Clocks, Race, RaceKey, is_compare_and_swap
from kvtrace.verdicts.conflicts.fixed_waits import FixedWaits, polls_of
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.releases import Gaps, Releases
from kvtrace.verdicts.conflicts.schedules import MOST_PROGRAMS, Schedule, Scheduled, orders_of
from kvtrace.verdicts.replaying import run

_MOST_SEEDS: Final = 4
_PROGRAMS_BY_CHANCE: Final = 24
"""Count of programs in runs by chance; the others of a grid may begin later."""
_MOST_BYTES_BY_CHANCE: Final = 1 << 20
"""Limit of the bytes of a written storage in such runs."""
_MOST_HELD_BACK: Final = 1 << 13
"""Limit of programs that are run while others are held back, over all runs."""
_MOST_IN_PAIRS: Final = 1 << 10
"""Limit of them while each program also comes at each place among the others."""


class _ClockedRun(Scheduled):
    """An instrument that also reports compare-and-swaps that wrote."""

    def __init__(self, clocks: Clocks, schedule: Schedule) -> None:
        super().__init__(schedule)
        self._clocks = clocks

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap compare-and-swaps, polls, and ops in `aside_before`."""
        if waits_for_memory(op):
            step = self._reporting_unknown(op, step)
        elif is_compare_and_swap(op):
            step = self._reporting_swaps(op, step)
        return super().wrapped(op, step)

    def _reporting_unknown(self, op: Op, step: Step) -> Step:
        result = op.results[0].id

        def reporting(values: list[Any], scope: Scope) -> None:
            step(values, scope)
            if isinstance(values[result], Unknown):
                self._clocks.waited_for_unknown(op)

        return reporting

    def _reporting_swaps(self, op: Op, step: Step) -> Step:
        type_ = value_type(op.operand("expected").type)
        expected, result = op.operand("expected").id, op.results[0].id

        def reporting(values: list[Any], scope: Scope) -> None:
            step(values, scope)
            old, compared = values[result], values[expected]
            if isinstance(old, Unknown) or isinstance(compared, Unknown):
                return
            full = (scope.programs, *type_.shape)
            done = np.broadcast_to(to_array(old, type_) == to_array(compared, type_), full)
            self._clocks.swapped(op, int(scope.linear[0]), done.reshape(-1))

        return reporting


class _FixedWaitsRun(_ClockedRun):
    """An instrument that also reports the comparisons of waits."""

    def __init__(self, waits: FixedWaits, schedule: Schedule, polls: Mapping[Op, Op]) -> None:
        super().__init__(waits, schedule)
        self._waits = waits
        self._reads = {compare.index: read for compare, read in polls.items()}

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap the comparisons of waits, too."""
        step = super().wrapped(op, step)
        return self._reporting_waits(op, step) if op.index in self._reads else step

    def _reporting_waits(self, op: Op, step: Step) -> Step:
        sides, result = (op.operand("left"), op.operand("right")), op.results[0]
        read, other = sides if sides[0] is self._reads[op.index].results[0] else sides[::-1]

        def reporting(values: list[Any], scope: Scope) -> None:
            step(values, scope)
            numbers = [_number(values[value.id], value) for value in (read, other, result)]
            self._waits.compared(op, int(scope.linear[0]), *numbers)

        return reporting


def _number(number: Any, value: Value) -> int | None:
    """Return a scalar of one program, None if it is unknown."""
    if isinstance(number, Unknown):
        return None
    return int(np.reshape(to_array(number, value_type(value.type)), -1)[0])


@dataclass(frozen=True)
class Ordering:
    """The races found in runs of a call; `doubt` is the reason if the order remains unknown.

    `doubtful` races exist unless the compiled code has a barrier that is not known. `is_fixed`: one
    run shows what atomics order in all orders of the programs.
    """

    races: Mapping[RaceKey, Race]
    doubt: str | None
    doubtful: Mapping[RaceKey, Race] = field(default_factory=dict)
    is_fixed: bool = False


def races_in_orders(
    call: Call,
    watched: Mapping[Storage, NDArray[np.int64]],
    meeting: frozenset[RaceKey],
    releases: Releases,
) -> Ordering:
    """Return the races found in runs of a call in several orders of its programs.

    Args:
        call: the call.
        watched: the bytes where races are looked for, by storage of the call's arguments.
        meeting: the pairs of ops that may race.
        releases: the ops that each atomic of the call orders in its program.

    """
    ordering = _races_with(call, watched, meeting, releases.sure_gaps)
    if ordering.doubt is not None or releases.possible_gaps == releases.sure_gaps:
        return ordering
    possible_ordering = _races_with(call, watched, meeting, releases.possible_gaps)
    doubtful = {
        key: race for key, race in possible_ordering.races.items() if key not in ordering.races
    }
    return replace(ordering, doubt=possible_ordering.doubt, doubtful=doubtful)


def schedules_by_chance(call: Call) -> Iterator[Schedule]:
    """Yield schedules in which programs let others run before ops that read, by chance."""
    reading = frozenset(op.index for op in call.module.ops if op.name in READING)
    order = np.arange(min(math.prod(call.grid), _PROGRAMS_BY_CHANCE))
    for seed in range(_MOST_SEEDS):
        yield Schedule(order, reading, seed=seed)


def races_by_schedule(call: Call, releases: Releases, schedule: Schedule) -> Mapping[RaceKey, Race]:
    """Return the races of a run, at all bytes; none if it fails or is too large."""
    programs, written = math.prod(call.grid), written_storages(call.module, call.arguments)
    most_bytes = max((storage.nbytes for storage in written), default=0)
    if programs > MOST_PROGRAMS or most_bytes > _MOST_BYTES_BY_CHANCE:
        return {}
    watched = {storage: np.arange(storage.nbytes) for storage in written}
    gaps, groups = releases.sure_gaps, np.arange(programs)
    clocks = Clocks(call.module, call.arguments, programs, watched, schedule, groups, gaps)
    failure = _run(call, clocks, _ClockedRun(clocks, schedule))
    return {} if failure or clocks.doubt else clocks.races


def _races_with(
    call: Call,
    watched: Mapping[Storage, NDArray[np.int64]],
    meeting: frozenset[RaceKey],
    gaps: Gaps,
) -> Ordering:
    programs = math.prod(call.grid)
    if programs > MOST_PROGRAMS:
        return Ordering({}, f"its {programs:,} programs are too many to follow one by one")
    races: dict[RaceKey, Race] = {}
    groups = np.arange(programs)
    racing = frozenset(index for key in meeting for index in key[:2])
    roles = roles_of(call.module).by_op.values()
    changing = frozenset(role.op.index for role in roles if role.strong and role.changes)
    polls = polls_of(call.module)
    if polls is not None:
        schedule = Schedule(orders_of(programs)[0], racing | changing)
        waits = FixedWaits(call.module, call.arguments, programs, watched, schedule, groups, gaps)
        failure = _run(call, waits, _FixedWaitsRun(waits, schedule, polls))
        if waits.is_fixed and not (waits.races or waits.doubt or failure):
            return Ordering({}, None, is_fixed=True)
    for schedule in _schedules(programs, racing, changing, groups):
        is_held = schedule.held is not None
        if is_held and meeting <= races.keys():
            break
        if is_held and 2 * np.bincount(groups).max() * programs > _MOST_HELD_BACK:
            return Ordering(races, f"its {programs:,} programs are too many to hold back each")
        clocks = Clocks(call.module, call.arguments, programs, watched, schedule, groups, gaps)
        failure = _run(call, clocks, _ClockedRun(clocks, schedule))
        races = {**clocks.races, **races}
        if failure is not None or clocks.doubt is not None:
            return Ordering(races, failure or clocks.doubt)
    return Ordering(races, None)


def _run(call: Call, clocks: Clocks, instrument: _ClockedRun) -> str | None:
    """Run a call's programs by the instrument's schedule; return why that ended early, or None."""
    order = instrument.schedule.order
    return run(call, [clocks], order, contents="all", instrument=instrument, one_by_one=True)


def _schedules(
    programs: int, racing: frozenset[int], changing: frozenset[int], groups: NDArray[np.int64]
) -> Iterator[Schedule]:
    """Yield schedules: all let others run, none does, and at last programs that are held back.

    All do so before they change what others may wait for, too: these may go on by each number in
    turn. One program of each group is held back at a time, in a run for each order of the others.
    """
    orders = orders_of(programs)
    yield Schedule(orders[0], racing)
    yield from (Schedule(order, racing | changing) for order in orders[:2])
    yield from map(Schedule, orders)
    places = np.array([np.count_nonzero(groups[:p] == groups[p]) for p in range(programs)])
    sizes = np.bincount(groups)[groups]
    turns = int(sizes.max())
    shifts = max(1, min(turns - 1, _MOST_IN_PAIRS // (2 * turns * programs)))
    for turn, shift, first in product(range(turns), range(shifts), (0, programs)):
        after = (places - turn) % sizes
        is_held = places == turn
        cycle = (after - 1 + shift) % np.maximum(sizes - 1, 1) + 1
        order = np.argsort(np.where(is_held, first, cycle), kind="stable")
        yield Schedule(order, racing, np.flatnonzero(is_held))
