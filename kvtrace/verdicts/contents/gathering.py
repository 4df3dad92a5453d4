"""New symbols for sums over enumerated symbols; see `by_contents.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import AtLeast, Condition, Equal, at_least
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Substitution, Symbol, Term

if TYPE_CHECKING:
    from kvtrace.verdicts.contents.read_values import ReadValues

_LARGEST: Final = 1 << 62
_MOST_DIRECTIONS: Final = 12

Direction = tuple[tuple[Symbol, int], ...]
"""A sum of gathered symbols with factors."""


class Gathering(Substitution):
    """A substitution of a new symbol for each sum over enumerated symbols.

    `sums` has the sum of each new symbol.
    """

    def __init__(self, values: ReadValues, enumerated: frozenset[Symbol]) -> None:
        super().__init__({})
        self._values = values
        self._own = enumerated
        self._sides: dict[Atom, tuple[bool, bool]] = {}
        self.sums: dict[Symbol, Term] = {}

    def parted(
        self, conditions: Sequence[Condition]
    ) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
        """Return the conditions on enumerated symbols only, and the others with new symbols."""
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
        """Return what a condition implies for enumerated symbols, whatever the others are."""
        if not isinstance(condition, AtLeast):
            return ()
        most = 0
        enumerated: dict[Monomial, int] = {}
        for monomial, number in condition.term.coefficients.items():
            sides = [self._side(atom) for atom in monomial]
            if (True, True) in sides or ((True, False) in sides and (False, True) in sides):
                return ()
            if (False, True) not in sides:
                enumerated[monomial] = number
                continue
            ends = [
                self._values.range_of(a) if isinstance(a, Symbol) else (a.low, a.high)
                for a in monomial
            ]
            most += max(number * prod(factors) for factors in product(*ends))
        return at_least(Term(enumerated) + most).conjuncts()

    def leaves(self, atoms: frozenset[Atom]) -> bool:
        """Return whether a term of these atoms stays as it is: none has an enumerated symbol."""
        return not any(self._is_own(atom) for atom in atoms)

    def _is_own(self, atom: Atom) -> bool:
        return atom in self._own or (isinstance(atom, Symbol) and atom.kind == "content")

    def _side(self, atom: Atom) -> tuple[bool, bool]:
        """Return whether an atom has enumerated symbols, and whether it has other ones."""
        side = self._sides.get(atom)
        if side is None:
            within = atom.within()
            others = self._values.free(within) - self._own
            side = self._sides[atom] = (not self.leaves(within), bool(others))
        return side

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
        """Return a sum as a symbol with factor and constant; proportional sums share the symbol."""
        number = term.coefficients.get((), 0)
        rest = term - number
        if not rest.coefficients:
            return term
        factor = gcd(*rest.coefficients.values())
        if next(iter(sorted(rest.coefficients.items(), key=_by_order)))[1] < 0:
            factor = -factor
        primitive = Term(
            {monomial: coefficient // factor for monomial, coefficient in rest.coefficients.items()}
        )
        symbol = Symbol("content", ("gathered", primitive), -_LARGEST, _LARGEST)
        self.sums[symbol] = primitive
        return symbol.term * factor + number


def _by_order(item: tuple[Monomial, int]) -> tuple[int, ...]:
    return tuple(atom.order for atom in item[0])


def directions(
    claim: Condition, given: Sequence[Condition], sums: Mapping[Symbol, Term]
) -> list[Direction]:
    """Return the sums of gathered symbols that remain when a condition is used for a claim.

    Claim and condition are each multiplied so that a symbol of both cancels.
    """
    sums_of_symbols: dict[Direction, None] = {}
    for goal in _compared_terms(claim):
        for condition in (term for condition_ in given for term in _compared_terms(condition_)):
            for monomial, number in goal.coefficients.items():
                other = condition.coefficients.get(monomial, 0)
                if not other or not monomial or any(atom in sums for atom in monomial):
                    continue
                times = abs(number) if number * other > 0 else -abs(number)
                rest = goal * abs(other) - condition * times
                direction = tuple(
                    (symbol, rest.coefficients[symbol,])
                    for symbol in sums
                    if (symbol,) in rest.coefficients
                )
                if len(direction) > 1:
                    sums_of_symbols[direction] = None
    return list(sums_of_symbols)[:_MOST_DIRECTIONS]


def _compared_terms(condition: Condition) -> Iterator[Term]:
    """Yield the terms that a condition compares with 0."""
    if isinstance(condition, AtLeast | Equal):
        yield condition.term
    for part in getattr(condition, "parts", ()):
        yield from _compared_terms(part)
