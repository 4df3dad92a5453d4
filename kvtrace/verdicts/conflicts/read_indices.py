"""Where programs, or lanes of one, go by indices that were recorded: by the values that they read.

What an address is made of is taken apart as in `verdicts/contents/by_contents.py`: the part that
loaded values decide is enumerated, as one number for each row that is read; heads, columns and the
like stay symbols. Where that number is a digit of the address, it is equal on both sides of a race;
then no two programs meet if each number is read by one program alone, and no two lanes of one
program if each is read by one lane of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.symbolic.conditions import FALSE, Condition, Opaque, at_least, conjunction
from kvtrace.symbolic.prover import Given, Ranges, Refuted, is_counterexample, prove
from kvtrace.symbolic.prover.digits import Common, Side, nothing
from kvtrace.symbolic.terms import Substitution, Symbol, Term
from kvtrace.verdicts.conflicts.copies import Actors, Copy
from kvtrace.verdicts.conflicts.outcomes import Meeting
from kvtrace.verdicts.contents.gathering import Gathering
from kvtrace.verdicts.contents.read_values import Reading, Rows, TooLarge

if TYPE_CHECKING:
    from kvtrace.symbolic.prover import Interval
    from kvtrace.verdicts.binding import BoundCall

_LARGEST: Final = 1 << 62
_READ: Final = Symbol("content", ("read",), -_LARGEST, _LARGEST)
"""The number that a row reads, in units that both sides share."""


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
    """What the rows of one side read, as multiples of a unit, and who does.

    `who` numbers what may differ between two sides, `together` what both share. `certain`: whether
    a row is known to be active.
    """

    numbers: NDArray[np.int64]
    who: NDArray[np.int64]
    together: NDArray[np.int64]
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
    """Judges pairs of accesses of one call whose addresses depend on recorded contents.

    Two actors are asked about, of which one of some symbols differs.
    """

    def __init__(self, bound: BoundCall, actors: Actors) -> None:
        self._bound = bound
        self._axes = actors.differing or ()
        self._shared = actors.shared
        self._contents = bound.by_contents

    def judged(self, one: Copy, other: Copy, nbytes: int) -> Meeting | bool:
        """Return two actors that meet; True: none do, False: it is not known.

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

    def _judged(self, own: frozenset[Symbol], one: Copy, other: Copy) -> Meeting | bool:
        is_same = one[0] == other[0] and tuple(one[2]) == tuple(other[2])
        parts = [self._part(own, side) for side in ((one,) if is_same else (one, other))]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return False
        unit = gcd(*(part.factor for part in known))
        columns = [self._column(own, part, unit) for part in known]
        if not all(len(column.numbers) for column in columns):
            return True
        places = _one_number_of_two(columns)
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
        numbers, who, together, certain, parts = [], [], [], [], []
        times, term = part.factor // unit, part.sums[part.read]
        for rows, reading in self._contents.rows(own, part.filters):
            read = np.broadcast_to(reading(term), len(rows))
            reaches = int(np.abs(read).max(initial=0)) * abs(times)
            if reaches >= _LARGEST or np.any(reading.doubt(term)):
                raise TooLarge
            numbers.append(read * times)
            who.append(self._numbered(rows, self._axes))
            both = [symbol for symbol in rows.columns if self._shared(symbol)]
            together.append(self._numbered(rows, sorted(both, key=lambda symbol: symbol.order)))
            certain.append(rows.certain)
            parts.append(rows)
        if not parts:
            none = np.zeros(0, np.int64)
            return _Column(none, none, none, none.astype(bool), ())
        joined = [np.concatenate(each) for each in (numbers, who, together)]
        return _Column(joined[0], joined[1], joined[2], np.concatenate(certain), parts)

    def _numbered(self, rows: Rows, symbols: Sequence[Symbol]) -> NDArray[np.int64]:
        """Return one number for those of symbols in each row; what rows do not have counts as 0."""
        linear, stride = np.zeros(len(rows), np.int64), 1
        for symbol in symbols:
            if symbol not in rows.columns:
                continue
            low, high = self._bound.ranges.of(symbol)
            linear = linear + (rows.columns[symbol] - low) * stride
            stride *= high - low + 1
            if stride >= _LARGEST:
                raise TooLarge
        return linear

    def _is_digit(self, parts: Sequence[_Part], columns: Sequence[_Column], unit: int) -> bool:
        """Whether equal addresses are of equal numbers, and of sides alike on other axes."""
        low = min(int(column.numbers.min()) for column in columns)
        high = max(int(column.numbers.max()) for column in columns)
        ranges = self._bound.supposing({(_READ.kind, _READ.key): (low, high)})
        sides = [_side(part, unit, ranges) for part in parts]
        shared = self._shared
        if shared is not nothing:
            shared = self._shared_but_read
        common = Common(sides[0], sides[-1], shared)
        if common.is_nowhere:
            return True
        left = [axis for axis in self._axes if axis not in columns[0].parts[0].columns]
        return common.determines(_READ) and common.are_equal(left)

    def _shared_but_read(self, symbol: Symbol) -> bool:
        return symbol is not _READ and self._shared(symbol)

    def _met(
        self, part: _Part, column: _Column, unit: int, places: tuple[int, int]
    ) -> Meeting | bool:
        """Return two actors that use the same loaded number, if all conditions allow it."""
        if not column.certain[list(places)].all():
            return False
        rows = [column.row(place) for place in places]
        first, second = (self._sums(part, row) for row in rows)
        fixed: dict[tuple[str, Any], Interval] = {
            (symbol.kind, symbol.key): (first[symbol], first[symbol]) for symbol in part.sums
        }
        given = Given(part.given, self._bound.supposing(fixed))
        found = prove(FALSE, given, seconds=0, order=self._bound.order)
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
        first_id, second_id = (self._bound.program_of({**point, **_only(row)}) for row in rows)
        return Meeting((first_id, second_id), byte, "affine")

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


def _one_number_of_two(columns: Sequence[_Column]) -> tuple[int, int] | None:
    """Return two rows (by their place in all columns) of one number that are not of one side."""
    numbers, who, together = (
        np.concatenate(each)
        for each in zip(*((c.numbers, c.who, c.together) for c in columns), strict=True)
    )
    order = np.lexsort((who, together, numbers))
    numbers, who, together = numbers[order], who[order], together[order]
    same = (numbers[1:] == numbers[:-1]) & (together[1:] == together[:-1])
    apart = np.flatnonzero(same & (who[1:] != who[:-1]))
    return (int(order[apart[0]]), int(order[apart[0] + 1])) if len(apart) else None


def _side(part: _Part, unit: int, ranges: Ranges) -> Side:
    """Return a side with what is read as one variable; conditions on sums are left out."""
    given = [c for c in part.given if c.atoms().isdisjoint(part.sums)]
    return Side(ranges.form(part.rest + _READ.term * unit), part.width, Given(given, ranges))
