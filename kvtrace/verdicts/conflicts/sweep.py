"""Bytes that two programs touch, found by one sweep over the accesses of a whole grid.

Of each byte and op only the smallest and the largest program that touched the byte are kept: two
ops meet there in different programs unless all four programs are the same. That is exact, without
sets. Example: op A touches a byte in programs 2 to 5, op B in program 5: smallest 2 and largest 5
differ, so A in program 2 and B in program 5 meet.
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
"""Elements that a sweep reads at most, over all accesses to written storages."""

MOST_CELLS = 1 << 26
"""Cells that a sweep keeps at most, over all ops and storages: 8 bytes each."""

PAGE = 1 << 10
"""Cells in a page; only pages that an access touches are kept."""


@dataclass(frozen=True)
class SharedBytes:
    """Two programs that touch the same byte of a storage, at least one of them writing.

    `byte` counts from the storage's start; `bytes` is the number of bytes that the two ops share.
    `certain` False: it depends on unrecorded data whether one of the accesses happens.
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
        """Return all bytes of the storage that the two ops share, ascending."""
        return np.asarray(self.places[:, None] * self.cell + np.arange(self.cell)).reshape(-1)


@dataclass
class _Touched:
    """The smallest and largest program by kept cell of one op, and the width of its elements."""

    part: Part
    certain: bool
    width: int
    smallest: NDArray[np.int32]
    largest: NDArray[np.int32]

    def grow(self, count: int) -> None:
        """Make room for `count` cells, and at least double the room: growing is seldom needed."""
        if count > len(self.smallest):
            more = max(count - len(self.smallest), len(self.smallest))
            none = np.iinfo(np.int32).max
            self.smallest = np.append(self.smallest, np.full(more, none, np.int32))
            self.largest = np.append(self.largest, np.full(more, -1, np.int32))


@dataclass
class _Cells:
    """The touched cells of a storage, each of `cell` bytes: all accesses consist of whole cells.

    `pages` are the numbers of the kept pages, in the order of their positions; `positions` has the
    position of each page of the storage, -1 if nothing touched the page.
    """

    storage: Storage
    cell: int
    page: int
    touched: dict[tuple[int, bool, int], _Touched] = field(default_factory=dict)
    pages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    positions: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        self.positions = np.full(self._pages(), -1, np.int32)

    def _pages(self) -> int:
        return -(-self.storage.nbytes // (self.cell * self.page))

    def count(self) -> int:
        """Return the number of kept cells."""
        return len(self.pages) * self.page

    def places(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of cells of the storage; pages that are not yet kept are added."""
        pages = cells // self.page
        positions = self.positions[pages]
        if (positions < 0).any():
            new = np.unique(pages[positions < 0])
            self.positions[new] = np.arange(len(self.pages), len(self.pages) + len(new))
            self.pages = np.append(self.pages, new)
            positions = self.positions[pages]
        return np.asarray(cells + (positions - pages) * self.page)

    def cells_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells of the storage that are kept at positions."""
        pages, within = np.divmod(positions, self.page)
        return np.asarray(self.pages[pages] * self.page + within)

    def refine(self, cell: int) -> None:
        """Divide cells into smaller cells, and so each page into several pages."""
        factor, before, self.cell = self.cell // cell, self.count(), cell
        self.pages = (self.pages[:, None] * factor + np.arange(factor)).reshape(-1)
        within = self.pages < self._pages()  # the last page may have been cut into too many
        for touched in self.touched.values():
            touched.grow(before)
            touched.smallest = self._cut(touched.smallest[:before], factor, within)
            touched.largest = self._cut(touched.largest[:before], factor, within)
        self.pages = self.pages[within]
        self.positions = np.full(self._pages(), -1, np.int32)
        self.positions[self.pages] = np.arange(len(self.pages))

    def _cut(
        self, programs: NDArray[np.int32], factor: int, within: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        cut = np.repeat(programs, factor).reshape(-1, self.page)
        return np.asarray(cut[within].reshape(-1))


class Sweep(Observer):
    """An observer that collects the programs that touch each byte of the written storages.

    `order` has the ids of programs by their turn, if observers receive turns; `page` is the number
    of cells kept together. `lost` has, by op index and argument (None: any), the reason why an
    address is not known; `doubt` the reason why not all noted accesses may happen; `failure` the
    reason for giving up.
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
        """Note the bytes that an access touches."""
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
        elements = access.elements()
        assert elements is not None
        if not access.certain:
            self.doubt = self.doubt or access.reason
        offsets, programs = elements
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
        first, program_ids = starts // cells.cell, programs.astype(np.int32)
        for step in range(width // cells.cell):
            index = cells.places(first + step)
            if self._kept_cells() > MOST_CELLS:
                self.failure = f"it shares more than {MOST_CELLS:,} places in memory"
                return
            touched.grow(cells.count())
            # Programs ascend, so of several that share a cell the last assignment is the largest
            # one's, and, backwards, the smallest one's.
            touched.largest[index] = np.maximum(touched.largest[index], program_ids)
            touched.smallest[index[::-1]] = np.minimum(touched.smallest[index], program_ids)[::-1]

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
        touched = cells.touched.get(key)
        if touched is None:
            touched = cells.touched[key] = _Touched(
                self._parts[access.op.index],
                access.certain,
                access.element_bytes,
                np.zeros(0, np.int32),
                np.zeros(0, np.int32),
            )
        return touched

    def _kept_cells(self) -> int:
        """Return the number of kept cells, over all ops and storages."""
        return sum(len(c.touched) * c.count() for c in self._cells.values() if c is not None)

    def meetings(self) -> Iterator[SharedBytes]:
        """Yield one meeting for each pair of ops (or one op) that clash anywhere, writers first."""
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
    positions = np.flatnonzero(shared)
    if not len(positions):
        return
    cells_of_both = cells.cells_at(positions)
    order = np.argsort(cells_of_both)
    cells_of_both, first = cells_of_both[order], positions[order[0]]
    ends = [(t.smallest[first], t.largest[first]) for t in (one, other)]
    yield SharedBytes(
        one.part.op,
        other.part.op,
        cells.storage,
        byte=int(cells_of_both[0]) * cells.cell,
        bytes=len(cells_of_both) * cells.cell,
        programs=next((int(p), int(q)) for p, q in itertools.product(*ends) if p != q),
        certain=one.certain and other.certain,
        places=cells_of_both,
        cell=cells.cell,
    )
