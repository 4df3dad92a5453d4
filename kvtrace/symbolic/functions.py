"""Functions of terms that are not polynomials: divisions, minima, maxima and choices.

The lower-case functions (`quotient`, `minimum`, `choice` …) return the simplest term that is
correct over the whole range of its atoms. They return an atom (`Quotient` …) only if no polynomial
is correct: `quotient(8 * i + lane, 8)` with lanes below 8 is `i`. Substitutions call them again.
Only these functions make the atoms. Functions of widths and bits are in `bits`.

Division by 0 gives quotient 0 and the dividend as remainder, as in `kvtrace.evaluate`, so that
`quotient * divisor + remainder` is always the dividend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from kvtrace.ir.integers import divided
from kvtrace.symbolic.terms import (
    ZERO,
    Atom,
    Evaluation,
    Interval,
    RangeOf,
    Substitution,
    Term,
    as_term,
    intern,
    range_of,
)

if TYPE_CHECKING:
    from kvtrace.symbolic.conditions import Condition


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
            atom.low, atom.high = atom.bounds(range_of)
            atom._within = frozenset((atom,)).union(*(term.atoms() for term in arguments))
            return atom

        atom: Applied = intern(cls, (arguments, settings), make)
        return atom

    def bounds(self, range_of: RangeOf) -> Interval:
        """Return the range of the function's values by the ranges of its arguments."""
        raise NotImplementedError

    def within(self) -> frozenset[Atom]:
        """Return the atom itself and all atoms inside it."""
        return self._within

    def __repr__(self) -> str:
        inside = (*map(repr, self.arguments), *map(str, self.settings))
        return f"{type(self).__name__}({', '.join(inside)})"


# -- division -----------------------------------------------------------------------------------


def quotient(
    dividend: Term | int,
    divisor: Term | int,
    *,
    floor: bool = False,
    range_of: RangeOf = range_of,
) -> Term:
    """Return the quotient, rounded toward zero (as `arith.divsi`) or, with `floor`, down."""
    left, right = as_term(dividend), as_term(divisor)
    number = right.constant
    if number is None:
        return _quotient(left, right, floor, range_of)
    if number == 0:
        return ZERO
    if (constant := left.constant) is not None:
        return as_term(divided(constant, number, floor=floor))
    if number < 0:
        return quotient(-left, -number, floor=floor, range_of=range_of)
    multiple, rest = multiples(left, number)
    if not rest.coefficients:
        return multiple
    low, high = range_of(left)
    if not floor and low < 0:
        if high <= 0:
            return -quotient(-left, number, floor=True, range_of=range_of)
        return _quotient(left, right, False, range_of)
    # From here on the quotient is rounded down, so a multiple of the divisor can be taken out.
    if range_of(rest)[0] < 0:
        return multiple + _quotient(rest, right, True, range_of)
    inner = single(rest)  # (a // b) // c is a // (b * c)
    if isinstance(inner, Quotient) and range_of(inner.arguments[0])[0] >= 0:
        inner_divisor = inner.arguments[1].constant
        if inner_divisor is not None and inner_divisor > 0:
            return multiple + quotient(
                inner.arguments[0], inner_divisor * number, range_of=range_of
            )
    return multiple + _quotient(rest, right, False, range_of)


def _quotient(left: Term, right: Term, floor: bool, range_of: RangeOf) -> Term:
    low, high = quotient_range(range_of(left), range_of(right), floor=floor)
    return as_term(low) if low == high else Quotient((left, right), floor).term


def remainder(
    dividend: Term | int,
    divisor: Term | int,
    *,
    floor: bool = False,
    range_of: RangeOf = range_of,
) -> Term:
    """Return the remainder, with the dividend's sign or, with `floor`, the divisor's."""
    left, right = as_term(dividend), as_term(divisor)
    number = right.constant
    low, high = range_of(left)
    if number is None:
        is_dividend = low >= 0 and range_of(right - left)[0] > 0
        return left if is_dividend else Remainder((left, right), floor).term
    if number == 0:
        return left
    if (constant := left.constant) is not None:
        return as_term(constant - number * divided(constant, number, floor=floor))
    if number < 0:
        if floor:
            return -remainder(-left, -number, floor=True, range_of=range_of)
        return remainder(left, -number, range_of=range_of)
    rest = multiples(left, number)[1]
    if not rest.coefficients:
        return ZERO
    if not floor and -number < low and high < number:
        return left
    if not floor and low < 0:
        if high <= 0:
            return -remainder(-left, number, floor=True, range_of=range_of)
        return Remainder((left, right), False).term
    rest_low, rest_high = range_of(rest)
    if rest_low >= 0 and rest_high < number:
        return rest
    return Remainder((rest, right), rest_low < 0).term


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


def divided_by_unit(term: Term, unit: Term) -> tuple[Term, Term]:
    """Return (quotient, rest) for a unit of one monomial: term = unit * quotient + rest.

    `rest` has the summands that the unit does not divide.
    """
    ((factors, number),) = unit.coefficients.items()
    whole, rest = {}, {}
    for monomial, coefficient in term.coefficients.items():
        others = Counter(monomial)
        others.subtract(factors)
        if coefficient % number or min(others.values(), default=0) < 0:
            rest[monomial] = coefficient
        else:
            whole[tuple(others.elements())] = coefficient // number
    return Term(whole), Term(rest)


def with_digits_joined(term: Term) -> Term:
    """Return a term with `x` in place of `n * (x // n) + x % n`, and likewise for multiples."""
    for monomial, factor in term.coefficients.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if isinstance(atom, Remainder) and (divisor := atom.arguments[1].constant):
            whole = quotient(*atom.arguments, floor=atom.floor)
            whole_atom = single(whole)
            if whole_atom and term.coefficients.get((whole_atom,)) == factor * divisor:
                rest = atom.arguments[0] - atom.term - whole * divisor
                return with_digits_joined(term + rest * factor)
    return term


def single(term: Term) -> Atom | None:
    """Return the atom of a term that is one atom with coefficient 1, else None."""
    if len(term.coefficients) != 1:
        return None
    ((monomial, coefficient),) = term.coefficients.items()
    return monomial[0] if len(monomial) == 1 and coefficient == 1 else None


class _Division(Applied):
    """`arguments` are dividend and divisor, `settings` whether the quotient rounds down."""

    __slots__ = ()
    make: ClassVar[Callable[..., Term]]
    range: ClassVar[Callable[..., Interval]]

    @property
    def floor(self) -> bool:
        """The quotient rounds down, not toward 0."""
        return bool(self.settings[0])

    def substituted(self, substitution: Substitution) -> Term:
        """Return the term for the division of the arguments after a substitution."""
        left, right = (substitution(term) for term in self.arguments)
        return self.make(left, right, floor=self.floor, range_of=substitution.range_of)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the quotient or remainder of numbers, or of arrays by element."""
        left, right = (evaluation(term) for term in self.arguments)
        divide = array_quotient if evaluation.arrays else divided
        quotients = divide(left, right, floor=self.floor)
        return quotients if isinstance(self, Quotient) else left - right * quotients

    def bounds(self, range_of: RangeOf) -> Interval:
        """Return the range of the quotient or remainder by those of its arguments."""
        return self.range(*map(range_of, self.arguments), floor=self.floor)


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


class Quotient(_Division):
    """The quotient of two terms, rounded down or toward zero."""

    __slots__ = ()
    make = staticmethod(quotient)
    range = staticmethod(quotient_range)


class Remainder(_Division):
    """The remainder, with the divisor's sign if the quotient rounds down, else the dividend's."""

    __slots__ = ()
    make = staticmethod(remainder)
    range = staticmethod(remainder_range)


def array_quotient(left: Any, right: Any, *, floor: bool) -> Any:
    """Return quotients of integers by element, rounded down or toward zero; 0 for divisor 0."""
    safe = np.where(right == 0, 1, right)
    down = np.floor_divide(left, safe)
    if not floor:
        down = down + ((left != down * safe) & ((left < 0) != (safe < 0)))
    return np.where(right == 0, 0, down)


# -- minimum and maximum ------------------------------------------------------------------------


def minimum(left: Term | int, right: Term | int, *, range_of: RangeOf = range_of) -> Term:
    """Return the term for the smaller of two terms."""
    return _extreme(Minimum, as_term(left), as_term(right), range_of)


def maximum(left: Term | int, right: Term | int, *, range_of: RangeOf = range_of) -> Term:
    """Return the term for the larger of two terms."""
    return _extreme(Maximum, as_term(left), as_term(right), range_of)


def _extreme(kind: type[Extreme], left: Term, right: Term, range_of: RangeOf) -> Term:
    low, high = range_of((right - left) * kind.sign)
    if low >= 0:
        return left
    return right if high <= 0 else kind((left, right)).term


class Extreme(Applied):
    """The smaller or the larger of two `arguments`; `sign` is -1 for the larger."""

    __slots__ = ()
    sign: ClassVar[int]
    choose: ClassVar[Callable[..., int]]
    choose_arrays: ClassVar[np.ufunc]

    def substituted(self, substitution: Substitution) -> Term:
        """Return the smaller or larger of the substituted terms."""
        left, right = (substitution(term) for term in self.arguments)
        return _extreme(type(self), left, right, substitution.range_of)

    def compute(self, evaluation: Evaluation) -> Any:
        """Return the chosen one of two numbers, or of two arrays by element."""
        left, right = (evaluation(term) for term in self.arguments)
        return (self.choose_arrays if evaluation.arrays else self.choose)(left, right)

    def bounds(self, range_of: RangeOf) -> Interval:
        """Return the range of the chosen one by those of both arguments."""
        left, right = map(range_of, self.arguments)
        return self.choose(left[0], right[0]), self.choose(left[1], right[1])


class Minimum(Extreme):
    """The smaller of two `arguments`."""

    __slots__ = ()
    sign = 1
    choose: ClassVar[Callable[..., int]] = min
    choose_arrays = np.minimum


class Maximum(Extreme):
    """The larger of two `arguments`."""

    __slots__ = ()
    sign = -1
    choose: ClassVar[Callable[..., int]] = max
    choose_arrays = np.maximum


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
