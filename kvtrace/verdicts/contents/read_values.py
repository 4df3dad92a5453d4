"""Values that a call's loads read, as columns over programs, trips and lanes.

A row is a combination of the programs, trips and lanes by which recorded integers are loaded.
Symbols that do not select an integer have no column, so an index table is enumerated once for any
number of lanes that use its numbers. Rows in which conditions do not hold are left out, mostly
before they are made: loop bounds and masks bound the next column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.symbolic.bits import Bitwise, Wrap
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Not, Opaque, Or
from kvtrace.symbolic.functions import Applied, Choice
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.terms import Atom, Evaluation, Symbol, Term
from kvtrace.verdicts.contents.loaded import Recorded

Numbers = NDArray[np.int64]
Doubt = Any
"""The rows with unknown numbers: a Boolean array over rows, or one Boolean for all rows."""

MOST_ROWS: Final = 1 << 22
_CHUNK_ROWS: Final = 1 << 19
_MAX_NUMBER: Final = 1 << 62
_MAX_BITS: Final = 62
_ROW_KINDS: Final = ("set", "program", "trip", "lane")


class TooLarge(Exception):
    """The error of too many rows to enumerate, or of numbers that do not fit 64 bits."""


class Rows(Struct, frozen=True):
    """Columns of equal length, by symbol; `certain` marks rows in which all conditions hold."""

    columns: Mapping[Symbol, Numbers]
    certain: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.certain)


class ReadValues:
    """The integers that a call's loads read, for the evaluation of terms and conditions.

    `recorded` returns the integers from which a content symbol is read (None: unknown), `range_of`
    the range of any other symbol. `sets` is the symbol of the contents that are read, if there are
    several (`Contents.sets`).
    """

    def __init__(
        self,
        recorded: Callable[[Symbol], Recorded | None],
        range_of: Callable[[Symbol], Interval],
        sets: Symbol | None = None,
    ) -> None:
        self.recorded = recorded
        self.range_of = range_of
        self.sets = sets if sets is not None and sets.high else None

    def is_free(self, atom: Atom) -> bool:
        """Return whether an atom is a row's own symbol with more than one value."""
        if not isinstance(atom, Symbol) or atom.kind not in _ROW_KINDS:
            return False
        low, high = self.range_of(atom)
        return low < high

    def free(self, atoms: Collection[Atom]) -> frozenset[Symbol]:
        """Return the programs, trips and lanes among atoms that have more than one value.

        If there are several contents and an atom is loaded from them, their symbol is another.
        """
        symbols = frozenset(a for a in atoms if isinstance(a, Symbol))
        free = frozenset(symbol for symbol in symbols if self.is_free(symbol))
        if self.sets is None or all(symbol.kind != "content" for symbol in symbols):
            return free
        return free | {self.sets}

    def rows(self, symbols: Collection[Symbol], conditions: Sequence[Condition]) -> Iterator[Rows]:
        """Yield, in batches, all values of symbols for which conditions may hold.

        Conditions are about these symbols, and values that they select. Rows with an unknown
        condition are kept.

        Raises:
            TooLarge: there are too many rows.

        """
        order = sorted(symbols, key=lambda s: (_ROW_KINDS.index(s.kind), s.order))
        symbols_by_condition = [
            (condition, self.free(condition.atoms())) for condition in conditions
        ]
        empty_rows = Rows({}, np.ones(1, bool))
        yield from self._expand(
            self._filtered(
                empty_rows,
                [
                    condition_
                    for condition_, free_symbols in symbols_by_condition
                    if not free_symbols
                ],
            ),
            order,
            symbols_by_condition,
        )

    def _expand(
        self,
        rows: Rows,
        order: Sequence[Symbol],
        needed: Sequence[tuple[Condition, frozenset[Symbol]]],
    ) -> Iterator[Rows]:
        remaining = [MOST_ROWS] * len(order)

        def expanded(rows: Rows, depth: int) -> Iterator[Rows]:
            if not len(rows):
                return
            if depth == len(order):
                yield rows
                return
            symbol, earlier_symbols = order[depth], set(order[:depth])
            ready_conditions = [
                c for c, n in needed if symbol in n and n <= earlier_symbols | {symbol}
            ]
            lows, highs = self._bounds(rows, symbol, ready_conditions)
            counts = np.maximum(highs - lows + 1, 0)
            if int(counts.max()) > MOST_ROWS:
                raise TooLarge
            row_ends = np.cumsum(counts)
            row_count = int(row_ends[-1])
            remaining[depth] -= row_count
            if remaining[depth] < 0:
                raise TooLarge
            for start in range(0, row_count, _CHUNK_ROWS):
                positions = np.arange(start, min(start + _CHUNK_ROWS, row_count))
                parents = np.searchsorted(row_ends, positions, side="right")
                columns = {
                    column_symbol: column[parents] for column_symbol, column in rows.columns.items()
                }
                columns[symbol] = lows[parents] + positions - (row_ends - counts)[parents]
                expanded_rows = Rows(columns, rows.certain[parents])
                yield from expanded(self._filtered(expanded_rows, ready_conditions), depth + 1)

        yield from expanded(rows, 0)

    def _bounds(
        self, rows: Rows, symbol: Symbol, conditions: Sequence[Condition]
    ) -> tuple[Numbers, Numbers]:
        """Return the smallest and largest value of a symbol in each row, from linear conditions."""
        low, high = self.range_of(symbol)
        if high - low > _MAX_NUMBER:
            raise TooLarge
        lows, highs = np.full(len(rows), low), np.full(len(rows), high)
        reading = Reading(self, rows)
        for condition in conditions:
            factor_and_rest = _linear_parts(condition, symbol)
            if factor_and_rest is None:
                continue
            factor, rest = factor_and_rest
            numbers, doubt = reading(rest), reading.doubt(rest)
            if factor > 0:
                lows = np.where(doubt, lows, np.maximum(lows, -(numbers // factor)))
            else:
                highs = np.where(doubt, highs, np.minimum(highs, numbers // -factor))
        return lows, highs

    def _filtered(self, rows: Rows, conditions: Sequence[Condition]) -> Rows:
        """Return the rows in which all conditions may hold."""
        if not conditions or not len(rows):
            return rows
        reading = Reading(self, rows)
        is_kept, certain = np.ones(len(rows), bool), rows.certain
        for condition in conditions:
            truth = np.asarray(condition.evaluate(reading), bool)
            doubt = reading.doubt(condition)
            is_kept = is_kept & (truth | doubt)
            certain = certain & np.logical_not(doubt)
        if is_kept.all():
            return Rows(rows.columns, certain)
        columns = {symbol: column[is_kept] for symbol, column in rows.columns.items()}
        return Rows(columns, certain[is_kept])


class Reading(Evaluation):
    """Evaluator of terms: its call returns a term's number in each row.

    `doubt` has the rows in which a term's number is unknown.

    Raises:
        TooLarge: a number does not fit 64 bits.

    """

    def __init__(self, values: ReadValues, rows: Rows) -> None:
        super().__init__(rows.columns, self._load, arrays=True)
        self._values = values
        self._largest_by_atom: dict[Any, int] = {}
        self._doubts: dict[Any, tuple[Any, Doubt]] = {}

    def __call__(self, term: Term) -> Any:
        """Return the numbers of a term in each row."""
        sums: Any = 0
        largest_sum = 0
        for monomial, coefficient in term.coefficients.items():
            product: Any = 1
            largest_product = 1
            for factor, magnitude in (
                (coefficient, abs(coefficient)),
                *map(self._atom_with_magnitude, monomial),
            ):
                largest_product *= magnitude
                if max(largest_product, magnitude) >= _MAX_NUMBER:
                    raise TooLarge
                product = product * factor
            largest_sum += largest_product
            if largest_sum >= _MAX_NUMBER:
                raise TooLarge
            sums = sums + product
        return np.asarray(sums, np.int64)

    def _atom_with_magnitude(self, atom: Atom) -> tuple[Any, int]:
        """Return the numbers of an atom, and the largest of their absolute values."""
        return self.atom(atom), self._largest_by_atom[atom]

    def atom(self, atom: Any) -> Any:
        """Return the numbers of an atom in each row; unknown ones are arbitrary."""
        if isinstance(atom, Opaque):
            return np.asarray(False)
        if atom not in self._largest_by_atom:
            self._known[atom] = number = np.asarray(self._compute(atom), np.int64)
            extremes = (int(number.min()), int(number.max())) if number.size else (0, 0)
            self._largest_by_atom[atom] = max(abs(extremes[0]), abs(extremes[1]))
        return self._known[atom]

    def _compute(self, atom: Atom) -> Any:
        if isinstance(atom, Symbol):
            if atom in self.assignment:
                return self.assignment[atom]
            if atom.kind == "content":
                return atom.compute(self)
            low, high = self._values.range_of(atom)
            return low if low == high else 0
        if isinstance(atom, Wrap) and atom.bits >= _MAX_BITS:
            number = self(atom.arguments[0])
            if not atom.signed and number.size and number.min() < 0:
                raise TooLarge
            return number
        if isinstance(atom, Bitwise) and atom.operator == "shl":
            left, shift = (self(term) for term in atom.arguments)
            bit_length = max((int(np.abs(left).max(initial=0)).bit_length()), 1)
            if bit_length + min(int(shift.max(initial=0)), atom.bits) >= _MAX_BITS:
                raise TooLarge
        return atom.compute(self)

    def _load(self, symbol: Symbol, offsets: tuple[Numbers, ...]) -> Any:
        recorded = self._values.recorded(symbol)
        if recorded is None or not len(recorded.numbers):
            return 0
        contents = self.assignment.get(self._values.sets, 0)  # without a column all are doubtful
        positions, is_recorded = recorded.positions_at(offsets[0], contents)
        return np.where(is_recorded, recorded.numbers[np.where(is_recorded, positions, 0)], 0)

    # -- unknown numbers -------------------------------------------------------------------------

    def doubt(self, formula: Term | Condition | Atom) -> Doubt:
        """Return the rows in which a term's numbers, or a condition's truth, are unknown."""
        cached = self._doubts.get(id(formula))
        if cached is None:
            cached = self._doubts[id(formula)] = (formula, self._doubt(formula))
        return cached[1]

    def _doubt(self, formula: Term | Condition | Atom) -> Doubt:
        if isinstance(formula, Term):
            return self._any(atom for monomial in formula.coefficients for atom in monomial)
        if isinstance(formula, Symbol):
            return self._symbol_doubt(formula)
        if isinstance(formula, Choice):
            holds = formula.condition.evaluate(self)
            branch_doubt = np.where(holds, self.doubt(formula.then), self.doubt(formula.otherwise))
            return self.doubt(formula.condition) | branch_doubt
        if isinstance(formula, Applied):
            return self._any(formula.arguments)
        if isinstance(formula, And | Or):
            return self._parts_doubt(formula)
        if isinstance(formula, Not):
            return self.doubt(formula.inner)
        if isinstance(formula, Opaque):
            return np.asarray(True)
        inner = getattr(formula, "term", None)
        return np.asarray(False) if inner is None else self.doubt(inner)

    def _symbol_doubt(self, symbol: Symbol) -> Doubt:
        if symbol in self.assignment:
            return np.asarray(False)
        if symbol.kind != "content":
            low, high = self._values.range_of(symbol)
            return np.asarray(low < high)
        recorded, sets = self._values.recorded(symbol), self._values.sets
        if recorded is None or (sets is not None and sets not in self.assignment):
            return np.asarray(True)
        _, is_recorded = recorded.positions_at(self(symbol.at[0]))
        return np.logical_not(is_recorded) | self.doubt(symbol.at[0])

    def _parts_doubt(self, condition: And | Or) -> Doubt:
        """Return the rows in which a part is unknown and no known part determines the result."""
        decisive = isinstance(condition, Or)
        is_decided: Any = np.asarray(False)
        for part in condition.parts:
            is_decisive_part = np.asarray(part.evaluate(self), bool) == decisive
            is_decided = is_decided | (is_decisive_part & np.logical_not(self.doubt(part)))
        return self._any(condition.parts) & np.logical_not(is_decided)

    def _any(self, parts: Any) -> Doubt:
        doubt: Any = np.asarray(False)
        for part in parts:
            doubt = doubt | self.doubt(part)
        return doubt


def _linear_parts(condition: Condition, symbol: Symbol) -> tuple[int, Term] | None:
    """Return (factor, rest) of a condition `factor * symbol + rest >= 0`, else None."""
    if not isinstance(condition, AtLeast):
        return None
    coefficients = condition.term.coefficients
    factor = coefficients.get((symbol,), 0)
    rest = Term(
        {
            monomial: coefficient
            for monomial, coefficient in coefficients.items()
            if monomial != (symbol,)
        }
    )
    return None if not factor or symbol in rest.atoms() else (factor, rest)
