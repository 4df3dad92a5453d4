"""Deciding by an evaluation whether two ops touch a byte in common in any program.

What formulas leave open, such as where indices lead, the recorded contents may decide. Of one op
the trips are compared. A program whose lanes do meet is run in two orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.order import memory_sites, written_storages
from kvtrace.ir import Op
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.conflicts.messages import RACE_WITHIN, proven, race_within
from kvtrace.verdicts.conflicts.outcomes import UndecidedPairs, ascending
from kvtrace.verdicts.feeding import loads_behind
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.conflicts.lane_pairs import LanePairs

_MOST_ELEMENTS: Final = 1 << 24
#: Ops that an op meets, tried until a race with one shows.
_MOST_SHOWN: Final = 4


@dataclass(frozen=True)
class _Trip:
    """The first bytes of what one trip's lanes touch, from the start of the storage."""

    storage: Storage
    starts: NDArray[np.int64]
    programs: NDArray[np.int64]
    width: int


class EvaluatedLanes(Concrete):
    """Proves ops of which no program touches a byte twice, and shows races where one does."""

    rules: ClassVar[frozenset[str]] = frozenset({RACE_WITHIN})

    def __init__(
        self, bound: BoundCall, ops: Mapping[int, Op], undecided: UndecidedPairs, pairs: LanePairs
    ) -> None:
        """`ops` are to be decided, by index; `pairs` runs a program where two ops meet."""
        self._bound = bound
        self._ops = ops
        self._undecided = undecided
        self._pairs = pairs
        self._touched: dict[int, list[_Trip]] = defaultdict(list)
        self._elements = 0
        self._indices = frozenset(ops).union(*map(undecided.others, ops))
        self._lost = {index for index in self._indices if self._is_of_stores(index)}

    def _is_of_stores(self, index: int) -> bool:
        """Whether what the launch itself writes may decide where an op goes."""
        module, arguments = self._bound.call.module, self._bound.call.arguments
        behind, written = (
            loads_behind(module.ops[index], module),
            written_storages(module, arguments),
        )
        return any(
            isinstance(argument, TensorArgument)
            and argument.storage in written
            and site.op.index in behind
            and site.reaches(position)
            for site in memory_sites(module)
            for position, argument in enumerate(arguments)
        )

    def access(self, access: Access) -> None:
        """Note which bytes each program touches, trip by trip."""
        index = access.op.index
        if index not in self._indices or access.active == 0 or index in self._lost:
            return
        for trip in (access,) if access.each_trip is None else access.each_trip():
            self._note(trip)

    def _note(self, access: Access) -> None:
        index = access.op.index
        call = self._bound.call
        argument = None if access.argument is None else call.arguments[access.argument]
        self._elements += access.lanes if access.active is None else access.active
        found = access.elements() if self._elements <= _MOST_ELEMENTS else None
        if found is None or not isinstance(argument, TensorArgument):
            if access.active != 0:
                self._lost.add(index)
            return
        offsets, programs = found
        starts = offsets + argument.offset_bytes
        self._touched[index].append(_Trip(argument.storage, starts, programs, access.element_bytes))

    def verdicts(self, failure: str | None) -> list[Verdict]:
        """Return a proof of each op that no other meets in its program, and the races shown."""
        if failure is not None:
            return []
        found = []
        for index, op in self._ops.items():
            others = self._undecided.others(index)
            if not self._lost.isdisjoint((index, *others)):
                continue
            meetings = {other: self._meeting(index, other) for other in others}
            met = [(other, *place) for other, place in meetings.items() if place is not None]
            if not met:
                why = self._undecided.why[index]
                found.append(proven(RACE_WITHIN, self._bound, op, "evaluated", why))
                continue
            shown = (self._shown(op, *each) for each in met[:_MOST_SHOWN])
            found += [each for each in shown if each is not None][:1]
        return found

    def _shown(self, op: Op, other: int, program: int, byte: int) -> Verdict | None:
        """Return the race of two ops in a program, at a byte of their storage; None: none shows."""
        pair = self._undecided.pairs[ascending(op.index, other)]
        shown = self._pairs.shown_at(*pair, program, byte)
        return None if shown is None else race_within(self._bound.call, op, shown)

    def _meeting(self, one: int, other: int) -> tuple[int, int] | None:
        """Return a program that touches a byte by both, or in two trips of one, and the byte.

        The byte counts from the start of the storage.
        """
        mine, others = self._touched[one], self._touched[other]
        if one == other:
            return _in_two_trips(mine)
        storages = {each.storage for each in mine} & {each.storage for each in others}
        for storage in storages:
            sides = [[t for t in side if t.storage is storage] for side in (mine, others)]
            cell = _cell([*sides[0], *sides[1]])
            first, second = (
                np.concatenate([_cells(each, cell) for each in side]) for side in sides
            )
            common = np.intersect1d(first, second)
            if len(common):
                return _place(int(common[0]), storage, cell)
        return None


def _in_two_trips(touched: list[_Trip]) -> tuple[int, int] | None:
    """Return a program that touches a byte in two trips, and the byte; None: there is none."""
    for storage in {each.storage for each in touched}:
        trips = [each for each in touched if each.storage is storage]
        cell = _cell(trips)
        sets = [np.unique(_cells(each, cell)) for each in trips]
        cells, counts = np.unique(np.concatenate(sets), return_counts=True)
        if (counts > 1).any():
            return _place(int(cells[counts.argmax()]), storage, cell)
    return None


def _cell(touched: list[_Trip]) -> int:
    """Return a width in bytes of which all that is touched is made."""
    starts = (int(np.gcd.reduce(each.starts, initial=0)) for each in touched)
    return gcd(*(each.width for each in touched), *starts)


def _cells(touched: _Trip, cell: int) -> NDArray[np.int64]:
    """Return the cells of each program as numbers that no other program has."""
    steps = np.arange(touched.width // cell)
    room = _room(touched.storage, cell)
    cells = touched.starts[:, None] // cell + steps + touched.programs[:, None] * room
    return np.asarray(cells.reshape(-1))


def _room(storage: Storage, cell: int) -> int:
    return storage.nbytes // cell + (1 << 20)


def _place(number: int, storage: Storage, cell: int) -> tuple[int, int]:
    """Return the program and the byte of a cell, by its number from `_cells`."""
    program, place = divmod(number, _room(storage, cell))
    return program, place * cell
