"""Upper bounds of terms over a kernel's parameters: programs, lanes and trips are eliminated.

Fourier-Motzkin elimination with symbolic coefficients: a variable with a coefficient of known sign
is replaced by what a fact (a term that is never negative) says of it, times a factor that is never
negative. A bound comes with the facts and factors that were added, so that it can be checked
without trust in how it was found: `scale * term + sum(factor * fact) == limit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Final

from kvtrace.symbolic.functions import Choice, Maximum, Minimum, Quotient, Remainder, quotient
from kvtrace.symbolic.terms import Atom, Monomial, Symbol, Term, as_term, programs

_MOST_STATES: Final = 160
_MOST_SCALE: Final = 1 << 12
_DEEPEST: Final = 3
_MOST_QUOTIENTS: Final = 3
_MOST_TRIPS: Final = 1 << 16
"""A trip's own range is a bound worth showing where it is that of a constant loop."""
_MOST_MONOMIALS: Final = 24
_VARYING: Final = ("program", "lane", "trip", "content", "unknown")
_PARTS: Final = ("lane", "trip", "", "program", "content", "unknown")
"""Variables in the order in which they are eliminated; "" are functions of others."""


@dataclass(frozen=True, slots=True)
class Step:
    """So many times what was left, and `factor * fact` added to it; neither is negative."""

    scale: int
    factor: Term
    fact: Term


@dataclass(frozen=True, slots=True)
class Bound:
    """`scale * term <= limit`, a term of parameters alone, by what was added in `steps`."""

    scale: int
    limit: Term
    steps: tuple[Step, ...]


def varies(atom: Atom) -> bool:
    """Whether an atom is not the same for all programs, lanes and trips of a launch."""
    return any(isinstance(each, Symbol) and each.kind in _VARYING for each in atom.within())


def is_of_parameters(term: Term) -> bool:
    """Whether a term is the same for all programs, lanes and trips of a launch."""
    return not any(map(varies, term.atoms()))


class Elimination:
    """Finds bounds of terms where `facts` are never negative.

    `wanted` are terms of which it could have used that they are never negative: divisors (less 1)
    and dividends.
    """

    def __init__(
        self, facts: Iterable[Term], depth: int = 0, wanted: dict[Term, None] | None = None
    ) -> None:
        self.wanted: dict[Term, None] = {} if wanted is None else wanted
        stated = [fact for fact in facts if len(fact.coefficients) <= _MOST_MONOMIALS]
        self.facts = (*stated, *(fact for each in stated for fact in _rounded(each)))
        self._depth = depth
        self._own: dict[Atom, tuple[Term, ...]] = {}
        self._signs: dict[Term, bool] = {}

    def bounds(self, term: Term) -> tuple[Bound, ...]:
        """Return upper bounds of a term, none of them implied by another; () if none is found."""
        found: dict[tuple[int, Term], Bound] = {}
        seen: set[tuple[int, Term]] = set()
        stack: list[tuple[int, Term, tuple[Step, ...], frozenset[Term]]] = [
            (1, term, (), frozenset())
        ]
        while stack and len(seen) < _MOST_STATES:
            scale, left, steps, used = stack.pop()
            if (scale, left) in seen or len(left.coefficients) > _MOST_MONOMIALS:
                continue
            seen.add((scale, left))
            atom = _next(left)
            if atom is None:
                found.setdefault((scale, left), Bound(scale, left, steps))
                continue
            for step, rest in self._steps(left, atom, used):
                after = used | {step.fact} if step.fact in self.facts else used
                stack.append((scale * step.scale, rest, (*steps, step), after))
        return _strongest(found.values())

    def is_never_negative(self, term: Term) -> bool:
        """Tell whether a term is seen never to be negative."""
        if term.low >= 0 or term in self.facts:
            return True
        minimum, more = smaller_of(term)
        if minimum is not None:
            return all(self.is_never_negative(part + more) for part in minimum.arguments)
        if self._depth >= _DEEPEST:
            return False
        if term not in self._signs:
            self._signs[term] = False  # asked again on the way: not known
            inner = Elimination(self.facts, self._depth + 1, self.wanted)
            self._signs[term] = any(bound.limit.high <= 0 for bound in inner.bounds(-term))
        return self._signs[term]

    # -- steps -----------------------------------------------------------------------------------

    def _steps(self, left: Term, atom: Atom, used: frozenset[Term]) -> Iterator[tuple[Step, Term]]:
        """Return what replaces an atom in a term that is to be bounded from above."""
        coefficient, _ = split(left, atom)
        if coefficient.low >= 0:
            sign = 1
        elif coefficient.high <= 0:
            sign = -1
        else:
            return
        for fact in (*self._about(atom), *self.facts):
            if fact in used:
                continue
            other = split(fact, atom)[0] * -sign
            if not other.coefficients or other.low < 0:
                continue
            step = _cancelling(coefficient * sign, other, fact)
            if step is not None:
                yield step, left * step.scale + step.factor * fact

    def _about(self, atom: Atom) -> tuple[Term, ...]:
        """Return facts about a variable that come from what it is."""
        if atom not in self._own:
            self._own[atom] = ()  # what is asked of it on the way to its own facts
            self._own[atom] = tuple(self._facts_about(atom))
        return self._own[atom]

    def _facts_about(self, atom: Atom) -> Iterator[Term]:
        if isinstance(atom, Symbol):
            if atom.kind in ("content", "unknown"):
                return
            yield atom.term
            if atom.kind == "program":
                assert isinstance(atom.key, int)
                yield programs(atom.key) - 1 - atom.term
            elif atom.kind == "lane" or atom.high < _MOST_TRIPS:
                yield as_term(atom.high) - atom.term
        elif isinstance(atom, Quotient | Remainder):
            yield from self._divided(atom)
        elif isinstance(atom, Minimum | Maximum):
            sign = 1 if isinstance(atom, Maximum) else -1
            for part in atom.arguments:
                yield (atom.term - part) * sign
            if isinstance(atom, Maximum):
                return
            negative = [part for part in atom.arguments if not self.is_never_negative(part)]
            self.wanted.update(dict.fromkeys(negative))
            if not negative:
                yield atom.term

    def _divided(self, atom: Quotient | Remainder) -> Iterator[Term]:
        left, right = atom.arguments
        if isinstance(atom, Remainder):
            gap = left - right * quotient(left, right, floor=atom.floor) - atom.term
            yield gap
            yield -gap
        if not self.is_never_negative(left):
            self.wanted[left] = None
            if right.low >= 1 and isinstance(atom, Remainder):
                yield right - 1 - atom.term
                yield atom.term if atom.floor else atom.term + right - 1
            return
        positive = self.is_never_negative(right - 1)
        # Also of a negative divisor: rounding toward 0, the remainder has the dividend's sign.
        if isinstance(atom, Remainder) and (positive or not atom.floor):
            yield atom.term
            if not is_of_parameters(right) or _is_of_programs(left):
                yield left - atom.term
        if not positive:
            self.wanted[right - 1] = None
            return
        if isinstance(atom, Remainder):
            yield right - 1 - atom.term
            return
        yield atom.term
        if is_of_parameters(right) and self._depth < _DEEPEST:
            inner = Elimination(self.facts, self._depth + 1, self.wanted)
            for bound in inner.bounds(left)[:_MOST_QUOTIENTS]:
                if bound.scale == 1 and bound.limit.coefficients:
                    yield quotient(bound.limit, right, floor=atom.floor) - atom.term
        yield left - right * atom.term
        yield right * atom.term + right - 1 - left
        if not is_of_parameters(right):
            yield left - atom.term


def _rounded(fact: Term) -> Iterator[Term]:
    """Return `rest // a - v >= 0` of a fact `rest - a * v >= 0`, the rest being of parameters."""
    for monomial, number in fact.coefficients.items():
        if len(monomial) != 1 or number >= -1 or not varies(monomial[0]):
            continue
        rest = fact - Term({monomial: number})
        if is_of_parameters(rest):
            yield quotient(rest, -number, floor=rest.low < 0) - monomial[0].term


def _is_of_programs(term: Term) -> bool:
    """Whether a term is of programs alone: what is left of them may well be all."""
    atoms = {atom for monomial in term.coefficients for atom in monomial}
    return all(isinstance(atom, Symbol) and atom.kind == "program" for atom in atoms)


def smaller_of(term: Term) -> tuple[Minimum | None, int]:
    """Return a minimum and what is added to it, if that is all there is."""
    for monomial, number in term.coefficients.items():
        if len(monomial) == 1 and number == 1 and isinstance(monomial[0], Minimum):
            more = (term - monomial[0].term).constant
            return (monomial[0], more) if more is not None else (None, 0)
    return None, 0


def split(term: Term, atom: Atom) -> tuple[Term, Term]:
    """Return (coefficient, rest): term = coefficient * atom + rest; powers leave the atom in."""
    inside: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, number in term.coefficients.items():
        if atom not in monomial:
            rest[monomial] = number
            continue
        place = monomial.index(atom)
        inside[monomial[:place] + monomial[place + 1 :]] = number
    return Term(inside), Term(rest)


def _cancelling(coefficient: Term, other: Term, fact: Term) -> Step | None:
    """Return the step that cancels `coefficient` times a variable, of which a fact has `-other`."""
    number = other.constant
    if number is not None:
        common = gcd(number, *coefficient.coefficients.values())
        scale = number // common
        if scale > _MOST_SCALE:
            return None
        return Step(scale, _divided_exactly(coefficient, common), fact)
    factor = exact_quotient(coefficient, other)
    return None if factor is None or factor.low < 0 else Step(1, factor, fact)


def _divided_exactly(term: Term, number: int) -> Term:
    return Term({monomial: value // number for monomial, value in term.coefficients.items()})


def exact_quotient(term: Term, by: Term) -> Term | None:
    """Divide by a polynomial where the quotient is one monomial, or the divisor is; else None."""
    if len(by.coefficients) == 1:
        ((factors, number),) = by.coefficients.items()
        total: dict[Monomial, int] = {}
        for monomial, value in term.coefficients.items():
            left = _without(monomial, factors)
            if left is None or value % number:
                return None
            total[left] = value // number
        return Term(total)
    if len(term.coefficients) != len(by.coefficients):
        return None
    monomial, value = next(iter(term.coefficients.items()))
    for factors, number in by.coefficients.items():
        left = _without(monomial, factors)
        if left is None or value % number:
            continue
        factor = Term({left: value // number})
        if factor * by == term:
            return factor
    return None


def _without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in factors:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _next(term: Term) -> Atom | None:
    """Return the variable to eliminate next."""
    found = {atom for monomial in term.coefficients for atom in monomial if varies(atom)}
    return min(found, key=_rank) if found else None


def _rank(atom: Atom) -> tuple[int, int]:
    kind = atom.kind if isinstance(atom, Symbol) else ""
    return _PARTS.index(kind), -atom.order


def _strongest(bounds: Iterable[Bound]) -> tuple[Bound, ...]:
    """Leave out bounds that are implied by others where sizes are at least 1."""
    kept: list[Bound] = []
    for bound in sorted(bounds, key=lambda each: (len(each.limit.coefficients), each.scale)):
        if any(_implies(other, bound) for other in kept):
            continue
        kept = [other for other in kept if not _implies(bound, other)] + [bound]
    return tuple(kept)


def _implies(one: Bound, other: Bound) -> bool:
    """Whether the limit of one is never more than the other's, sizes being at least 1."""
    gap = other.limit * one.scale - one.limit * other.scale
    gap = gap.substitute(positive_sizes(gap.atoms()))
    return gap.low >= 0 or _without_quotients(gap).low >= 0


def _without_quotients(term: Term) -> Term:
    """Return what is never more than a term: quotients by numbers are what they are at least."""
    total = term
    for monomial, number in term.coefficients.items():
        for position, atom in enumerate(monomial):
            if not isinstance(atom, Quotient) or atom.arguments[0].low < 0:
                continue
            by = atom.arguments[1].constant
            if by is None or by < 1 or number % by or any(each.low < 0 for each in monomial):
                continue
            rest = Term({monomial[:position] + monomial[position + 1 :]: number // by})
            least = atom.arguments[0] - (by - 1 if number > 0 else 0)
            total = total - Term({monomial: number}) + rest * least
            break
    return total


def in_order(atoms: Iterable[Atom]) -> list[Atom]:
    """Sort atoms: what is made of them one after the other is the same in every process."""
    return sorted(atoms, key=lambda atom: atom.order)


def positive_sizes(atoms: Iterable[Atom]) -> dict[Atom, Term]:
    """Return scalars that are at least 0 as ones that are at least 1."""
    return {
        atom: Symbol(atom.kind, atom.key, 1, atom.high, atom.at).term
        for atom in in_order(atoms)
        if isinstance(atom, Symbol) and atom.kind == "scalar" and atom.low == 0
    }


def varying_choice(term: Term) -> Choice | Maximum | None:
    """Return an atom of a term that is one of two terms, for which there are no bounds as it is."""
    found = {atom for monomial in term.coefficients for atom in monomial if varies(atom)}
    either = [atom for atom in found if isinstance(atom, Choice | Maximum)]
    return min(either, key=lambda atom: atom.order) if either else None
