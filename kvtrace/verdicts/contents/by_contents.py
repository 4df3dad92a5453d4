"""Decision of claims about recorded contents: loaded values are enumerated, others symbolic.

A claim's symbols are separated. The programs, trips and lanes that select the loaded integers are
enumerated (`read_values.py`), and each sum over only these becomes a new symbol with the sum's
values. Other symbols, such as heads and columns, remain. A claim is proven from the ranges of the
new symbols and of their relevant sums, or for each of their values if these are few; it is refuted
at a row that was read. The cost depends on the index tables, not on the grid.

Example: `table[program] * 64 + column < size` with `column < 64`. `table[program]` is read for all
programs and becomes a symbol with, say, range 0 to 9; the claim follows from 9 * 64 + 63 < size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.symbolic.conditions import Condition, Opaque, at_least, conjunction, in_order
from kvtrace.symbolic.functions import Quotient, Remainder
from kvtrace.symbolic.prover import (
    Decision,
    Given,
    Interval,
    Method,
    Proven,
    Ranges,
    Refuted,
    Unknown,
    follows,
    nominal_seconds,
    prove,
    strongest,
)
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term, as_term
from kvtrace.verdicts.contents.gathering import Direction, Gathering, directions
from kvtrace.verdicts.contents.loaded import Contents
from kvtrace.verdicts.contents.read_values import Reading, ReadValues, Rows, TooLarge

_MAX_SPLITS: Final = 4
_MAX_CACHED_ROWS: Final = 1 << 18
_MAX_CACHE_ENTRIES: Final = 4
_UNDECIDED: Final = "the recorded contents neither prove nor refute it"


class ByContents:
    """The decider of claims about one call's recorded contents, with a cache of enumerated rows.

    `order` has the symbols whose values a counterexample should minimize.
    """

    def __init__(self, contents: Contents, ranges: Ranges, order: Sequence[Symbol]) -> None:
        self._contents = contents
        self.values = ReadValues(contents.recorded, ranges.of, contents.sets)
        self._call_ranges = ranges
        self._order = order
        self._row_cache: dict[object, list[tuple[Rows, Reading]]] = {}
        self._too_large: set[object] = set()

    def is_about(self, atoms: Iterable[Atom]) -> bool:
        """Return whether any of the atoms is a recorded integer."""
        return bool(self._recorded(atoms))

    def prove(self, claim: Condition, given: Sequence[Condition], seconds: float) -> Decision:
        """Decide, for the recorded contents, whether a claim holds wherever the conditions hold.

        A counterexample includes the loaded numbers. `seconds` limits the work.
        """
        atoms = _atoms((claim, *given))
        constants = self.settled(atoms)
        split, (claim, *split_conditions) = self._split_divided(
            [condition.substitute(constants) for condition in (claim, *given)]
        )
        conditions = conjunction(split_conditions).conjuncts()
        all_atoms = _atoms((claim, *conditions))
        enumerated = self.selecting_symbols(all_atoms)
        for _ in range(3):
            query = _Query(self.values, enumerated, claim, conditions)
            try:
                decision = self._decide(query, seconds)
            except TooLarge:
                return Unknown(_UNDECIDED)
            if isinstance(decision, Refuted):
                return self._complete(decision, split, atoms)
            if isinstance(decision, Proven):
                return decision
            more_symbols = self.values.free(all_atoms if enumerated == query.wider else query.wider)
            if more_symbols <= enumerated:
                break
            enumerated = more_symbols
        return Unknown(_UNDECIDED)

    def selecting_symbols(self, atoms: Iterable[Atom]) -> frozenset[Symbol]:
        """Return the programs, trips and lanes that select the recorded integers among atoms."""
        recorded = self._recorded(atoms)
        return self.values.free(
            frozenset(recorded).union(*(index.atoms() for atom in recorded for index in atom.at))
        )

    def settled(self, atoms: Iterable[Atom]) -> Substitution:
        """Return the substitution of numbers for symbols with a single value in this call."""
        numbers: dict[Atom, Term | int] = {}
        for atom in atoms:
            if isinstance(atom, Symbol) and atom.kind != "content":
                low, high = self.values.range_of(atom)
                if low == high:
                    numbers[atom] = low
        return Substitution(numbers)

    def _recorded(self, atoms: Iterable[Atom]) -> list[Symbol]:
        contents = (a for a in atoms if isinstance(a, Symbol) and a.kind == "content")
        return [symbol for symbol in contents if self._contents.recorded(symbol) is not None]

    def rows(
        self, symbols: frozenset[Symbol], filters: tuple[Condition, ...]
    ) -> Iterator[tuple[Rows, Reading]]:
        """Yield the rows of symbols for which conditions may hold; small results are cached.

        Raises:
            TooLarge: there are too many rows.

        """
        key = symbols, filters
        if key in self._row_cache:
            yield from self._row_cache[key]
            return
        if key in self._too_large:
            raise TooLarge
        pairs: list[tuple[Rows, Reading]] = []
        count = 0
        self._too_large.add(key)  # removed again once all rows were read
        for rows in self.values.rows(symbols, filters):
            pair = rows, Reading(self.values, rows)
            count += len(rows)
            if count <= _MAX_CACHED_ROWS:
                pairs.append(pair)
            yield pair
        self._too_large.discard(key)
        if count <= _MAX_CACHED_ROWS:
            while len(self._row_cache) >= _MAX_CACHE_ENTRIES:
                del self._row_cache[next(iter(self._row_cache))]
            self._row_cache[key] = pairs

    def _decide(self, query: _Query, seconds: float) -> Decision:
        """Decide a claim from the extremes of its gathered sums, then at single rows."""
        extremes = Extremes(query.gathered, query.directions)
        for rows, reading in self.rows(query.own, query.filters):
            extremes.add(rows, reading)
        if not extremes.count:
            return Proven("interval")
        ranges = self._ranges(query, extremes.ends)
        given = Given((*query.given, *extremes.bounds()), ranges)
        proof = None if extremes.is_doubtful else follows(query.claim, given)
        if proof is not None:
            return proof
        end = nominal_seconds() + seconds
        decision = self._decide_at_rows(query, extremes.candidates(), end)
        if isinstance(decision, Refuted):
            return decision
        if extremes.is_doubtful:
            return Unknown(_UNDECIDED)
        if isinstance(decision, Proven) and extremes.distinct is not None:
            return decision
        remaining = max(end - nominal_seconds(), 0.0)
        decision = prove(query.claim, given, seconds=remaining, order=self._order)
        return decision if isinstance(decision, Proven) else Unknown(_UNDECIDED)

    def _decide_at_rows(self, query: _Query, rows: Iterable[Row], end: float) -> Decision:
        """Decide a claim for the numbers of some rows; the first undecided row ends the search."""
        methods: list[Method] = []
        for row in rows:
            row_ranges = self._ranges(query, [(number, number) for number in row.numbers])
            given = Given(query.given, row_ranges)
            remaining = max(end - nominal_seconds(), 0.0)
            decision = prove(query.claim, given, seconds=remaining, order=self._order)
            if isinstance(decision, Refuted):
                model = decision.model.items()
                point = {symbol: n for symbol, n in model if symbol not in query.gathered}
                return Refuted({**point, **row.own}, decision.method, decision.solver_ns)
            if isinstance(decision, Unknown):
                return decision
            methods.append(decision.method)
        return Proven(strongest(methods))

    def _ranges(self, query: _Query, gathered_ranges: Sequence[Interval]) -> Ranges:
        """Return the call's ranges with those of gathered symbols."""
        ranges = zip(query.gathered, gathered_ranges, strict=True)
        return self._call_ranges.supposing({(s.kind, s.key): interval for s, interval in ranges})

    def _complete(
        self, refuted: Refuted, split: Sequence[_DigitSplit], atoms: Iterable[Atom]
    ) -> Refuted:
        """Return a counterexample in the call's own symbols, with the loaded numbers."""
        point = dict(refuted.model)
        for digits in reversed(split):
            outer, inner = point.pop(digits.outer, 0), point.pop(digits.inner, 0)
            point[digits.symbol] = outer * digits.divisor + inner
        for atom in in_order(atoms):
            if not isinstance(atom, Symbol) or atom in point:
                continue
            if atom.kind == "content":
                number = self._contents.number(atom, point)
            else:
                low, high = self.values.range_of(atom)
                number = low if low == high or self.values.is_free(atom) else None
            if number is not None:
                point[atom] = number
        return Refuted(point, refuted.method, refuted.solver_ns)

    def _split_divided(
        self, conditions: Sequence[Condition]
    ) -> tuple[list[_DigitSplit], tuple[Condition, ...]]:
        """Replace each symbol that is divided in an index by two symbols, its digits.

        The remainder's digit then selects no index, and remains symbolic.
        """
        splits: list[_DigitSplit] = []
        for _ in range(_MAX_SPLITS):
            candidates = self._divisors(_atoms(conditions))
            if not candidates:
                break
            divisor, symbol = min(candidates, key=lambda pair: (pair[0], pair[1].order))
            largest = self.values.range_of(symbol)[1]
            outer = Symbol(symbol.kind, (symbol.key, "over", divisor), 0, largest // divisor)
            inner = Symbol(symbol.kind, (symbol.key, "within", divisor), 0, divisor - 1)
            splits.append(_DigitSplit(symbol, outer, inner, divisor))
            sum_of_digits = outer.term * divisor + inner.term
            substitution = Substitution({symbol: sum_of_digits})
            substituted = [condition.substitute(substitution) for condition in conditions]
            conditions = (*substituted, *at_least(largest - sum_of_digits).conjuncts())
        return splits, tuple(conditions)

    def _divisors(self, atoms: Iterable[Atom]) -> list[tuple[int, Symbol]]:
        """Return (divisor, symbol) pairs whose quotient or remainder selects an index."""
        pairs = []
        indices = (index for symbol in self._recorded(atoms) for index in symbol.at)
        for atom in in_order(frozenset().union(*(index.atoms() for index in indices))):
            if not isinstance(atom, Quotient | Remainder):
                continue
            divisor, form = atom.arguments[1].constant, atom.arguments[0].affine()
            if divisor is None or divisor < 2 or form is None:
                continue
            for symbol, factor in form[1].items():
                if factor == 1 and self.values.is_free(symbol):
                    assert isinstance(symbol, Symbol)
                    low, high = self.values.range_of(symbol)
                    if low == 0 and high >= divisor:
                        pairs.append((divisor, symbol))
        return pairs


class _DigitSplit(Struct, frozen=True):
    """A symbol that equals `outer * divisor + inner`.

    Here only a symbol that selects loaded integers has digits, to be enumerated apart.
    """

    symbol: Symbol
    outer: Symbol
    inner: Symbol
    divisor: int


def _atoms(conditions: Iterable[Condition]) -> frozenset[Atom]:
    return frozenset().union(*(condition.atoms() for condition in conditions))


class _Query:
    """A claim and its conditions, in which sums over enumerated symbols are new symbols.

    `own` has the enumerated symbols, `filters` the conditions on these alone. `wider` also has the
    symbols that share conditions with them.
    """

    def __init__(
        self,
        values: ReadValues,
        enumerated: frozenset[Symbol],
        claim: Condition,
        conditions: Sequence[Condition],
    ) -> None:
        gathering = Gathering(values, enumerated)
        self.filters, self.given = gathering.split_conditions(conditions)
        mixed_atoms = (c.atoms() for c in conditions if not enumerated.isdisjoint(c.atoms()))
        self.own = enumerated
        self.claim = claim.substitute(gathering)
        self.gathered = gathering.sums
        self.wider = values.free(frozenset(enumerated).union(*mixed_atoms))
        self.directions = tuple(directions(self.claim, self.given, gathering.sums))


# -- extremes of sums ------------------------------------------------------------------------------


_MAX_NUMBER: Final = 1 << 62
_MAX_DISTINCT: Final = 32
_MAX_SORTED: Final = 1 << 12


class Row(Struct, frozen=True):
    """One row: the values of its own symbols, and the numbers of the gathered symbols."""

    own: Mapping[Symbol | Opaque, int]
    numbers: tuple[int, ...]


class Extremes(Struct):
    """The extremes of gathered symbols, and of sums of these symbols, over all rows.

    `ends` has the smallest and largest value of each symbol, `_least_sums` a lower bound of each
    direction's sum. Example: of the rows (x, y) = (1, 5) and (4, 2) with the direction x - y,
    `ends` is [(1, 4), (2, 5)] and `_least_sums` [-4]. `distinct` has all distinct rows, None if
    there are too many. `is_doubtful`: at least one number is unknown.

    `_extreme_rows` has a row with the smallest value of each symbol, then of each direction (by
    its number and sign 1), and one with the largest (sign -1), each with its value times the sign.
    """

    sums: Mapping[Symbol, Term]
    directions: Sequence[Direction]
    count: int = 0
    is_doubtful: bool = False
    ends: list[Interval] = []
    distinct: dict[tuple[int, ...], Row] | None = {}
    _least_sums: list[int] = []
    _extreme_rows: dict[tuple[int, int], tuple[int, Row]] = {}

    def add(self, rows: Rows, reading: Reading) -> None:
        """Add a batch of rows, with the numbers of their sums."""
        if not len(rows):
            return
        self.count += len(rows)
        columns = [np.broadcast_to(reading(sum_), len(rows)) for sum_ in self.sums.values()]
        certain = rows.certain
        for sum_ in self.sums.values():
            doubt = reading.doubt(sum_)
            if np.any(doubt):
                self.is_doubtful = True
                certain = certain & np.logical_not(doubt)
        intervals = [(int(column.min()), int(column.max())) for column in columns]
        self.ends = [
            (min(left[0], right[0]), max(left[1], right[1]))
            for left, right in zip(self.ends or intervals, intervals, strict=True)
        ]
        direction_sums = [self._direction_sum(direction, columns) for direction in self.directions]
        least_sums = [least for least, _ in direction_sums]
        self._least_sums = list(map(min, self._least_sums or least_sums, least_sums))
        self._add_distinct(rows, columns, certain)
        known_positions = np.flatnonzero(certain)
        if not len(known_positions):
            return
        if not columns:  # any row represents all
            any_row = _row_at(rows, columns, int(known_positions[0]))
            self._extreme_rows.setdefault((0, 1), (0, any_row))
        for number, sums in enumerate((*columns, *(sums for _, sums in direction_sums))):
            if sums is None:
                continue
            known_sums = sums[known_positions]
            for sign, index in ((1, known_sums.argmin()), (-1, known_sums.argmax())):
                extreme = sign * int(known_sums[index])
                previous = self._extreme_rows.get((number, sign))
                if previous is None or extreme < previous[0]:
                    row = _row_at(rows, columns, int(known_positions[index]))
                    self._extreme_rows[number, sign] = extreme, row

    def _direction_sum(
        self, direction: Direction, columns: Sequence[NDArray[np.int64]]
    ) -> tuple[int, NDArray[np.int64] | None]:
        """Return a lower bound of a direction's sum, and each row's sum if all fit into 64 bits."""
        column_of = {symbol: index for index, symbol in enumerate(self.sums)}
        largest_sum = sum(
            abs(factor) * max(map(abs, self.ends[column_of[symbol]]))
            for symbol, factor in direction
        )
        if largest_sum >= _MAX_NUMBER:
            return -largest_sum * 2, None
        sums = np.zeros((), np.int64)
        for symbol, factor in direction:
            sums = sums + columns[column_of[symbol]] * factor
        return int(sums.min()), sums

    def _add_distinct(
        self, rows: Rows, columns: Sequence[NDArray[np.int64]], certain: NDArray[np.bool_]
    ) -> None:
        if self.distinct is None:
            return
        if len(rows) > _MAX_SORTED or not certain.all():
            self.distinct = None
            return
        numbers = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), np.int64)
        _, first_positions = np.unique(numbers, axis=0, return_index=True)
        for position in first_positions[: _MAX_DISTINCT + 1]:
            row = _row_at(rows, columns, int(position))
            self.distinct.setdefault(row.numbers, row)
        if len(self.distinct) > _MAX_DISTINCT:
            self.distinct = None

    def bounds(self) -> list[Condition]:
        """Return conditions that give lower bounds of the sums of several symbols."""
        conditions = []
        for direction, least_sum in zip(self.directions, self._least_sums, strict=True):
            term = as_term(0)
            for symbol, factor in direction:
                term = term + symbol.term * factor
            conditions.append(at_least(term, least_sum))
        return conditions

    def candidates(self) -> list[Row]:
        """Return the rows at which to check a claim: all distinct rows, else the extreme ones."""
        if self.distinct is not None:
            return list(self.distinct.values())
        rows = {row.numbers: row for _, row in self._extreme_rows.values()}
        return list(rows.values())[:_MAX_DISTINCT]


def _row_at(rows: Rows, columns: Sequence[NDArray[np.int64]], position: int) -> Row:
    symbols: dict[Symbol | Opaque, int] = {
        symbol: int(column[position]) for symbol, column in rows.columns.items()
    }
    return Row(symbols, tuple(int(column[position]) for column in columns))
