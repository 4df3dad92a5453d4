"""The rule `race-within-program`: lanes of one program touch a byte in no order that holds.

Each op that writes is judged against all that other lanes of its program do, at other ops or in
other trips of its loop. What lanes of one execution of one op do is the rule `lane-conflict`.

Formulas come first (`lane_pairs.py`). What they leave open, such as where indices lead, the
recorded contents may decide: whether two ops touch a byte in common in any program, of one op two
of its trips. A program whose lanes do meet is run in two orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
from kvtrace.verdicts.conflicts.lane_pairs import LanePairs
from kvtrace.verdicts.conflicts.messages import RACE_WITHIN
from kvtrace.verdicts.conflicts.outcomes import Free, Open, Shown
from kvtrace.verdicts.conflicts.pairs import (
    EvaluatedPairs,
    UndecidedPairs,
    ascending,
    evaluation,
    judged,
)
from kvtrace.verdicts.feeding import loads_behind
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

_MOST_ELEMENTS: Final = 1 << 24
#: Ops that an op meets, tried until a race with one shows.
_MOST_SHOWN: Final = 4

_OF_STORES: Final = "where it goes may depend on what the launch itself writes"
_NOT_SHOWN: Final = "lanes of one program meet, and no run showed a race"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that stores, or updates what is loaded or stored, too."""
    return judged(bound, LanePairs)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by what each program touches."""
    return evaluation(bound, LanePairs, undecided, EvaluatedLanes)


# -- by an evaluation of the grid ------------------------------------------------------------------


@dataclass(frozen=True)
class _Trip:
    """The first bytes of what one trip's lanes touch, from the start of the storage."""

    storage: Storage
    starts: NDArray[np.int64]
    programs: NDArray[np.int64]
    width: int


class EvaluatedLanes(EvaluatedPairs[LanePairs]):
    """Proves ops of which no program touches a byte twice, and shows races where one does."""

    rules: ClassVar[frozenset[str]] = frozenset({RACE_WITHIN})

    def __init__(
        self, bound: BoundCall, pairs: LanePairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """`pairs` runs a program where two ops meet."""
        super().__init__(bound, pairs, undecided, ops)
        self._touched: dict[int, list[_Trip]] = defaultdict(list)
        self._elements = 0
        indices = [op.index for op in ops]
        self._indices = frozenset(indices).union(*map(undecided.others, indices))
        self._lost = {index: _OF_STORES for index in self._indices if self._is_of_stores(index)}

    def _is_of_stores(self, index: int) -> bool:
        """Whether what the launch itself writes may decide where an op goes."""
        module, arguments = self._call.module, self._call.arguments
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
        argument = None if access.argument is None else self._call.arguments[access.argument]
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > _MOST_ELEMENTS:
            self._lost[index] = f"it touches more than {_MOST_ELEMENTS:,} elements"
            return
        found = access.elements()
        if found is None or not isinstance(argument, TensorArgument):
            self._lost[index] = access.reason or "its address could not be derived"
            return
        offsets, programs = found
        starts = offsets + argument.offset_bytes
        self._touched[index].append(_Trip(argument.storage, starts, programs, access.element_bytes))

    def outcomes(self, op: Op) -> Iterator[Free | Shown | Open]:
        """Return, for each op that an op may race with, whether it does in any program."""
        others = self._undecided.others(op.index)
        for index in (op.index, *others):
            if index in self._lost:
                yield Open(self._lost[index])
                return
        runs = 0
        for other in others:
            place = self._meeting(op.index, other)
            if place is None:
                yield Free("evaluated")
                continue
            runs += 1
            pair = self._undecided.pairs[ascending(op.index, other)]
            shown = self._pairs.shown_at(*pair, *place) if runs <= _MOST_SHOWN else None
            yield shown or Open(_NOT_SHOWN)

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
