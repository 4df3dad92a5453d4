"""Who touches what, byte by byte over a whole grid: where two programs meet.

Of each byte only the smallest and the largest program that touched it with each op are kept: two
ops meet there in different programs unless all four are the same one. That is exact, without sets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate import Access, Argument, Observer, Storage, TensorArgument
from kvtrace.evaluate.order import written_storages
from kvtrace.ir import Module, Op
from kvtrace.verdicts.races.orders import Order
from kvtrace.verdicts.races.parts import Part, parts_of

MOST_ELEMENTS = 1 << 26
"""Elements that a sweep looks at, over all accesses to storages that are written."""

MOST_CELLS = 1 << 26
"""Cells of memory that a sweep keeps, over all ops and storages: 8 bytes each."""


@dataclass(frozen=True)
class Meeting:
    """Two programs that touch one byte of a storage, at least one of them writing.

    `byte` counts from the storage's start, `bytes` how many of them the two ops share so.
    `certain` False: whether one of them gets there hangs on data that was not recorded.
    """

    first: Op
    second: Op
    storage: Storage
    byte: int
    bytes: int
    programs: tuple[int, int]
    certain: bool
    places: NDArray[np.int64] = field(compare=False, repr=False)
    cell: int = field(compare=False, repr=False)

    def all_bytes(self) -> NDArray[np.int64]:
        """Give all bytes of the storage where the two ops meet, ascending."""
        return np.asarray(self.places[:, None] * self.cell + np.arange(self.cell)).reshape(-1)


@dataclass
class _Touched:
    """What one op touched: the smallest and largest program by cell, and its elements' width."""

    part: Part
    certain: bool
    width: int
    smallest: NDArray[np.int32]
    largest: NDArray[np.int32]


@dataclass
class _Cells:
    """The cells of a storage, each of `cell` bytes: all accesses are made of whole cells."""

    storage: Storage
    cell: int
    touched: dict[tuple[int, bool, int], _Touched] = field(default_factory=dict)

    def count(self) -> int:
        """How many cells there are."""
        return -(-self.storage.nbytes // self.cell)

    def refine(self, cell: int) -> None:
        """Cut cells into smaller ones."""
        factor, self.cell = self.cell // cell, cell
        for each in self.touched.values():
            each.smallest = np.repeat(each.smallest, factor)[: self.count()]
            each.largest = np.repeat(each.largest, factor)[: self.count()]


class Sweep(Observer):
    """Collects who touches the storages that a launch writes to.

    `order` gives the ids of programs by their turn, where observers are told of turns.
    `lost` gives, by op index and argument (None: any), why it is not known where an op goes;
    `doubt` why it is not known whether all that was noted happens; `failure` why it gave up.
    """

    def __init__(
        self, module: Module, arguments: Sequence[Argument], order: Order | None = None
    ) -> None:
        self._arguments = arguments
        self._order = order
        self._parts = parts_of(module).by_op
        written = written_storages(module, arguments, {})
        self._cells: dict[Storage, _Cells | None] = dict.fromkeys(written)
        self._elements = 0
        self.lost: dict[tuple[int, int | None], str] = {}
        self.doubt: str | None = None
        self.failure: str | None = None

    def access(self, access: Access) -> None:
        """Note who touches what."""
        if access.active == 0 or self.failure is not None:
            return
        argument = None if access.argument is None else self._arguments[access.argument]
        if isinstance(argument, TensorArgument) and argument.storage not in self._cells:
            return
        if access.lowest is None or not isinstance(argument, TensorArgument):
            reason = access.reason or "its address could not be derived"
            self.lost.setdefault((access.op.index, access.argument), reason)
            return
        self._elements += access.lanes if access.active is None else access.active
        if self._elements > MOST_ELEMENTS:
            self.failure = f"it touches more than {MOST_ELEMENTS:,} elements that may be shared"
            return
        found = access.elements()
        assert found is not None
        if not access.certain:
            self.doubt = self.doubt or access.reason
        offsets, programs = found
        if self._order is not None:
            programs = self._order[programs]
        self._touch(access, argument.storage, offsets + argument.offset_bytes, programs)

    def _touch(
        self,
        access: Access,
        storage: Storage,
        starts: NDArray[np.int64],
        programs: NDArray[np.int64],
    ) -> None:
        width = access.element_bytes
        inside = (starts >= 0) & (starts + width <= storage.nbytes)
        if not inside.all():
            starts, programs = starts[inside], programs[inside]
        if not len(starts):
            return
        if (programs[1:] < programs[:-1]).any():
            order = np.argsort(programs, kind="stable")
            starts, programs = starts[order], programs[order]
        cells = self._cells_for(storage, starts, width)
        touched = self._touched(cells, access)
        if touched is None:
            self.failure = f"it shares more than {MOST_CELLS:,} places in memory"
            return
        first, who = starts // cells.cell, programs.astype(np.int32)
        for step in range(width // cells.cell):
            index = first + step
            # Programs ascend, so of several that share a cell the last assignment is the largest
            # one's, and, backwards, the smallest one's.
            touched.largest[index] = np.maximum(touched.largest[index], who)
            touched.smallest[index[::-1]] = np.minimum(touched.smallest[index], who)[::-1]

    def _cells_for(self, storage: Storage, starts: NDArray[np.int64], width: int) -> _Cells:
        cells = self._cells[storage]
        cell = width if cells is None else math.gcd(cells.cell, width)
        if (starts % cell).any():
            cell = math.gcd(cell, int(np.gcd.reduce(starts)))
        if cells is None:
            cells = self._cells[storage] = _Cells(storage, cell)
        elif cell != cells.cell:
            cells.refine(cell)
        return cells

    def _touched(self, cells: _Cells, access: Access) -> _Touched | None:
        key = (access.op.index, access.certain, access.element_bytes)
        found = cells.touched.get(key)
        if found is None:
            kept = sum(len(c.touched) * c.count() for c in self._cells.values() if c is not None)
            if kept + cells.count() > MOST_CELLS:
                return None
            found = cells.touched[key] = _Touched(
                self._parts[access.op.index],
                access.certain,
                access.element_bytes,
                np.full(cells.count(), np.iinfo(np.int32).max, np.int32),
                np.full(cells.count(), -1, np.int32),
            )
        return found

    def meetings(self) -> Iterator[Meeting]:
        """Give one meeting for each two ops (or one) that clash somewhere, writers first."""
        for cells in self._cells.values():
            if cells is None:
                continue
            for one, other in itertools.combinations_with_replacement(cells.touched.values(), 2):
                if one.part.clashes(other.part, one_width=one.width == other.width):
                    yield from _meeting(cells, one, other)


def _meeting(cells: _Cells, one: _Touched, other: _Touched) -> Iterator[Meeting]:
    if not one.part.writes:
        one, other = other, one
    both = (one.largest >= 0) & (other.largest >= 0)
    lowest = np.minimum(one.smallest, other.smallest)
    highest = np.maximum(one.largest, other.largest)
    shared = both & (lowest != highest)
    places = np.flatnonzero(shared)
    if not len(places):
        return
    place = int(places[0])
    ends = [(t.smallest[place], t.largest[place]) for t in (one, other)]
    yield Meeting(
        one.part.op,
        other.part.op,
        cells.storage,
        byte=place * cells.cell,
        bytes=len(places) * cells.cell,
        programs=next((int(p), int(q)) for p, q in itertools.product(*ends) if p != q),
        certain=one.certain and other.certain,
        places=places,
        cell=cells.cell,
    )
