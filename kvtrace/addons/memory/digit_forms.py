"""Integer formulas as sums over digits of programs, trips and lanes, and masks as boxes of digits.

Compilers such as Inductor number elements, `x = 1024 * program + lane`, and divide that number:
`x // 64 % 20`. With `x` as one number, all such divisions are sums of quotients of `x` by numbers
that divide each other, here 64 and 1280, and those are sums of the digits of `x` between them:
`x = a + 64 * b + 1280 * c`, with `a < 64` and `b < 20`, gives `x // 64 % 20 = b`.

The prover's digits (`symbolic/prover/digits.py`) are monomials of one address that determine each
other in two accesses; they split no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any, Final

from msgspec import Struct

from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or, at_least, in_order
from kvtrace.symbolic.functions import Quotient, Remainder, multiples
from kvtrace.symbolic.prover import interval
from kvtrace.symbolic.terms import (
    ZERO,
    Atom,
    Interval,
    Monomial,
    Structured,
    Symbol,
    Term,
    as_term,
    intern,
)

_MOST_BOXES: Final = 256
_MOST_CASES: Final = 16

KINDS: Final = ("program", "trip", "lane")


class NoBoxes(Exception):
    """The error of formulas that are no sums over digits, or no boxes; its text says why."""


class Number(Structured, Struct, frozen=True):
    """A number from 0 to `size` - 1: a symbol, or `outer * extent of lane + lane` as one."""

    symbols: tuple[Symbol, ...]
    size: int

    def _parts(self) -> tuple[Any, ...]:
        return self.symbols, self.size


class Digit(Atom):
    """A digit of a number: the number divided by `weight`, modulo `size`."""

    __slots__ = ("number", "size", "weight")
    number: Number
    weight: int
    size: int

    def __new__(cls, number: Number, weight: int, size: int) -> Digit:  # noqa: D102
        def make() -> Digit:
            digit = object.__new__(cls)
            digit.number, digit.weight, digit.size = number, weight, size
            digit.low, digit.high = 0, size - 1
            return digit

        digit: Digit = intern(cls, (number, weight, size), make)
        return digit

    def within(self) -> frozenset[Atom]:
        """Return the digit alone."""
        return frozenset((self,))

    def __repr__(self) -> str:
        return f"{self.number}//{self.weight}%{self.size}"


def quotient_of(number: Number, weight: int) -> Digit:
    """Return a number divided by `weight`, as the digit that has no others above it."""
    return Digit(number, weight, (number.size - 1) // weight + 1)


Quotients = Term
"""A sum of quotients of numbers."""

Form = Term
"""A sum of digits that divide their numbers among them."""

Box = Mapping[Monomial, Interval]
"""The first and last value of each digit, by the monomial that it is."""


class Forms:
    """Sums of quotients of the symbols in some formulas.

    Symbols that occur together in divisions, as a program and its lanes, are one number.
    """

    def __init__(self, parts: Iterable[Term | Condition]) -> None:
        """`parts` are formulas whose symbols have the ranges of the call."""
        atoms = in_order({a for part in parts for a in part.atoms()})
        self._numbers: dict[Symbol, Number] = {}
        for lane, outer in _fused(atoms):
            if lane not in self._numbers and outer not in self._numbers:
                extent = lane.high + 1
                number = Number((outer, lane), (outer.high + 1) * extent)
                self._numbers[lane] = self._numbers[outer] = number
        self._atoms: dict[Atom, Quotients] = {}

    def number_of(self, symbol: Symbol) -> Number:
        """Return the number that a symbol is, or is a part of."""
        number = self._numbers.get(symbol)
        return Number((symbol,), symbol.high + 1) if number is None else number

    def quotients(self, term: Term) -> Quotients:
        """Return a term as a sum of quotients; raise NoBoxes."""
        affine = term.affine()
        if affine is None:
            raise NoBoxes(_why(term.atoms()))
        result = as_term(affine[0])
        for atom, factor in affine[1].items():
            result = result + self._atom(atom) * factor
        return result

    def _atom(self, atom: Atom) -> Quotients:
        known = self._atoms.get(atom)
        if known is None:
            known = self._atoms[atom] = self._new_atom(atom)
        return known

    def _new_atom(self, atom: Atom) -> Quotients:
        if isinstance(atom, Symbol) and atom.kind in KINDS and not atom.low:
            number = self.number_of(atom)
            if len(number.symbols) == 1:
                return quotient_of(number, 1).term
            outer, lane = number.symbols
            extent = lane.high + 1
            above = quotient_of(number, extent).term
            return above if atom is outer else quotient_of(number, 1).term - above * extent
        if isinstance(atom, Quotient):
            return self._quotient(atom)
        if isinstance(atom, Remainder):
            dividend, divisor = atom.arguments
            return self.quotients(dividend) - self._quotient(atom) * (divisor.constant or 0)
        raise NoBoxes(_why(atom.within()))

    def _quotient(self, division: Quotient | Remainder) -> Quotients:
        """Return the quotient of a division's arguments."""
        dividend, divisor = division.arguments[0], division.arguments[1].constant
        if divisor is None or divisor <= 0 or (dividend.low < 0 and not division.floor):
            raise NoBoxes(_why(division.within()))
        whole, rest = multiples(self.quotients(dividend), divisor)
        if rest.low >= 0 and rest.high < divisor:
            return whole
        ((monomial, factor), *others) = rest.coefficients.items()
        if not others and factor > 0 and divisor % factor == 0:
            (quotient,) = monomial
            assert isinstance(quotient, Digit)
            weight = quotient.weight * (divisor // factor)
            # A quotient by more than the number is 0.
            is_zero = weight >= quotient.number.size
            return whole if is_zero else whole + quotient_of(quotient.number, weight).term
        raise NoBoxes(_why(division.within()))


def _fused(atoms: Sequence[Atom]) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield lanes, and the program or trip that is divided together with them as one number."""
    for atom in atoms:
        if not isinstance(atom, Quotient | Remainder):
            continue
        form = atom.arguments[0].affine()
        if form is None:
            continue
        factors: dict[Symbol, int] = {}
        lanes: dict[Symbol, int] = {}
        for inner, factor in form[1].items():
            if isinstance(inner, Symbol) and inner.kind in KINDS and not inner.low:
                (lanes if inner.kind == "lane" else factors)[inner] = factor
            elif isinstance(
                inner, Quotient
            ):  # 16 * program + lane // 64 is (1024 * … + lane) // 64
                dividend, divisor = inner.arguments[0].affine(), inner.arguments[1].constant
                if dividend is not None and divisor and len(dividend[1]) == 1:
                    ((symbol, _),) = dividend[1].items()
                    if isinstance(symbol, Symbol) and symbol.kind == "lane":
                        lanes[symbol] = factor
                        factors = {s: f * divisor for s, f in factors.items()}
        for lane, factor in lanes.items():
            for outer, step in factors.items():
                if step == factor * (lane.high + 1):
                    yield lane, outer


def _why(atoms: Iterable[Atom]) -> str:
    if any(isinstance(atom, Symbol) and atom.kind == "content" for atom in atoms):
        return "its address or mask depends on the contents of a tensor"
    return "its address or mask is not affine"


# -- digits ------------------------------------------------------------------------------------


def digits_in(form: Form | Quotients) -> list[Digit]:
    """Return the digits, or quotients, that a sum is made of."""
    return [atom for monomial in form.coefficients for atom in monomial if isinstance(atom, Digit)]


def digits_of(numbers: Iterable[Number], sums: Iterable[Quotients]) -> dict[Number, list[Digit]]:
    """Return the digits of numbers, largest first, of which all sums are sums; raise NoBoxes."""
    weights: dict[Number, set[int]] = {number: {1} for number in numbers}
    for quotients in sums:
        for digit in digits_in(quotients):
            weights.setdefault(digit.number, {1}).add(digit.weight)
    digits: dict[Number, list[Digit]] = {}
    for number, divisors in weights.items():
        ascending = sorted(divisors)
        if any(larger % smaller for smaller, larger in pairwise(ascending)):
            raise NoBoxes("its address or mask is not affine")
        ends = [*ascending[1:], ascending[-1] * -(-number.size // ascending[-1])]
        digits[number] = [
            Digit(number, weight, end // weight)
            for weight, end in zip(ascending, ends, strict=True)
        ][::-1]
    return digits


def in_digits(quotients: Quotients, digits: Mapping[Number, Sequence[Digit]]) -> Form:
    """Return a sum of quotients as a sum of digits."""
    return quotients.substitute(
        {
            quotient: sum(
                (
                    digit.term * (digit.weight // quotient.weight)
                    for digit in digits[quotient.number]
                    if digit.weight >= quotient.weight
                ),
                ZERO,
            )
            for quotient in digits_in(quotients)
        }
    )


def existing(digits: Mapping[Number, Sequence[Digit]]) -> Iterator[Form]:
    """Yield forms that are >= 0 for digits of numbers below their size."""
    for number, parts in digits.items():
        if number.size % parts[0].weight:
            yield number.size - 1 - sum((digit.term * digit.weight for digit in parts), ZERO)


def at_least_zero(condition: Condition, forms: Forms) -> list[Quotients]:
    """Return sums that are all >= 0 where a condition holds, and nowhere else; raise NoBoxes."""
    if condition.decided is not None:
        return [] if condition.decided else [as_term(-1)]
    if isinstance(condition, AtLeast):
        return [forms.quotients(condition.term)]
    if isinstance(condition, Equal):
        return [forms.quotients(condition.term), forms.quotients(-condition.term)]
    if condition.symbols("content"):
        raise NoBoxes(_why(condition.atoms()))
    raise NoBoxes("its mask is not a conjunction of comparisons")


def cases_of(conditions: Iterable[Condition]) -> list[tuple[Condition, ...]]:
    """Return conjunctions, one of which holds where all conditions hold; raise NoBoxes."""
    cases: list[tuple[Condition, ...]] = [()]
    for condition in conditions:
        options = _options(condition)
        if len(cases) * len(options) > _MOST_CASES:
            raise NoBoxes("its mask has too many alternatives")
        cases = [(*case, *option) for case in cases for option in options]
    return cases


def _options(condition: Condition) -> list[tuple[Condition, ...]]:
    """Return conjunctions, one of which holds where a condition holds."""
    if isinstance(condition, Or):
        return [case for part in condition.parts for case in cases_of(part.conjuncts())]
    if isinstance(condition, Not) and isinstance(condition.inner, Equal):
        term = condition.inner.term
        return [(at_least(term, 1),), (at_least(-term, 1),)]
    if isinstance(condition, Not) and isinstance(condition.inner, And):
        return _options(~condition.inner)
    return [(condition,)]


# -- boxes -------------------------------------------------------------------------------------


def boxes(forms: Iterable[Form], digits: Iterable[Digit]) -> list[Box]:
    """Return disjoint boxes of the digits for which all forms are >= 0; raise NoBoxes."""
    pending: list[Box] = [{(digit,): (0, digit.high) for digit in digits}]
    for form in forms:
        cut = chain.from_iterable(_cut(form, box) for box in pending)
        pending = list(islice(cut, _MOST_BOXES + 1))
        if len(pending) > _MOST_BOXES:
            raise NoBoxes("its mask is not a few boxes of lanes")
    return pending


def _cut(form: Form, box: Box) -> Iterator[Box]:
    """Yield boxes in which a form is >= 0.

    Of the digit with the largest factor, the values are kept for which the form is >= 0 whatever
    the others are; each value for which these decide is a box of its own, which is cut further.
    """
    low, high = interval(form, box)
    if low >= 0:
        yield box
    if low >= 0 or high < 0:
        return
    factors = form.coefficients
    digit = max((d for d in factors if d and box[d][0] < box[d][1]), key=lambda d: abs(factors[d]))
    factor, (first, last) = factors[digit], box[digit]
    reach = sorted((factor * first, factor * last))
    rest_low, rest_high = low - reach[0], high - reach[1]
    if factor > 0:
        sure, possible = -(rest_low // factor), -(rest_high // factor)
        begin, end = max(first, sure), last
        undecided = range(max(first, possible), min(last, sure - 1) + 1)
    else:
        sure, possible = rest_low // -factor, rest_high // -factor
        begin, end = first, min(last, sure)
        undecided = range(max(first, sure + 1), min(last, possible) + 1)
    if begin <= end:
        yield {**box, digit: (begin, end)}
    if len(undecided) > _MOST_BOXES:
        raise NoBoxes("its mask is not a few boxes of lanes")
    for value in undecided:
        yield from _cut(form, {**box, digit: (value, value)})
