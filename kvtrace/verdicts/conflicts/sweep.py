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
from kvtrace.verdicts.conflicts.orders import Order
from kvtrace.verdicts.conflicts.parts import Part, parts_of

MOST_ELEMENTS = 1 << 26
"""Elements that a sweep looks at, over all accesses to storages that are written."""

MOST_CELLS = 1 << 26
"""Cells of memory that a sweep keeps, over all ops and storages: 8 bytes each."""

PAGE = 1 << 10
"""Cells are kept in pages of so many: those that something touches, and no others."""


@dataclass(frozen=True)
class SharedBytes:
    """Two programs that touch one byte of a storage, at least one of them writing.

    `byte` counts from the storage's start, `bytes` how many of them the two ops share so.
    `certain` False: whether one of them gets there depends on data that was not recorded.
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
        """Return all bytes of the storage where the two ops meet, ascending."""
        return np.asarray(self.places[:, None] * self.cell + np.arange(self.cell)).reshape(-1)


@dataclass
class _Touched:
    """What one op touched: the smallest and largest program by kept cell; its elements' width."""

    part: Part
    certain: bool
    width: int
    smallest: NDArray[np.int32]
    largest: NDArray[np.int32]

    def grow(self, count: int) -> None:
        """Make room for so many cells, and as many again as there were: that is seldom needed."""
        if count > len(self.smallest):
            more = max(count - len(self.smallest), len(self.smallest))
            none = np.iinfo(np.int32).max
            self.smallest = np.append(self.smallest, np.full(more, none, np.int32))
            self.largest = np.append(self.largest, np.full(more, -1, np.int32))


@dataclass
class _Cells:
    """The touched cells of a storage, each of `cell` bytes: all accesses are made of whole cells.

    `pages` are the numbers of the pages kept, in their order; `kept` has the position of each page
    of the storage among them, -1 where nothing touched it.
    """

    storage: Storage
    cell: int
    page: int
    touched: dict[tuple[int, bool, int], _Touched] = field(default_factory=dict)
    pages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    kept: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        self.kept = np.full(self._pages(), -1, np.int32)

    def _pages(self) -> int:
        return -(-self.storage.nbytes // (self.cell * self.page))

    def count(self) -> int:
        """How many cells are kept."""
        return len(self.pages) * self.page

    def places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where cells of the storage are kept; their pages are, from now on."""
        pages = cells // self.page
        at = self.kept[pages]
        if (at < 0).any():
            new = np.unique(pages[at < 0])
            self.kept[new] = np.arange(len(self.pages), len(self.pages) + len(new))
            self.pages = np.append(self.pages, new)
            at = self.kept[pages]
        return np.asarray(cells + (at - pages) * self.page)

    def cells_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells of the storage that are kept at places."""
        pages, within = np.divmod(places, self.page)
        return np.asarray(self.pages[pages] * self.page + within)

    def refine(self, cell: int) -> None:
        """Cut cells into smaller ones, and so each page into several."""
        factor, before, self.cell = self.cell // cell, self.count(), cell
        self.pages = (self.pages[:, None] * factor + np.arange(factor)).reshape(-1)
        within = self.pages < self._pages()  # the last page may have been cut into too many
        for each in self.touched.values():
            each.grow(before)
            each.smallest = self._cut(each.smallest[:before], factor, within)
            each.largest = self._cut(each.largest[:before], factor, within)
        self.pages = self.pages[within]
        self.kept = np.full(self._pages(), -1, np.int32)
        self.kept[self.pages] = np.arange(len(self.pages))

    def _cut(
        self, programs: NDArray[np.int32], factor: int, within: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        cut = np.repeat(programs, factor).reshape(-1, self.page)
        return np.asarray(cut[within].reshape(-1))


class Sweep(Observer):
    """Collects who touches the storages that a launch writes to.

    `order` gives the ids of programs by their turn, where observers receive turns; `page` is
    how many cells are kept together.
    `lost` gives, by op index and argument (None: any), why it is not known where an op goes;
    `doubt` why it is not known whether all that was noted happens; `failure` why it gave up.
    """

    def __init__(
        self,
        module: Module,
        arguments: Sequence[Argument],
        order: Order | None = None,
        page: int = PAGE,
    ) -> None:
        self._arguments = arguments
        self._page = page
        self._order = order
        self._parts = parts_of(module).by_op
        written = written_storages(module, arguments)
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
        first, who = starts // cells.cell, programs.astype(np.int32)
        for step in range(width // cells.cell):
            index = cells.places(first + step)
            if self._kept() > MOST_CELLS:
                self.failure = f"it shares more than {MOST_CELLS:,} places in memory"
                return
            touched.grow(cells.count())
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
            cells = self._cells[storage] = _Cells(storage, cell, self._page)
        elif cell != cells.cell:
            cells.refine(cell)
        return cells

    def _touched(self, cells: _Cells, access: Access) -> _Touched:
        key = (access.op.index, access.certain, access.element_bytes)
        found = cells.touched.get(key)
        if found is None:
            found = cells.touched[key] = _Touched(
                self._parts[access.op.index],
                access.certain,
                access.element_bytes,
                np.zeros(0, np.int32),
                np.zeros(0, np.int32),
            )
        return found

    def _kept(self) -> int:
        """How many cells are kept, over all ops and storages."""
        return sum(len(c.touched) * c.count() for c in self._cells.values() if c is not None)

    def meetings(self) -> Iterator[SharedBytes]:
        """Return one meeting for each two ops (or one) that clash somewhere, writers first."""
        for cells in self._cells.values():
            if cells is None:
                continue
            for one, other in itertools.combinations_with_replacement(cells.touched.values(), 2):
                if one.part.clashes(other.part, one_width=one.width == other.width):
                    yield from _meeting(cells, one, other)


def _meeting(cells: _Cells, one: _Touched, other: _Touched) -> Iterator[SharedBytes]:
    if not one.part.writes:
        one, other = other, one
    count = min(len(one.largest), len(other.largest), cells.count())
    one_largest, other_largest = one.largest[:count], other.largest[:count]
    both = (one_largest >= 0) & (other_largest >= 0)
    lowest = np.minimum(one.smallest[:count], other.smallest[:count])
    highest = np.maximum(one_largest, other_largest)
    shared = both & (lowest != highest)
    kept = np.flatnonzero(shared)
    if not len(kept):
        return
    places = cells.cells_at(kept)
    order = np.argsort(places)
    places, first = places[order], kept[order[0]]
    ends = [(t.smallest[first], t.largest[first]) for t in (one, other)]
    yield SharedBytes(
        one.part.op,
        other.part.op,
        cells.storage,
        byte=int(places[0]) * cells.cell,
        bytes=len(places) * cells.cell,
        programs=next((int(p), int(q)) for p, q in itertools.product(*ends) if p != q),
        certain=one.certain and other.certain,
        places=places,
        cell=cells.cell,
    )
