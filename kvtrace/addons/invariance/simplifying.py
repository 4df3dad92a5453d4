"""Simplification of formulas under the mask of the output element that they belong to."""

from __future__ import annotations

from collections.abc import Collection
from math import gcd
from typing import TYPE_CHECKING, Final

from kvtrace.addons.invariance.coordinates import is_placing, number_of_coordinate
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    AtLeast,
    Condition,
    Or,
    at_least,
    conjunction,
    less,
)
from kvtrace.symbolic.functions import (
    Choice,
    Maximum,
    Minimum,
    Quotient,
    Remainder,
    multiples,
    quotient,
    remainder,
    single,
)
from kvtrace.symbolic.prover import Given, follows
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, as_term

if TYPE_CHECKING:
    from kvtrace.addons.invariance.coordinates import Output
    from kvtrace.symbolic.prover import Ranges

_MOST_ROUNDS: Final = 8


class Simplifier:
    """Simplifier of formulas over an output's coordinates, by the output's mask.

    Conclusions hold for all sizes within `sizes`: numbers of recorded calls are not used. Formulas
    of scalars alone are simplified only if these are `counted`: other scalars may be switches.
    """

    def __init__(self, output: Output, sizes: Ranges, counted: Collection[Atom] = ()) -> None:
        self._output = output
        self._sizes = sizes
        self._counted = counted
        self._conditions: dict[Condition, Condition] = {}
        self._atoms: dict[Atom, Term | None] = {}

    @cached_property
    def active(self) -> Condition:
        """The condition that the element is written, over its coordinates."""
        return self.rewritten(self._output.access.active)

    @cached_property
    def given(self) -> Given:
        """The assumptions on coordinates and sizes where the element is written."""
        return Given((*self.active.conjuncts(), *self._output.facts), self._sizes)

    def term(self, term: Term) -> Term:
        """Return a formula over coordinates."""
        for written in self._output.written:
            term = self._plain(written(term))
        plain = term
        for blocks in self._output.blocks:
            term = blocks(term)
        return plain if term is plain else self._plain(term)

    def condition(self, condition: Condition) -> Condition:
        """Return a condition over coordinates, without what holds where the element is written."""
        rewritten = self.rewritten(condition)
        plain = conjunction(self._part(part) for part in rewritten.conjuncts())
        located = self._output.located(plain)
        if located is plain:
            return plain
        return conjunction(self._part(part) for part in located.conjuncts())

    def rewritten(self, condition: Condition) -> Condition:
        """Return a condition over coordinates."""
        for written in self._output.written:
            condition = condition.substitute(written)
        return condition

    def _part(self, part: Condition) -> Condition:
        simplified = self._conditions.get(part)
        if simplified is None:
            simplified = self._conditions[part] = self._decided(part)
        return simplified

    def _decided(self, part: Condition) -> Condition:
        if part.decided is not None:
            return part
        if (truth := self._truth(part)) is not None:
            return TRUE if truth else FALSE
        if isinstance(part, Or):
            return part
        replaced = self._replaced(part.atoms())
        plain = part.substitute(Substitution(replaced)) if replaced else part
        if isinstance(plain, AtLeast):
            plain = at_least(_joined(plain.term))
        return plain if plain == part or not isinstance(plain, AtLeast) else self._part(plain)

    def _plain(self, term: Term) -> Term:
        for _ in range(_MOST_ROUNDS):
            replaced = self._replaced(term.atoms())
            if not replaced:
                break
            term = Substitution(replaced)(term)
        return _joined(term)

    def _replaced(self, atoms: frozenset[Atom]) -> dict[Atom, Term]:
        replacements = {}
        for atom in atoms:
            if atom not in self._atoms:
                self._atoms[atom] = self._as_plain(atom)
            by = self._atoms[atom]
            if by is not None:
                replacements[atom] = by
        return replacements

    def _as_plain(self, atom: Atom) -> Term | None:
        """Return a function's simpler form where the element is written, if there is one."""
        if isinstance(atom, Choice):
            truth = self._truth(atom.condition)
            return None if truth is None else atom.then if truth else atom.otherwise
        if not isinstance(atom, Quotient | Remainder | Minimum | Maximum):
            return None
        left, right = atom.arguments
        if not _is_placed(atom.within()):
            return self._of_numbers(atom, left, right) if self._is_counted(atom.term) else None
        if isinstance(atom, Quotient | Remainder):
            return self._divided(atom, left, right)
        if follows(at_least(right, left), self.given) is not None:
            return left if isinstance(atom, Minimum) else right
        if follows(at_least(left, right), self.given) is not None:
            return right if isinstance(atom, Minimum) else left
        return None

    def _truth(self, condition: Condition) -> bool | None:
        """Return a condition's constant truth where the element is written, if it is known."""
        if not _is_placed(condition.atoms()):
            return self._truth_of_numbers(condition)
        for truth, claim in ((True, condition), (False, ~condition)):
            if claim in self.given.exact or follows(claim, self.given) is not None:
                return truth
        return None

    def _truth_of_numbers(self, condition: Condition) -> bool | None:
        """Return the constant truth of a condition on scalars in all calls, if it is known."""
        if not isinstance(condition, AtLeast) or not self._is_counted(condition.term):
            return None
        low, high = self._sizes.interval(condition.term)
        return True if low >= 0 else False if high < 0 else None

    def _is_counted(self, term: Term) -> bool:
        symbols = (atom for atom in term.atoms() if isinstance(atom, Symbol))
        return all(each in self._counted for each in symbols)

    def _of_numbers(
        self, atom: Quotient | Remainder | Minimum | Maximum, left: Term, right: Term
    ) -> Term | None:
        """Return a function of scalars simplified for all calls, by the scalars' ranges."""
        if isinstance(atom, Quotient | Remainder):
            if left != right or self._sizes.interval(right)[0] < 1:
                return None
            return as_term(1) if isinstance(atom, Quotient) else ZERO
        low, high = self._sizes.interval(right - left)
        if low < 0 < high:
            return None
        return left if (low >= 0) == isinstance(atom, Minimum) else right

    def _divided(self, atom: Quotient | Remainder, left: Term, right: Term) -> Term | None:
        if follows(at_least(left), self.given) is None:
            return None
        number = right.constant
        even, odd = (ZERO, left) if number is None or number < 1 else multiples(left, number)
        if follows(conjunction((at_least(odd), less(odd, right))), self.given) is None:
            if number is None or left.symbols("content"):
                return None
            return self._divided_steps(atom, left, number)
        return even if isinstance(atom, Quotient) else odd

    def _divided_steps(self, atom: Quotient | Remainder, left: Term, number: int) -> Term | None:
        """Divide the steps of an index, where what is below a step stays below it."""
        steps = {gcd(coefficient, number) for coefficient in left.coefficients.values()}
        for step in sorted(steps - {1, number}, reverse=True):
            coarse, fine = multiples(left, step)
            if fine == ZERO or follows(conjunction((at_least(fine), less(fine, step))), self.given):
                if isinstance(atom, Quotient):
                    return quotient(coarse, number // step, floor=True)
                return remainder(coarse, number // step, floor=True) * step + fine
        divide = quotient if isinstance(atom, Quotient) else remainder
        found = divide(left, number, floor=True)
        return None if found.coefficients == atom.term.coefficients else found


def _joined(term: Term) -> Term:
    """Return a term with an index in place of its parts: `n * (x // n) + x % n`."""
    for atom in term.atoms():
        rest = term.coefficients.get((atom,), 0)
        if isinstance(atom, Remainder) and rest and (number := atom.arguments[1].constant):
            whole = quotient(*atom.arguments, floor=atom.floor)
            part = single(whole)
            if part is not None and term.coefficients.get((part,)) == rest * number:
                return _joined(term + (atom.arguments[0] - atom.term - whole * number) * rest)
    return term


def _is_placed(atoms: frozenset[Atom]) -> bool:
    """Return whether a formula depends on the element that is written."""
    return any(is_placing(atom) or number_of_coordinate(atom) is not None for atom in atoms)
