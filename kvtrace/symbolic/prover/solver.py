"""Counterexamples from Z3, with the exact meaning of divisions, minima, choices and wrapping.

Bitwise operations on two variables are unknown integers in a range for Z3. So a point from Z3 must
be checked, but the absence of a point is a proof. As this module imports Z3, it is imported only
after linear reasoning has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import z3  # type: ignore[import-untyped]

from kvtrace.forks import Lock
from kvtrace.symbolic.bits import Bitwise, Wrap
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Opaque, Or, in_order
from kvtrace.symbolic.functions import Choice, Maximum, Minimum, Quotient, Remainder
from kvtrace.symbolic.prover.intervals import Ranges
from kvtrace.symbolic.prover.work import SOLVER_STEPS_A_SECOND, count_solver
from kvtrace.symbolic.terms import Atom, Symbol, Term, signed_range

_SOLVER_LOCK: Final = Lock(taken=True)  # a context of Z3 allows one thread at a time


def counterexample(
    claim: Condition, given: Sequence[Condition], ranges: Ranges, seconds: float
) -> dict[Symbol | Opaque, int] | str | None:
    """Search for a point at which all of `given` hold and `claim` does not.

    Args:
        claim: the claim to refute.
        given: conditions that hold at the point.
        ranges: bounds of symbols, both included.
        seconds: limit of the solver's work, in nominal seconds.

    Returns:
        The point; None if no point exists; a text with the reason if this is not known.
    """
    with _SOLVER_LOCK:
        translation = _latest_translation(ranges)
        goal = [translation.condition(condition) for condition in given]
        goal.append(z3.Not(translation.condition(claim)))
        solver = z3.Solver(ctx=translation.context)
        solver.set("rlimit", max(1, int(seconds * SOLVER_STEPS_A_SECOND)))
        solver.add(*goal, *translation.facts)
        steps_before = _steps(solver)
        outcome = solver.check()
        count_solver(_steps(solver) - steps_before)
        if outcome == z3.unsat:
            return None
        if outcome != z3.sat:
            return f"the solver gave up ({solver.reason_unknown()})"
        return translation.point(solver.model())


def _steps(solver: Any) -> int:
    """Return the steps of a context's solvers so far, as Z3 counts them."""
    statistics = solver.statistics()
    is_counted = "rlimit count" in statistics.keys()  # noqa: SIM118 - statistics are no mapping
    return int(statistics.get_key_value("rlimit count")) if is_counted else 0


class _Translation:
    """Translator of terms and conditions to Z3; `facts` are bounds of symbols.

    The latest is cached, so that common parts of claims are translated once. Each has a `context`
    of its own, of 34 MB: models of Z3 depend on what was made in a context before.
    """

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self.context = z3.Context()
        self._conditions: dict[Condition, Any] = {}
        self._atoms: dict[Atom, Any] = {}
        self._opaque: dict[Opaque, Any] = {}
        self._symbols: dict[Symbol, Any] = {}
        self.facts: list[Any] = []

    def condition(self, condition: Condition) -> Any:
        """Return a condition as a Z3 expression."""
        expression = self._conditions.get(condition)
        if expression is None:
            expression = self._conditions[condition] = self._condition(condition)
        return expression

    def _condition(self, condition: Condition) -> Any:
        truth = self._ranges.truth(condition)
        if truth is not None:
            self._declare_symbols(condition)
            return z3.BoolVal(truth, self.context)
        if isinstance(condition, AtLeast):
            return self.term(condition.term) >= 0
        if isinstance(condition, Equal):
            return self.term(condition.term) == 0
        if isinstance(condition, Not):
            return z3.Not(self.condition(condition.inner))
        if isinstance(condition, And | Or):
            join = z3.And if isinstance(condition, And) else z3.Or
            return join(*(self.condition(part) for part in condition.parts))
        assert isinstance(condition, Opaque)
        return self._truth_of(condition)

    def _truth_of(self, opaque: Opaque) -> Any:
        if opaque not in self._opaque:
            self._opaque[opaque] = z3.Bool(f"opaque{opaque.order}", self.context)
        return self._opaque[opaque]

    def term(self, term: Term) -> Any:
        """Return a term as a Z3 expression."""
        low, high = self._ranges.interval(term)
        if low == high:
            self._declare_symbols(term)
            return z3.IntVal(low, self.context)
        parts = []
        for monomial, coefficient in term.coefficients.items():
            product = z3.IntVal(coefficient, self.context)
            for position, atom in enumerate(monomial):
                factor = self._atom(atom)
                product = factor if position == 0 and coefficient == 1 else product * factor
            parts.append(product)
        return parts[0] if len(parts) == 1 else z3.Sum(parts)

    def point(self, model: Any) -> dict[Symbol | Opaque, int]:
        """Return the numbers of all symbols, and the truths of opaque conditions, in a model."""
        numbers: dict[Symbol | Opaque, int] = {
            symbol: model.eval(variable, model_completion=True).as_long()
            for symbol, variable in self._symbols.items()
        }
        for opaque, variable in self._opaque.items():
            numbers[opaque] = int(z3.is_true(model.eval(variable, model_completion=True)))
        return numbers

    def _declare_symbols(self, formula: Term | Condition) -> None:
        """Add the symbols of a part that is not translated, so that points have their numbers."""
        conditions = [formula] if isinstance(formula, Condition) else []
        for atom in in_order(formula.atoms()):
            if isinstance(atom, Symbol):
                self._atom(atom)
            elif isinstance(atom, Choice):
                conditions.append(atom.condition)
        for condition in conditions:
            for opaque in in_order(condition.opaques()):
                self._truth_of(opaque)

    def _atom(self, atom: Atom) -> Any:
        expression = self._atoms.get(atom)
        if expression is None:
            expression = self._atoms[atom] = self._translated(atom)
        return expression

    def _translated(self, atom: Atom) -> Any:
        match atom:
            case Symbol():
                return self._symbol(atom)
            case Quotient():
                return self._divided(*atom.arguments, floor=atom.floor)
            case Remainder():
                return self._remainder(atom)
            case Minimum() | Maximum():
                left, right = map(self.term, atom.arguments)
                is_left = left <= right if isinstance(atom, Minimum) else left >= right
                return z3.If(is_left, left, right)
            case Choice():
                condition = self.condition(atom.condition)
                return z3.If(condition, self.term(atom.then), self.term(atom.otherwise))
            case Wrap():
                low = signed_range(atom.bits)[0] if atom.signed and atom.bits > 1 else 0
                return (self.term(atom.arguments[0]) - low) % (1 << atom.bits) + low
            case _:
                assert isinstance(atom, Bitwise)
                return self._bitwise(atom)

    def _symbol(self, symbol: Symbol) -> Any:
        low, high = self._ranges.of(symbol)
        variable = z3.Int(f"{symbol.kind}{symbol.order}", self.context)
        self._symbols[symbol] = variable
        self.facts += [variable >= low, variable <= high]
        for term in symbol.at:
            self._declare_symbols(term)
        return variable

    def _divided(self, left: Term, right: Term, *, floor: bool) -> Any:
        """Return a quotient; Z3's division rounds down for positive divisors.

        For negative ones it rounds up, which no machine does (findings/z3_remainder.sh).
        """
        dividend_expression, divisor_expression = self.term(left), self.term(right)
        low, high = self._ranges.interval(right)
        lowest_dividend = self._ranges.interval(left)[0]

        def by_positive(divisor: Any, dividend: Any) -> Any:
            if floor or (lowest_dividend >= 0 and dividend is dividend_expression):
                return dividend / divisor
            return z3.If(dividend >= 0, dividend / divisor, -((-dividend) / divisor))

        if low > 0:
            return by_positive(divisor_expression, dividend_expression)
        if high < 0:
            return by_positive(-divisor_expression, -dividend_expression)
        for_any_sign = z3.If(
            divisor_expression > 0,
            by_positive(divisor_expression, dividend_expression),
            by_positive(-divisor_expression, -dividend_expression),
        )
        return z3.If(divisor_expression == 0, z3.IntVal(0, self.context), for_any_sign)

    def _remainder(self, atom: Remainder) -> Any:
        left, right = atom.arguments
        positive = self._ranges.interval(right)[0] > 0
        if positive and (atom.floor or self._ranges.interval(left)[0] >= 0):
            return self.term(left) % self.term(right)
        whole = self._divided(left, right, floor=atom.floor)
        return self.term(left) - self.term(right) * whole

    def _bitwise(self, atom: Bitwise) -> Any:
        right = atom.arguments[1]
        if atom.operator in ("shl", "shr"):
            exact = self._shifted(atom, *self._ranges.interval(right))
            if exact is not None:
                return exact
        for term in atom.arguments:
            self._declare_symbols(term)
        low, high = self._ranges.interval(atom.term)
        variable = z3.Int(f"bits{atom.order}", self.context)
        self.facts += [variable >= low, variable <= high]
        return variable

    def _shifted(self, atom: Bitwise, low: int, high: int) -> Any | None:
        """Return a shift by up to 65 amounts as a choice of products or divisions, or None."""
        if low < 0 or high >= atom.bits or high - low > 64:
            return None
        value, shift_amount = (self.term(term) for term in atom.arguments)
        shift: Callable[[int], Any] = (
            (lambda n: value * (1 << n)) if atom.operator == "shl" else lambda n: value / (1 << n)
        )
        result = shift(high)
        for amount in range(high - 1, low - 1, -1):
            result = z3.If(shift_amount == amount, shift(amount), result)
        return result


_latest_translation: Final = lru_cache(maxsize=1)(_Translation)
