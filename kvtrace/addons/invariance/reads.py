"""Addresses that a tree's elements are read from, and the atoms of formulas in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from kvtrace.addons.invariance.begins import Through
from kvtrace.addons.invariance.coordinates import is_uniform
from kvtrace.symbolic.conditions import AtLeast, Condition, at_least, in_order, less
from kvtrace.symbolic.functions import Choice, Quotient
from kvtrace.symbolic.prover import Ranges
from kvtrace.symbolic.terms import ZERO, Atom, Monomial, Symbol, Term, as_term
from kvtrace.symbolic.trees.tree import TRIPS, Tree, bound

Facts = tuple[Condition, ...]

_WIDTH: Final = re.compile(r"[a-z]+(\d+)")


def unit_of_begin(begin: Symbol, offset: Term) -> Term | None:
    """Return the factor of a begin in an offset, or None unless it is one product of scalars."""
    units = [
        Term({tuple(atom for atom in monomial if atom is not begin): number})
        for monomial, number in offset.coefficients.items()
        if begin in monomial
    ]
    return units[0] if len(units) == 1 and all(map(is_uniform, units[0].atoms())) else None


def parts_with_facts(
    node: Tree, facts: Facts, through: Through
) -> Iterator[tuple[Tree, Facts, Through]]:
    """Yield a node's parts, each with the facts that hold there and the part's role."""
    roles: Sequence[Through] = [through] * len(node.parts)
    if node.what == "loop":
        count, level, is_while, _ = node.detail
        if not is_while:
            facts = (*facts, less(bound(level, TRIPS).term, count))
    elif node.what == "element":
        roles = ("mask", "data") if node.detail[1] is not None else ("address", "mask", "data")
        if node.detail[1] is None and selected_addresses(node) is not None:
            for condition in _selecting_conditions(node.parts[0]):
                yield condition, facts, "guard"
            yield from zip(node.parts[1:], itertools.repeat(facts), roles[1:], strict=False)
            return
    elif node.what == "op" and node.detail[0] == "where":
        roles = ("guard", *roles[1:])
    for part, role in zip(node.parts, roles, strict=False):
        yield part, facts, role


def quotient_bounds(term: Term, extents: Sequence[Condition]) -> Iterator[Condition]:
    """Yield the bounds of each quotient in a term: `q * d <= n < q * d + d` for `q = n // d`."""
    highest_values = {
        -extent.term + extent.term.coefficients.get((), 0): extent.term.coefficients.get((), 0)
        for extent in extents
        if isinstance(extent, AtLeast)
    }
    for atom in in_order(term.atoms()):
        if isinstance(atom, Quotient) and (divisor := atom.arguments[1].constant) is not None:
            facts = division_facts(atom, Ranges({}))
            yield from facts
            dividend = atom.arguments[0]
            constant = dividend.coefficients.get((), 0)
            if facts and dividend - constant in highest_values:
                highest = (highest_values[dividend - constant] + constant) // divisor
                yield at_least(as_term(highest), atom.term)


def division_facts(atom: Quotient, ranges: Ranges) -> tuple[Condition, ...]:
    """Return the bounds of a quotient's remainder, `0 <= n - q * d < d`; () if it may differ."""
    dividend, divisor = atom.arguments
    is_down = atom.floor or ranges.interval(dividend)[0] >= 0
    if not is_down or ranges.interval(divisor)[0] <= 0:
        return ()
    remainder = dividend - atom.term * divisor
    return at_least(remainder), less(remainder, divisor)


def selected_addresses(node: Tree) -> list[tuple[str, Term]] | None:
    """Return the (argument, byte offset) pairs from which an element's address is selected.

    Args:
        node: An element whose first part is its address.

    Returns:
        None if the address is made by ops other than selections and sums.
    """
    width = _WIDTH.match(node.detail[2])
    size = None if width is None else max(1, int(width[1]) // 8)
    addresses: list[tuple[str, Term]] = []
    pending = [(node.parts[0], ZERO)]
    while pending:
        address, offset = pending.pop()
        if address.what == "argument":
            addresses.append((address.detail[0], offset))
        elif address.what == "op" and address.detail[0] in ("where", "arith.select"):
            pending += [(branch, offset) for branch in address.parts[1:]]
        elif address.what == "op" and address.detail[0] == "tt.addptr":
            # The operands of a sum are in no order.
            steps = [part for part in address.parts if part.what == "integer"]
            if size is None or len(steps) != 1:
                return None
            (pointer,) = (part for part in address.parts if part is not steps[0])
            pending.append((pointer, offset + steps[0].detail[0] * size))
        else:
            return None
    return addresses


def _selecting_conditions(address: Tree) -> Iterator[Tree]:
    """Yield the conditions that choose among addresses."""
    pending = [address]
    while pending:
        node = pending.pop()
        if node.what == "op" and node.detail[0] != "tt.addptr":
            yield node.parts[0]
            pending += node.parts[1:]
        else:
            pending += node.parts


def terms_in(formula: Term | Condition) -> Iterator[Term]:
    """Yield the terms of a formula, also inside functions, but no index of a loaded integer."""
    pending: list[Term | Condition] = [formula]
    visited: set[Atom] = set()
    while pending:
        part = pending.pop()
        if isinstance(part, Condition):
            pending += part.inside()
            continue
        yield part
        for atom in {atom for monomial in part.coefficients for atom in monomial} - visited:
            visited.add(atom)
            if isinstance(atom, Choice):
                pending += (atom.condition, atom.then, atom.otherwise)
            else:
                pending += getattr(atom, "arguments", ())


def without_contents(formula: Term | Condition) -> frozenset[Atom]:
    """Return the atoms of a formula, without those only in the indices of loaded integers."""
    terms = terms_in(formula)
    return frozenset(atom for term in terms for monomial in term.coefficients for atom in monomial)


def without_multiples(term: Term, stride: int, ranges: Ranges) -> Term:
    """Return an offset without the summands that are multiples of an outer stride."""
    summands: dict[Monomial, int] = {}
    for monomial, factor in term.coefficients.items():
        uniform_factor = Term({tuple(atom for atom in monomial if is_uniform(atom)): factor})
        low, high = ranges.interval(uniform_factor)
        if low != high or low % stride or not monomial:
            summands[monomial] = factor
    return Term(summands)
