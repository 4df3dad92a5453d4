"""Deciding claims about recorded contents by the values that are read, with all else as symbols.

What a claim depends on is taken apart: programs, trips and lanes that decide which integers are
loaded are enumerated (`read_values.py`), and all that is made of these alone becomes a new symbol
that has the values found there. What is left, heads and columns for example, stays symbolic. A
claim is proven from the ranges of the new symbols and of their sums that matter, or for each of
their values where these are few; it is refuted at a row that was read. So a grid of any size costs
what its index tables cost.
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
_UNDECIDED: Final = "the contents that it depends on decide it neither way"


class ByContents:
    """Decides claims about one call; what it has enumerated is kept for the next claim.

    `supposing` gives the call's ranges with those of more symbols, by kind and key; `order` are
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
        self._kept: dict[object, list[tuple[Rows, Reading]]] = {}
        self._too_large: set[object] = set()

    def is_about(self, atoms: Iterable[Atom]) -> bool:
        """Whether integers that were recorded are among atoms."""
        return any(self._is_recorded(atom) for atom in atoms)

    def prove(self, claim: Condition, given: Sequence[Condition], seconds: float) -> Decision:
        """Decide whether a claim holds wherever what is given does, for what is recorded.

        A counterexample has the numbers that are loaded, too. `seconds` is the solver's time.
        """
        atoms = _atoms((claim, *given))
        settled = self.settled(atoms)
        split, (claim, *parts) = self._split([each.substitute(settled) for each in (claim, *given)])
        conditions = conjunction(parts).conjuncts()
        everything = _atoms((claim, *conditions))
        own = self.deciding(everything)
        for _ in range(3):
            question = _Question(self.values, own, claim, conditions)
            try:
                decision = self._decided(question, seconds)
            except TooLarge:
                return Unknown(_UNDECIDED)
            if isinstance(decision, Refuted):
                return self._completed(decision, split, atoms)
            if isinstance(decision, Proven):
                return decision
            wider = self.values.free(everything if own == question.wider else question.wider)
            if wider <= own:
                break
            own = wider
        return Unknown(_UNDECIDED)

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
        if key in self._too_large:
            raise TooLarge
        found: list[tuple[Rows, Reading]] = []
        count = 0
        self._too_large.add(key)
        for rows in self.values.rows(own, filters):
            pair = rows, Reading(self.values, rows)
            count += len(rows)
            if count <= _MOST_KEPT:
                found.append(pair)
            yield pair
        self._too_large.discard(key)
        if count <= _MOST_KEPT:
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found

    def _decided(self, question: _Question, seconds: float) -> Decision:
        seen = Extremes(question.gathered, question.directions)
        for rows, reading in self.rows(question.own, question.filters):
            seen.add(rows, reading)
        if not seen.count:
            return Proven("interval")
        ranges = self._ranges(question, seen.ends)
        whole = Given((*question.given, *seen.bounds()), ranges)
        found = None if seen.is_doubtful else follows(question.claim, whole)
        if found is not None:
            return found
        methods: list[Method] = []
        for row in seen.candidates():
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
            if seen.distinct is not None and not seen.is_doubtful:
                return Proven(strongest(methods))
        if seen.is_doubtful:
            return Unknown(_UNDECIDED)
        decision = prove(question.claim, whole, seconds=seconds, order=self._order)
        return decision if isinstance(decision, Proven) else Unknown(_UNDECIDED)

    def _ranges(self, question: _Question, ends: Sequence[Interval]) -> Ranges:
        """Return the call's ranges with those of gathered symbols."""
        known: dict[tuple[str, Any], Interval] = {}
        for symbol, interval in zip(question.gathered, ends, strict=True):
            known[symbol.kind, symbol.key] = interval
        return self._supposing(known)

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
    """A claim, and what is given, over symbols that represent all that is enumerated.

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
        self.gathered = gathering.sums
        self.wider = values.free(frozenset(own).union(*mixed))
        self.directions = tuple(directions(self.claim, self.given, gathering.sums))
