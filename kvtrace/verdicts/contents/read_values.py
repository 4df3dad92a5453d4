"""Values that a call's loads read, as columns over the programs, trips and lanes that select them.

A row is one choice of the programs, trips and lanes by which recorded integers are loaded. Symbols
that do not select an integer have no column, so an index table is enumerated once, however many
lanes use its numbers. Rows in which conditions do not hold are left out, mostly before they exist:
loop bounds and masks bound the next column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.symbolic.bits import Bitwise, Wrap
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Not, Opaque, Or
from kvtrace.symbolic.functions import Applied, Choice
from kvtrace.symbolic.terms import Atom, Evaluation, Symbol, Term
from kvtrace.verdicts.contents.loaded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.symbolic.prover import Interval

Numbers = NDArray[np.int64]
Doubt = Any
"""The rows with unknown numbers: a Boolean array over rows, or one Boolean for all rows."""

MOST_ROWS: Final = 1 << 22
_CHUNK: Final = 1 << 19
_LARGEST: Final = 1 << 62
_WIDE: Final = 62
_FREE: Final = ("program", "trip", "lane")


class TooLarge(Exception):
    """There are too many rows to enumerate, or numbers that do not fit 64 bits."""


@dataclass(frozen=True)
class Rows:
    """Columns of equal length; `certain`: rows for which all conditions are known to hold."""

    columns: Mapping[Symbol, Numbers]
    certain: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.certain)


class ReadValues:
    """The integers that a call's loads read, for terms and conditions over them.

    `recorded` returns the integers that a content symbol is read from (None: not known), `range_of`
    the range of any other symbol.
    """

    def __init__(
        self,
        recorded: Callable[[Symbol], Recorded | None],
        range_of: Callable[[Symbol], Interval],
    ) -> None:
        self.recorded = recorded
        self.range_of = range_of

    def is_free(self, atom: Atom) -> bool:
        """Return whether an atom is a program, trip or lane with several values."""
        if not isinstance(atom, Symbol) or atom.kind not in _FREE:
            return False
        low, high = self.range_of(atom)
        return low < high

    def free(self, atoms: Collection[Atom]) -> frozenset[Symbol]:
        """Return the programs, trips and lanes with several values among atoms."""
        return frozenset(a for a in atoms if isinstance(a, Symbol) and self.is_free(a))

    def rows(self, symbols: Collection[Symbol], conditions: Sequence[Condition]) -> Iterator[Rows]:
        """Yield all values of symbols for which conditions may hold, in parts.

        Conditions are over these symbols, and over values loaded by them. Rows with an unknown
        condition are kept.

        Raises:
            TooLarge: there are too many rows.

        """
        order = sorted(symbols, key=lambda s: (_FREE.index(s.kind), s.order))
        needed = [(condition, self.free(condition.atoms())) for condition in conditions]
        first = Rows({}, np.ones(1, bool))
        yield from self._expanded(
            self._filtered(first, [c for c, n in needed if not n]), order, needed
        )

    def _expanded(
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
            symbol, before = order[depth], set(order[:depth])
            due = [c for c, n in needed if symbol in n and n <= before | {symbol}]
            lows, highs = self._bounds(rows, symbol, due)
            counts = np.maximum(highs - lows + 1, 0)
            if int(counts.max()) > MOST_ROWS:
                raise TooLarge
            ends = np.cumsum(counts)
            total = int(ends[-1])
            remaining[depth] -= total
            if remaining[depth] < 0:
                raise TooLarge
            for start in range(0, total, _CHUNK):
                positions = np.arange(start, min(start + _CHUNK, total))
                parents = np.searchsorted(ends, positions, side="right")
                columns = {
                    column_symbol: column[parents] for column_symbol, column in rows.columns.items()
                }
                columns[symbol] = lows[parents] + positions - (ends - counts)[parents]
                wider = Rows(columns, rows.certain[parents])
                yield from expanded(self._filtered(wider, due), depth + 1)

        yield from expanded(rows, 0)

    def _bounds(
        self, rows: Rows, symbol: Symbol, conditions: Sequence[Condition]
    ) -> tuple[Numbers, Numbers]:
        """Return the least and greatest value of a symbol in each row, by linear conditions."""
        low, high = self.range_of(symbol)
        if high - low > _LARGEST:
            raise TooLarge
        lows, highs = np.full(len(rows), low), np.full(len(rows), high)
        reading = Reading(self, rows)
        for condition in conditions:
            split = _split(condition, symbol)
            if split is None:
                continue
            factor, rest = split
            numbers, doubt = reading(rest), reading.doubt(rest)
            if factor > 0:
                lows = np.where(doubt, lows, np.maximum(lows, -(numbers // factor)))
            else:
                highs = np.where(doubt, highs, np.minimum(highs, numbers // -factor))
        return lows, highs

    def _filtered(self, rows: Rows, conditions: Sequence[Condition]) -> Rows:
        """Return the rows in which conditions may hold."""
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
    """The numbers of terms in each row, and the rows in which they are not known.

    Raises:
        TooLarge: a number does not fit 64 bits.

    """

    def __init__(self, values: ReadValues, rows: Rows) -> None:
        super().__init__(rows.columns, self._loaded, arrays=True)
        self._values = values
        self._most: dict[Any, int] = {}
        self._doubts: dict[Any, tuple[Any, Doubt]] = {}

    def __call__(self, term: Term) -> Any:
        """Return the numbers of a term."""
        total: Any = 0
        most = 0
        for monomial, coefficient in term.coefficients.items():
            product: Any = 1
            largest = 1
            for factor, size in ((coefficient, abs(coefficient)), *map(self._sized, monomial)):
                largest *= size
                if max(largest, size) >= _LARGEST:
                    raise TooLarge
                product = product * factor
            most += largest
            if most >= _LARGEST:
                raise TooLarge
            total = total + product
        return np.asarray(total, np.int64)

    def _sized(self, atom: Atom) -> tuple[Any, int]:
        """Return the numbers of an atom, and the largest of their absolute values."""
        return self.atom(atom), self._most[atom]

    def atom(self, atom: Any) -> Any:
        """Return the numbers of an atom; arbitrary ones if they are not known."""
        if isinstance(atom, Opaque):
            return np.asarray(False)
        if atom not in self._most:
            self._known[atom] = number = np.asarray(self._number(atom), np.int64)
            ends = (int(number.min()), int(number.max())) if number.size else (0, 0)
            self._most[atom] = max(abs(ends[0]), abs(ends[1]))
        return self._known[atom]

    def _number(self, atom: Atom) -> Any:
        if isinstance(atom, Symbol):
            if atom in self.assignment:
                return self.assignment[atom]
            if atom.kind == "content":
                return atom.compute(self)
            low, high = self._values.range_of(atom)
            return low if low == high else 0
        if isinstance(atom, Wrap) and atom.bits >= _WIDE:
            number = self(atom.arguments[0])
            if not atom.signed and number.size and number.min() < 0:
                raise TooLarge
            return number
        if isinstance(atom, Bitwise) and atom.operator == "shl":
            left, by = (self(term) for term in atom.arguments)
            widest = max((int(np.abs(left).max(initial=0)).bit_length()), 1)
            if widest + min(int(by.max(initial=0)), atom.bits) >= _WIDE:
                raise TooLarge
        return atom.compute(self)

    def _loaded(self, symbol: Symbol, at: tuple[Numbers, ...]) -> Any:
        recorded = self._values.recorded(symbol)
        if recorded is None or not len(recorded.numbers):
            return 0
        places, inside = recorded.places(at[0])
        return np.where(inside, recorded.numbers[np.where(inside, places, 0)], 0)

    # -- what is not known -----------------------------------------------------------------------

    def doubt(self, what: Term | Condition | Atom) -> Doubt:
        """Return the rows in which a term's numbers, or a condition's truth, are not known."""
        cached = self._doubts.get(id(what))
        if cached is None:
            cached = self._doubts[id(what)] = (what, self._doubt(what))
        return cached[1]

    def _doubt(self, what: Term | Condition | Atom) -> Doubt:
        if isinstance(what, Term):
            return self._any(atom for monomial in what.coefficients for atom in monomial)
        if isinstance(what, Symbol):
            return self._doubt_of_symbol(what)
        if isinstance(what, Choice):
            holds = what.condition.evaluate(self)
            chosen = np.where(holds, self.doubt(what.then), self.doubt(what.otherwise))
            return self.doubt(what.condition) | chosen
        if isinstance(what, Applied):
            return self._any(what.arguments)
        if isinstance(what, And | Or):
            return self._doubt_of_parts(what)
        if isinstance(what, Not):
            return self.doubt(what.inner)
        if isinstance(what, Opaque):
            return np.asarray(True)
        inner = getattr(what, "term", None)
        return np.asarray(False) if inner is None else self.doubt(inner)

    def _doubt_of_symbol(self, symbol: Symbol) -> Doubt:
        if symbol in self.assignment:
            return np.asarray(False)
        if symbol.kind != "content":
            low, high = self._values.range_of(symbol)
            return np.asarray(low < high)
        recorded = self._values.recorded(symbol)
        if recorded is None:
            return np.asarray(True)
        _, inside = recorded.places(self(symbol.at[0]))
        return np.logical_not(inside) | self.doubt(symbol.at[0])

    def _doubt_of_parts(self, condition: And | Or) -> Doubt:
        """Return where no known part decides, and a part is not known."""
        decisive = isinstance(condition, Or)
        is_decided: Any = np.asarray(False)
        for part in condition.parts:
            agrees = np.asarray(part.evaluate(self), bool) == decisive
            is_decided = is_decided | (agrees & np.logical_not(self.doubt(part)))
        return self._any(condition.parts) & np.logical_not(is_decided)

    def _any(self, parts: Any) -> Doubt:
        doubt: Any = np.asarray(False)
        for part in parts:
            doubt = doubt | self.doubt(part)
        return doubt


def _split(condition: Condition, symbol: Symbol) -> tuple[int, Term] | None:
    """Return (factor, rest) of a condition `factor * symbol + rest >= 0`, else None."""
    if not isinstance(condition, AtLeast):
        return None
    coefficients = condition.term.coefficients
    factor = coefficients.get((symbol,), 0)
    rest = Term(
        {monomial: number for monomial, number in coefficients.items() if monomial != (symbol,)}
    )
    return None if not factor or symbol in rest.atoms() else (factor, rest)
