"""Bytes of a storage that several actors touch: the smallest and the largest actor of each byte.

Actors are programs, or trips of a loop. Accesses of two kinds meet at a byte in different actors
unless all four actors are the same: that is exact, without sets of actors. Example: loads touch a
byte in programs 2 to 5, a store in program 5. Smallest 2 and largest 5 differ, so they meet.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from itertools import product
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Actors = NDArray[np.int32]
Kind = TypeVar("Kind", bound=Hashable)

_ALIGNMENT = 128
"""Bytes of a storage are rounded up to it, so that elements of all groups have one alignment."""


class _Touched(Struct, frozen=True):
    """Touched cells, ascending, each with its smallest and its largest actor."""

    cells: Integers
    smallest: Actors
    largest: Actors


class Meeting(Struct, frozen=True):
    """The bytes of a storage at which two kinds of accesses meet, as the starts of cells.

    `actors` are two different ones, one of each kind, that touch the first cell of `group`.
    """

    starts: Integers
    cell: int
    group: int
    actors: tuple[int, int]

    @property
    def bytes(self) -> Integers:
        """The offsets of all bytes, ascending."""
        return np.asarray(self.starts[:, None] + np.arange(self.cell)).reshape(-1)


class Touches(Struct, Generic[Kind]):
    """The touched bytes of a storage of `nbytes`, in cells; elements consist of whole cells."""

    nbytes: int
    cell: int = 0
    _parts: dict[Kind, list[_Touched]] = {}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of accesses with elements in the storage, in the order of their addition."""
        return tuple(self._parts)

    @property
    def count(self) -> int:
        """The number of cells that are stored."""
        return sum(len(part.cells) for parts in self._parts.values() for part in parts)

    @property
    def _group_bytes(self) -> int:
        return -(-self.nbytes // _ALIGNMENT) * _ALIGNMENT

    def add(
        self,
        kind: Kind,
        starts: Integers,
        width: int,
        actors: NDArray[np.integer],
        groups: Integers | None = None,
    ) -> None:
        """Add elements that accesses of a kind touch; those outside of the storage are left out.

        Args:
            kind: what two meeting accesses are compared by.
            starts: the first byte of each element.
            width: bytes of an element.
            actors: who touches each element.
            groups: a number from 0 of each element; elements of different groups never meet.

        """
        is_inside = (starts >= 0) & (starts + width <= self.nbytes)
        if groups is not None:
            starts = starts + groups * self._group_bytes
        if not is_inside.all():
            starts, actors = starts[is_inside], actors[is_inside]
        if not len(starts):
            return
        cell = math.gcd(self.cell, width)
        if (starts % cell).any():
            cell = math.gcd(cell, int(np.gcd.reduce(starts)))
        self._refine(cell)
        cells, numbers = starts // cell, actors.astype(np.int32)
        if width > cell:
            steps = np.arange(width // cell)
            cells, numbers = (cells[:, None] + steps).reshape(-1), np.repeat(numbers, len(steps))
        parts = self._parts.setdefault(kind, [])
        parts.append(_merged([_Touched(cells, numbers, numbers)]))
        # Merging costs time linear in all: so wait until the number of cells has doubled.
        if sum(len(part.cells) for part in parts[1:]) > len(parts[0].cells):
            parts[:] = [_merged(parts)]

    def _refine(self, cell: int) -> None:
        """Divide all cells into smaller ones of `cell` bytes."""
        factor, self.cell = self.cell // cell, cell
        for parts in self._parts.values() if factor > 1 else ():
            parts[:] = [
                _Touched(
                    (part.cells[:, None] * factor + np.arange(factor)).reshape(-1),
                    np.repeat(part.smallest, factor),
                    np.repeat(part.largest, factor),
                )
                for part in parts
            ]

    def meeting(self, left: Kind, right: Kind) -> Meeting | None:
        """Return where accesses of two kinds, or of one kind, meet in different actors, if at all.

        With groups, the starts are those of the first group with a meeting.
        """
        if left not in self._parts or right not in self._parts:
            return None
        for parts in (self._parts[left], self._parts[right]):
            parts[:] = [_merged(parts)]
        one, other = self._parts[left][0], self._parts[right][0]
        places = np.minimum(np.searchsorted(other.cells, one.cells), len(other.cells) - 1)
        smallest = np.minimum(one.smallest, other.smallest[places])
        largest = np.maximum(one.largest, other.largest[places])
        meets = np.flatnonzero((other.cells[places] == one.cells) & (smallest != largest))
        if not len(meets):
            return None
        group, starts = np.divmod(one.cells[meets] * self.cell, max(self._group_bytes, 1))
        first, place = meets[0], places[meets[0]]
        pairs = product(
            (one.smallest[first], one.largest[first]),
            (other.smallest[place], other.largest[place]),
        )
        actors = next((int(p), int(q)) for p, q in pairs if p != q)
        return Meeting(starts[group == group[0]], self.cell, int(group[0]), actors)


def _merged(parts: list[_Touched]) -> _Touched:
    """Return each touched cell once."""
    if len(parts) == 1:
        cells, smallest, largest = parts[0].cells, parts[0].smallest, parts[0].largest
    else:
        cells = np.concatenate([part.cells for part in parts])
        smallest = np.concatenate([part.smallest for part in parts])
        largest = np.concatenate([part.largest for part in parts])
    if (cells[1:] < cells[:-1]).any():
        order = np.argsort(cells, kind="stable")
        cells, smallest, largest = cells[order], smallest[order], largest[order]
    is_first = np.ones(len(cells), np.bool_)
    np.not_equal(cells[1:], cells[:-1], out=is_first[1:])
    if is_first.all():
        return _Touched(cells, smallest, largest)
    first = np.flatnonzero(is_first)
    return _Touched(
        cells[first], np.minimum.reduceat(smallest, first), np.maximum.reduceat(largest, first)
    )
