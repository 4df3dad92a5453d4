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

_MAX_NUMBER: Final = 1 << 62
_MAX_DIRECTIONS: Final = 12

Direction = tuple[tuple[Symbol, int], ...]
"""A sum of gathered symbols: pairs of a symbol and its factor."""


class Gathering(Substitution):
    """A substitution that replaces each sum over enumerated symbols by a new symbol.

    `sums` has the sum that each new symbol replaces.
    """

    def __init__(self, values: ReadValues, enumerated: frozenset[Symbol]) -> None:
        super().__init__({})
        self._values = values
        self._own = enumerated
        self._sides: dict[Atom, tuple[bool, bool]] = {}
        self.sums: dict[Symbol, Term] = {}

    def split_conditions(
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
                filters += self._implied_filter(condition)
        return tuple(filters), tuple(given)

    def _implied_filter(self, condition: Condition) -> tuple[Condition, ...]:
        """Return the conditions on enumerated symbols alone that a condition implies."""
        if not isinstance(condition, AtLeast):
            return ()
        largest_rest = 0
        enumerated_terms: dict[Monomial, int] = {}
        for monomial, coefficient in condition.term.coefficients.items():
            kinds = [self._symbol_kinds(atom) for atom in monomial]
            if (True, True) in kinds or ((True, False) in kinds and (False, True) in kinds):
                return ()
            if (False, True) not in kinds:
                enumerated_terms[monomial] = coefficient
                continue
            intervals = [
                self._values.range_of(a) if isinstance(a, Symbol) else (a.low, a.high)
                for a in monomial
            ]
            largest_rest += max(coefficient * prod(factors) for factors in product(*intervals))
        return at_least(Term(enumerated_terms) + largest_rest).conjuncts()

    def leaves(self, atoms: frozenset[Atom]) -> bool:
        """Return whether none of the atoms is an enumerated symbol or a loaded value."""
        return not any(self._is_own(atom) for atom in atoms)

    def _is_own(self, atom: Atom) -> bool:
        return atom in self._own or (isinstance(atom, Symbol) and atom.kind == "content")

    def _symbol_kinds(self, atom: Atom) -> tuple[bool, bool]:
        """Return whether an atom has enumerated symbols, and whether it has other symbols."""
        kinds = self._sides.get(atom)
        if kinds is None:
            within = atom.within()
            others = self._values.free(within) - self._own
            kinds = self._sides[atom] = (not self.leaves(within), bool(others))
        return kinds

    def __call__(self, term: Term) -> Term:
        """Return the term with sums over enumerated symbols replaced by new symbols."""
        if self.leaves(term.atoms()):
            return term
        sums: dict[Monomial, dict[Monomial, int]] = {}
        for monomial, coefficient in term.coefficients.items():
            inner = tuple(atom for atom in monomial if self._symbol_kinds(atom) == (True, False))
            outer = tuple(atom for atom in monomial if self._symbol_kinds(atom) != (True, False))
            sums.setdefault(outer, {})[inner] = coefficient
        total = ZERO
        for outer, inner_sum in sums.items():
            product = self._symbol_for_sum(Term(inner_sum))
            for atom in outer:
                product = product * (
                    atom.substituted(self) if self._symbol_kinds(atom)[0] else atom.term
                )
            total = total + product
        return total

    def _symbol_for_sum(self, term: Term) -> Term:
        """Return a sum as symbol * factor + constant; proportional sums share a symbol."""
        constant = term.coefficients.get((), 0)
        varying_part = term - constant
        if not varying_part.coefficients:
            return term
        factor = gcd(*varying_part.coefficients.values())
        if next(iter(sorted(varying_part.coefficients.items(), key=_by_order)))[1] < 0:
            factor = -factor
        primitive = Term(
            {
                monomial: coefficient // factor
                for monomial, coefficient in varying_part.coefficients.items()
            }
        )
        symbol = Symbol("content", ("gathered", primitive), -_MAX_NUMBER, _MAX_NUMBER)
        self.sums[symbol] = primitive
        return symbol.term * factor + constant


def _by_order(item: tuple[Monomial, int]) -> tuple[int, ...]:
    return tuple(atom.order for atom in item[0])


def directions(
    claim: Condition, given: Sequence[Condition], sums: Mapping[Symbol, Term]
) -> list[Direction]:
    """Return the sums of gathered symbols that remain if a condition is combined with a claim.

    Claim and condition are each multiplied so that a symbol of both cancels.
    """
    sums_of_symbols: dict[Direction, None] = {}
    for goal in _compared_terms(claim):
        for condition in (term for condition_ in given for term in _compared_terms(condition_)):
            for monomial, coefficient in goal.coefficients.items():
                condition_factor = condition.coefficients.get(monomial, 0)
                if not condition_factor or not monomial or any(atom in sums for atom in monomial):
                    continue
                factor = (
                    abs(coefficient) if coefficient * condition_factor > 0 else -abs(coefficient)
                )
                combination = goal * abs(condition_factor) - condition * factor
                direction = tuple(
                    (symbol, combination.coefficients[symbol,])
                    for symbol in sums
                    if (symbol,) in combination.coefficients
                )
                if len(direction) > 1:
                    sums_of_symbols[direction] = None
    return list(sums_of_symbols)[:_MAX_DIRECTIONS]


def _compared_terms(condition: Condition) -> Iterator[Term]:
    """Yield the terms that a condition compares with 0."""
    if isinstance(condition, AtLeast | Equal):
        yield condition.term
    for part in getattr(condition, "parts", ()):
        yield from _compared_terms(part)
