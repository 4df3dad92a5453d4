"""The rule `race-within-program`: lanes of one program access the same byte in no fixed order.

Each op that writes is judged against all accesses of other lanes of its program, by other ops or in
other trips of its loop. Lanes of one execution of one op are judged by the rule `lane-conflict`.

Formulas come first (`lane_pairs.py`). Recorded contents may decide pairs that formulas leave open,
such as accesses through loaded indices: the evaluation finds out whether two ops (or two trips of
one op) touch a byte in common in any program. A program whose lanes do is replayed in two orders.
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
from kvtrace.verdicts.conflicts.outcomes import NoConflict, ShownConflict, Undecided
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
#: Ops that meet an op, replayed at most until one race shows.
_MOST_SHOWN: Final = 4

_OF_STORES: Final = "its address may depend on values that the launch itself writes"
_NOT_SHOWN: Final = "lanes access the same byte, but no replay showed a race"


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one verdict for each op that stores, or that updates what others load or store."""
    return judged(bound, LanePairs)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by the bytes that each program touches."""
    return evaluation(bound, LanePairs, undecided, EvaluatedLanes)


# -- by an evaluation of the grid ------------------------------------------------------------------


@dataclass(frozen=True)
class _TripBytes:
    """The first bytes of the elements that lanes touch in a trip, from the storage's start."""

    storage: Storage
    starts: NDArray[np.int64]
    programs: NDArray[np.int64]
    width: int


class EvaluatedLanes(EvaluatedPairs[LanePairs]):
    """An observer that proves ops if no program touches a byte twice, and replays others."""

    rules: ClassVar[frozenset[str]] = frozenset({RACE_WITHIN})

    def __init__(
        self, bound: BoundCall, pairs: LanePairs, undecided: UndecidedPairs, ops: Sequence[Op]
    ) -> None:
        """Prepare to collect bytes; `pairs` replays a program in which two ops meet."""
        super().__init__(bound, pairs, undecided, ops)
        self._touched: dict[int, list[_TripBytes]] = defaultdict(list)
        self._elements = 0
        indices = [op.index for op in ops]
        self._indices = frozenset(indices).union(*map(undecided.others, indices))
        self._undecidable = {
            index: _OF_STORES for index in self._indices if self._may_depend_on_stores(index)
        }

    def _may_depend_on_stores(self, index: int) -> bool:
        """Return whether values that the launch itself writes may decide an op's address."""
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
        """Note the bytes that each program touches, trip by trip."""
        index = access.op.index
        if index not in self._indices or access.active == 0 or index in self._undecidable:
            return
        for trip in (access,) if access.each_trip is None else access.each_trip():
            self._note(trip)

    def _note(self, access: Access) -> None:
        index = access.op.index
        argument = None if access.argument is None else self._call.arguments[access.argument]
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > _MOST_ELEMENTS:
            self._undecidable[index] = f"it touches more than {_MOST_ELEMENTS:,} elements"
            return
        elements = access.elements()
        if elements is None or not isinstance(argument, TensorArgument):
            self._undecidable[index] = access.reason or "its address could not be derived"
            return
        offsets, programs = elements
        starts = offsets + argument.offset_bytes
        self._touched[index].append(
            _TripBytes(argument.storage, starts, programs, access.element_bytes)
        )

    def outcomes(self, op: Op) -> Iterator[NoConflict | ShownConflict | Undecided]:
        """Yield, for each op that an op may race with, whether they race in any program."""
        others = self._undecided.others(op.index)
        for index in (op.index, *others):
            if index in self._undecidable:
                yield Undecided(self._undecidable[index])
                return
        runs = 0
        for other in others:
            program_and_byte = self._common_byte(op.index, other)
            if program_and_byte is None:
                yield NoConflict("evaluated")
                continue
            runs += 1
            pair = self._undecided.pairs[ascending(op.index, other)]
            shown = self._pairs.shown_at(*pair, *program_and_byte) if runs <= _MOST_SHOWN else None
            yield shown or Undecided(_NOT_SHOWN)

    def _common_byte(self, one: int, other: int) -> tuple[int, int] | None:
        """Return a program and a byte that both ops touch, or one op in two trips; else None.

        The byte counts from the start of the storage.
        """
        touched, others = self._touched[one], self._touched[other]
        if one == other:
            return _in_two_trips(touched)
        storages = {trip.storage for trip in touched} & {trip.storage for trip in others}
        for storage in storages:
            sides = [
                [trip for trip in side if trip.storage is storage] for side in (touched, others)
            ]
            cell = _cell([*sides[0], *sides[1]])
            first, second = (
                np.concatenate([_cells(trip, cell) for trip in side]) for side in sides
            )
            common = np.intersect1d(first, second)
            if len(common):
                return _program_and_byte(int(common[0]), storage, cell)
        return None


def _in_two_trips(touched: list[_TripBytes]) -> tuple[int, int] | None:
    """Return a program and a byte that it touches in two trips, else None."""
    for storage in {trip.storage for trip in touched}:
        trips = [trip for trip in touched if trip.storage is storage]
        cell = _cell(trips)
        sets = [np.unique(_cells(trip, cell)) for trip in trips]
        cells, counts = np.unique(np.concatenate(sets), return_counts=True)
        if (counts > 1).any():
            return _program_and_byte(int(cells[counts.argmax()]), storage, cell)
    return None


def _cell(touched: list[_TripBytes]) -> int:
    """Return the largest width in bytes that divides all touched elements and their starts."""
    starts = (int(np.gcd.reduce(trip.starts, initial=0)) for trip in touched)
    return gcd(*(trip.width for trip in touched), *starts)


def _cells(touched: _TripBytes, cell: int) -> NDArray[np.int64]:
    """Return the cells that each program touches, as numbers unique to the program."""
    steps = np.arange(touched.width // cell)
    room = _cells_per_program(touched.storage, cell)
    cells = touched.starts[:, None] // cell + steps + touched.programs[:, None] * room
    return np.asarray(cells.reshape(-1))


def _cells_per_program(storage: Storage, cell: int) -> int:
    return storage.nbytes // cell + (1 << 20)


def _program_and_byte(number: int, storage: Storage, cell: int) -> tuple[int, int]:
    """Return the program and the byte of a cell, by the cell's number from `_cells`."""
    program, position = divmod(number, _cells_per_program(storage, cell))
    return program, position * cell
