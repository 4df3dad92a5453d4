"""Simplification of formulas under the mask of the output element that they belong to."""

from __future__ import annotations

from collections.abc import Collection
from math import gcd
from typing import Final

from kvtrace.addons.invariance.coordinates import Output, is_placing, number_of_coordinate
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
    with_digits_joined,
)
from kvtrace.symbolic.prover import Given, Ranges, follows
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, as_term

_MOST_ROUNDS: Final = 8


class Simplifier:
    """Simplifier of formulas over an output's coordinates, by the output's mask.

    Results hold for all ranges of scalars in `sizes`, not only for the recorded call. Formulas of
    scalars alone are simplified only if the scalars are in `counted`: others may be switches.
    """

    def __init__(self, output: Output, sizes: Ranges, counted: Collection[Atom] = ()) -> None:
        self._output = output
        self._sizes = sizes
        self._counted = counted
        self._conditions: dict[Condition, Condition] = {}
        self._atoms: dict[Atom, Term | None] = {}

    @cached_property
    def active(self) -> Condition:
        """The condition that the element is stored, over the output's coordinates."""
        return self.rewritten(self._output.access.active)

    @cached_property
    def given(self) -> Given:
        """The assumptions on coordinates and scalars where the element is stored."""
        return Given((*self.active.conjuncts(), *self._output.facts), self._sizes)

    def term(self, term: Term) -> Term:
        """Return a formula rewritten over coordinates and simplified."""
        for written in self._output.substitutions:
            term = self._simplified(written(term))
        plain = term
        for blocks in self._output.blocks:
            term = blocks(term)
        return plain if term is plain else self._simplified(term)

    def condition(self, condition: Condition) -> Condition:
        """Return a condition over coordinates, without parts that hold for stored elements."""
        rewritten = self.rewritten(condition)
        plain = conjunction(self._simplified_condition(part) for part in rewritten.conjuncts())
        located = self._output.over_coordinates(plain)
        if located is plain:
            return plain
        return conjunction(self._simplified_condition(part) for part in located.conjuncts())

    def rewritten(self, condition: Condition) -> Condition:
        """Return a condition rewritten over coordinates, not simplified."""
        for written in self._output.substitutions:
            condition = condition.substitute(written)
        return condition

    def _simplified_condition(self, part: Condition) -> Condition:
        simplified = self._conditions.get(part)
        if simplified is None:
            simplified = self._conditions[part] = self._simplify_condition(part)
        return simplified

    def _simplify_condition(self, part: Condition) -> Condition:
        if part.decided is not None:
            return part
        if (truth := self._truth(part)) is not None:
            return TRUE if truth else FALSE
        if isinstance(part, Or):
            return part
        replaced = self._replaced(part.atoms())
        plain = part.substitute(Substitution(replaced)) if replaced else part
        if isinstance(plain, AtLeast):
            plain = at_least(with_digits_joined(plain.term))
        return (
            plain
            if plain == part or not isinstance(plain, AtLeast)
            else self._simplified_condition(plain)
        )

    def _simplified(self, term: Term) -> Term:
        for _ in range(_MOST_ROUNDS):
            replaced = self._replaced(term.atoms())
            if not replaced:
                break
            term = Substitution(replaced)(term)
        return with_digits_joined(term)

    def _replaced(self, atoms: frozenset[Atom]) -> dict[Atom, Term]:
        replacements = {}
        for atom in atoms:
            if atom not in self._atoms:
                self._atoms[atom] = self._simpler_form(atom)
            simpler = self._atoms[atom]
            if simpler is not None:
                replacements[atom] = simpler
        return replacements

    def _simpler_form(self, atom: Atom) -> Term | None:
        """Return a simpler form of a function where the element is stored, or None."""
        if isinstance(atom, Choice):
            truth = self._truth(atom.condition)
            return None if truth is None else atom.then if truth else atom.otherwise
        if not isinstance(atom, Quotient | Remainder | Minimum | Maximum):
            return None
        left, right = atom.arguments
        if not _is_placed(atom.within()):
            return self._scalar_form(atom, left, right) if self._is_counted(atom.term) else None
        if isinstance(atom, Quotient | Remainder):
            return self._simplified_division(atom, left, right)
        if follows(at_least(right, left), self.given) is not None:
            return left if isinstance(atom, Minimum) else right
        if follows(at_least(left, right), self.given) is not None:
            return right if isinstance(atom, Minimum) else left
        return None

    def _truth(self, condition: Condition) -> bool | None:
        """Return a condition's truth where the element is stored, or None if it is not constant."""
        if not _is_placed(condition.atoms()):
            return self._truth_on_scalars(condition)
        for truth, claim in ((True, condition), (False, ~condition)):
            if claim in self.given.exact or follows(claim, self.given) is not None:
                return truth
        return None

    def _truth_on_scalars(self, condition: Condition) -> bool | None:
        """Return a condition's truth for all calls, by the ranges of its scalars, or None."""
        if not isinstance(condition, AtLeast) or not self._is_counted(condition.term):
            return None
        low, high = self._sizes.interval(condition.term)
        return True if low >= 0 else False if high < 0 else None

    def _is_counted(self, term: Term) -> bool:
        symbols = (atom for atom in term.atoms() if isinstance(atom, Symbol))
        return all(symbol in self._counted for symbol in symbols)

    def _scalar_form(
        self, atom: Quotient | Remainder | Minimum | Maximum, left: Term, right: Term
    ) -> Term | None:
        """Return a simpler form of a function of scalars in all calls, or None."""
        if isinstance(atom, Quotient | Remainder):
            if left != right or self._sizes.interval(right)[0] < 1:
                return None
            return as_term(1) if isinstance(atom, Quotient) else ZERO
        low, high = self._sizes.interval(right - left)
        if low < 0 < high:
            return None
        return left if (low >= 0) == isinstance(atom, Minimum) else right

    def _simplified_division(
        self, atom: Quotient | Remainder, left: Term, right: Term
    ) -> Term | None:
        if follows(at_least(left), self.given) is None:
            return None
        number = right.constant
        multiple, rest = (ZERO, left) if number is None or number < 1 else multiples(left, number)
        if follows(conjunction((at_least(rest), less(rest, right))), self.given) is None:
            if number is None or left.symbols("content"):
                return None
            return self._division_by_steps(atom, left, number)
        return multiple if isinstance(atom, Quotient) else rest

    def _division_by_steps(
        self, atom: Quotient | Remainder, left: Term, number: int
    ) -> Term | None:
        """Return a division simplified by a common step, below which the rest stays; else None."""
        steps = {gcd(coefficient, number) for coefficient in left.coefficients.values()}
        for step in sorted(steps - {1, number}, reverse=True):
            coarse, fine = multiples(left, step)
            if fine == ZERO or follows(conjunction((at_least(fine), less(fine, step))), self.given):
                if isinstance(atom, Quotient):
                    return quotient(coarse, number // step, floor=True)
                return remainder(coarse, number // step, floor=True) * step + fine
        divide = quotient if isinstance(atom, Quotient) else remainder
        simplified = divide(left, number, floor=True)
        return None if simplified.coefficients == atom.term.coefficients else simplified


def _is_placed(atoms: frozenset[Atom]) -> bool:
    """Return whether a formula depends on which element is stored."""
    return any(is_placing(atom) or number_of_coordinate(atom) is not None for atom in atoms)
