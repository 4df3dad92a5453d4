"""Where programs go by indices that were recorded: by the values that each of them reads.

What an address is made of is taken apart as in `kvtrace.verdicts.by_contents`: the part that what
is loaded decides is gone through, as one number for each row that is read; heads, columns and the
like stay symbols. Where that number is a digit of the address, it is equal on both sides of a race;
then no two programs meet if each number is read by one program alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.symbolic.conditions import FALSE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.decide import Given, Refuted, decide_given, is_counterexample
from kvtrace.symbolic.intervals import Ranges
from kvtrace.symbolic.terms import Substitution, Symbol, Term
from kvtrace.verdicts.gathering import Gathering
from kvtrace.verdicts.races.copies import Copy
from kvtrace.verdicts.races.digits import Common, Side
from kvtrace.verdicts.read_values import Reading, Rows, TooLarge

if TYPE_CHECKING:
    from kvtrace.symbolic.linear import Interval
    from kvtrace.verdicts.binding import BoundCall

_LARGEST: Final = 1 << 62
_READ: Final = Symbol("content", ("read",), -_LARGEST, _LARGEST)
"""The number that a row reads, in units that both sides share."""


@dataclass(frozen=True)
class Met:
    """Two programs (linear ids) that read one number, and the byte that both touch."""

    programs: tuple[int, int]
    byte: int


@dataclass(frozen=True, eq=False)
class _Part:
    """One side: its address is `factor` times `sums[read]`, which rows have, and `rest`.

    `filters` are the conditions on rows alone, `given` the others.
    """

    factor: int
    read: Symbol
    rest: Term
    width: int
    filters: tuple[Condition, ...]
    given: tuple[Condition, ...]
    sums: dict[Symbol, Term]


@dataclass(frozen=True)
class _Column:
    """What the rows of one side read, as multiples of a unit, and which programs do.

    `certain`: whether a row is known to be active.
    """

    numbers: NDArray[np.int64]
    programs: NDArray[np.int64]
    certain: NDArray[np.bool_]
    parts: Sequence[Rows]

    def row(self, place: int) -> Rows:
        """Return one row."""
        for rows in self.parts:
            if place < len(rows):
                columns = {s: column[place : place + 1] for s, column in rows.columns.items()}
                return Rows(columns, np.ones(1, bool))
            place -= len(rows)
        raise IndexError(place)


class ReadIndices:
    """Judges pairs of accesses of one call whose addresses depend on recorded contents."""

    def __init__(self, bound: BoundCall, axes: Sequence[Symbol]) -> None:
        self._bound = bound
        self._axes = axes
        self._contents = bound.by_contents

    def judged(self, one: Copy, other: Copy, nbytes: int) -> Met | bool:
        """Return two programs that meet, or whether none do; False: that is not seen either.

        Only what lies inside the storage, of `nbytes`, is shared: the rest is out of bounds.
        """
        atoms = one[0].atoms() | other[0].atoms()
        if not self._contents.is_about(atoms):
            return False
        atoms = atoms.union(*(condition.atoms() for condition in (*one[2], *other[2])))
        own, settled = self._contents.deciding(atoms), self._contents.settled(atoms)
        one, other = _settled(one, settled), _settled(other, settled)
        conditions = [*one[2], *other[2]]
        one, other = _inside(one, nbytes), _inside(other, nbytes)
        for _ in range(2):
            try:
                found = self._judged(own, one, other)
            except TooLarge:
                return False
            if found is not False:
                return found
            mixed = (c.atoms() for c in conditions if not own.isdisjoint(c.atoms()))
            wider = self._contents.values.free(frozenset(own).union(*mixed))
            if wider <= own:
                break
            own = wider
        return False

    def _judged(self, own: frozenset[Symbol], one: Copy, other: Copy) -> Met | bool:
        is_same = one[0] == other[0] and tuple(one[2]) == tuple(other[2])
        parts = [self._part(own, side) for side in ((one,) if is_same else (one, other))]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return False
        unit = gcd(*(part.factor for part in known))
        columns = [self._column(own, part, unit) for part in known]
        if not all(len(column.numbers) for column in columns):
            return True
        places = _one_number_of_two_programs(columns)
        if places is None:
            return self._is_digit(known, columns, unit)
        return self._met(known[0], columns[0], unit, places) if is_same else False

    def _part(self, own: frozenset[Symbol], side: Copy) -> _Part | None:
        gathering = Gathering(self._contents.values, own)
        filters, given = gathering.parted(side[2])
        address = gathering(side[0])
        form = address.affine()
        read = [] if form is None else [s for s in gathering.sums if s in form[1]]
        if form is None or len(read) != 1:
            return None
        factor = form[1][read[0]]
        rest = address - read[0].term * factor
        if not rest.atoms().isdisjoint(gathering.sums):
            return None
        return _Part(factor, read[0], rest, side[1], filters, given, gathering.sums)

    def _column(self, own: frozenset[Symbol], part: _Part, unit: int) -> _Column:
        numbers, programs, certain, parts = [], [], [], []
        times, term = part.factor // unit, part.sums[part.read]
        for rows, reading in self._contents.rows(own, part.filters):
            read = np.broadcast_to(reading(term), len(rows))
            reaches = int(np.abs(read).max(initial=0)) * abs(times)
            if reaches >= _LARGEST or np.any(reading.doubt(term)):
                raise TooLarge
            numbers.append(read * times)
            programs.append(self._programs(rows))
            certain.append(rows.certain)
            parts.append(rows)
        if not parts:
            nothing = np.zeros(0, np.int64)
            return _Column(nothing, nothing, nothing.astype(bool), ())
        return _Column(
            np.concatenate(numbers), np.concatenate(programs), np.concatenate(certain), parts
        )

    def _programs(self, rows: Rows) -> NDArray[np.int64]:
        """Return the linear ids of rows' programs; axes that rows do not have count as 0."""
        linear, stride = np.zeros(len(rows), np.int64), 1
        for axis, extent in enumerate(self._bound.call.grid):
            for symbol in self._axes:
                if symbol.key == axis and symbol in rows.columns:
                    linear = linear + rows.columns[symbol] * stride
            stride *= extent
        return linear

    def _is_digit(self, parts: Sequence[_Part], columns: Sequence[_Column], unit: int) -> bool:
        """Whether equal addresses are of equal numbers, and of programs alike on other axes."""
        low = min(int(column.numbers.min()) for column in columns)
        high = max(int(column.numbers.max()) for column in columns)
        ranges = self._bound.supposing({(_READ.kind, _READ.key): (low, high)})
        sides = [_side(part, unit, ranges) for part in parts]
        common = Common(sides[0], sides[-1])
        if common.is_nowhere:
            return True
        left = [axis for axis in self._axes if axis not in columns[0].parts[0].columns]
        return common.determines(_READ) and common.are_equal(left)

    def _met(self, part: _Part, column: _Column, unit: int, places: tuple[int, int]) -> Met | bool:
        """Return two programs that do the same with one number, if all that is given lets them."""
        if not column.certain[list(places)].all():
            return False
        rows = [column.row(place) for place in places]
        first, second = (self._sums(part, row) for row in rows)
        fixed: dict[tuple[str, Any], Interval] = {
            (symbol.kind, symbol.key): (first[symbol], first[symbol]) for symbol in part.sums
        }
        given = Given(part.given, self._bound.supposing(fixed))
        found = decide_given(FALSE, given, budget=0, order=self._bound.order)
        if not isinstance(found, Refuted):
            return False
        both = dict(found.model)
        both.update(second)
        if not is_counterexample(both, FALSE, part.given):
            return False
        point: dict[Symbol | Opaque, int] = {
            atom: self._bound.ranges.of(atom)[0]
            for atom in part.rest.atoms()
            if isinstance(atom, Symbol)
        }
        point.update(found.model)
        byte = part.rest.value(point) + int(column.numbers[places[0]]) * unit
        one, other = (self._bound.program_of({**point, **_only(row)}) for row in rows)
        return Met((one, other), byte)

    def _sums(self, part: _Part, row: Rows) -> dict[Symbol | Opaque, int]:
        reading = Reading(self._contents.values, row)
        return {symbol: reading(term).item() for symbol, term in part.sums.items()}


def _only(row: Rows) -> dict[Symbol | Opaque, int]:
    """Return the numbers of a row's symbols."""
    return {symbol: int(column[0]) for symbol, column in row.columns.items()}


def _settled(side: Copy, settled: Substitution) -> Copy:
    """Return a side with numbers in the place of symbols of one value."""
    conditions = conjunction(condition.substitute(settled) for condition in side[2])
    return side[0].substitute(settled), side[1], conditions.conjuncts()


def _inside(side: Copy, nbytes: int) -> Copy:
    """Return a side that is active only inside its storage."""
    address, width, given = side
    return address, width, (*given, at_least(address), at_least(nbytes - width - address))


def _one_number_of_two_programs(columns: Sequence[_Column]) -> tuple[int, int] | None:
    """Return two rows (by their place in all columns) of one number and different programs."""
    numbers = np.concatenate([column.numbers for column in columns])
    programs = np.concatenate([column.programs for column in columns])
    order = np.lexsort((programs, numbers))
    numbers, programs = numbers[order], programs[order]
    apart = np.flatnonzero((numbers[1:] == numbers[:-1]) & (programs[1:] != programs[:-1]))
    return (int(order[apart[0]]), int(order[apart[0] + 1])) if len(apart) else None


def _side(part: _Part, unit: int, ranges: Ranges) -> Side:
    """Return a side with what is read as one variable; conditions on sums are left out."""
    given = [c for c in part.given if c.atoms().isdisjoint(part.sums)]
    return Side(ranges.form(part.rest + _READ.term * unit), part.width, Given(given, ranges))
