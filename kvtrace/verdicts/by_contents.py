"""Deciding claims about recorded contents by the values that are read, with all else as symbols.

What a claim depends on is taken apart: programs, trips and lanes that decide which integers are
loaded are gone through (`read_values.py`), and all that is made of these alone becomes a new symbol
that has the values found there. What is left, heads and columns for example, stays symbolic. A
claim is proven from the ranges of the new symbols and of their sums that matter, or for each of
their values where these are few; it is refuted at a row that was read. So a grid of any size costs
what its index tables cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.symbolic.conditions import (
    AtLeast,
    Condition,
    Equal,
    at_least,
    conjunction,
)
from kvtrace.symbolic.decide import (
    Decision,
    Given,
    Method,
    Proven,
    Refuted,
    Undecided,
    decide_given,
    prove,
)
from kvtrace.symbolic.functions import Quotient, Remainder
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Substitution, Symbol, Term, as_term
from kvtrace.verdicts.read_values import Reading, ReadValues, Rows, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.symbolic.intervals import Ranges
    from kvtrace.symbolic.linear import Interval
    from kvtrace.verdicts.contents import Contents

_LARGEST: Final = 1 << 62
_MOST_DIRECTIONS: Final = 12
_MOST_DISTINCT: Final = 32
_MOST_SORTED: Final = 1 << 12
_MOST_SPLIT: Final = 4
_MOST_KEPT: Final = 1 << 20
_KEPT: Final = 4
_STRENGTH: Final[tuple[Method, ...]] = ("interval", "affine", "solver")
_UNDECIDED: Final = "the contents that it depends on decide it neither way"

Direction = tuple[tuple[Symbol, int], ...]
"""A sum of gathered symbols with factors."""


class ByContents:
    """Decides claims about one call; what it has gone through is kept for the next claim.

    `supposing` gives the call's ranges with those of more symbols, by kind and key; `order` are
    the symbols that a counterexample should have small.
    """

    def __init__(
        self,
        contents: Contents,
        ranges: Ranges,
        supposing: Callable[[Mapping[tuple[str, object], Interval]], Ranges],
        order: Sequence[Symbol],
    ) -> None:
        self._contents = contents
        self.values = ReadValues(contents.recorded, ranges.of)
        self._supposing = supposing
        self._order = order
        self._kept: dict[object, list[tuple[Rows, Reading]]] = {}

    def is_about(self, atoms: Iterable[Atom]) -> bool:
        """Whether integers that were recorded are among atoms."""
        return any(self._is_recorded(atom) for atom in atoms)

    def decide(self, claim: Condition, given: Sequence[Condition], seconds: float) -> Decision:
        """Decide whether a claim holds wherever what is given does, for what is recorded.

        A counterexample has the numbers that are loaded, too. `seconds` is the solver's time.
        """
        conditions = conjunction(given).conjuncts()
        atoms = _atoms((claim, *conditions))
        settled = self.settled(atoms)
        claim = claim.substitute(settled)
        conditions = conjunction(c.substitute(settled) for c in conditions).conjuncts()
        split, (claim, *conditions) = self._split((claim, *conditions))
        own = self.deciding(_atoms((claim, *conditions)))
        for _ in range(3):
            question = _Question(self.values, own, claim, conditions)
            try:
                decision = self._decided(question, seconds)
            except TooLarge:
                return Undecided(_UNDECIDED)
            if isinstance(decision, Refuted):
                return self._completed(decision, split, atoms)
            if isinstance(decision, Proven):
                return decision
            everything = _atoms((claim, *conditions))
            wider = self.values.free(everything if own == question.wider else question.wider)
            if wider <= own:
                break
            own = wider
        return Undecided(_UNDECIDED)

    def deciding(self, atoms: Iterable[Atom]) -> frozenset[Symbol]:
        """Return the programs, trips and lanes that decide which recorded integers are loaded."""
        read = [a for a in atoms if isinstance(a, Symbol) and self._is_recorded(a)]
        return self.values.free(frozenset().union(*(at.atoms() for a in read for at in a.at)))

    def settled(self, atoms: Iterable[Atom]) -> Substitution:
        """Return what puts numbers in the place of symbols that have one value in this call."""
        numbers: dict[Atom, Term | int] = {}
        for atom in atoms:
            if isinstance(atom, Symbol) and atom.kind != "content":
                low, high = self.values.range_of(atom)
                if low == high:
                    numbers[atom] = low
        return Substitution(numbers)

    def _is_recorded(self, atom: Atom) -> bool:
        return (
            isinstance(atom, Symbol)
            and atom.kind == "content"
            and self._contents.recorded(atom) is not None
        )

    def rows(
        self, own: frozenset[Symbol], filters: tuple[Condition, ...]
    ) -> Iterator[tuple[Rows, Reading]]:
        """Return the rows of symbols for which conditions may hold, kept if they are not many.

        Raises:
            TooLarge: there are too many.

        """
        key = own, filters
        if key in self._kept:
            yield from self._kept[key]
            return
        found: list[tuple[Rows, Reading]] = []
        count = 0
        for rows in self.values.rows(own, filters):
            pair = rows, Reading(self.values, rows)
            count += len(rows)
            if count <= _MOST_KEPT:
                found.append(pair)
            yield pair
        if count <= _MOST_KEPT:
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found

    def _decided(self, question: _Question, seconds: float) -> Decision:
        seen = _Seen(question.gathered, question.directions)
        for rows, reading in self.rows(question.own, question.filters):
            seen.add(rows, reading)
        if not seen.count:
            return Proven("interval")
        gathered = {
            (s.kind, s.key): ends for s, ends in zip(question.gathered, seen.ends, strict=True)
        }
        ranges = self._supposing(gathered)
        whole = Given((*question.given, *seen.bounds()), ranges)
        found = None if seen.is_doubtful else prove(question.claim, whole)
        if found is not None:
            return found
        methods: list[Method] = []
        for row in seen.candidates():
            fixed = {
                (s.kind, s.key): (number, number)
                for s, number in zip(question.gathered, row.numbers, strict=True)
            }
            given = Given(question.given, self._supposing(fixed))
            decision = decide_given(question.claim, given, budget=seconds, order=self._order)
            if isinstance(decision, Refuted):
                point = {k: n for k, n in decision.model.items() if k not in question.gathered}
                return Refuted({**point, **row.own}, decision.method, decision.solver_ns)
            if isinstance(decision, Undecided):
                break
            methods.append(decision.method)
        else:
            if seen.distinct is not None and not seen.is_doubtful:
                return Proven(max(methods, key=_STRENGTH.index))
        if seen.is_doubtful:
            return Undecided(_UNDECIDED)
        decision = decide_given(question.claim, whole, budget=seconds, order=self._order)
        return decision if isinstance(decision, Proven) else Undecided(_UNDECIDED)

    def _completed(self, found: Refuted, split: Sequence[_Split], atoms: Iterable[Atom]) -> Refuted:
        """Return a counterexample in the symbols of the call, with the numbers that are loaded."""
        point = dict(found.model)
        for each in reversed(split):
            outer, inner = point.pop(each.outer, 0), point.pop(each.inner, 0)
            point[each.symbol] = outer * each.by + inner
        for atom in sorted(atoms, key=lambda atom: atom.order):
            if not isinstance(atom, Symbol) or atom in point:
                continue
            if atom.kind == "content":
                number = self._contents.number(atom, point)
            else:
                low, high = self.values.range_of(atom)
                number = low if low == high or self.values.is_free(atom) else None
            if number is not None:
                point[atom] = number
        return Refuted(point, found.method, found.solver_ns)

    def _split(self, conditions: Sequence[Condition]) -> tuple[list[_Split], tuple[Condition, ...]]:
        """Put two symbols in the place of one that is divided to find an index: its digits.

        Then what is left of the division decides no index, and stays a symbol.
        """
        found: list[_Split] = []
        for _ in range(_MOST_SPLIT):
            candidates = self._divided(_atoms(conditions))
            if not candidates:
                break
            by, symbol = min(candidates, key=lambda each: (each[0], each[1].order))
            most = self.values.range_of(symbol)[1]
            outer = Symbol(symbol.kind, (symbol.key, "over", by), 0, most // by)
            inner = Symbol(symbol.kind, (symbol.key, "within", by), 0, by - 1)
            found.append(_Split(symbol, outer, inner, by))
            whole = outer.term * by + inner.term
            replaced = Substitution({symbol: whole})
            changed = [condition.substitute(replaced) for condition in conditions]
            conditions = (*changed, *at_least(most - whole).conjuncts())
        return found, tuple(conditions)

    def _divided(self, atoms: Iterable[Atom]) -> list[tuple[int, Symbol]]:
        """Return symbols of which a quotient or remainder decides an index, and the divisors."""
        read = [each for each in atoms if isinstance(each, Symbol) and self._is_recorded(each)]
        found = []
        for atom in {atom for symbol in read for place in symbol.at for atom in place.atoms()}:
            if not isinstance(atom, Quotient | Remainder):
                continue
            by, form = atom.arguments[1].constant, atom.arguments[0].affine()
            if by is None or by < 2 or form is None:
                continue
            for symbol, factor in form[1].items():
                if factor == 1 and self.values.is_free(symbol):
                    assert isinstance(symbol, Symbol)
                    low, high = self.values.range_of(symbol)
                    if low == 0 and high >= by:
                        found.append((by, symbol))
        return found


@dataclass(frozen=True)
class _Split:
    """A symbol that is `outer * by + inner`."""

    symbol: Symbol
    outer: Symbol
    inner: Symbol
    by: int


def _atoms(conditions: Iterable[Condition]) -> frozenset[Atom]:
    return frozenset().union(*(condition.atoms() for condition in conditions))


class _Question:
    """A claim, and what is given, over symbols that stand for all that is gone through.

    `own` are the symbols that are, `filters` the conditions on these alone. `wider` has the symbols
    too that share conditions with them.
    """

    def __init__(
        self,
        values: ReadValues,
        own: frozenset[Symbol],
        claim: Condition,
        conditions: Sequence[Condition],
    ) -> None:
        gathering = Gathering(values, own)
        self.filters, self.given = gathering.parted(conditions)
        mixed = (c.atoms() for c in conditions if not own.isdisjoint(c.atoms()))
        self.own = own
        self.claim = claim.substitute(gathering)
        self.gathered = tuple(gathering.sums)
        self.wider = values.free(frozenset(own).union(*mixed))
        self.directions = tuple(_directions(self.claim, self.given, gathering.sums))


class Gathering(Substitution):
    """Puts a new symbol in the place of each sum over symbols that are gone through.

    `sums` has by symbol what it stands for.
    """

    def __init__(self, values: ReadValues, own: frozenset[Symbol]) -> None:
        super().__init__({})
        self._values = values
        self._own = own
        self._sides: dict[Atom, tuple[bool, bool]] = {}
        self.sums: dict[Symbol, Term] = {}

    def parted(
        self, conditions: Sequence[Condition]
    ) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
        """Return the conditions on what is gone through alone, and the others, with new symbols."""
        filters, given = [], []
        for condition in conditions:
            atoms = condition.atoms()
            if self.leaves(atoms):
                given.append(condition)
            elif self._values.free(atoms) <= self._own and not condition.opaques():
                filters.append(condition)
            else:
                given.append(condition.substitute(self))
                filters += self._shadow(condition)
        return tuple(filters), tuple(given)

    def _shadow(self, condition: Condition) -> tuple[Condition, ...]:
        """Return what a condition asks of what is gone through, whatever else there is."""
        if not isinstance(condition, AtLeast):
            return ()
        most = 0
        own: dict[Monomial, int] = {}
        for monomial, number in condition.term.coefficients.items():
            sides = [self._side(atom) for atom in monomial]
            if (True, True) in sides or ((True, False) in sides and (False, True) in sides):
                return ()
            if (False, True) not in sides:
                own[monomial] = number
                continue
            ends = [
                self._values.range_of(a) if isinstance(a, Symbol) else (a.low, a.high)
                for a in monomial
            ]
            most += max(number * prod(each) for each in product(*ends))
        return at_least(Term(own) + most).conjuncts()

    def leaves(self, atoms: frozenset[Atom]) -> bool:
        """Whether nothing in atoms is gone through."""
        return not any(self._is_own(atom) for atom in atoms)

    def _is_own(self, atom: Atom) -> bool:
        return atom in self._own or (isinstance(atom, Symbol) and atom.kind == "content")

    def _side(self, atom: Atom) -> tuple[bool, bool]:
        """Return whether in an atom there is what is gone through, and what stays a symbol."""
        found = self._sides.get(atom)
        if found is None:
            within = atom.within()
            others = self._values.free(within) - self._own
            found = self._sides[atom] = (not self.leaves(within), bool(others))
        return found

    def __call__(self, term: Term) -> Term:
        """Return the term with its sums replaced."""
        if self.leaves(term.atoms()):
            return term
        sums: dict[Monomial, dict[Monomial, int]] = {}
        for monomial, number in term.coefficients.items():
            inner = tuple(atom for atom in monomial if self._side(atom) == (True, False))
            outer = tuple(atom for atom in monomial if self._side(atom) != (True, False))
            sums.setdefault(outer, {})[inner] = number
        total = ZERO
        for outer, inner_sum in sums.items():
            product = self._gathered(Term(inner_sum))
            for atom in outer:
                product = product * (atom.substituted(self) if self._side(atom)[0] else atom.term)
            total = total + product
        return total

    def _gathered(self, term: Term) -> Term:
        """Return a symbol for a sum; equal ones, but for a factor and a constant, share it."""
        number = term.coefficients.get((), 0)
        rest = term - number
        if not rest.coefficients:
            return term
        factor = gcd(*rest.coefficients.values())
        if next(iter(sorted(rest.coefficients.items(), key=_by_order)))[1] < 0:
            factor = -factor
        each = Term({monomial: own // factor for monomial, own in rest.coefficients.items()})
        symbol = Symbol("content", ("gathered", each), -_LARGEST, _LARGEST)
        self.sums[symbol] = each
        return symbol.term * factor + number


def _by_order(item: tuple[Monomial, int]) -> tuple[int, ...]:
    return tuple(atom.order for atom in item[0])


def _directions(
    claim: Condition, given: Sequence[Condition], sums: Mapping[Symbol, Term]
) -> list[Direction]:
    """Return sums of gathered symbols that are left where conditions are used for a claim.

    Of a claim and a condition, each multiplied so that a symbol of both cancels.
    """
    found: dict[Direction, None] = {}
    for goal in _leaves(claim):
        for condition in (each for one in given for each in _leaves(one)):
            for monomial, number in goal.coefficients.items():
                other = condition.coefficients.get(monomial, 0)
                if not other or not monomial or any(atom in sums for atom in monomial):
                    continue
                times = abs(number) if number * other > 0 else -abs(number)
                left = goal * abs(other) - condition * times
                direction = tuple(
                    (symbol, left.coefficients[symbol,])
                    for symbol in sums
                    if (symbol,) in left.coefficients
                )
                if len(direction) > 1:
                    found[direction] = None
    return list(found)[:_MOST_DIRECTIONS]


def _leaves(condition: Condition) -> Iterator[Term]:
    """Return the terms that a condition compares with 0."""
    if isinstance(condition, AtLeast | Equal):
        yield condition.term
    for part in getattr(condition, "parts", ()):
        yield from _leaves(part)


@dataclass(frozen=True)
class _Row:
    """One row: its own symbols' numbers, and those of the gathered ones."""

    own: Mapping[Symbol, int]
    numbers: tuple[int, ...]


@dataclass
class _Seen:
    """What gathered symbols, and sums of them, are over all rows.

    `ends` are the least and greatest of each symbol. `distinct` has all rows that differ, None if
    they are too many. `is_doubtful`: some number is not known.
    """

    symbols: Sequence[Symbol]
    directions: Sequence[Direction]
    count: int = 0
    is_doubtful: bool = False
    ends: list[Interval] = field(default_factory=list)
    distinct: dict[tuple[int, ...], _Row] | None = field(default_factory=dict)
    _least: dict[int, int] = field(default_factory=dict)
    _extreme: dict[tuple[int, int], tuple[int, _Row]] = field(default_factory=dict)

    def add(self, rows: Rows, reading: Reading) -> None:
        """Note the rows of a part."""
        if not len(rows):
            return
        self.count += len(rows)
        sums = [symbol.key[1] for symbol in self.symbols if isinstance(symbol.key, tuple)]
        columns = [np.broadcast_to(reading(each), len(rows)) for each in sums]
        certain = rows.certain
        for each in sums:
            doubt = reading.doubt(each)
            if np.any(doubt):
                self.is_doubtful = True
                certain = certain & np.logical_not(doubt)
        ends = [(int(column.min()), int(column.max())) for column in columns]
        self.ends = [
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(self.ends or ends, ends, strict=True)
        ]
        self._note_distinct(rows, columns, certain)
        places = np.flatnonzero(certain)
        for number, column in enumerate((*columns, *self._along(columns))):
            if column is None:
                continue
            if number >= len(columns):
                least = int(column.min())
                self._least[number] = min(self._least.get(number, least), least)
            if not len(places):
                continue
            shown = column[places]
            for sign, place in ((1, places[shown.argmin()]), (-1, places[shown.argmax()])):
                extreme = sign * int(column[place])
                before = self._extreme.get((number, sign))
                if before is None or extreme < before[0]:
                    self._extreme[number, sign] = extreme, _row(rows, columns, int(place))
        if not columns and len(places):
            self._extreme.setdefault((0, 1), (0, _row(rows, columns, int(places[0]))))

    def _along(self, columns: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.int64] | None]:
        place = {symbol: number for number, symbol in enumerate(self.symbols)}
        for number, direction in enumerate(self.directions):
            largest = (max(map(abs, self.ends[place[symbol]])) for symbol, _ in direction)
            reach = sum(
                abs(factor) * most for (_, factor), most in zip(direction, largest, strict=True)
            )
            if reach >= _LARGEST:
                self._least[len(columns) + number] = -reach * 2
                yield None
                continue
            total = np.zeros((), np.int64)
            for symbol, factor in direction:
                total = total + columns[place[symbol]] * factor
            yield total

    def _note_distinct(
        self, rows: Rows, columns: Sequence[NDArray[np.int64]], certain: NDArray[np.bool_]
    ) -> None:
        if self.distinct is None:
            return
        if len(rows) > _MOST_SORTED or not certain.all():
            self.distinct = None
            return
        table = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), np.int64)
        _, firsts = np.unique(table, axis=0, return_index=True)
        for place in firsts[: _MOST_DISTINCT + 1]:
            row = _row(rows, columns, int(place))
            self.distinct.setdefault(row.numbers, row)
        if len(self.distinct) > _MOST_DISTINCT:
            self.distinct = None

    def bounds(self) -> list[Condition]:
        """Return what holds of sums of several symbols."""
        found = []
        for number, direction in enumerate(self.directions, len(self.symbols)):
            term = as_term(0)
            for symbol, factor in direction:
                term = term + symbol.term * factor
            found.append(at_least(term, self._least[number]))
        return found

    def candidates(self) -> list[_Row]:
        """Return the rows at which a claim is looked at: all that differ, or extreme ones."""
        if self.distinct is not None:
            return list(self.distinct.values())
        rows = {row.numbers: row for _, row in self._extreme.values()}
        return list(rows.values())[:_MOST_DISTINCT]


def _row(rows: Rows, columns: Sequence[NDArray[np.int64]], place: int) -> _Row:
    own = {symbol: int(column[place]) for symbol, column in rows.columns.items()}
    return _Row(own, tuple(int(column[place]) for column in columns))
