"""Ranges of symbols, and terms as linear forms over variables with ranges.

A variable is a `Symbol`, a product of variables, or a function of linear forms (a quotient, a
minimum …), stored as a tuple of the function's name and its arguments, so that equal functions are
one variable. Functions are simplified by the ranges of symbols. A function that remains has a range
and *definitions*: linear forms that are never negative. For q = x // 8 the definitions are
`x - 8*q` and `8*q + 7 - x`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kvtrace.ir.integers import divided
from kvtrace.symbolic.bits import Bitwise, Wrap, bitwise_range
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or
from kvtrace.symbolic.functions import (
    Choice,
    Interval,
    Maximum,
    Minimum,
    Quotient,
    Remainder,
    quotient_range,
    remainder_range,
)
from kvtrace.symbolic.prover.linear import (
    Linear,
    Variable,
    constant,
    interval,
    lowest,
    single,
)
from kvtrace.symbolic.terms import Atom, Symbol, Term, signed_range

Cases: TypeAlias = tuple[tuple[Linear, Condition | tuple[Linear, ...]], ...]
"""Cases of a variable: its form in the case, and the case's condition (or forms that are >= 0)."""

KnownRanges: TypeAlias = Mapping[tuple[str, Any], Interval]
"""Ranges of symbols, by (kind, key)."""

Source: TypeAlias = Callable[[Symbol], Interval | None]
"""Function that returns a symbol's range, or None if unknown."""


class Ranges:
    """Ranges of symbols for one call, with cached linear forms of terms."""

    def __init__(self, known: KnownRanges, sources: Sequence[Source] = ()) -> None:
        """`known` are ranges of symbols; `sources` are called in turn for other symbols."""
        self._known = known
        self._sources = sources
        self.intervals: dict[Variable, Interval] = {}
        self.cases: dict[Variable, Cases] = {}
        self._definitions: dict[Variable, Callable[[], tuple[Linear, ...]]] = {}
        self._defined: dict[Variable, tuple[Linear, ...]] = {}
        self._atoms: dict[Atom, Linear] = {}
        self._terms: dict[Term, Linear] = {}
        self._truths: dict[int, tuple[Condition, bool | None]] = {}

    def of(self, symbol: Symbol) -> Interval:
        """Return a symbol's range: its own bounds, narrowed by the known range."""
        bounds = self._known.get((symbol.kind, symbol.key))
        for source in self._sources if bounds is None else ():
            bounds = source(symbol)
            if bounds is not None:
                break
        if bounds is None:
            return symbol.low, symbol.high
        return max(symbol.low, bounds[0]), min(symbol.high, bounds[1])

    def form(self, term: Term) -> Linear:
        """Return a term as a linear form; the ranges of its variables are added to `intervals`."""
        form = self._terms.get(term)
        if form is None:
            form = self._terms[term] = self._form(term)
        return form

    def interval(self, term: Term) -> Interval:
        """Return the lower and upper bound of a term, by the ranges of its variables."""
        return interval(self.form(term), self.intervals)

    def definitions(self, variable: Variable) -> tuple[Linear, ...]:
        """Return a variable's definitions: forms that are never negative."""
        definitions = self._defined.get(variable)
        if definitions is None:
            make = self._definitions.get(variable)
            definitions = self._defined[variable] = () if make is None else make()
        return definitions

    def truth(self, condition: Condition) -> bool | None:
        """Return a condition's truth if intervals decide it, else None."""
        cached = self._truths.get(id(condition))
        if cached is None:
            cached = self._truths[id(condition)] = (condition, self._truth(condition))
        return cached[1]

    def _truth(self, condition: Condition) -> bool | None:
        if isinstance(condition, AtLeast):
            low, high = self.interval(condition.term)
            return True if low >= 0 else False if high < 0 else None
        if isinstance(condition, Equal):
            low, high = self.interval(condition.term)
            return True if low == high == 0 else False if low > 0 or high < 0 else None
        if isinstance(condition, Not):
            inner = self.truth(condition.inner)
            return None if inner is None else not inner
        if isinstance(condition, And | Or):
            decisive = isinstance(condition, Or)
            truths = [self.truth(part) for part in condition.parts]
            if decisive in truths:
                return decisive
            return None if None in truths else not decisive
        return condition.decided

    # -- forms ---------------------------------------------------------------------------------

    def _form(self, term: Term) -> Linear:
        number = 0
        total: dict[Variable, int] = {}
        for monomial, coefficient in term.coefficients.items():
            if not monomial:
                number += coefficient
                continue
            form = self._atom(monomial[0])
            for atom in monomial[1:]:
                form = self.product(form, self._atom(atom))
            number += coefficient * form.constant
            for variable, factor in form.coefficients.items():
                total[variable] = total.get(variable, 0) + coefficient * factor
        if 0 in total.values():
            total = {variable: factor for variable, factor in total.items() if factor}
        return Linear(number, total)

    def _atom(self, atom: Atom) -> Linear:
        form = self._atoms.get(atom)
        if form is None:
            form = self._atoms[atom] = self._symbol(atom) if isinstance(atom, Symbol) else (
                _MAKERS[type(atom)](self, atom)
            )  # fmt: skip
        return form

    def _symbol(self, symbol: Symbol) -> Linear:
        low, high = self.of(symbol)
        if low == high:
            return constant(low)
        self.intervals[symbol] = (low, high)
        return single(symbol)

    def product(self, left: Linear, right: Linear) -> Linear:
        """Return the product of two forms; products of variables become variables."""
        if right.is_constant:
            return left.scaled(right.constant)
        if left.is_constant:
            return right.scaled(left.constant)
        total = left.scaled(right.constant).plus(right, left.constant)
        total = total.shifted(-left.constant * right.constant)
        for left_variable, left_factor in left.coefficients.items():
            for right_variable, right_factor in right.coefficients.items():
                total = total.plus(
                    single(self._product_variable(left_variable, right_variable)),
                    left_factor * right_factor,
                )
        return total

    def _product_variable(self, left: Variable, right: Variable) -> Variable:
        factors = sorted((*_factors(left), *_factors(right)), key=_rank)
        product = ("*", *factors)
        if product not in self.intervals:
            low, high = _product_interval([self.intervals[factor] for factor in factors])
            is_square = len(factors) == 2 and factors[0] == factors[1]
            self.intervals[product] = (max(low, 0) if is_square else low, high)
        return product

    # -- functions -----------------------------------------------------------------------------

    def _quotient(self, atom: Atom) -> Linear:
        assert isinstance(atom, Quotient)
        left, right = (self.form(term) for term in atom.arguments)
        return self._quotient_form(left, right, floor=atom.floor)

    def _remainder(self, atom: Atom) -> Linear:
        assert isinstance(atom, Remainder)
        left, right = (self.form(term) for term in atom.arguments)
        return self._remainder_form(left, right, floor=atom.floor)

    def _quotient_form(self, left: Linear, right: Linear, *, floor: bool) -> Linear:
        """Return the quotient of two forms, rounded down or toward zero; 0 for divisor 0."""
        if not right.is_constant:
            return self._opaque_quotient(left, right, floor=floor)
        divisor = right.constant
        if divisor == 0:
            return constant(0)
        if divisor < 0:
            if floor:
                return self._quotient_form(-left, constant(-divisor), floor=True)
            return -self._quotient_form(left, constant(-divisor), floor=False)
        if left.is_constant:
            return constant(divided(left.constant, divisor, floor=floor))
        low, high = interval(left, self.intervals)
        if not floor and high <= 0:
            return -self._quotient_form(-left, right, floor=True)
        multiple, rest = _multiples(left, divisor)
        if rest == constant(0):
            return multiple
        if floor or low >= 0:
            return multiple + self._floor_quotient(rest, divisor)
        return self._truncated_quotient(left, divisor)

    def _remainder_form(self, left: Linear, right: Linear, *, floor: bool) -> Linear:
        """Return the remainder of two forms; the dividend for divisor 0."""
        if not right.is_constant:
            return self._opaque_remainder(left, right, floor=floor)
        divisor = right.constant
        if divisor == 0:
            return left
        if divisor < 0:
            if floor:
                return -self._remainder_form(-left, constant(-divisor), floor=True)
            divisor = -divisor
        low, high = interval(left, self.intervals)
        if not floor and -divisor < low and high < divisor:
            return left
        if not floor and low < 0:
            if high <= 0:
                return -self._remainder_form(-left, constant(divisor), floor=True)
            return self._truncated_remainder(left, divisor)
        rest = _multiples(left, divisor)[1]
        rest_low, rest_high = interval(rest, self.intervals)
        return (
            rest if rest_low >= 0 and rest_high < divisor else self._floor_remainder(rest, divisor)
        )

    def _floor_quotient(self, left: Linear, by: int) -> Linear:
        """Return floor(left / by) for a positive number `by`, as a number or a variable."""
        variable = ("/", key_of(left), by)
        if variable not in self.intervals:
            low, high = interval(left, self.intervals)
            if low // by == high // by:
                return constant(low // by)
            self.intervals[variable] = (low // by, high // by)
            rest = left.plus(single(variable), -by)
            self._definitions[variable] = lambda: (rest, (-rest).shifted(by - 1))
        return single(variable)

    def _floor_remainder(self, left: Linear, by: int) -> Linear:
        """Return left - by * floor(left / by), as a variable from 0 to by - 1."""
        variable = ("%", key_of(left), by)
        if variable not in self.intervals:
            low, high = interval(left, self.intervals)
            self.intervals[variable] = (0, min(high, by - 1) if low >= 0 else by - 1)
            whole = self._floor_quotient(left, by)

            def definitions() -> tuple[Linear, ...]:
                gap = left.plus(whole, -by) - single(variable)
                below = (left - single(variable),) if low >= 0 else ()
                return (gap, -gap, *below)

            self._definitions[variable] = definitions
        return single(variable)

    def _truncated_quotient(self, left: Linear, by: int) -> Linear:
        """Return left / by, rounded toward zero, as a variable."""
        variable = ("trunc", key_of(left), by)
        if variable not in self.intervals:
            low, high = interval(left, self.intervals)
            ends = divided(low, by, floor=False), divided(high, by, floor=False)
            self.intervals[variable] = ends
            rest = left.plus(single(variable), -by)
            down, up = self._floor_quotient(left, by), -self._floor_quotient(-left, by)
            self.cases[variable] = ((down, (left,)), (up, (-left,)))
            self._definitions[variable] = lambda: (
                rest.shifted(by - 1),
                (-rest).shifted(by - 1),
            )
        return single(variable)

    def _truncated_remainder(self, left: Linear, by: int) -> Linear:
        """Return the remainder of a division toward zero, as a variable."""
        variable = ("rest", key_of(left), by)
        if variable not in self.intervals:
            low, high = interval(left, self.intervals)
            self.intervals[variable] = (max(low, 1 - by), min(high, by - 1))
            gap = left.plus(self._truncated_quotient(left, by), -by) - single(variable)
            self._definitions[variable] = lambda: (gap, -gap)
        return single(variable)

    def _opaque_quotient(self, left: Linear, right: Linear, *, floor: bool) -> Linear:
        variable = ("//", key_of(left), key_of(right), floor)
        if variable not in self.intervals:
            dividend = interval(left, self.intervals)
            divisor = interval(right, self.intervals)
            low, high = quotient_range(dividend, divisor, floor=floor)
            if low == high:
                return constant(low)
            self.intervals[variable] = (low, high)
            if dividend[0] >= 0 and divisor[0] >= 1:
                whole = single(variable)

                def definitions() -> tuple[Linear, ...]:
                    rest = left - self.product(whole, right)
                    return (left.plus(whole, -divisor[0]), rest, (right - rest).shifted(-1))

                self._definitions[variable] = definitions
        return single(variable)

    def _opaque_remainder(self, left: Linear, right: Linear, *, floor: bool) -> Linear:
        variable = ("%%", key_of(left), key_of(right), floor)
        if variable not in self.intervals:
            dividend = interval(left, self.intervals)
            divisor = interval(right, self.intervals)
            if dividend[0] >= 0 and lowest(right - left, self.intervals) > 0:
                return left
            self.intervals[variable] = remainder_range(dividend, divisor, floor=floor)
            rest = single(variable)
            if divisor[0] >= 1:
                below = (right - rest).shifted(-1)
                above = rest if floor or dividend[0] >= 0 else (right + rest).shifted(-1)
                within = (left - rest,) if dividend[0] >= 0 else ()
                self._definitions[variable] = lambda: (below, above, *within)
        return single(variable)

    def _minimum(self, atom: Atom) -> Linear:
        assert isinstance(atom, Minimum | Maximum)
        first, second = (self.form(term) for term in atom.arguments)
        is_minimum = isinstance(atom, Minimum)
        gap = second - first if is_minimum else first - second
        low, high = interval(gap, self.intervals)
        if low >= 0:
            return first
        if high <= 0:
            return second
        variable = ("min" if is_minimum else "max", frozenset((key_of(first), key_of(second))))
        if variable not in self.intervals:
            first_interval, second_interval = (
                interval(first, self.intervals),
                interval(second, self.intervals),
            )
            choose = min if is_minimum else max
            self.intervals[variable] = (
                choose(first_interval[0], second_interval[0]),
                choose(first_interval[1], second_interval[1]),
            )
            self.cases[variable] = ((first, (gap,)), (second, (-gap,)))
            sign = 1 if is_minimum else -1
            self._definitions[variable] = lambda: tuple(
                (form - single(variable)).scaled(sign) for form in (first, second)
            )
        return single(variable)

    def _choice(self, atom: Atom) -> Linear:
        assert isinstance(atom, Choice)
        truth = self.truth(atom.condition)
        if truth is not None:
            return self.form(atom.then if truth else atom.otherwise)
        then, otherwise = self.form(atom.then), self.form(atom.otherwise)
        if then == otherwise:
            return then
        branches = [interval(form, self.intervals) for form in (then, otherwise)]
        self.intervals[atom] = (min(low for low, _ in branches), max(high for _, high in branches))
        self.cases[atom] = ((then, atom.condition), (otherwise, ~atom.condition))
        return single(atom)

    def _wrap(self, atom: Atom) -> Linear:
        assert isinstance(atom, Wrap)
        inner = self.form(atom.arguments[0])
        bits = atom.bits
        first, last = signed_range(bits) if atom.signed and bits > 1 else (0, (1 << bits) - 1)
        low, high = interval(inner, self.intervals)
        if first <= low and high <= last:
            return inner
        rest = self._remainder_form(inner.shifted(-first), constant(1 << bits), floor=True)
        return rest.shifted(first)

    def _bitwise(self, atom: Atom) -> Linear:
        assert isinstance(atom, Bitwise)
        left, right = (self.form(term) for term in atom.arguments)
        operator, bits = atom.operator, atom.bits
        if operator in ("shl", "shr") and right.is_constant:
            shift = right.constant
            inside = 0 <= shift < bits
            if operator == "shl":
                return left.scaled(1 << shift) if inside else constant(0)
            return self._quotient_form(
                left, constant(1 << (shift if inside else bits - 1)), floor=True
            )
        if operator == "and":
            for operand, mask_form in ((left, right), (right, left)):
                mask = mask_form.constant
                if mask_form.is_constant and mask >= 0 and mask & (mask + 1) == 0:
                    return self._remainder_form(operand, constant(mask + 1), floor=True)
        ends = interval(left, self.intervals), interval(right, self.intervals)
        self.intervals[atom] = bitwise_range(operator, *ends, bits)
        if operator not in ("shl", "shr") and all(low >= 0 for low, _ in ends):
            result, total = single(atom), left + right
            if operator == "and":
                self._definitions[atom] = lambda: (left - result, right - result)
            elif operator == "or":
                self._definitions[atom] = lambda: (result - left, result - right, total - result)
            else:
                self._definitions[atom] = lambda: (total - result,)
        return single(atom)


_MAKERS: Final[dict[type[Atom], Callable[[Ranges, Atom], Linear]]] = {
    Quotient: Ranges._quotient,
    Remainder: Ranges._remainder,
    Minimum: Ranges._minimum,
    Maximum: Ranges._minimum,
    Choice: Ranges._choice,
    Wrap: Ranges._wrap,
    Bitwise: Ranges._bitwise,
}


def key_of(form: Linear) -> tuple[int, frozenset[tuple[Variable, int]]]:
    """Return a form as a hashable key; equal forms have equal keys."""
    return form.constant, frozenset(form.coefficients.items())


def _factors(variable: Variable) -> tuple[Variable, ...]:
    if isinstance(variable, tuple) and variable[0] == "*":
        return variable[1:]
    return (variable,)


def _rank(variable: Variable) -> tuple[int, Any]:
    return (0, variable.order) if isinstance(variable, Atom) else (1, hash(variable))


def _product_interval(factors: list[Interval]) -> Interval:
    low = high = 1
    for first, last in factors:
        ends = (low * first, low * last, high * first, high * last)
        low, high = min(ends), max(ends)
    return low, high


def _multiples(form: Linear, by: int) -> tuple[Linear, Linear]:
    """Return (quotient, rest): form = by * quotient + rest, `rest` without multiples of `by`."""
    multiple, rest = {}, {}
    for variable, factor in form.coefficients.items():
        if factor % by:
            rest[variable] = factor
        else:
            multiple[variable] = factor // by
    times, constant_rest = divmod(form.constant, by)
    return Linear(times, multiple), Linear(constant_rest, rest)
