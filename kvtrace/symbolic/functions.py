"""Functions of terms that are not polynomials: divisions, minima, maxima and choices.

The lower-case functions (`quotient`, `minimum`, `choice` …) return the simplest term that is
correct over the whole range of its atoms. They return an atom (`Quotient` …) only if no polynomial
is correct: `quotient(8 * i + lane, 8)` with lanes below 8 is `i`. Substitutions call them again.
Only these functions make the atoms. Functions of widths and bits are in `bits`.

Division by 0 gives quotient 0 and the dividend as remainder, as in `kvtrace.evaluate`, so that
`quotient * divisor + remainder` is always the dividend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from kvtrace.ir.integers import divided
from kvtrace.symbolic.terms import (
    ZERO,
    Atom,
    Evaluation,
    Substitution,
    Term,
    as_term,
    intern,
)

if TYPE_CHECKING:
    from kvtrace.symbolic.conditions import Condition


Interval: TypeAlias = tuple[int, int]
"""Smallest and largest value, both included."""

#: Limit on the cases of a term, by the outcomes of its choices.
_MOST_WAYS: Final = 8


class Applied(Atom):
    """Base class of functions of the terms `arguments`, with `settings` that are no terms."""

    __slots__ = ("_within", "arguments", "settings")
    arguments: tuple[Term, ...]
    settings: tuple[Any, ...]
    _within: frozenset[Atom]

    def __new__(cls, arguments: tuple[Term, ...], *settings: Any) -> Applied:  # noqa: D102
        def make() -> Applied:
            atom = object.__new__(cls)
            atom.arguments, atom.settings = arguments, settings
            atom.low, atom.high = atom._bounds()
            atom._within = frozenset((atom,)).union(*(term.atoms() for term in arguments))
            return atom

        atom: Applied = intern(cls, (arguments, settings), make)
        return atom

    def _bounds(self) -> tuple[int, int]:
        raise NotImplementedError

    def within(self) -> frozenset[Atom]:
        """Return the atom itself and all atoms inside it."""
        return self._within

    def __repr__(self) -> str:
        inside = (*map(repr, self.arguments), *map(str, self.settings))
        return f"{type(self).__name__}({', '.join(inside)})"


# -- division -----------------------------------------------------------------------------------


def quotient(dividend: Term | int, divisor: Term | int, *, floor: bool = False) -> Term:
    """Return the quotient, rounded toward zero (as `arith.divsi`) or, with `floor`, down."""
    left, right = as_term(dividend), as_term(divisor)
    divisor_number = right.constant
    if divisor_number == 0:
        return ZERO
    if divisor_number is None:
        is_zero = left.low >= 0 and right.low > left.high
        return ZERO if is_zero else Quotient((left, right), floor).term
    if (constant := left.constant) is not None:
        return as_term(divided(constant, divisor_number, floor=floor))
    multiple, rest = multiples(left, divisor_number)
    if not rest.coefficients:
        return multiple
    if divisor_number > 0:
        rounds_down = floor or left.low >= 0
        if rounds_down and rest.low >= 0:
            return multiple + _quotient_by(rest, divisor_number)
        if rounds_down and floor:
            return multiple + Quotient((rest, right), True).term
        if -divisor_number < left.low and left.high < divisor_number and not floor:
            return ZERO
    return Quotient((left, right), floor).term


def _quotient_by(left: Term, number: int) -> Term:
    """Return the quotient of a nonnegative term by a positive number."""
    if left.high < number:
        return ZERO
    inner = single(left)
    if isinstance(inner, Quotient) and inner.arguments[0].low >= 0:
        inner_divisor = inner.arguments[1].constant
        if inner_divisor is not None and inner_divisor > 0:
            return quotient(inner.arguments[0], inner_divisor * number)
    return Quotient((left, as_term(number)), False).term


def remainder(dividend: Term | int, divisor: Term | int, *, floor: bool = False) -> Term:
    """Return the remainder, with the dividend's sign or, with `floor`, the divisor's."""
    left, right = as_term(dividend), as_term(divisor)
    divisor_number = right.constant
    if divisor_number is None:
        is_dividend = left.low >= 0 and right.low > left.high
        return left if is_dividend else Remainder((left, right), floor).term
    if divisor_number == 0:
        return left
    if (constant := left.constant) is not None:
        return as_term(constant - divisor_number * divided(constant, divisor_number, floor=floor))
    _, rest = multiples(left, divisor_number)
    if not rest.coefficients:
        return ZERO
    if divisor_number > 0 and (floor or left.low >= 0):
        if rest.low >= 0:
            return rest if rest.high < divisor_number else Remainder((rest, right), False).term
        if floor:
            return Remainder((rest, right), True).term
    if not floor and -abs(divisor_number) < left.low and left.high < abs(divisor_number):
        return left
    return Remainder((left, right), floor).term


def multiples(term: Term, number: int) -> tuple[Term, Term]:
    """Return (quotient, rest): term = number * quotient + rest.

    The coefficients in `rest` are not divisible by the number, except that its constant is the
    remainder.
    """
    whole, rest = {}, {}
    for monomial, coefficient in term.coefficients.items():
        times, left_over = divmod(coefficient, number)
        if monomial and left_over:
            rest[monomial] = coefficient
            continue
        if times:
            whole[monomial] = times
        if left_over:
            rest[monomial] = left_over
    return Term(whole), Term(rest)


def single(term: Term) -> Atom | None:
    """Return the atom of a term that is one atom with coefficient 1, else None."""
    if len(term.coefficients) != 1:
        return None
    ((monomial, coefficient),) = term.coefficients.items()
    return monomial[0] if len(monomial) == 1 and coefficient == 1 else None


class _Division(Applied):
    """`arguments` are dividend and divisor, `settings` whether the quotient rounds down."""

    __slots__ = ()

    @property
    def floor(self) -> bool:
        """The quotient rounds down, not toward 0."""
        return bool(self.settings[0])


class Quotient(_Division):
    """The quotient of two terms, rounded down or toward zero."""

    __slots__ = ()

    def substituted(self, substitution: Substitution) -> Term:
        """Return the term for the quotient of the arguments after a substitution."""
        left, right = self.arguments
        return quotient(substitution(left), substitution(right), floor=self.floor)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the quotient of numbers, or of arrays by element."""
        left, right = (evaluation(term) for term in self.arguments)
        if not evaluation.arrays:
            return divided(left, right, floor=self.floor)
        return array_quotient(left, right, floor=self.floor)

    def _bounds(self) -> Interval:
        return quotient_range(*map(range_of, self.arguments), floor=self.floor)


class Remainder(_Division):
    """The remainder, with the divisor's sign if the quotient rounds down, else the dividend's."""

    __slots__ = ()

    def substituted(self, substitution: Substitution) -> Term:
        """Return the term for the remainder of the arguments after a substitution."""
        left, right = self.arguments
        return remainder(substitution(left), substitution(right), floor=self.floor)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the remainder of numbers, or of arrays by element."""
        left, right = (evaluation(term) for term in self.arguments)
        if not evaluation.arrays:
            return left - right * divided(left, right, floor=self.floor)
        return left - right * array_quotient(left, right, floor=self.floor)

    def _bounds(self) -> Interval:
        return remainder_range(*map(range_of, self.arguments), floor=self.floor)


def range_of(term: Term) -> Interval:
    """Return the lower and upper bound of a term."""
    return term.low, term.high


def quotient_range(dividend: Interval, by: Interval, *, floor: bool) -> Interval:
    """Return the range of a quotient, rounded down or toward zero; by 0 it is 0."""
    divisors = {end for end in (*by, 1, -1) if by[0] <= end <= by[1] and end}
    quotients = [divided(end, divisor, floor=floor) for end in dividend for divisor in divisors]
    if by[0] <= 0 <= by[1] or not quotients:  # a grid without programs leaves the divisor no number
        quotients.append(0)
    return min(quotients), max(quotients)


def remainder_range(dividend: Interval, divisor: Interval, *, floor: bool) -> Interval:
    """Return the range of a remainder, of a quotient rounded down or toward zero."""
    reach = max(abs(divisor[0]), abs(divisor[1])) - 1
    if floor:
        low, high = (0 if divisor[0] >= 0 else -reach), (0 if divisor[1] <= 0 else reach)
    else:
        low, high = max(min(dividend[0], 0), -reach), min(max(dividend[1], 0), reach)
    if divisor[0] <= 0 <= divisor[1]:  # by 0 the dividend is left
        return min(low, dividend[0]), max(high, dividend[1])
    return low, high


def array_quotient(left: Any, right: Any, *, floor: bool) -> Any:
    """Return quotients of integers by element, rounded down or toward zero; 0 for divisor 0."""
    safe = np.where(right == 0, 1, right)
    down = np.floor_divide(left, safe)
    if not floor:
        down = down + ((left != down * safe) & ((left < 0) != (safe < 0)))
    return np.where(right == 0, 0, down)


# -- minimum and maximum ------------------------------------------------------------------------


def minimum(left: Term | int, right: Term | int) -> Term:
    """Return the term for the smaller of two terms."""
    first, second = as_term(left), as_term(right)
    gap = second - first
    if gap.low >= 0:
        return first
    return second if gap.high <= 0 else Minimum((first, second)).term


def maximum(left: Term | int, right: Term | int) -> Term:
    """Return the term for the larger of two terms."""
    first, second = as_term(left), as_term(right)
    gap = second - first
    if gap.low >= 0:
        return second
    return first if gap.high <= 0 else Maximum((first, second)).term


class Minimum(Applied):
    """The smaller of two `arguments`."""

    __slots__ = ()

    def substituted(self, substitution: Substitution) -> Term:
        """Return the smaller of the substituted terms."""
        return minimum(*(substitution(term) for term in self.arguments))

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the smaller of two numbers, or of two arrays by element."""
        left, right = (evaluation(term) for term in self.arguments)
        return np.minimum(left, right) if evaluation.arrays else min(left, right)

    def _bounds(self) -> tuple[int, int]:
        left, right = self.arguments
        return min(left.low, right.low), min(left.high, right.high)


class Maximum(Applied):
    """The larger of two `arguments`."""

    __slots__ = ()

    def substituted(self, substitution: Substitution) -> Term:
        """Return the larger of the substituted terms."""
        return maximum(*(substitution(term) for term in self.arguments))

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the larger of two numbers, or of two arrays by element."""
        left, right = (evaluation(term) for term in self.arguments)
        return np.maximum(left, right) if evaluation.arrays else max(left, right)

    def _bounds(self) -> tuple[int, int]:
        left, right = self.arguments
        return max(left.low, right.low), max(left.high, right.high)


# -- choice -------------------------------------------------------------------------------------


def choice(condition: Condition, then: Term | int, otherwise: Term | int) -> Term:
    """Return the term that is `then` where a condition holds, and `otherwise` elsewhere."""
    first, second = as_term(then), as_term(otherwise)
    decided = condition.decided
    if decided is not None:
        return first if decided else second
    return first if first == second else Choice(condition, first, second).term


class Choice(Atom):
    """`then` where `condition` holds, else `otherwise`."""

    __slots__ = ("_within", "condition", "otherwise", "then")
    condition: Condition
    then: Term
    otherwise: Term
    _within: frozenset[Atom]

    def __new__(cls, condition: Condition, then: Term, otherwise: Term) -> Choice:  # noqa: D102
        def make() -> Choice:
            atom = object.__new__(cls)
            atom.condition, atom.then, atom.otherwise = condition, then, otherwise
            atom.low = min(then.low, otherwise.low)
            atom.high = max(then.high, otherwise.high)
            atom._within = frozenset((atom,)).union(
                condition.atoms(), then.atoms(), otherwise.atoms()
            )
            return atom

        atom: Choice = intern(cls, (condition, then, otherwise), make)
        return atom

    def within(self) -> frozenset[Atom]:
        """Return the atom itself and all atoms inside it."""
        return self._within

    def substituted(self, substitution: Substitution) -> Term:
        """Return the choice with atoms of its condition and its terms replaced."""
        return choice(
            self.condition.substitute(substitution),
            substitution(self.then),
            substitution(self.otherwise),
        )

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the chosen number or array; without arrays, only that term is evaluated."""
        holds = self.condition.evaluate(evaluation)
        if not evaluation.arrays:
            return evaluation(self.then if holds else self.otherwise)
        return np.where(holds, evaluation(self.then), evaluation(self.otherwise))

    def __repr__(self) -> str:
        return f"({self.then!r} if {self.condition!r} else {self.otherwise!r})"


def ways(term: Term) -> list[tuple[tuple[Condition, ...], Term]]:
    """Return up to `_MOST_WAYS` cases of a term, as (conditions, term) pairs.

    Each choice in the term gives two cases; the conditions of a case imply its term, in which the
    choice is decided.
    """
    cases: list[tuple[tuple[Condition, ...], Term]] = [((), term)]
    for position, (conditions, value) in enumerate(cases):
        while len(cases) < _MOST_WAYS:
            factors = (atom for monomial in value.coefficients for atom in monomial)
            undecided = next((atom for atom in factors if isinstance(atom, Choice)), None)
            if undecided is None:
                break
            other_value = value.substitute({undecided: undecided.otherwise})
            cases.append(((*conditions, ~undecided.condition), other_value))
            conditions = (*conditions, undecided.condition)
            value = value.substitute({undecided: undecided.then})
            cases[position] = conditions, value
    return cases


def assuming(term: Term, holding: Sequence[Condition]) -> Term:
    """Return a term in which choices are decided by conditions that hold, by their structure."""
    true = frozenset(holding)
    while decided := _decided(term.atoms(), true):  # chosen terms may have choices, too
        term = Substitution(decided)(term)
    return term


def simplified(mask: Condition, holding: Sequence[Condition]) -> Condition:
    """Return a mask in which choices are decided by `holding`, and by the mask's other parts."""
    parts = mask.conjuncts()
    plain = [part for part in parts if not any(isinstance(a, Choice) for a in part.atoms())]
    if len(plain) == len(parts):
        return mask
    true = frozenset((*holding, *plain))
    while decided := _decided(mask.atoms(), true):
        mask = mask.substitute(Substitution(decided))
    return mask


def _decided(atoms: frozenset[Atom], true: frozenset[Condition]) -> dict[Atom, Term]:
    """Return replacements of the choices whose condition, or its negation, is in `true`."""
    decided: dict[Atom, Term] = {}
    for atom in atoms:
        if not isinstance(atom, Choice):
            continue
        parts = atom.condition.conjuncts()
        if true.issuperset(parts):
            decided[atom] = atom.then
        elif any(~part in true for part in parts):
            decided[atom] = atom.otherwise
    return decided
