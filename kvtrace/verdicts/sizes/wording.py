"""Conditions on a kernel's parameters as text: `min(n, 1024 * grid_x) <= extent(x)`.

Alternatives that differ in one summand are written as a minimum: `a + n <= m or a + 8 <= m` is
`a + min(8, n) <= m`. `extent(x)` counts the elements from a tensor's data pointer to its end: all
elements of a contiguous tensor. If a condition is not about whole elements, it has `bytes(x)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import gcd
from typing import Final

from kvtrace.symbolic.conditions import And, AtLeast, Condition, Or
from kvtrace.symbolic.expressions import condition_expression, expression
from kvtrace.symbolic.summary import Summary
from kvtrace.symbolic.terms import Atom, Monomial, Symbol, Term
from kvtrace.verdicts.sizes.condition import AccessCondition, extent

_GRID: Final = re.compile(r"num_programs\((\d)\)")
_EXTENT: Final = re.compile(r"(\w+)\.extent\[0\]")
_LIMITS: Final = {(1 << 31) - 1: "2**31 - 1", 1 << 31: "2**31", (1 << 63) - 1: "2**63 - 1"}

_Product = tuple[int, tuple[str, ...]]
"""A number and the factors it is multiplied by, as text."""


def inside_text(condition: AccessCondition, summary: Summary) -> str:
    """Return the text of the condition under which an access stays inside, or "always"."""
    assert condition.condition is not None
    assert condition.access.argument is not None
    room = extent(condition.access.argument)
    return _Printer(summary, room, condition.access.element_bytes).condition(condition.condition)


def width_text(condition: Condition, summary: Summary) -> str:
    """Return the text of a condition under which no arithmetic wraps around."""
    return _Printer(summary, None, 1).condition(condition)


def assumption_text(symbol: Symbol, least: int, summary: Summary) -> str:
    """Return the text of an assumption on a scalar: `n >= 0`."""
    return f"{_renamed(expression(symbol.term, summary))} >= {least}"


def _renamed(text: str) -> str:
    text = _GRID.sub(lambda match: f"grid_{'xyz'[int(match[1])]}", text)
    return _EXTENT.sub(r"bytes(\1)", text)


class _Printer:
    def __init__(self, summary: Summary, room: Symbol | None, element_bytes: int) -> None:
        self._summary = summary
        self._room = room
        self._bytes = element_bytes

    def condition(self, condition: Condition) -> str:
        """Return the text of a condition."""
        if condition.decided is not None:
            return "always" if condition.decided else "never"
        if isinstance(condition, And):
            parts = (self.condition(part) for part in condition.parts)
            return " and ".join(f"({part})" if " or " in part else part for part in parts)
        if not isinstance(condition, Or):
            return self._one_of((condition,))
        return self._one_of(condition.parts)

    def _one_of(self, parts: Sequence[Condition]) -> str:
        """Return the text of alternatives; those with the same limit are printed as a minimum."""
        needs, others = [], []
        for part in parts:
            need = self._need(part)
            if need is None:
                others.append(part)
            else:
                needs.append(need)
        texts = [self._compared(group) for group in _by_limit(needs)]
        for part in others:
            text = self.condition(part) if isinstance(part, And) else self._plain(part)
            texts.append(f"({text})" if isinstance(part, And) and len(parts) > 1 else text)
        return " or ".join(texts)

    def _need(self, part: Condition) -> tuple[Term, Term] | None:
        """Return (need, limit) of a condition `need <= limit`, or None if it has another form."""
        if not isinstance(part, AtLeast):
            return None
        room = self._room
        if room is not None and part.term.coefficients.get((room,)) == 1:
            return room.term - part.term, room.term
        number = part.term.coefficients.get((), 0)
        if room is None and number > 0 and any(v < 0 for v in part.term.coefficients.values()):
            return Term({(): number}) - part.term, Term({(): number})
        return None

    def _compared(self, group: tuple[Term, list[Term]]) -> str:
        limit, needs = group
        number = limit.constant
        if number is not None:
            return f"{self._least(needs)} <= {_LIMITS.get(number, str(number))}"
        assert self._room is not None
        (name,) = _EXTENT.findall(expression(self._room.term, self._summary))
        whole = all(v % self._bytes == 0 for need in needs for v in need.coefficients.values())
        if not whole:
            return f"{self._least(needs)} <= bytes({name})"
        elements = [_divided(need, self._bytes) for need in needs]
        return f"{self._least(elements)} <= extent({name})"

    def _plain(self, part: Condition) -> str:
        return _renamed(condition_expression(part, self._summary))

    # -- sums --------------------------------------------------------------------------------------

    def _least(self, terms: Sequence[Term]) -> str:
        """Return the text of the least of terms, with common summands outside of the minimum."""
        base, groups = _factored(terms)
        summands = dict(base.coefficients)
        products: list[_Product] = []
        for group in groups:
            common = _common_factor(group)
            texts = sorted((self._sum(_without(term, common)) for term in group), key=_by_grid)
            factors = (f"min({', '.join(texts)})",)
            products.append(self._product(common, factors, summands))
        products += self._products(summands)
        return _added(products)

    def _sum(self, term: Term) -> str:
        return _added(self._products(dict(term.coefficients)))

    def _products(self, summands: dict[Monomial, int]) -> list[_Product]:
        """Return summands as products, with `a * p - a` as `(p - 1) * a`, and empty the dict."""
        products: list[_Product] = []
        for monomial in sorted(summands, key=lambda m: (-len(m), self._text(m))):
            number = summands.get(monomial, 0)
            if number <= 0 or not monomial:
                continue
            for position, atom in enumerate(monomial):
                rest = monomial[:position] + monomial[position + 1 :]
                less = -summands.get(rest, 0)
                if less <= 0 or number % less or (not rest and number != less):
                    continue
                del summands[rest], summands[monomial]
                times = (
                    self._atom(atom) if number == less else f"{number // less} * {self._atom(atom)}"
                )
                products.append((less, (f"({times} - 1)", *self._texts(rest))))
                break
        order = sorted(summands, key=lambda m: (not m, summands[m] < 0, -len(m), self._text(m)))
        products += [(summands[monomial], self._texts(monomial)) for monomial in order]
        summands.clear()
        return products

    def _product(
        self, common: tuple[int, Monomial], factors: tuple[str, ...], summands: dict[Monomial, int]
    ) -> _Product:
        """Return the product of a minimum and its common factor.

        A summand that subtracts the common factor is removed: `a * m - a` is `a * (m - 1)`.
        """
        number, monomial = common
        if (number, monomial) != (1, ()) and summands.get(monomial) == -number:
            del summands[monomial]
            factors = (f"({factors[0]} - 1)",)
        return number, (*factors, *self._texts(monomial))

    def _texts(self, monomial: Monomial) -> tuple[str, ...]:
        return tuple(sorted(map(self._atom, monomial), key=_by_grid))

    def _text(self, monomial: Monomial) -> str:
        return " * ".join(self._texts(monomial))

    def _atom(self, atom: Atom) -> str:
        return _renamed(expression(atom.term, self._summary))


def _by_grid(text: str) -> tuple[int, str]:
    return text.count("grid_"), text


def _added(products: Iterable[_Product]) -> str:
    text = ""
    for number, factors in products:
        size = abs(number)
        shown = " * ".join((*((str(size),) if size != 1 or not factors else ()), *factors))
        if text:
            text += f" {'-' if number < 0 else '+'} {shown}"
        else:
            text = f"-{shown}" if number < 0 else shown
    return text or "0"


def _by_limit(needs: Iterable[tuple[Term, Term]]) -> list[tuple[Term, list[Term]]]:
    groups: dict[Term, list[Term]] = {}
    for need, limit in needs:
        groups.setdefault(limit, []).append(need)
    return list(groups.items())


def _factored(terms: Sequence[Term]) -> tuple[Term, list[tuple[Term, ...]]]:
    """Return a base and groups: the least of the terms is the base plus each group's least."""
    remaining = list(dict.fromkeys(terms))
    groups: list[tuple[Term, ...]] = []
    while len(remaining) > 1:
        pair = _pair(remaining)
        if pair is None:
            shared = _shared(remaining)
            return shared, [*groups, tuple(term - shared for term in remaining)]
        one, other = pair
        groups.append((one, other))
        present = frozenset(remaining)
        remaining = [term - one for term in remaining if term - one + other in present]
    return remaining[0], groups


def _pair(terms: Sequence[Term]) -> tuple[Term, Term] | None:
    """Return two terms by which one half of the terms differs from the other half, or None."""
    present = frozenset(terms)
    for other in terms[1:]:
        gap = other - terms[0]
        first = [term for term in terms if term + gap in present]
        if 2 * len(first) == len(terms) and not any(term + gap in first for term in first):
            less = Term({m: -v for m, v in gap.coefficients.items() if v < 0})
            return less, less + gap
    return None


def _shared(terms: Sequence[Term]) -> Term:
    first, *rest = (term.coefficients for term in terms)
    return Term(
        {m: v for m, v in first.items() if all(other.get(m) == v for other in rest)},
    )


def _common_factor(terms: Sequence[Term]) -> tuple[int, Monomial]:
    """Return the number and the parameters that divide all summands of all terms."""
    numbers = [value for term in terms for value in term.coefficients.values()]
    monomials = [monomial for term in terms for monomial in term.coefficients]
    if not all(term.coefficients for term in terms):
        return 1, ()
    common = list(monomials[0])
    for monomial in monomials[1:]:
        rest = list(monomial)
        shared = []
        for atom in common:
            if atom in rest:
                rest.remove(atom)
                shared.append(atom)
        common = shared
    negative = any(atom.low < 0 for atom in common)
    return (1, ()) if negative else (gcd(*numbers) if common else 1, tuple(common))


def _without(term: Term, common: tuple[int, Monomial]) -> Term:
    number, factors = common
    total: dict[Monomial, int] = {}
    for monomial, value in term.coefficients.items():
        rest = list(monomial)
        for atom in factors:
            rest.remove(atom)
        total[tuple(rest)] = value // number
    return Term(total)


def _divided(term: Term, number: int) -> Term:
    return Term({monomial: value // number for monomial, value in term.coefficients.items()})
