"""Vector clocks of programs: whether atomics order two accesses, in a run program by program.

A program's clock says of each other program how many of its steps happened before. All that a
program does up to a release is one step. A release stores a copy of the clock at the address that
it writes, and the acquire that reads the address merges the copy into its own program's clock. Two
accesses race if neither is in the other's clock. Example: program 0 stores x and releases flag f in
its step 1; program 1 acquires f, so its clock for program 0 becomes 1, and its load of x (stored in
step 1) is ordered; without the acquire the clock stays 0 < 1, a race. Ops that not every release
orders (`releases.py`) have separate clocks. The method is that of FastTrack (Flanagan and Freund,
PLDI 2009), but with the last access of each op kept apart, so that it is exact for each pair of
ops.

A run shows one order of the programs, and an order that is chance in one run is not kept in
another. So `races_in_orders` runs several orders, and one where each program lets the others run
before each op that may race. A program that gets to such an op then did not wait for the first one,
as with a turn that begins too early.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, to_array
from kvtrace.ir import Module, Op
from kvtrace.ir.ops import KINDS, WRITING, waits_for_memory
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.conflicts.orders import MOST_PROGRAMS, Order, Renamed, orders_of, run_in_order
from kvtrace.verdicts.conflicts.parts import Part, parts_of
from kvtrace.verdicts.conflicts.releases import NO_GAPS, Gaps, Releases

_MOST_KEPT: Final = 1 << 25
"""Most numbers kept: clocks at addresses, and concurrent accesses besides the last ones."""

Cell = tuple[Storage, int]
RaceKey = tuple[int, int, Storage]
"""The indices of both ops, ascending, and the storage."""


class TooLarge(KvtraceError):
    """A launch has too many synchronizations to follow; raised from within its evaluation."""

    slug = "too-large"


@dataclass(frozen=True)
class Race:
    """Two programs that touch a byte (counted from the storage's start) in no order."""

    first: Op
    second: Op
    storage: Storage
    byte: int
    programs: tuple[int, int]
    order: Order = field(compare=False, repr=False)


@dataclass
class _Last:
    """The last access of an op to each byte: its program (-1: none), and the program's step.

    `concurrent` has earlier accesses that the last one is not ordered after: step by program, by
    byte.
    """

    part: Part
    width: int
    program: NDArray[np.int32]
    step: NDArray[np.int32]
    concurrent: dict[int, dict[int, int]] = field(default_factory=dict)


class Clocks(Observer):
    """An observer that keeps the clocks of a launch that is evaluated one program at a time.

    `watched` are the bytes of each storage (ascending, from the storage's start) where races are
    looked for. `order` gives the ids of programs by their turn, `gaps` the ops that releases and
    acquires do not order.
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Argument],
        programs: int,
        watched: Mapping[Storage, NDArray[np.int64]],
        order: Order,
        gaps: Gaps = NO_GAPS,
    ) -> None:
        self._arguments = arguments
        self._parts = parts_of(module).by_op
        self._watched = watched
        self._order = order
        self._own_thread_only = gaps.own_thread_only
        missing = {
            index: frozenset(r for r, missed in gaps.missed.items() if index in missed)
            for index in self._parts
        }
        kinds = list(dict.fromkeys(missing.values())) or [frozenset()]
        self._kind_of = {index: kinds.index(releases) for index, releases in missing.items()}
        self._released_by = {
            release: np.array([release not in releases for releases in kinds])
            for release in self._parts
        }
        # By kind of op and program: the steps of each other program that happened before, and of
        # itself those that it has released.
        self._clocks = np.zeros((len(kinds), programs, programs), np.int32)
        self._steps = np.ones(programs, np.int32)
        self._released: dict[Cell, NDArray[np.int32]] = {}
        self._releasers: dict[Cell, int] = {}
        self._last: dict[Storage, dict[tuple[int, int], _Last]] = {s: {} for s in watched}
        self._numbers_kept = 0
        self._cells: list[Cell] = []
        self.races: dict[RaceKey, Race] = {}
        self.doubt: str | None = None

    def access(self, access: Access) -> None:
        """Update clocks and find races at one op of one program."""
        part = self._parts[access.op.index]
        if access.active == 0:
            return
        if access.argument is None or access.lowest is None or not access.certain:
            self.doubt = self.doubt or access.reason or "an address could not be derived"
            return
        argument = self._arguments[access.argument]
        assert isinstance(argument, TensorArgument)
        watched = self._watched.get(argument.storage)
        if watched is None and not (part.acquires or part.strong):
            return
        elements = access.elements()
        assert elements is not None
        starts, programs = elements
        program = int(programs[0])
        starts = starts + argument.offset_bytes
        if part.acquires and part.op.index not in self._own_thread_only:
            self._acquire(program, argument.storage, starts)
        if watched is not None:
            positions = _watched_positions(watched, starts, access.element_bytes)
            self._check(part, access.element_bytes, program, argument.storage, positions)
        if part.releases:
            self._cells = [(argument.storage, int(start)) for start in starts]
            if not _swaps(access.op):
                self._release(part.op, program, self._cells, continues=part.kind == "atomic")
        elif part.kind == "store" and part.strong:
            self._overwrite(program, argument.storage, starts)

    def loop(self, op: Op, trips: NDArray[np.int64]) -> None:
        """Note a loop whose trip count is unknown: it may wait for another program."""
        if (trips < 0).any():
            self.doubt = self.doubt or f"the number of trips of {op.name} depends on data"

    def waited_for_unknown(self, op: Op) -> None:
        """Note an op that waits for unrecorded contents: which programs came before is unknown."""
        self.doubt = self.doubt or f"the contents that {op.name} waits for were not recorded"

    def swapped(self, op: Op, program: int, done: NDArray[np.bool_]) -> None:
        """Release at the addresses that a compare-and-swap has written, and at no other."""
        if self._parts[op.index].releases:
            wrote = [cell for cell, wrote in zip(self._cells, done, strict=True) if wrote]
            self._release(op, program, wrote)

    def _acquire(self, program: int, storage: Storage, starts: NDArray[np.int64]) -> None:
        clock = self._clocks[:, program]
        for start in starts:
            released = self._released.get((storage, int(start)))
            if released is not None:
                np.maximum(clock, released, out=clock)

    def _overwrite(self, program: int, storage: Storage, starts: NDArray[np.int64]) -> None:
        """Delete the clocks that others released at addresses that a program stores to.

        Nobody reads from these releases any more. The program's own release stays: with the store
        after it, it is a release pattern.
        """
        for start in starts:
            cell = (storage, int(start))
            if self._releasers.get(cell) != program:
                self._released.pop(cell, None)

    def _release(
        self, op: Op, program: int, cells: Sequence[Cell], *, continues: bool = True
    ) -> None:
        ordered = self._released_by[op.index]
        self._clocks[ordered, program, program] = self._steps[program]
        clock = self._clocks[:, program].copy()
        for cell in cells:
            # Updates continue the release sequence that they read from: merge the clocks.
            before = self._released.get(cell) if continues else None
            self._releasers[cell] = program
            if before is None:
                self._count(clock.size)
                self._released[cell] = clock
            else:
                self._released[cell] = np.maximum(before, clock)
        self._steps[program] += 1

    def _count(self, numbers: int) -> None:
        self._numbers_kept += numbers
        if self._numbers_kept > _MOST_KEPT:
            raise TooLarge("its programs synchronize in too many places to follow each")

    def _check(
        self, part: Part, width: int, program: int, storage: Storage, positions: NDArray[np.int64]
    ) -> None:
        if not len(positions):
            return
        lasts = self._last[storage]
        clock = self._clocks[self._kind_of[part.op.index], program]
        for last in lasts.values():
            if part.clashes(last.part, one_width=width == last.width):
                self._compare(part, program, storage, positions, last)
        key = (part.op.index, width)
        if key not in lasts:
            count = len(self._watched[storage])
            lasts[key] = _Last(part, width, np.full(count, -1, np.int32), np.zeros(count, np.int32))
        last_of_op = lasts[key]
        before = last_of_op.program[positions]
        is_concurrent = (
            (before >= 0) & (before != program) & (clock[before] < last_of_op.step[positions])
        )
        for position in positions[is_concurrent]:
            self._count(1)
            steps = last_of_op.concurrent.setdefault(int(position), {})
            steps[int(last_of_op.program[position])] = int(last_of_op.step[position])
        last_of_op.program[positions] = program
        last_of_op.step[positions] = self._steps[program]

    def _compare(
        self, part: Part, program: int, storage: Storage, positions: NDArray[np.int64], last: _Last
    ) -> None:
        low, high = sorted((part.op.index, last.part.op.index))
        if (low, high, storage) in self.races:
            return
        clock = self._clocks[self._kind_of[last.part.op.index], program]
        before = last.program[positions]
        racing = (before >= 0) & (before != program) & (clock[before] < last.step[positions])
        racing_access: tuple[int, int] | None = None
        if racing.any():
            # The last one: the first may be of the thread that releases, and so ordered.
            position = int(positions[np.flatnonzero(racing)[-1]])
            racing_access = position, int(last.program[position])
        elif last.concurrent:
            racing_access = next(self._concurrent_races(clock, program, positions, last), None)
        if racing_access is None:
            return
        byte = int(self._watched[storage][racing_access[0]])
        pair = (int(self._order[racing_access[1]]), int(self._order[program]))
        race = Race(last.part.op, part.op, storage, byte, pair, self._order)
        self.races[low, high, storage] = race

    def _concurrent_races(
        self, clock: NDArray[np.int32], program: int, positions: NDArray[np.int64], last: _Last
    ) -> Iterator[tuple[int, int]]:
        for position in positions:
            for other, step in last.concurrent.get(int(position), {}).items():
                if other != program and clock[other] < step:
                    yield int(position), other


def _watched_positions(
    watched: NDArray[np.int64], starts: NDArray[np.int64], width: int
) -> NDArray[np.int64]:
    """Return the positions, among the watched bytes, that elements with these starts touch."""
    bytes_ = np.unique((starts[:, None] + np.arange(width)).reshape(-1))
    positions = np.searchsorted(watched, bytes_)
    positions = (
        positions[positions < len(watched)]
        if positions.size and positions[-1] >= len(watched)
        else positions
    )
    bytes_ = bytes_[: len(positions)]
    return np.asarray(positions[watched[positions] == bytes_])


def _swaps(op: Op) -> bool:
    """Return whether an op is a compare-and-swap, which may write nothing."""
    return op.name in WRITING and KINDS[op.name].has("expected")


class _ClockedRun(Renamed):
    """An instrument that reports compare-and-swaps that wrote, and pauses before some ops.

    A pause lets the other programs run before the op.
    """

    def __init__(
        self, clocks: Clocks, order: Order, aside_before: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(order)
        self._clocks = clocks
        self._aside_before = aside_before

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap compare-and-swaps, polls and ops that may race, besides program ids."""
        if op.index in self._aside_before:
            return _after_others(self._observed(op, step))
        return self._observed(op, step)

    def _observed(self, op: Op, step: Step) -> Step:
        if waits_for_memory(op):
            return self._reporting_unknown(op, step)
        return self._reporting_swaps(op, step) if _swaps(op) else super().wrapped(op, step)

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


def _after_others(step: Step) -> Step:
    def waiting(values: list[Any], scope: Scope) -> None:
        if scope.launch.turns is not None:
            scope.launch.turns.step_aside()
        step(values, scope)

    return waiting


@dataclass(frozen=True)
class Ordering:
    """The races in runs of a call, or the doubt why the order of its programs is unknown.

    `doubtful` races exist unless the compiled code has a barrier where none is known.
    """

    races: Mapping[RaceKey, Race]
    doubt: str | None
    doubtful: Mapping[RaceKey, Race] = field(default_factory=dict)


def races_in_orders(
    call: Call,
    watched: Mapping[Storage, NDArray[np.int64]],
    racing: frozenset[int],
    releases: Releases,
) -> Ordering:
    """Return the races in runs of a call, program by program, in several orders.

    Args:
        call: the call.
        watched: the bytes where races are looked for, by storage of the call's arguments.
        racing: the indices of the ops that may race.
        releases: the ops that each atomic of the call orders in its program.

    """
    ordering = _races_with(call, watched, racing, releases.sure_gaps)
    if ordering.doubt is not None or releases.possible_gaps == releases.sure_gaps:
        return ordering
    possible = _races_with(call, watched, racing, releases.possible_gaps)
    doubtful = {key: race for key, race in possible.races.items() if key not in ordering.races}
    return replace(ordering, doubt=possible.doubt, doubtful=doubtful)


def _races_with(
    call: Call,
    watched: Mapping[Storage, NDArray[np.int64]],
    racing: frozenset[int],
    gaps: Gaps,
) -> Ordering:
    programs = math.prod(call.grid)
    if programs > MOST_PROGRAMS:
        return Ordering({}, f"its {programs:,} programs are too many to follow one by one")
    races: dict[RaceKey, Race] = {}
    orders = orders_of(programs)
    for order, aside in ((orders[0], racing), *((order, frozenset()) for order in orders)):
        clocks = Clocks(call.module, call.arguments, programs, watched, order, gaps)
        failure = run_in_order(call, [clocks], _ClockedRun(clocks, order, aside))
        races = {**clocks.races, **races}
        if failure is not None or clocks.doubt is not None:
            return Ordering(races, failure or clocks.doubt)
    return Ordering(races, None)
