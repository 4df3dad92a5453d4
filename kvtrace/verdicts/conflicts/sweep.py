"""Bytes that two programs touch, found by a sweep over the accesses of the whole grid.

For each byte and op, only the smallest and the largest program that touched the byte are stored:
two ops meet there in different programs unless all four programs are the same. That is exact,
without sets. Example: op A touches a byte in programs 2 to 5, op B in program 5: smallest 2 and
largest 5 differ, so A in program 2 and B in program 5 meet.
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
from kvtrace.verdicts.conflicts.parts import Role, roles_of

MOST_ELEMENTS = 1 << 26
"""Limit of elements that a sweep reads, over all accesses to written storages."""

MOST_CELLS = 1 << 26
"""Limit of cells that a sweep stores, over all ops and storages, at 8 bytes each."""

PAGE = 1 << 10
"""Number of cells in a page; only pages that an access touches are stored."""


@dataclass(frozen=True)
class SharedBytes:
    """The bytes of a storage that two ops touch in different programs, at least one op writing.

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
    cell_indices: NDArray[np.int64] = field(compare=False, repr=False)
    cell: int = field(compare=False, repr=False)

    def all_bytes(self) -> NDArray[np.int64]:
        """Return the offsets of all bytes of the storage that both ops touch, ascending."""
        return np.asarray(self.cell_indices[:, None] * self.cell + np.arange(self.cell)).reshape(-1)


@dataclass
class _ProgramRanges:
    """The smallest and largest program per stored cell for one op and element width."""

    role: Role
    certain: bool
    width: int
    smallest: NDArray[np.int32]
    largest: NDArray[np.int32]

    def grow(self, count: int) -> None:
        """Enlarge both arrays to at least `count` cells, and at least to twice their size."""
        if count > len(self.smallest):
            added = max(count - len(self.smallest), len(self.smallest))
            none = np.iinfo(np.int32).max
            self.smallest = np.append(self.smallest, np.full(added, none, np.int32))
            self.largest = np.append(self.largest, np.full(added, -1, np.int32))


@dataclass
class _Cells:
    """The touched cells of a storage; every access consists of whole cells of `cell` bytes.

    `pages` are the numbers of the stored pages, in the order of their positions; `positions` has
    the position of each page of the storage, -1 if nothing touched the page.
    """

    storage: Storage
    cell: int
    page: int
    touched: dict[tuple[int, bool, int], _ProgramRanges] = field(default_factory=dict)
    pages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    positions: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        self.positions = np.full(self._page_count(), -1, np.int32)

    def _page_count(self) -> int:
        return -(-self.storage.nbytes // (self.cell * self.page))

    def count(self) -> int:
        """Return the number of stored cells."""
        return len(self.pages) * self.page

    def cell_indices(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the stored positions of cells of the storage; their pages are added if needed."""
        pages = cells // self.page
        positions = self.positions[pages]
        if (positions < 0).any():
            new_pages = np.unique(pages[positions < 0])
            self.positions[new_pages] = np.arange(len(self.pages), len(self.pages) + len(new_pages))
            self.pages = np.append(self.pages, new_pages)
            positions = self.positions[pages]
        return np.asarray(cells + (positions - pages) * self.page)

    def cells_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the cells that are stored at positions."""
        pages, offsets = np.divmod(positions, self.page)
        return np.asarray(self.pages[pages] * self.page + offsets)

    def refine(self, cell: int) -> None:
        """Divide the cells into smaller cells of `cell` bytes, and each page into several pages."""
        factor, old_count, self.cell = self.cell // cell, self.count(), cell
        self.pages = (self.pages[:, None] * factor + np.arange(factor)).reshape(-1)
        is_inside = self.pages < self._page_count()  # the last page may have been cut into too many
        for touched in self.touched.values():
            touched.grow(old_count)
            touched.smallest = self._divide(touched.smallest[:old_count], factor, is_inside)
            touched.largest = self._divide(touched.largest[:old_count], factor, is_inside)
        self.pages = self.pages[is_inside]
        self.positions = np.full(self._page_count(), -1, np.int32)
        self.positions[self.pages] = np.arange(len(self.pages))

    def _divide(
        self, programs: NDArray[np.int32], factor: int, is_inside: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        repeated = np.repeat(programs, factor).reshape(-1, self.page)
        return np.asarray(repeated[is_inside].reshape(-1))


class Sweep(Observer):
    """An observer that records which programs touch each byte of the written storages.

    `order` has the ids of programs by their turn, if accesses have turns; `page` is the number of
    cells per page. `lost` has, by op index and argument (None: any), the reason why an address is
    not known; `doubt` the reason why some recorded accesses may not happen; `failure` the reason
    why the sweep stopped.
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
        self._roles = roles_of(module).by_op
        written = written_storages(module, arguments)
        self._cells: dict[Storage, _Cells | None] = dict.fromkeys(written)
        self._elements = 0
        self.lost: dict[tuple[int, int | None], str] = {}
        self.doubt: str | None = None
        self.failure: str | None = None

    def access(self, access: Access) -> None:
        """Record the bytes that an access touches, or the reason why they are unknown."""
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
        self._record(access, argument.storage, offsets + argument.offset_bytes, programs)

    def _record(
        self,
        access: Access,
        storage: Storage,
        starts: NDArray[np.int64],
        programs: NDArray[np.int64],
    ) -> None:
        width = access.element_bytes
        is_inside = (starts >= 0) & (starts + width <= storage.nbytes)
        if not is_inside.all():
            starts, programs = starts[is_inside], programs[is_inside]
        if not len(starts):
            return
        if (programs[1:] < programs[:-1]).any():
            order = np.argsort(programs, kind="stable")
            starts, programs = starts[order], programs[order]
        cells = self._cells_for(storage, starts, width)
        program_ranges = self._ranges_of(cells, access)
        first_cells, program_ids = starts // cells.cell, programs.astype(np.int32)
        for step in range(width // cells.cell):
            index = cells.cell_indices(first_cells + step)
            if self._stored_cells() > MOST_CELLS:
                self.failure = f"programs share more than {MOST_CELLS:,} cells of memory"
                return
            program_ranges.grow(cells.count())
            # Programs ascend: if several share a cell, the last assignment wins: the largest
            # program's, or, backwards, the smallest program's.
            program_ranges.largest[index] = np.maximum(program_ranges.largest[index], program_ids)
            program_ranges.smallest[index[::-1]] = np.minimum(
                program_ranges.smallest[index], program_ids
            )[::-1]

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

    def _ranges_of(self, cells: _Cells, access: Access) -> _ProgramRanges:
        key = (access.op.index, access.certain, access.element_bytes)
        program_ranges = cells.touched.get(key)
        if program_ranges is None:
            program_ranges = cells.touched[key] = _ProgramRanges(
                self._roles[access.op.index],
                access.certain,
                access.element_bytes,
                np.zeros(0, np.int32),
                np.zeros(0, np.int32),
            )
        return program_ranges

    def _stored_cells(self) -> int:
        """Return the number of stored cells, over all ops and storages."""
        return sum(len(c.touched) * c.count() for c in self._cells.values() if c is not None)

    def meetings(self) -> Iterator[SharedBytes]:
        """Yield the shared bytes of each pair of ops that clash in different programs."""
        for cells in self._cells.values():
            if cells is None:
                continue
            for left, right in itertools.combinations_with_replacement(cells.touched.values(), 2):
                if left.role.clashes(right.role, one_width=left.width == right.width):
                    yield from _meeting(cells, left, right)


def _meeting(cells: _Cells, left: _ProgramRanges, right: _ProgramRanges) -> Iterator[SharedBytes]:
    if not left.role.writes:
        left, right = right, left
    count = min(len(left.largest), len(right.largest), cells.count())
    one_largest, other_largest = left.largest[:count], right.largest[:count]
    touched_by_both = (one_largest >= 0) & (other_largest >= 0)
    smallest_programs = np.minimum(left.smallest[:count], right.smallest[:count])
    largest_programs = np.maximum(one_largest, other_largest)
    is_shared = touched_by_both & (smallest_programs != largest_programs)
    positions = np.flatnonzero(is_shared)
    if not len(positions):
        return
    cells_of_both = cells.cells_at(positions)
    order = np.argsort(cells_of_both)
    cells_of_both, first_position = cells_of_both[order], positions[order[0]]
    extremes = [(t.smallest[first_position], t.largest[first_position]) for t in (left, right)]
    yield SharedBytes(
        left.role.op,
        right.role.op,
        cells.storage,
        byte=int(cells_of_both[0]) * cells.cell,
        bytes=len(cells_of_both) * cells.cell,
        programs=next((int(p), int(q)) for p, q in itertools.product(*extremes) if p != q),
        certain=left.certain and right.certain,
        cell_indices=cells_of_both,
        cell=cells.cell,
    )
