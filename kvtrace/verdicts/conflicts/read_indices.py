"""Races through recorded indices: two actors compared by the index values that they load.

An address is split as in `verdicts/contents/by_contents.py`: the part made of loaded values is
enumerated, as one number per loaded row; heads, columns and the like stay symbols. If
that number is a digit of the address, it is equal on both sides of a race. So no two programs meet
if each number is read by one program alone, and no two lanes of a program if each number is read by
one lane.

Example: programs `p` store to `4096 * slot[p] + 4 * column` with `column < 1024`. The number is
`slot[p]`; slots [3, 0, 2] are distinct, so no two programs meet; slots [3, 0, 3] let programs 0 and
2 meet.

A row is an actor (a program, or a lane) with the numbers that it loads. All bytes that it touches
lie between the smallest and the largest value of its address. Two actors meet only where spans of
different actors overlap, which sorted starts and ends count without comparing all pairs.

Example: programs `p` store to `4096 * p + 4 * target[p]` and load from `4096 * p + 4 * column` with
`column < 1024`. With targets 5, 7, 1030 and 3, the store of program 2 touches [12312, 12316), which
lies in the span [12288, 16384) of program 3's loads; no other spans of two programs overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.symbolic.conditions import Condition, Opaque, at_least, conjunction, in_order
from kvtrace.symbolic.prover import Given, Proven, Ranges, Refuted, prove
from kvtrace.symbolic.prover.digits import Common, Side, nothing
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.copies import Actors, Copy, Question
from kvtrace.verdicts.conflicts.outcomes import SuspectedConflict
from kvtrace.verdicts.contents.gathering import Gathering
from kvtrace.verdicts.contents.read_values import Rows, TooLarge

_MAX_NUMBER: Final = 1 << 62
_MAX_COMPARED_ROWS: Final = 8
_UNKNOWN: Final = ("content", "unknown")
_READ: Final = Symbol("content", ("read",), -_MAX_NUMBER, _MAX_NUMBER)
"""The number loaded for a row, as a multiple of the unit of both sides."""


class _SplitAccess(Struct, frozen=True, eq=False):
    """One side of a pair: its address is `factor` times `sums[read]` (by row) plus `rest`.

    `filters` are the conditions on rows alone, `given` the other conditions.
    """

    factor: int
    read: Symbol
    rest: Term
    width: int
    filters: tuple[Condition, ...]
    given: tuple[Condition, ...]
    sums: dict[Symbol, Term]


class _ReadColumn(Struct, frozen=True):
    """The numbers loaded for the rows of one side, as multiples of a unit, with their readers.

    `readers` encodes the values of symbols that may differ between the two sides, `shared_values`
    of those that both share. `is_active`: rows that are surely active.
    """

    numbers: NDArray[np.int64]
    readers: NDArray[np.int64]
    shared_values: NDArray[np.int64]
    is_active: NDArray[np.bool_]
    parts: Sequence[Rows]

    def row(self, position: int) -> Rows:
        """Return a single row, by its position among the rows of all parts."""
        for rows in self.parts:
            if position < len(rows):
                columns = {s: column[position : position + 1] for s, column in rows.columns.items()}
                return Rows(columns, np.ones(1, bool))
            position -= len(rows)
        raise IndexError(position)


class ReadIndices:
    """A judge of two accesses of one call whose addresses depend on recorded contents.

    At least one of the actors' differing symbols differs between the two sides.
    """

    def __init__(self, bound: BoundCall, actors: Actors) -> None:
        self._bound = bound
        self._axes = actors.differing or ()
        self._shared = actors.shared
        self._contents = bound.by_contents

    def judged(self, left: Copy, right: Copy, nbytes: int) -> SuspectedConflict | bool:
        """Return two actors that meet, True if none do, or False if unknown.

        Bytes outside of the storage of `nbytes` are out of bounds and not compared.
        """
        atoms = left[0].atoms() | right[0].atoms()
        if not self._contents.is_about(atoms):
            return False
        atoms = atoms.union(*(condition.atoms() for condition in (*left[2], *right[2])))
        deciding, constants = self._contents.selecting_symbols(atoms), self._contents.settled(atoms)
        left, right = _substituted(left, constants), _substituted(right, constants)
        conditions = [condition.atoms() for condition in (*left[2], *right[2])]
        left, right = _inside_storage(left, nbytes), _inside_storage(right, nbytes)
        # First by the symbols that select recorded integers, then also by those of conditions.
        for _ in range(2):
            try:
                answer = self._compare_rows(deciding, left, right, nbytes)
            except TooLarge:
                return False
            if answer is not False:
                return answer
            related = (atoms for atoms in conditions if not deciding.isdisjoint(atoms))
            more = self._contents.values.free(frozenset[Atom](deciding).union(*related))
            if more <= deciding:
                break
            deciding = more
        return False

    def _compare_rows(
        self, deciding: frozenset[Symbol], left: Copy, right: Copy, nbytes: int
    ) -> SuspectedConflict | bool:
        is_same = left[0] == right[0] and tuple(left[2]) == tuple(right[2])
        copies = (left,) if is_same else (left, right)
        sides = [side for copy in copies if (side := self._split(deciding, copy)) is not None]
        if len(sides) < len(copies):
            return False
        unit = gcd(*(side.factor for side in sides))
        columns = [self._column(deciding, side, unit) for side in sides]
        if not all(len(column.numbers) for column in columns):
            return True
        rows = _rows_with_equal_numbers(columns)
        if rows is not None and is_same:
            actors = Actors(None, self._shared)
            two_rows = columns[0].row(rows[0]), columns[0].row(rows[1])
            answer = self._meeting_of_rows(two_rows, (left, right), actors, nbytes, tries=True)
            return answer if isinstance(answer, SuspectedConflict) else False
        if rows is None and self._is_digit(sides, columns, unit):
            return True
        return self._overlapping(sides, columns, unit, (left, right), nbytes)

    def _split(self, deciding: frozenset[Symbol], side: Copy) -> _SplitAccess | None:
        """Return a side's address as a multiple of one loaded number plus a rest, else None."""
        gathering = Gathering(self._contents.values, deciding)
        filters, given = gathering.split_conditions(side[2])
        address = gathering(side[0])
        form = address.affine()
        read_symbols = [] if form is None else [s for s in gathering.sums if s in form[1]]
        if form is None or len(read_symbols) != 1:
            return None
        factor = form[1][read_symbols[0]]
        rest = address - read_symbols[0].term * factor
        if not rest.atoms().isdisjoint(gathering.sums):
            return None
        return _SplitAccess(factor, read_symbols[0], rest, side[1], filters, given, gathering.sums)

    def _column(self, deciding: frozenset[Symbol], part: _SplitAccess, unit: int) -> _ReadColumn:
        """Return the loaded numbers of all rows of a side; raise TooLarge if they are too large."""
        numbers, readers, shared_values, is_active, parts = [], [], [], [], []
        factor_in_units, term = part.factor // unit, part.sums[part.read]
        for rows, reading in self._contents.rows(deciding, part.filters):
            read_numbers = np.broadcast_to(reading(term), len(rows))
            largest = int(np.abs(read_numbers).max(initial=0)) * abs(factor_in_units)
            if largest >= _MAX_NUMBER or np.any(reading.doubt(term)):
                raise TooLarge
            numbers.append(read_numbers * factor_in_units)
            readers.append(self._encoded(rows, self._axes))
            shared = [s for s in rows.columns if s.kind == "set" or self._shared(s)]
            shared_values.append(self._encoded(rows, in_order(shared)))
            is_active.append(rows.certain)
            parts.append(rows)
        if not parts:
            empty = np.zeros(0, np.int64)
            return _ReadColumn(empty, empty, empty, empty.astype(bool), ())
        columns = [np.concatenate(arrays) for arrays in (numbers, readers, shared_values)]
        return _ReadColumn(columns[0], columns[1], columns[2], np.concatenate(is_active), parts)

    def _encoded(self, rows: Rows, symbols: Sequence[Symbol]) -> NDArray[np.int64]:
        """Return one number per row that encodes the values of symbols; missing symbols are 0."""
        codes, stride = np.zeros(len(rows), np.int64), 1
        for symbol in symbols:
            if symbol not in rows.columns:
                continue
            low, high = self._bound.ranges.of(symbol)
            codes = codes + (rows.columns[symbol] - low) * stride
            stride *= high - low + 1
            if stride >= _MAX_NUMBER:
                raise TooLarge
        return codes

    def _is_digit(
        self, parts: Sequence[_SplitAccess], columns: Sequence[_ReadColumn], unit: int
    ) -> bool:
        """Return whether equal addresses imply equal loaded numbers and equal other axes."""
        low = min(int(column.numbers.min()) for column in columns)
        high = max(int(column.numbers.max()) for column in columns)
        ranges = self._bound.ranges.supposing({(_READ.kind, _READ.key): (low, high)})
        sides = [_side(part, unit, ranges) for part in parts]
        shared = nothing if self._shared is nothing else self._shared_but_read
        shared_digits = Common(sides[0], sides[-1], shared)
        if shared_digits.is_nowhere:
            return True
        other_axes = [axis for axis in self._axes if axis not in columns[0].parts[0].columns]
        return shared_digits.determines((_READ,)) and shared_digits.are_equal(other_axes)

    def _overlapping(
        self,
        parts: Sequence[_SplitAccess],
        columns: Sequence[_ReadColumn],
        unit: int,
        copies: tuple[Copy, Copy],
        nbytes: int,
    ) -> SuspectedConflict | bool:
        """Return two actors that meet in rows whose bytes overlap, True if none do, else False."""
        spans = [
            self._spans(part, column, unit) for part, column in zip(parts, columns, strict=True)
        ]
        left_spans, right_spans = spans[0], spans[-1]
        if left_spans is None or right_spans is None:
            return True
        other_axes = [axis for axis in self._axes if axis not in columns[0].parts[0].columns]
        overlaps = Overlaps(left_spans, right_spans, are_actors_told_apart=not other_axes)
        for left, right in overlaps.pairs(_MAX_COMPARED_ROWS):
            is_one_reader = columns[0].readers[left] == columns[-1].readers[right]
            rows = columns[0].row(left), columns[-1].row(right)
            actors = Actors(other_axes if is_one_reader else None, self._shared)
            answer = self._meeting_of_rows(rows, copies, actors, nbytes)
            if answer is not True:
                return answer
        return overlaps.count <= _MAX_COMPARED_ROWS

    def _spans(self, part: _SplitAccess, column: _ReadColumn, unit: int) -> Spans | None:
        """Return the bytes of each row of a side, None if it never runs."""
        given = [c for c in part.given if c.atoms().isdisjoint(part.sums)]
        bounds = Given(given, self._bound.ranges).bounds(part.rest)
        if bounds is None:
            return None
        if (
            max(map(abs, bounds)) >= _MAX_NUMBER
            or int(np.abs(column.numbers).max()) * unit >= _MAX_NUMBER
        ):
            raise TooLarge
        starts = column.numbers * unit
        ends = starts + (bounds[1] + part.width)
        return Spans(starts + bounds[0], ends, column.readers, column.shared_values)

    def _meeting_of_rows(
        self, rows: tuple[Rows, Rows], copies: tuple[Copy, Copy], actors: Actors, nbytes: int,
        *, tries: bool = False,
    ) -> SuspectedConflict | bool:  # fmt: skip
        """Return whether the actors of two rows meet, as `judged` does, from exact formulas.

        `tries`: they may meet where untracked values are as supposed.
        """
        left, right = (self._at_row(copy, row) for copy, row in zip(copies, rows, strict=True))
        question = Question(left, right, actors, self._bound.ranges, nbytes)
        decision = prove(question.claim, question.given, seconds=0, order=self._bound.order)
        if isinstance(decision, Proven):
            return True
        if not isinstance(decision, Refuted) or not all(row.certain.all() for row in rows):
            return False
        untracked = (isinstance(key, Opaque) or key.kind in _UNKNOWN for key in decision.model)
        if any(untracked) and not tries:
            return False
        first, second = (
            self._bound.program_of({**point, **_values(row)})
            for point, row in zip(question.sides(decision.model), rows, strict=True)
        )
        return SuspectedConflict((first, second), question.byte(decision.model), decision.method)

    def _at_row(self, copy: Copy, row: Rows) -> Copy:
        """Return a copy in which the row's symbols and loaded numbers are numbers."""
        numbers: dict[Any, int] = dict(_values(row))
        atoms = copy[0].atoms().union(*(condition.atoms() for condition in copy[2]))
        for atom in in_order(atoms):  # an index before what it selects
            if isinstance(atom, Symbol) and atom.kind == "content":
                number = self._bound.contents.number(atom, numbers)
                if number is not None:
                    numbers[atom] = number
        return _substituted(copy, Substitution(numbers))

    def _shared_but_read(self, symbol: Symbol) -> bool:
        return symbol is not _READ and self._shared(symbol)


def _values(row: Rows) -> dict[Symbol | Opaque, int]:
    """Return the values of the symbols of a single row."""
    return {symbol: int(column[0]) for symbol, column in row.columns.items()}


def _substituted(side: Copy, constants: Substitution) -> Copy:
    """Return a side in which symbols with only one value are replaced by that value."""
    conditions = conjunction(condition.substitute(constants) for condition in side[2])
    return side[0].substitute(constants), side[1], conditions.conjuncts()


def _inside_storage(side: Copy, nbytes: int) -> Copy:
    address, width, given = side
    return address, width, (*given, at_least(address), at_least(nbytes - width - address))


def _rows_with_equal_numbers(columns: Sequence[_ReadColumn]) -> tuple[int, int] | None:
    """Return the positions of two rows with equal numbers but different readers, else None."""
    numbers, readers, shared_values = (
        np.concatenate(arrays)
        for arrays in zip(*((c.numbers, c.readers, c.shared_values) for c in columns), strict=True)
    )
    if not _has_equal_numbers(numbers, shared_values, readers):
        return None
    order = np.lexsort((readers, shared_values, numbers))
    numbers, readers, shared_values = numbers[order], readers[order], shared_values[order]
    is_same = (numbers[1:] == numbers[:-1]) & (shared_values[1:] == shared_values[:-1])
    differing = np.flatnonzero(is_same & (readers[1:] != readers[:-1]))
    return (int(order[differing[0]]), int(order[differing[0] + 1])) if len(differing) else None


def _has_equal_numbers(*columns: NDArray[np.int64]) -> bool:
    """Return whether rows may be equal in all columns but the last, by one sort of small codes."""
    codes, size, count = np.zeros((), np.int64), 1, 1
    for column in columns:
        low, high = int(column.min()), int(column.max())
        count = high - low + 1
        size *= count
        if size >= _MAX_NUMBER:
            return True
        codes = codes * count + (column - low)
    codes = np.sort(codes)
    equal_rows = codes[1:] // count == codes[:-1] // count
    return bool(np.any(equal_rows & (codes[1:] != codes[:-1])))


def _side(part: _SplitAccess, unit: int, ranges: Ranges) -> Side:
    """Return a side with the loaded number as a variable, without conditions on sums."""
    given = [c for c in part.given if c.atoms().isdisjoint(part.sums)]
    return Side(ranges.form(part.rest + _READ.term * unit), part.width, Given(given, ranges))


# -- spans of rows ---------------------------------------------------------------------------------


class Spans(Struct, frozen=True):
    """The bytes from `starts` to before `ends` that each row of an access may touch.

    Not ByteRanges, as each row keeps its actor: `actors` encodes it among those with an equal
    number in `groups`; actors of different groups never meet.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    actors: NDArray[np.int64]
    groups: NDArray[np.int64]


class Overlaps:
    """The overlaps of spans of two accesses, between different actors of one group.

    `are_actors_told_apart` is false if rows of one actor may also be those of two.

    Raises:
        TooLarge: the bytes of all groups do not fit 64 bits.

    """

    def __init__(self, left: Spans, right: Spans, *, are_actors_told_apart: bool) -> None:
        self._left, self._right = left, right
        self._are_told_apart = are_actors_told_apart
        groups = _ranks(left.groups, right.groups)
        self._counts = _overlap_counts(left, right, *groups)
        if are_actors_told_apart:
            actors = _ranks(left.actors, right.actors)
            actor_count = 1 + max(int(numbers.max(initial=0)) for numbers in actors)
            keys = (
                group * actor_count + actor for group, actor in zip(groups, actors, strict=True)
            )
            self._counts = self._counts - _overlap_counts(left, right, *keys)
        self.count = int(self._counts.sum())

    def pairs(self, most: int) -> list[tuple[int, int]]:
        """Return the positions of the first `most` pairs of rows that overlap."""
        left, right = self._left, self._right
        pairs: list[tuple[int, int]] = []
        for position in map(int, np.flatnonzero(self._counts)):
            overlaps = (right.starts < left.ends[position]) & (left.starts[position] < right.ends)
            overlaps &= right.groups == left.groups[position]
            if self._are_told_apart:
                overlaps &= right.actors != left.actors[position]
            pairs += ((position, int(other)) for other in np.flatnonzero(overlaps))
            if len(pairs) >= most:
                break
        return pairs[:most]


def _ranks(
    left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers from 0 on for the distinct values of two columns."""
    _, ranks = np.unique(np.concatenate((left, right)), return_inverse=True)
    return ranks[: len(left)], ranks[len(left) :]


def _overlap_counts(
    left: Spans, right: Spans, left_keys: NDArray[np.int64], right_keys: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each span on the left how many of the right with an equal key it overlaps."""
    begin = min(int(spans.starts.min()) for spans in (left, right))
    size = max(int(spans.ends.max()) for spans in (left, right)) - begin
    if size * (1 + max(int(left_keys.max()), int(right_keys.max()))) >= _MAX_NUMBER:
        raise TooLarge
    left_shift, right_shift = left_keys * size - begin, right_keys * size - begin
    begun = np.searchsorted(np.sort(right.starts + right_shift), left.ends + left_shift, "left")
    ended = np.searchsorted(np.sort(right.ends + right_shift), left.starts + left_shift, "right")
    return np.asarray(begun - ended)
