"""Text of conditions on a kernel's parameters: `min(n, 1024 * grid_x) <= extent(x)`.

Alternatives that differ in one summand are written as a minimum: `a + n <= m or a + 8 <= m` is
`a + min(8, n) <= m`. `extent(x)` counts the elements from a tensor's data pointer to its end: all
elements of a contiguous tensor. If a condition is not about whole elements, it has `bytes(x)`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import gcd
from typing import Final

from kvtrace.symbolic.conditions import And, AtLeast, Condition, Or
from kvtrace.symbolic.expressions import condition_expression, expression
from kvtrace.symbolic.functions import divided_by_unit
from kvtrace.symbolic.summary import Summary
from kvtrace.symbolic.terms import Atom, Monomial, Symbol, Term
from kvtrace.verdicts.sizes.condition import AccessCondition, extent

_GRID: Final = re.compile(r"num_programs\((\d)\)")
_EXTENT: Final = re.compile(r"(\w+)\.extent\[0\]")
_LIMITS: Final = {(1 << 31) - 1: "2**31 - 1", 1 << 31: "2**31", (1 << 63) - 1: "2**63 - 1"}

_Product = tuple[int, tuple[str, ...]]
"""A number, and texts of the factors that multiply it."""


def inside_text(condition: AccessCondition, summary: Summary) -> str:
    """Return the text of the condition under which an access stays inside its tensor."""
    assert condition.condition is not None
    assert condition.access.argument is not None
    extent_symbol = extent(condition.access.argument)
    return _Printer(summary, extent_symbol, condition.access.element_bytes).condition(
        condition.condition
    )


def width_text(condition: Condition, summary: Summary) -> str:
    """Return the text of a condition under which no integer wraps around."""
    return _Printer(summary, None, 1).condition(condition)


def assumption_text(symbol: Symbol, minimum: int, summary: Summary) -> str:
    """Return the text of an assumption on a scalar: `n >= 0`."""
    return f"{_with_user_names(expression(symbol.term, summary))} >= {minimum}"


def _with_user_names(text: str) -> str:
    """Return the text with grid axes and extents named as users know them."""
    text = _GRID.sub(lambda match: f"grid_{'xyz'[int(match[1])]}", text)
    return _EXTENT.sub(r"bytes(\1)", text)


class _Printer:
    """The conversion of one access's conditions to text."""

    def __init__(self, summary: Summary, extent_symbol: Symbol | None, element_bytes: int) -> None:
        self._summary = summary
        self._extent = extent_symbol
        self._bytes = element_bytes

    def condition(self, condition: Condition) -> str:
        """Return the text of a condition, "always" or "never" if it is constant."""
        if condition.decided is not None:
            return "always" if condition.decided else "never"
        if isinstance(condition, And):
            parts = (self.condition(part) for part in condition.parts)
            return " and ".join(f"({part})" if " or " in part else part for part in parts)
        if not isinstance(condition, Or):
            return self._alternatives((condition,))
        return self._alternatives(condition.parts)

    def _alternatives(self, parts: Sequence[Condition]) -> str:
        """Return the text of alternatives; those with a common limit become one minimum."""
        comparisons, other_parts = [], []
        for part in parts:
            comparison = self._comparison(part)
            if comparison is None:
                other_parts.append(part)
            else:
                comparisons.append(comparison)
        texts = [self._comparison_text(group) for group in _group_by_limit(comparisons)]
        for part in other_parts:
            text = self.condition(part) if isinstance(part, And) else self._condition_text(part)
            texts.append(f"({text})" if isinstance(part, And) and len(parts) > 1 else text)
        return " or ".join(texts)

    def _comparison(self, part: Condition) -> tuple[Term, Term] | None:
        """Return (need, limit) of a condition `need <= limit`, None if it has another form."""
        if not isinstance(part, AtLeast):
            return None
        extent_symbol = self._extent
        if extent_symbol is not None and part.term.coefficients.get((extent_symbol,)) == 1:
            return extent_symbol.term - part.term, extent_symbol.term
        number = part.term.coefficients.get((), 0)
        if (
            extent_symbol is None
            and number > 0
            and any(v < 0 for v in part.term.coefficients.values())
        ):
            return Term({(): number}) - part.term, Term({(): number})
        return None

    def _comparison_text(self, group: tuple[Term, list[Term]]) -> str:
        limit, needs = group
        number = limit.constant
        if number is not None:
            return f"{self._minimum_text(needs)} <= {_LIMITS.get(number, str(number))}"
        assert self._extent is not None
        (name,) = _EXTENT.findall(expression(self._extent.term, self._summary))
        is_whole_elements = all(
            v % self._bytes == 0 for need in needs for v in need.coefficients.values()
        )
        if not is_whole_elements:
            return f"{self._minimum_text(needs)} <= bytes({name})"
        elements = [_divided(need, (self._bytes, ())) for need in needs]
        return f"{self._minimum_text(elements)} <= extent({name})"

    def _condition_text(self, part: Condition) -> str:
        return _with_user_names(condition_expression(part, self._summary))

    # -- sums --------------------------------------------------------------------------------------

    def _minimum_text(self, terms: Sequence[Term]) -> str:
        """Return the text of the minimum of terms, with common summands outside."""
        base, groups = _independent_groups(terms)
        summands = dict(base.coefficients)
        products: list[_Product] = []
        for group in groups:
            common_factor = _common_factor(group)
            texts = sorted(
                (self._sum_text(_divided(term, common_factor)) for term in group), key=_by_grid
            )
            factors = (f"min({', '.join(texts)})",)
            products.append(self._product(common_factor, factors, summands))
        products += self._products(summands)
        return _sum_of_products(products)

    def _sum_text(self, term: Term) -> str:
        return _sum_of_products(self._products(dict(term.coefficients)))

    def _products(self, summands: dict[Monomial, int]) -> list[_Product]:
        """Return summands as products, `a * p - a` as `(p - 1) * a`, and empty the dict."""
        products: list[_Product] = []
        for monomial in sorted(summands, key=lambda m: (-len(m), self._text(m))):
            number = summands.get(monomial, 0)
            if number <= 0 or not monomial:
                continue
            for position, atom in enumerate(monomial):
                rest = monomial[:position] + monomial[position + 1 :]
                subtracted = -summands.get(rest, 0)
                if subtracted <= 0 or number % subtracted or (not rest and number != subtracted):
                    continue
                del summands[rest], summands[monomial]
                factor_text = (
                    self._atom(atom)
                    if number == subtracted
                    else f"{number // subtracted} * {self._atom(atom)}"
                )
                products.append((subtracted, (f"({factor_text} - 1)", *self._texts(rest))))
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
        return _with_user_names(expression(atom.term, self._summary))


def _by_grid(text: str) -> tuple[int, str]:
    return text.count("grid_"), text


def _sum_of_products(products: Iterable[_Product]) -> str:
    text = ""
    for number, factors in products:
        magnitude = abs(number)
        product_text = " * ".join(
            (*((str(magnitude),) if magnitude != 1 or not factors else ()), *factors)
        )
        if text:
            text += f" {'-' if number < 0 else '+'} {product_text}"
        else:
            text = f"-{product_text}" if number < 0 else product_text
    return text or "0"


def _group_by_limit(needs: Iterable[tuple[Term, Term]]) -> list[tuple[Term, list[Term]]]:
    groups: dict[Term, list[Term]] = {}
    for need, limit in needs:
        groups.setdefault(limit, []).append(need)
    return list(groups.items())


def _independent_groups(terms: Sequence[Term]) -> tuple[Term, list[tuple[Term, ...]]]:
    """Return a base and groups: the terms' minimum is the base plus each group's minimum."""
    remaining = list(dict.fromkeys(terms))
    groups: list[tuple[Term, ...]] = []
    while len(remaining) > 1:
        pair = _halving_pair(remaining)
        if pair is None:
            common_summands = _common_summands(remaining)
            return common_summands, [*groups, tuple(term - common_summands for term in remaining)]
        left, right = pair
        groups.append((left, right))
        term_set = frozenset(remaining)
        remaining = [term - left for term in remaining if term - left + right in term_set]
    return remaining[0], groups


def _halving_pair(terms: Sequence[Term]) -> tuple[Term, Term] | None:
    """Return two terms by which one half of the terms differs from the other half, else None."""
    term_set = frozenset(terms)
    for candidate in terms[1:]:
        gap = candidate - terms[0]
        lower_half = [term for term in terms if term + gap in term_set]
        if 2 * len(lower_half) == len(terms) and not any(
            term + gap in lower_half for term in lower_half
        ):
            smaller = Term({m: -v for m, v in gap.coefficients.items() if v < 0})
            return smaller, smaller + gap
    return None


def _common_summands(terms: Sequence[Term]) -> Term:
    """Return the summands that all terms have in common."""
    first, *rest = (term.coefficients for term in terms)
    return Term(
        {m: v for m, v in first.items() if all(other.get(m) == v for other in rest)},
    )


def _common_factor(terms: Sequence[Term]) -> tuple[int, Monomial]:
    """Return the number and the parameters that divide every summand of every term."""
    numbers = [value for term in terms for value in term.coefficients.values()]
    monomials = [monomial for term in terms for monomial in term.coefficients]
    if not all(term.coefficients for term in terms):
        return 1, ()
    shared = Counter(monomials[0])
    for monomial in monomials[1:]:
        shared &= Counter(monomial)
    common = tuple(shared.elements())
    negative = any(atom.low < 0 for atom in common)
    return (1, ()) if negative else (gcd(*numbers) if common else 1, common)


def _divided(term: Term, factor: tuple[int, Monomial]) -> Term:
    number, monomial = factor
    return divided_by_unit(term, Term({monomial: number}))[0]
