"""Upper bounds of terms by the kernel's parameters: programs, lanes and trips are eliminated.

Fourier-Motzkin elimination with symbolic coefficients. A *fact* is a term that is never negative.
Adding a fact, times a factor that is never negative, cancels a variable whose coefficient has a
known sign: to bound `i * stride` with the fact `127 - i >= 0`, add `stride * (127 - i)`, which
gives `127 * stride`. A bound has the facts and factors that were added, so that a certificate can
check `scale * term + sum(factor * fact) == limit` without the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import Final, TypeVar

from msgspec import Struct

from kvtrace.symbolic.conditions import Condition, at_least, conjunction, equal, in_order
from kvtrace.symbolic.functions import (
    Choice,
    Maximum,
    Minimum,
    Quotient,
    Remainder,
    divided_by_unit,
    multiples,
    quotient,
)
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Symbol, Term, as_term, programs

_Item = TypeVar("_Item")

_MAX_STATES: Final = 160
_MAX_SCALE: Final = 1 << 12
_MAX_DEPTH: Final = 3
_MAX_QUOTIENTS: Final = 3
_MAX_TRIPS: Final = 1 << 16
"""The range of a trip is a fact only below this number, as in loops of constant length."""
_MAX_MONOMIALS: Final = 24
_VARYING: Final = ("program", "lane", "trip", "content", "unknown")
_ELIMINATION_ORDER: Final = ("lane", "trip", "", "program", "content", "unknown")
"""Kinds of variables in the order of elimination; "" stands for functions of others."""


class Step(Struct, frozen=True):
    """A step of elimination: it turns `term` into `scale * term + factor * fact`."""

    scale: int
    factor: Term
    fact: Term


class Bound(Struct, frozen=True):
    """A bound `scale * term <= limit`, with the steps to it; `limit` has parameters only."""

    scale: int
    limit: Term
    steps: tuple[Step, ...]


def varies(atom: Atom) -> bool:
    """Return whether an atom may differ between programs, lanes or trips of a launch."""
    return any(isinstance(part, Symbol) and part.kind in _VARYING for part in atom.within())


def is_of_parameters(term: Term) -> bool:
    """Return whether a term is equal in all programs, lanes and trips of a launch."""
    return not any(map(varies, term.atoms()))


class Elimination:
    """A search for upper bounds of terms by `facts`, which are terms that are never negative.

    `unproven` collects terms of unknown sign that would be useful facts: dividends, and
    divisors less 1.
    """

    def __init__(
        self, facts: Iterable[Term], depth: int = 0, unproven: dict[Term, None] | None = None
    ) -> None:
        self.unproven: dict[Term, None] = {} if unproven is None else unproven
        stated = [fact for fact in facts if len(fact.coefficients) <= _MAX_MONOMIALS]
        self.facts = (*stated, *(rounded for fact in stated for rounded in _rounded(fact)))
        self._depth = depth
        self._facts_by_atom: dict[Atom, tuple[Term, ...]] = {}
        self._signs: dict[Term, bool] = {}

    def bounds(self, term: Term) -> tuple[Bound, ...]:
        """Return upper bounds of a term that no other bound implies; () if none is found."""
        bounds: dict[tuple[int, Term], Bound] = {}
        visited: set[tuple[int, Term]] = set()
        stack: list[tuple[int, Term, tuple[Step, ...], frozenset[Term]]] = [
            (1, term, (), frozenset())
        ]
        while stack and len(visited) < _MAX_STATES:
            scale, current, steps, used_facts = stack.pop()
            if (scale, current) in visited or len(current.coefficients) > _MAX_MONOMIALS:
                continue
            visited.add((scale, current))
            atom = _next_variable(current)
            if atom is None:
                bounds.setdefault((scale, current), Bound(scale, current, steps))
                continue
            for step, next_term in self._steps(current, atom, used_facts):
                facts_after = used_facts | {step.fact} if step.fact in self.facts else used_facts
                stack.append((scale * step.scale, next_term, (*steps, step), facts_after))
        return _strongest(bounds.values())

    def is_never_negative(self, term: Term) -> bool:
        """Return whether the facts prove that a term is never negative."""
        if term.low >= 0 or term in self.facts:
            return True
        minimum, addend = smaller_of(term)
        if minimum is not None:
            return all(self.is_never_negative(part + addend) for part in minimum.arguments)
        if self._depth >= _MAX_DEPTH:
            return False
        if term not in self._signs:
            self._signs[term] = False  # unknown for a recursive call
            nested = Elimination(self.facts, self._depth + 1, self.unproven)
            self._signs[term] = any(bound.limit.high <= 0 for bound in nested.bounds(-term))
        return self._signs[term]

    # -- steps -----------------------------------------------------------------------------------

    def _steps(
        self, term: Term, atom: Atom, used_facts: frozenset[Term]
    ) -> Iterator[tuple[Step, Term]]:
        """Yield the steps that cancel an atom in a term, with the term after each step."""
        coefficient, _ = split(term, atom)
        if coefficient.low >= 0:
            sign = 1
        elif coefficient.high <= 0:
            sign = -1
        else:
            return
        for fact in (*self._atom_facts(atom), *self.facts):
            if fact in used_facts:
                continue
            fact_coefficient = split(fact, atom)[0] * -sign
            if not fact_coefficient.coefficients or fact_coefficient.low < 0:
                continue
            step = _cancelling_step(coefficient * sign, fact_coefficient, fact)
            if step is not None:
                yield step, term * step.scale + step.factor * fact

    def _atom_facts(self, atom: Atom) -> tuple[Term, ...]:
        """Return the facts that follow from an atom's definition; cached."""
        if atom not in self._facts_by_atom:
            self._facts_by_atom[atom] = ()  # for nested searches
            self._facts_by_atom[atom] = tuple(self._derive_facts(atom))
        return self._facts_by_atom[atom]

    def _derive_facts(self, atom: Atom) -> Iterator[Term]:
        if isinstance(atom, Symbol):
            if atom.kind in ("content", "unknown"):
                return
            yield atom.term
            if atom.kind == "program":
                assert isinstance(atom.key, int)
                yield programs(atom.key) - 1 - atom.term
            elif atom.kind == "lane" or atom.high < _MAX_TRIPS:
                yield as_term(atom.high) - atom.term
        elif isinstance(atom, Quotient | Remainder):
            yield from self._division_facts(atom)
        elif isinstance(atom, Minimum | Maximum):
            sign = 1 if isinstance(atom, Maximum) else -1
            for part in atom.arguments:
                yield (atom.term - part) * sign
            if isinstance(atom, Maximum):
                return
            negative = [part for part in atom.arguments if not self.is_never_negative(part)]
            self.unproven.update(dict.fromkeys(negative))
            if not negative:
                yield atom.term

    def _division_facts(self, atom: Quotient | Remainder) -> Iterator[Term]:
        left, right = atom.arguments
        if isinstance(atom, Remainder):
            gap = left - right * quotient(left, right, floor=atom.floor) - atom.term
            yield gap
            yield -gap
        if not self.is_never_negative(left):
            self.unproven[left] = None
            if right.low >= 1 and isinstance(atom, Remainder):
                yield right - 1 - atom.term
                yield atom.term if atom.floor else atom.term + right - 1
            return
        is_positive = self.is_never_negative(right - 1)
        # For negative divisors, too: rounded toward 0, the remainder has the dividend's sign.
        if isinstance(atom, Remainder) and (is_positive or not atom.floor):
            yield atom.term
            if not is_of_parameters(right) or _is_of_programs(left):
                yield left - atom.term
        if not is_positive:
            self.unproven[right - 1] = None
            return
        if isinstance(atom, Remainder):
            yield right - 1 - atom.term
            return
        yield atom.term
        if is_of_parameters(right) and self._depth < _MAX_DEPTH:
            nested = Elimination(self.facts, self._depth + 1, self.unproven)
            for bound in nested.bounds(left)[:_MAX_QUOTIENTS]:
                if bound.scale == 1 and bound.limit.coefficients:
                    yield quotient(bound.limit, right, floor=atom.floor) - atom.term
        yield left - right * atom.term
        yield right * atom.term + right - 1 - left
        if not is_of_parameters(right):
            yield left - atom.term


def _rounded(fact: Term) -> Iterator[Term]:
    """Yield `rest // a - v` for a fact `rest - a * v` in which `rest` has parameters only."""
    for monomial, coefficient in fact.coefficients.items():
        if len(monomial) != 1 or coefficient >= -1 or not varies(monomial[0]):
            continue
        rest = fact - Term({monomial: coefficient})
        if is_of_parameters(rest):
            yield quotient(rest, -coefficient, floor=rest.low < 0) - monomial[0].term


def _is_of_programs(term: Term) -> bool:
    """Return whether program ids are the only variables of a term."""
    atoms = {atom for monomial in term.coefficients for atom in monomial}
    return all(isinstance(atom, Symbol) and atom.kind == "program" for atom in atoms)


def smaller_of(term: Term) -> tuple[Minimum | None, int]:
    """Return (minimum, constant) of a term `minimum + constant`, else (None, 0)."""
    for monomial, coefficient in term.coefficients.items():
        if len(monomial) == 1 and coefficient == 1 and isinstance(monomial[0], Minimum):
            addend = (term - monomial[0].term).constant
            return (monomial[0], addend) if addend is not None else (None, 0)
    return None, 0


def split(term: Term, atom: Atom) -> tuple[Term, Term]:
    """Return (coefficient, rest) with term = coefficient * atom + rest; both may contain powers."""
    coefficient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, number in term.coefficients.items():
        if atom not in monomial:
            rest[monomial] = number
            continue
        position = monomial.index(atom)
        coefficient[monomial[:position] + monomial[position + 1 :]] = number
    return Term(coefficient), Term(rest)


def _cancelling_step(coefficient: Term, fact_coefficient: Term, fact: Term) -> Step | None:
    """Return the step that cancels a variable by a fact, given its coefficients in both."""
    number = fact_coefficient.constant
    if number is not None:
        divisor = gcd(number, *coefficient.coefficients.values())
        scale = number // divisor
        if scale > _MAX_SCALE:
            return None
        return Step(scale, multiples(coefficient, divisor)[0], fact)
    factor = exact_quotient(coefficient, fact_coefficient)
    return None if factor is None or factor.low < 0 else Step(1, factor, fact)


def exact_quotient(term: Term, divisor: Term) -> Term | None:
    """Return the exact quotient if the divisor is a single monomial, else None."""
    if len(divisor.coefficients) != 1:
        return None
    multiple, rest = divided_by_unit(term, divisor)
    return None if rest.coefficients else multiple


def _next_variable(term: Term) -> Atom | None:
    """Return the variable to eliminate next, None if only parameters remain."""
    variables = {atom for monomial in term.coefficients for atom in monomial if varies(atom)}
    return min(variables, key=_rank) if variables else None


def _rank(atom: Atom) -> tuple[int, int]:
    kind = atom.kind if isinstance(atom, Symbol) else ""
    return _ELIMINATION_ORDER.index(kind), -atom.order


def _strongest(bounds: Iterable[Bound]) -> tuple[Bound, ...]:
    """Return the bounds that no other one implies for sizes of at least 1."""
    simplest_first = sorted(bounds, key=lambda b: (len(b.limit.coefficients), b.scale))
    return without_implied(simplest_first, _implies)


def without_implied(
    items: Iterable[_Item], implies: Callable[[_Item, _Item], bool]
) -> tuple[_Item, ...]:
    """Return the items that no other item implies; of two equal items the first remains."""
    strongest: list[_Item] = []
    for item in items:
        if any(implies(remaining, item) for remaining in strongest):
            continue
        strongest = [remaining for remaining in strongest if not implies(item, remaining)] + [item]
    return tuple(strongest)


def _implies(left: Bound, right: Bound) -> bool:
    """Return whether the left limit is never more than the right, for sizes of at least 1."""
    gap = right.limit * left.scale - left.limit * right.scale
    gap = gap.substitute(positive_sizes(gap.atoms()))
    return gap.low >= 0 or _without_quotients(gap).low >= 0


def _without_quotients(term: Term) -> Term:
    """Return a lower bound of a term: quotients by constants are replaced by their bounds."""
    lower_bound = term
    for monomial, coefficient in term.coefficients.items():
        for position, atom in enumerate(monomial):
            if not isinstance(atom, Quotient) or atom.arguments[0].low < 0:
                continue
            divisor = atom.arguments[1].constant
            if (
                divisor is None
                or divisor < 1
                or coefficient % divisor
                or any(factor.low < 0 for factor in monomial)
            ):
                continue
            rest = Term({monomial[:position] + monomial[position + 1 :]: coefficient // divisor})
            replacement = atom.arguments[0] - (divisor - 1 if coefficient > 0 else 0)
            lower_bound = lower_bound - Term({monomial: coefficient}) + rest * replacement
            break
    return lower_bound


def positive_sizes(atoms: Iterable[Atom]) -> dict[Atom, Term]:
    """Return, for each scalar of at least 0, a term for the same scalar of at least 1."""
    return {
        atom: Symbol(atom.kind, atom.key, 1, atom.high, atom.at).term
        for atom in in_order(atoms)
        if isinstance(atom, Symbol) and atom.kind == "scalar" and atom.low == 0
    }


def varying_choice(term: Term) -> Choice | Maximum | None:
    """Return the first varying Choice or Maximum of a term, which needs cases, else None."""
    variables = {atom for monomial in term.coefficients for atom in monomial if varies(atom)}
    choices = [atom for atom in variables if isinstance(atom, Choice | Maximum)]
    return min(choices, key=lambda atom: atom.order) if choices else None


# -- digits ----------------------------------------------------------------------------------------


def implied_conditions(gap: Term, slack: int, given: Given) -> Iterator[Condition]:
    """Yield conditions implied by a gap of at most `slack` bytes; none if none are found."""
    digits = _digits(gap)
    if all(size.constant is not None for size in digits):
        yield at_least(gap + slack)
        yield at_least(slack - gap)
        return
    for size, digit in digits.items():
        if size.constant is not None:
            continue
        other_digits = gap - size * digit
        limit = size * gcd(*digit.coefficients.values()) - slack - 1
        is_small = conjunction((at_least(limit - other_digits), at_least(limit + other_digits)))
        if follows(is_small, given) is not None:
            yield equal(digit)
            if other_digits.coefficients:
                yield from implied_conditions(other_digits, slack, given)
            return


def _digits(gap: Term) -> dict[Term, Term]:
    """Return the factors of a gap that depend on programs, by their coefficient of sizes."""
    coefficients: dict[Monomial, Term] = {}
    for monomial, number in gap.coefficients.items():
        varying = tuple(atom for atom in monomial if varies(atom))
        sizes = tuple(atom for atom in monomial if not varies(atom))
        coefficients[varying] = coefficients.get(varying, ZERO) + Term({sizes: number})
    digits: dict[Term, Term] = {}
    for varying, coefficient in coefficients.items():
        if not coefficient.coefficients:
            continue
        factor = gcd(*coefficient.coefficients.values())
        size = Term({m: number // factor for m, number in coefficient.coefficients.items()})
        if size.coefficients[max(size.coefficients, key=len)] < 0:
            size, factor = -size, -factor
        digits[size] = digits.get(size, ZERO) + Term({varying: factor})
    return digits
