"""Ranges of symbols, and terms simplified by them.

A term is simplified by what its symbols' ranges allow: `x % 8` is `x` where x is below 8. Each
monomial that is left is a variable for linear reasoning, with a range. A variable that is a
function has *definitions*, terms that are never negative, and may have *cases*: for q = x // 8 the
definitions are `x - 8*q` and `8*q + 7 - x`; min(x, y) is x where x <= y, and else y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kvtrace.ir.integers import product_range
from kvtrace.symbolic.bits import Bitwise, Wrap
from kvtrace.symbolic.conditions import And, AtLeast, Condition, Equal, Not, Or
from kvtrace.symbolic.functions import (
    Applied,
    Choice,
    Extreme,
    Maximum,
    Minimum,
    Quotient,
    Remainder,
    quotient,
    remainder,
    single,
)
from kvtrace.symbolic.prover.linear import interval
from kvtrace.symbolic.terms import (
    Atom,
    Interval,
    Monomial,
    Substitution,
    Symbol,
    Term,
    as_term,
)

Cases: TypeAlias = tuple[tuple[Term, Condition], ...]
"""Cases of a variable: its term in the case, and the case's condition."""

KnownRanges: TypeAlias = Mapping[tuple[str, Any], Interval]
"""Ranges of symbols, by (kind, key)."""

Source: TypeAlias = Callable[[Symbol], Interval | None]
"""Function that returns a symbol's range, or None if unknown."""


class Ranges(Substitution):
    """Ranges of symbols for one call, by which terms are simplified; both are cached.

    `intervals` has the range of each monomial, computed when it is asked for first.
    """

    def __init__(self, known: KnownRanges, sources: Sequence[Source] = ()) -> None:
        """`known` are ranges of symbols; `sources` are called in turn for other symbols.

        Sources that need ranges themselves are set later, before a range is asked for.
        """
        super().__init__({})
        self._known = known
        self.sources = sources
        self.intervals: dict[Monomial, Interval] = _Intervals(self)
        self._defined: dict[Monomial, tuple[Term, ...]] = {}
        self._atoms: dict[Atom, Term | Atom] = {}
        self._extremes: dict[Any, Term] = {}
        self._terms: dict[Term, Term] = {}
        self._truths: dict[int, tuple[Condition, bool | None]] = {}

    def of(self, symbol: Symbol) -> Interval:
        """Return a symbol's range: its own bounds, narrowed by the known range."""
        bounds = self._known.get((symbol.kind, symbol.key))
        for source in self.sources if bounds is None else ():
            bounds = source(symbol)
            if bounds is not None:
                break
        if bounds is None:
            return symbol.low, symbol.high
        return max(symbol.low, bounds[0]), min(symbol.high, bounds[1])

    def supposing(self, more: KnownRanges) -> Ranges:
        """Return these ranges with additional ranges of some symbols."""
        return Ranges({**self._known, **more}, self.sources)

    def form(self, term: Term) -> Term:
        """Return a term simplified by the ranges of its symbols."""
        form = self._terms.get(term)
        if form is None:
            form = self._terms[term] = self._substituted(term)
        return form

    __call__ = form

    def interval(self, term: Term) -> Interval:
        """Return the lower and upper bound of a term, by the ranges of its variables."""
        return interval(self.form(term), self.intervals)

    def range_of(self, term: Term) -> Interval:
        """Return the bounds of a term that is simplified already."""
        return interval(term, self.intervals)

    def definitions(self, variable: Monomial) -> tuple[Term, ...]:
        """Return a variable's definitions: terms that are never negative."""
        definitions = self._defined.get(variable)
        if definitions is None:
            define = _DEFINITIONS.get(type(variable[0])) if len(variable) == 1 else None
            definitions = () if define is None else define(self, variable[0])
            self._defined[variable] = definitions
        return definitions

    def cases(self, variable: Monomial) -> Cases:
        """Return a variable's cases, one of which holds; () for a variable without any."""
        atom = variable[0] if len(variable) == 1 else None
        if isinstance(atom, Choice):
            then, otherwise = self.form(atom.then), self.form(atom.otherwise)
            return (then, atom.condition), (otherwise, ~atom.condition)
        if isinstance(atom, Extreme):
            left, right = atom.arguments
            gap = (right - left) * atom.sign
            return (left, AtLeast(gap)), (right, AtLeast(-gap))
        if isinstance(atom, Quotient) and self._is_truncated(atom):
            left, right = atom.arguments
            down = quotient(left, right, floor=True, range_of=self.range_of)
            up = -quotient(-left, right, floor=True, range_of=self.range_of)
            return (down, AtLeast(left)), (up, AtLeast(-left))
        return ()

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

    # -- simplification ------------------------------------------------------------------------

    def _of(self, atom: Atom) -> Term | Atom:
        form = self._atoms.get(atom)
        if form is None:
            simplified = self._simplified(atom)
            form = self._atoms[atom] = atom if single(simplified) is atom else simplified
        return form

    def _simplified(self, atom: Atom) -> Term:
        if isinstance(atom, Symbol):
            low, high = self.intervals[atom,]
            return as_term(low) if low == high else atom.term
        if isinstance(atom, Choice):
            truth = self.truth(atom.condition)
            if truth is not None:
                return self.form(atom.then if truth else atom.otherwise)
            then = self.form(atom.then)
            return then if then == self.form(atom.otherwise) else atom.term
        if isinstance(atom, Wrap):
            inner = self.form(atom.arguments[0])
            low, high = self.range_of(inner)
            if atom.low <= low and high <= atom.high:
                return inner
            wrapped = remainder(
                inner - atom.low, 1 << atom.bits, floor=True, range_of=self.range_of
            )
            return wrapped + atom.low
        simplified = atom.substituted(self)
        if isinstance(extreme := single(simplified), Extreme):
            # min(x, y) and min(y, x) are one variable.
            key = type(extreme), frozenset(extreme.arguments)
            return self._extremes.setdefault(key, simplified)
        return simplified

    # -- definitions ---------------------------------------------------------------------------

    def _is_truncated(self, atom: Quotient | Remainder) -> bool:
        """Return whether a division by a number rounds up where its dividend is negative."""
        is_by_number = atom.arguments[1].constant is not None
        return is_by_number and not atom.floor and self.range_of(atom.arguments[0])[0] < 0

    def _of_quotient(self, atom: Quotient) -> tuple[Term, ...]:
        left, right = atom.arguments
        whole, by = atom.term, right.constant
        if by is None:
            least = self.range_of(right)[0]
            if self.range_of(left)[0] < 0 or least < 1:
                return ()
            rest = left - whole * right
            return left - whole * least, rest, right - rest - 1
        rest = left - whole * by
        below = by - 1 if self._is_truncated(atom) else 0
        return rest + below, by - 1 - rest

    def _of_remainder(self, atom: Remainder) -> tuple[Term, ...]:
        left, right = atom.arguments
        rest, by, is_natural = atom.term, right.constant, self.range_of(left)[0] >= 0
        within = (left - rest,) if is_natural else ()
        if by is not None:
            gap = left - by * quotient(left, by, floor=atom.floor, range_of=self.range_of) - rest
            return gap, -gap, *within
        if self.range_of(right)[0] < 1:
            return ()
        above = rest if atom.floor or is_natural else right + rest - 1
        return right - rest - 1, above, *within

    def _of_extreme(self, atom: Extreme) -> tuple[Term, ...]:
        return tuple((term - atom.term) * atom.sign for term in atom.arguments)

    def _of_bitwise(self, atom: Bitwise) -> tuple[Term, ...]:
        left, right = atom.arguments
        if atom.operator in ("shl", "shr") or min(map(self.range_of, (left, right)))[0] < 0:
            return ()
        result, total = atom.term, left + right
        if atom.operator == "and":
            return left - result, right - result
        if atom.operator == "or":
            return result - left, result - right, total - result
        return (total - result,)


_DEFINITIONS: Final[dict[type[Atom], Callable[[Ranges, Any], tuple[Term, ...]]]] = {
    Quotient: Ranges._of_quotient,
    Remainder: Ranges._of_remainder,
    Minimum: Ranges._of_extreme,
    Maximum: Ranges._of_extreme,
    Bitwise: Ranges._of_bitwise,
}


class _Intervals(dict[Monomial, Interval]):
    """Ranges of monomials, computed at their first use."""

    def __init__(self, ranges: Ranges) -> None:
        super().__init__()
        self._ranges = ranges

    def __missing__(self, monomial: Monomial) -> Interval:
        if len(monomial) == 1:
            low, high = self._of(monomial[0])
        else:
            low, high = product_range([self[atom,] for atom in monomial])
            is_square = len(monomial) == 2 and monomial[0] is monomial[1]
            low = max(low, 0) if is_square else low
        self[monomial] = low, high
        return low, high

    def _of(self, atom: Atom) -> Interval:
        if isinstance(atom, Symbol):
            return self._ranges.of(atom)
        if isinstance(atom, Choice):
            ends = [self._ranges.interval(term) for term in (atom.then, atom.otherwise)]
            return min(low for low, _ in ends), max(high for _, high in ends)
        assert isinstance(atom, Applied)
        return atom.bounds(self._ranges.range_of)
