"""All orders in which the programs of a small grid may update the places of atomics.

What a program does follows from the numbers that its atomics return, if it reads nothing else that
others write. So each program is run alone for each list of such numbers, its history, up to its
next atomic. Orders that leave the same memory and histories are one state; the search visits each
state once, and compares what programs have done in the last ones.

Example: `if tl.atomic_max(m, p + 1) == 0: tl.store(o, p)`. In the order 2, 0, 1 of three programs
the histories are 3, 3 and 0, as in 2, 1, 0; in each of the five last states one program stores.

One place has one order of its updates in any memory model. Several places only do if each update
acquires, releases and changes its place (PTX ISA, "Causality order").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Observer, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.order import written_storages
from kvtrace.ir.feeding import feeding_values, loads_behind
from kvtrace.ir.flow import flow_of
from kvtrace.ir.updates import data_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.clocks import is_compare_and_swap
from kvtrace.verdicts.conflicts.parts import Role, roles_of
from kvtrace.verdicts.conflicts.schedules import Schedule
from kvtrace.verdicts.conflicts.sharers import sharers_of
from kvtrace.verdicts.replaying import Limit, run_with

_MOST_PROGRAMS: Final = 32
_MOST_STATES: Final = 1 << 13
_MOST_RUNS: Final = 1 << 9
"""Limit of runs of a program alone."""
_MOST_BYTES: Final = 1 << 20
"""Limit of the bytes of written storages, of which each run has a copy."""

History = tuple[bytes, ...]
Pair = tuple[int, int]


class _Unexplored(KvtraceError):
    """Ends a run, or a search that does not reach all orders."""

    slug = "unexplored"


class _Touch(NamedTuple):
    """The bytes of a storage that an op has accessed, ascending, in elements of one width."""

    role: Role
    storage: Storage
    bytes: NDArray[np.int64]
    width: int

    @property
    def place(self) -> tuple[Storage, int, int]:
        """The place of an update."""
        return self.storage, int(self.bytes[0]), self.width

    def shares(self, other: _Touch) -> bool:
        """Return whether both accessed a byte."""
        mine, others = self.bytes, other.bytes
        if self.storage is not other.storage or mine[-1] < others[0] or others[-1] < mine[0]:
            return False
        return bool(np.intersect1d(mine, others, assume_unique=True).size)


State = tuple[frozenset[tuple[tuple[Storage, int, int], bytes]], tuple[History, ...]]
"""The contents of changed places, and the histories of all programs."""


def races_in_all_orders(
    bound: BoundCall, open_pairs: Collection[Pair]
) -> Mapping[Pair, Schedule] | None:
    """Return a schedule for each of the pairs of ops that may race; None if orders are left out.

    Pairs are the ascending indices of ops. A run by the schedule shows whether atomics order the
    two, unless a program's updates are apart.
    """
    if bound.programs > _MOST_PROGRAMS or bound.call.others:
        return None
    search = _Search(bound, open_pairs)
    if not search.updating or sum(storage.nbytes for storage in search.written) > _MOST_BYTES:
        return None
    try:
        return search.races()
    except _Unexplored:
        return None


def _updating(bound: BoundCall, open_pairs: Collection[Pair]) -> frozenset[int]:
    """Return the atomics with results that are used, and others of the same storages.

    Empty if there are none, or if loads of what the launch writes decide what programs do, too.
    """
    module, sharers = bound.call.module, sharers_of(bound)
    uses, atomics = flow_of(module).uses, [s for s in sharers if s.role.kind == "atomic"]
    used = {s.storage for s in atomics if any(map(uses, s.role.op.results))}
    updating = {s.role.op for s in atomics if s.storage in used}
    numbers = feeding_values((value for op in updating for value in data_of(op)), module)
    ops = {op.index for op in updating}.union(*open_pairs, numbers)
    behind = numbers.union(*(loads_behind(module.ops[index], module) for index in ops))
    is_known = all(s.storage is not None for s in sharers)
    if not is_known or any(s.role.kind == "load" and s.role.op.index in behind for s in sharers):
        return frozenset()
    return frozenset(op.index for op in updating)


class _Alone(Observer):
    """A program that has run with a history; `pending` is the next update, for which it has none.

    `left` has what updates left in their places.
    """

    def __init__(self, search: _Search, program: int, history: History) -> None:
        call = search.call
        self._search = search
        self._history = history
        self.touches: list[_Touch] = []
        self.updates: list[_Touch] = []
        self.left: list[bytes] = []
        self.pending: _Touch | None = None
        self._place: NDArray[np.uint8] | None = None
        self._original: dict[Storage, Storage] = {}
        self._arguments = with_storages(call.arguments, self._copy)
        observers = (self, search.limit)
        failure = run_with(call, self._arguments, observers, (program,))
        self._finish_update()
        if failure is not None and self.pending is None:
            raise _Unexplored(failure)

    def _copy(self, storage: Storage) -> Storage:
        if storage not in self._search.written:
            return storage
        data = None if storage.data is None else np.array(storage.data)
        copy = Storage(storage.nbytes, data, storage.address)
        self._original[copy] = storage
        return copy

    def access(self, access: Access) -> None:
        """Record an access; before an update, give its place the number that it is to return."""
        tensor = None if access.argument is None else self._arguments[access.argument]
        is_read_only = isinstance(tensor, TensorArgument) and tensor.storage not in self._original
        if access.active == 0 or is_read_only:
            return
        elements = access.elements()
        if not isinstance(tensor, TensorArgument) or not access.certain or elements is None:
            raise _Unexplored(access.reason)
        starts, width = elements[0] + tensor.offset_bytes, access.element_bytes
        bytes_ = np.unique(starts[:, None] + np.arange(width))
        role = self._search.roles[access.op.index]
        touch = _Touch(role, self._original[tensor.storage], bytes_, width)
        if access.op.index not in self._search.updating:
            self.touches.append(touch)
            return
        self._finish_update()
        data = tensor.storage.data
        if len(starts) > 1 or not role.strong or data is None:
            raise _Unexplored("an atomic updates several places, or contents that are not known")
        if len(self.updates) == len(self._history):
            self.pending = touch
            raise _Unexplored("the history ends")
        self._place = data[bytes_[0] : bytes_[0] + width]
        self._place[:] = np.frombuffer(self._history[len(self.updates)], np.uint8)
        self.updates.append(touch)

    def _finish_update(self) -> None:
        if self._place is not None:
            self.left.append(self._place.tobytes())
            self._place = None


class _Search:
    """The search of all states of a call's programs."""

    def __init__(self, bound: BoundCall, open_pairs: Collection[Pair]) -> None:
        self.call = bound.call
        self.updating = _updating(bound, open_pairs)
        self.roles = roles_of(bound.call.module).by_op
        self.written = written_storages(bound.call.module, bound.call.arguments)
        self.limit = Limit(bound.budget.replay_lanes)
        self._open_pairs = open_pairs
        self._count = bound.programs
        self._alone: dict[tuple[int, History], _Alone] = {}
        self._compared: set[tuple[tuple[int, History], tuple[int, History]]] = set()
        self._races: dict[Pair, Schedule] = {}

    def races(self) -> Mapping[Pair, Schedule]:
        """Return a schedule for each pair of ops that may race."""
        start: State = frozenset(), ((),) * self._count
        programs_to: dict[State, tuple[int, ...]] = {start: ()}
        pending = [start]
        while pending:
            state = pending.pop()
            following = [self._following(*state, program) for program in range(self._count)]
            if not any(following):
                self._compare(state[1], programs_to[state])
            for program, later in enumerate(following):
                if later is not None and later not in programs_to:
                    programs_to[later] = *programs_to[state], program
                    pending.append(later)
            if len(programs_to) > _MOST_STATES:
                raise _Unexplored("there are too many orders")
        self._check_places()
        return self._races

    def _run(self, program: int, history: History) -> _Alone:
        """Return what a program does with a history."""
        key = program, history
        if key not in self._alone:
            if len(self._alone) == _MOST_RUNS:
                raise _Unexplored("there are too many orders")
            self._alone[key] = _Alone(self, program, history)
        return self._alone[key]

    def _following(
        self, memory: Collection[tuple[tuple[Storage, int, int], bytes]],
        histories: tuple[History, ...], program: int,
    ) -> State | None:  # fmt: skip
        """Return the state after a program's next update; None if the program has ended."""
        history = histories[program]
        pending = self._run(program, history).pending
        if pending is None:
            return None
        data, changed = pending.storage.data, dict(memory)
        assert data is not None
        history = *history, changed.get(pending.place, data[pending.bytes].tobytes())
        changed[pending.place] = self._run(program, history).left[-1]
        later = (*histories[:program], history, *histories[program + 1 :])
        return frozenset(changed.items()), later

    def _compare(self, histories: tuple[History, ...], steps: tuple[int, ...]) -> None:
        """Add the pairs of ops by which programs touch a byte in a last state.

        Two programs with the same histories touch the same in all of the states that have both.
        """
        for left, right in combinations(enumerate(histories), 2):
            if (left, right) in self._compared:
                continue
            self._compared.add((left, right))
            one, other = self._run(*left), self._run(*right)
            for mine in (*one.touches, *one.updates):
                for others in (*other.touches, *other.updates):
                    low, high = sorted((mine.role.op.index, others.role.op.index))
                    if (low, high) not in self._open_pairs or (low, high) in self._races:
                        continue
                    one_width = mine.width == others.width
                    if mine.role.clashes(others.role, one_width=one_width) and mine.shares(others):
                        order = dict.fromkeys((*steps, *range(self._count)))
                        self._races[low, high] = Schedule(np.array([*order], np.int64))

    def _check_places(self) -> None:
        """Raise _Unexplored if not only updates change places, or these have no one order."""
        runs, roles = self._alone.values(), [self.roles[index] for index in self.updating]
        places = {update.place: update for run in runs for update in run.updates}.values()
        changes = [touch for run in runs for touch in run.touches if touch.role.writes]
        is_changed = any(place.shares(change) for place in places for change in changes)
        is_one_order = all(len({update.place for update in run.updates}) < 2 for run in runs)
        if not is_one_order:
            is_one_order = all(
                role.acquires
                and role.releases
                and role.changes
                and not is_compare_and_swap(role.op)
                for role in roles
            )
        if is_changed or any(a.shares(b) for a, b in combinations(places, 2)) or not is_one_order:
            raise _Unexplored("something else changes what atomics update")
