"""Races through recorded indices: actors compared by the index values that they read.

An address is split as in `verdicts/contents/by_contents.py`: the part that loaded values decide is
enumerated, as one number for each row that is read; heads, columns and the like stay symbols. If
that number is a digit of the address, it is equal on both sides of a race. So no two programs meet
if each number is read by one program alone, and no two lanes of a program if each number is read by
one lane.

Example: programs `p` store to `4096 * slot[p] + 4 * column` with `column < 1024`. The number is
`slot[p]`; slots [3, 0, 2] are distinct, so no two programs meet; slots [3, 0, 3] let programs 0 and
2 meet.
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
from kvtrace.verdicts.conflicts.outcomes import SuspectedConflict
from kvtrace.verdicts.contents.gathering import Gathering
from kvtrace.verdicts.contents.read_values import Reading, Rows, TooLarge

if TYPE_CHECKING:
    from kvtrace.symbolic.prover import Interval
    from kvtrace.verdicts.binding import BoundCall

_LARGEST: Final = 1 << 62
_READ: Final = Symbol("content", ("read",), -_LARGEST, _LARGEST)
"""The number that a row reads, in the unit of both sides."""


@dataclass(frozen=True, eq=False)
class _Part:
    """One side of a pair: its address is `factor` times `sums[read]` (by rows) plus `rest`.

    `filters` are the conditions on rows alone, `given` the other conditions.
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
    """The numbers that the rows of one side read, as multiples of a unit, with their readers.

    `who` numbers the symbols that may differ between the two sides, `together` the symbols that
    both share. `certain`: rows that are known to be active.
    """

    numbers: NDArray[np.int64]
    who: NDArray[np.int64]
    together: NDArray[np.int64]
    certain: NDArray[np.bool_]
    parts: Sequence[Rows]

    def row(self, position: int) -> Rows:
        """Return the row at a position among the rows of all parts."""
        for rows in self.parts:
            if position < len(rows):
                columns = {s: column[position : position + 1] for s, column in rows.columns.items()}
                return Rows(columns, np.ones(1, bool))
            position -= len(rows)
        raise IndexError(position)


class ReadIndices:
    """A judge of pairs of accesses of one call whose addresses depend on recorded contents.

    At least one of the actors' differing symbols differs between the two sides.
    """

    def __init__(self, bound: BoundCall, actors: Actors) -> None:
        self._bound = bound
        self._axes = actors.differing or ()
        self._shared = actors.shared
        self._contents = bound.by_contents

    def judged(self, one: Copy, other: Copy, nbytes: int) -> SuspectedConflict | bool:
        """Return two actors that meet; True: no actors meet; False: not known.

        Bytes outside of the storage, of `nbytes`, are out of bounds and not shared.
        """
        atoms = one[0].atoms() | other[0].atoms()
        if not self._contents.is_about(atoms):
            return False
        atoms = atoms.union(*(condition.atoms() for condition in (*one[2], *other[2])))
        deciding, constants = self._contents.deciding(atoms), self._contents.settled(atoms)
        one, other = _substituted(one, constants), _substituted(other, constants)
        conditions = [*one[2], *other[2]]
        one, other = _inside_storage(one, nbytes), _inside_storage(other, nbytes)
        for _ in range(2):
            try:
                answer = self._judged(deciding, one, other)
            except TooLarge:
                return False
            if answer is not False:
                return answer
            mixed = (c.atoms() for c in conditions if not deciding.isdisjoint(c.atoms()))
            wider = self._contents.values.free(frozenset(deciding).union(*mixed))
            if wider <= deciding:
                break
            deciding = wider
        return False

    def _judged(
        self, deciding: frozenset[Symbol], one: Copy, other: Copy
    ) -> SuspectedConflict | bool:
        is_same = one[0] == other[0] and tuple(one[2]) == tuple(other[2])
        parts = [self._part(deciding, side) for side in ((one,) if is_same else (one, other))]
        known_parts = [part for part in parts if part is not None]
        if len(known_parts) < len(parts):
            return False
        unit = gcd(*(part.factor for part in known_parts))
        columns = [self._column(deciding, part, unit) for part in known_parts]
        if not all(len(column.numbers) for column in columns):
            return True
        rows = _rows_with_equal_numbers(columns)
        if rows is None:
            return self._is_digit(known_parts, columns, unit)
        return self._meeting(known_parts[0], columns[0], unit, rows) if is_same else False

    def _part(self, deciding: frozenset[Symbol], side: Copy) -> _Part | None:
        gathering = Gathering(self._contents.values, deciding)
        filters, given = gathering.parted(side[2])
        address = gathering(side[0])
        form = address.affine()
        read_symbols = [] if form is None else [s for s in gathering.sums if s in form[1]]
        if form is None or len(read_symbols) != 1:
            return None
        factor = form[1][read_symbols[0]]
        rest = address - read_symbols[0].term * factor
        if not rest.atoms().isdisjoint(gathering.sums):
            return None
        return _Part(factor, read_symbols[0], rest, side[1], filters, given, gathering.sums)

    def _column(self, deciding: frozenset[Symbol], part: _Part, unit: int) -> _Column:
        numbers, who, together, certain, parts = [], [], [], [], []
        times, term = part.factor // unit, part.sums[part.read]
        for rows, reading in self._contents.rows(deciding, part.filters):
            read_numbers = np.broadcast_to(reading(term), len(rows))
            largest = int(np.abs(read_numbers).max(initial=0)) * abs(times)
            if largest >= _LARGEST or np.any(reading.doubt(term)):
                raise TooLarge
            numbers.append(read_numbers * times)
            who.append(self._numbered(rows, self._axes))
            shared = [symbol for symbol in rows.columns if self._shared(symbol)]
            together.append(self._numbered(rows, sorted(shared, key=lambda symbol: symbol.order)))
            certain.append(rows.certain)
            parts.append(rows)
        if not parts:
            none = np.zeros(0, np.int64)
            return _Column(none, none, none, none.astype(bool), ())
        joined = [np.concatenate(arrays) for arrays in (numbers, who, together)]
        return _Column(joined[0], joined[1], joined[2], np.concatenate(certain), parts)

    def _numbered(self, rows: Rows, symbols: Sequence[Symbol]) -> NDArray[np.int64]:
        """Return a number per row for the values of symbols; symbols that rows lack are 0."""
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
        """Return whether equal addresses imply equal numbers, and equal values on other axes."""
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
        other_axes = [axis for axis in self._axes if axis not in columns[0].parts[0].columns]
        return common.determines(_READ) and common.are_equal(other_axes)

    def _shared_but_read(self, symbol: Symbol) -> bool:
        return symbol is not _READ and self._shared(symbol)

    def _meeting(
        self, part: _Part, column: _Column, unit: int, positions: tuple[int, int]
    ) -> SuspectedConflict | bool:
        """Return two actors that use the same loaded number, if all conditions allow it."""
        if not column.certain[list(positions)].all():
            return False
        rows = [column.row(position) for position in positions]
        first, second = (self._sums(part, row) for row in rows)
        fixed: dict[tuple[str, Any], Interval] = {
            (symbol.kind, symbol.key): (first[symbol], first[symbol]) for symbol in part.sums
        }
        given = Given(part.given, self._bound.supposing(fixed))
        decision = prove(FALSE, given, seconds=0, order=self._bound.order)
        if not isinstance(decision, Refuted):
            return False
        point_of_both = dict(decision.model)
        point_of_both.update(second)
        if not is_counterexample(point_of_both, FALSE, part.given):
            return False
        point: dict[Symbol | Opaque, int] = {
            atom: self._bound.ranges.of(atom)[0]
            for atom in part.rest.atoms()
            if isinstance(atom, Symbol)
        }
        point.update(decision.model)
        byte = part.rest.value(point) + int(column.numbers[positions[0]]) * unit
        first_id, second_id = (self._bound.program_of({**point, **_values(row)}) for row in rows)
        return SuspectedConflict((first_id, second_id), byte, "affine")

    def _sums(self, part: _Part, row: Rows) -> dict[Symbol | Opaque, int]:
        reading = Reading(self._contents.values, row)
        return {symbol: reading(term).item() for symbol, term in part.sums.items()}


def _values(row: Rows) -> dict[Symbol | Opaque, int]:
    """Return the values of a row's symbols."""
    return {symbol: int(column[0]) for symbol, column in row.columns.items()}


def _substituted(side: Copy, constants: Substitution) -> Copy:
    """Return a side with symbols that have only one value replaced by it."""
    conditions = conjunction(condition.substitute(constants) for condition in side[2])
    return side[0].substitute(constants), side[1], conditions.conjuncts()


def _inside_storage(side: Copy, nbytes: int) -> Copy:
    address, width, given = side
    return address, width, (*given, at_least(address), at_least(nbytes - width - address))


def _rows_with_equal_numbers(columns: Sequence[_Column]) -> tuple[int, int] | None:
    """Return the positions of two rows with equal numbers but different readers, else None."""
    numbers, who, together = (
        np.concatenate(arrays)
        for arrays in zip(*((c.numbers, c.who, c.together) for c in columns), strict=True)
    )
    order = np.lexsort((who, together, numbers))
    numbers, who, together = numbers[order], who[order], together[order]
    same = (numbers[1:] == numbers[:-1]) & (together[1:] == together[:-1])
    apart = np.flatnonzero(same & (who[1:] != who[:-1]))
    return (int(order[apart[0]]), int(order[apart[0] + 1])) if len(apart) else None


def _side(part: _Part, unit: int, ranges: Ranges) -> Side:
    """Return a side with its read number as one variable, without conditions on sums."""
    given = [c for c in part.given if c.atoms().isdisjoint(part.sums)]
    return Side(ranges.form(part.rest + _READ.term * unit), part.width, Given(given, ranges))
