"""Decision of claims about recorded contents, with loaded values enumerated and all else symbolic.

A claim's symbols are separated. The programs, trips and lanes that decide which integers are loaded
are enumerated (`read_values.py`), and each sum over only these becomes a new symbol with the sum's
values. Other symbols, such as heads and columns, stay. A claim is proven from the ranges of the new
symbols and of their relevant sums, or for each of their values if these are few; it is refuted at a
row that was read. So a grid of any size costs as much as its index tables.

Example: `table[program] * 64 + column < size` with `column < 64`. `table[program]` is read for all
programs and becomes a symbol with, say, range 0 to 9; the claim follows from 9 * 64 + 63 < size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.symbolic.conditions import (
    Condition,
    at_least,
    conjunction,
)
from kvtrace.symbolic.functions import Quotient, Remainder
from kvtrace.symbolic.prover import (
    Decision,
    Given,
    Method,
    Proven,
    Refuted,
    Unknown,
    follows,
    prove,
    strongest,
)
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term
from kvtrace.verdicts.contents.extremes import Extremes
from kvtrace.verdicts.contents.gathering import Gathering, directions
from kvtrace.verdicts.contents.read_values import Reading, ReadValues, Rows, TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtrace.symbolic.prover import Interval, Ranges
    from kvtrace.verdicts.contents.loaded import Contents

_MOST_SPLIT: Final = 4
_MOST_KEPT: Final = 1 << 18
_KEPT: Final = 4
_UNDECIDED: Final = "the recorded contents neither prove nor refute it"


class ByContents:
    """A decider of claims about one call; enumerated rows are kept for the next claim.

    `supposing` returns the call's ranges with those of more symbols, by kind and key; `order` are
    the symbols that a counterexample should have small.
    """

    def __init__(
        self,
        contents: Contents,
        ranges: Ranges,
        supposing: Callable[[Mapping[tuple[str, Any], Interval]], Ranges],
        order: Sequence[Symbol],
    ) -> None:
        self._contents = contents
        self.values = ReadValues(contents.recorded, ranges.of)
        self._supposing = supposing
        self._order = order
        self._kept_rows: dict[object, list[tuple[Rows, Reading]]] = {}
        self._too_large: set[object] = set()

    def is_about(self, atoms: Iterable[Atom]) -> bool:
        """Return whether an atom is a recorded integer."""
        return any(self._is_recorded(atom) for atom in atoms)

    def prove(self, claim: Condition, given: Sequence[Condition], seconds: float) -> Decision:
        """Decide whether a claim holds wherever the given conditions do, for the recorded contents.

        A counterexample has the loaded numbers, too. `seconds` is the solver's time.
        """
        atoms = _atoms((claim, *given))
        constants = self.settled(atoms)
        split, (claim, *parts) = self._split(
            [condition.substitute(constants) for condition in (claim, *given)]
        )
        conditions = conjunction(parts).conjuncts()
        everything = _atoms((claim, *conditions))
        enumerated = self.deciding(everything)
        for _ in range(3):
            question = _Question(self.values, enumerated, claim, conditions)
            try:
                decision = self._decided(question, seconds)
            except TooLarge:
                return Unknown(_UNDECIDED)
            if isinstance(decision, Refuted):
                return self._completed(decision, split, atoms)
            if isinstance(decision, Proven):
                return decision
            wider = self.values.free(everything if enumerated == question.wider else question.wider)
            if wider <= enumerated:
                break
            enumerated = wider
        return Unknown(_UNDECIDED)

    def deciding(self, atoms: Iterable[Atom]) -> frozenset[Symbol]:
        """Return the programs, trips and lanes that decide which recorded integers are loaded."""
        recorded = [a for a in atoms if isinstance(a, Symbol) and self._is_recorded(a)]
        return self.values.free(frozenset().union(*(at.atoms() for a in recorded for at in a.at)))

    def settled(self, atoms: Iterable[Atom]) -> Substitution:
        """Return the substitution of numbers for symbols that have one value in this call."""
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
        self, symbols: frozenset[Symbol], filters: tuple[Condition, ...]
    ) -> Iterator[tuple[Rows, Reading]]:
        """Yield the rows of symbols for which conditions may hold; few rows are kept for later.

        Raises:
            TooLarge: there are too many rows.

        """
        key = symbols, filters
        if key in self._kept_rows:
            yield from self._kept_rows[key]
            return
        if key in self._too_large:
            raise TooLarge
        pairs: list[tuple[Rows, Reading]] = []
        count = 0
        self._too_large.add(key)
        for rows in self.values.rows(symbols, filters):
            pair = rows, Reading(self.values, rows)
            count += len(rows)
            if count <= _MOST_KEPT:
                pairs.append(pair)
            yield pair
        self._too_large.discard(key)
        if count <= _MOST_KEPT:
            while len(self._kept_rows) >= _KEPT:
                del self._kept_rows[next(iter(self._kept_rows))]
            self._kept_rows[key] = pairs

    def _decided(self, question: _Question, seconds: float) -> Decision:
        extremes = Extremes(question.gathered, question.directions)
        for rows, reading in self.rows(question.own, question.filters):
            extremes.add(rows, reading)
        if not extremes.count:
            return Proven("interval")
        ranges = self._ranges(question, extremes.ends)
        whole = Given((*question.given, *extremes.bounds()), ranges)
        proof = None if extremes.is_doubtful else follows(question.claim, whole)
        if proof is not None:
            return proof
        methods: list[Method] = []
        for row in extremes.candidates():
            fixed = self._ranges(question, [(number, number) for number in row.numbers])
            given = Given(question.given, fixed)
            decision = prove(question.claim, given, seconds=seconds, order=self._order)
            seconds = max(seconds - decision.solver_ns / 1e9, 0.0)
            if isinstance(decision, Refuted):
                point = {k: n for k, n in decision.model.items() if k not in question.gathered}
                point.update(row.own)
                return Refuted(point, decision.method, decision.solver_ns)
            if isinstance(decision, Unknown):
                break
            methods.append(decision.method)
        else:
            if extremes.distinct is not None and not extremes.is_doubtful:
                return Proven(strongest(methods))
        if extremes.is_doubtful:
            return Unknown(_UNDECIDED)
        decision = prove(question.claim, whole, seconds=seconds, order=self._order)
        return decision if isinstance(decision, Proven) else Unknown(_UNDECIDED)

    def _ranges(self, question: _Question, ends: Sequence[Interval]) -> Ranges:
        """Return the call's ranges with those of gathered symbols."""
        intervals: dict[tuple[str, Any], Interval] = {}
        for symbol, interval in zip(question.gathered, ends, strict=True):
            intervals[symbol.kind, symbol.key] = interval
        return self._supposing(intervals)

    def _completed(
        self, refuted: Refuted, split: Sequence[_Split], atoms: Iterable[Atom]
    ) -> Refuted:
        """Return a counterexample in the call's own symbols, with the loaded numbers."""
        point = dict(refuted.model)
        for digits in reversed(split):
            outer, inner = point.pop(digits.outer, 0), point.pop(digits.inner, 0)
            point[digits.symbol] = outer * digits.by + inner
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
        return Refuted(point, refuted.method, refuted.solver_ns)

    def _split(self, conditions: Sequence[Condition]) -> tuple[list[_Split], tuple[Condition, ...]]:
        """Replace a symbol that is divided to find an index by two symbols, its digits.

        The rest of the division then decides no index, and stays symbolic.
        """
        splits: list[_Split] = []
        for _ in range(_MOST_SPLIT):
            candidates = self._divided(_atoms(conditions))
            if not candidates:
                break
            by, symbol = min(candidates, key=lambda pair: (pair[0], pair[1].order))
            most = self.values.range_of(symbol)[1]
            outer = Symbol(symbol.kind, (symbol.key, "over", by), 0, most // by)
            inner = Symbol(symbol.kind, (symbol.key, "within", by), 0, by - 1)
            splits.append(_Split(symbol, outer, inner, by))
            whole = outer.term * by + inner.term
            replaced = Substitution({symbol: whole})
            changed = [condition.substitute(replaced) for condition in conditions]
            conditions = (*changed, *at_least(most - whole).conjuncts())
        return splits, tuple(conditions)

    def _divided(self, atoms: Iterable[Atom]) -> list[tuple[int, Symbol]]:
        """Return (divisor, symbol) pairs whose quotient or remainder decides an index."""
        recorded = [
            atom_ for atom_ in atoms if isinstance(atom_, Symbol) and self._is_recorded(atom_)
        ]
        pairs = []
        for atom in {atom for symbol in recorded for index in symbol.at for atom in index.atoms()}:
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
                        pairs.append((by, symbol))
        return pairs


@dataclass(frozen=True)
class _Split:
    """A symbol that equals `outer * by + inner`."""

    symbol: Symbol
    outer: Symbol
    inner: Symbol
    by: int


def _atoms(conditions: Iterable[Condition]) -> frozenset[Atom]:
    return frozenset().union(*(condition.atoms() for condition in conditions))


class _Question:
    """A claim and its conditions, with sums of enumerated symbols replaced by new symbols.

    `own` are the enumerated symbols, `filters` the conditions on these alone. `wider` also has the
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
        self.filters, self.given = gathering.parted(conditions)
        mixed = (c.atoms() for c in conditions if not enumerated.isdisjoint(c.atoms()))
        self.own = enumerated
        self.claim = claim.substitute(gathering)
        self.gathered = gathering.sums
        self.wider = values.free(frozenset(enumerated).union(*mixed))
        self.directions = tuple(directions(self.claim, self.given, gathering.sums))
