"""Two trees side by side: the same, the same up to the order of sums, or where they part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.addons.invariance.coordinates import number_of_coordinate
from kvtrace.addons.invariance.field import NotEvaluated, field_value
from kvtrace.addons.invariance.wording import node_text
from kvtrace.symbolic.terms import Symbol

if TYPE_CHECKING:
    from kvtrace.addons.invariance.trees import Tree

Relation = Literal["same", "reassociated", "different"]

_POINTS: Final = 4
"""At so many random points two trees are evaluated: they agree by chance once in 2 ** 100."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two trees relate; `first` and `second` are where they part, as text."""

    relation: Relation
    first: str | None = None
    second: str | None = None


def compared(one: Tree, other: Tree) -> Comparison:
    """Compare two trees, whose numbers are bound and whose arguments have the same names."""
    if one is other:
        return Comparison("same")
    first, second = _parting(one, other)
    relation: Relation = "reassociated" if _agree(one, other) else "different"
    return Comparison(relation, node_text(first), node_text(second))


def _agree(one: Tree, other: Tree) -> bool:
    """Whether two trees have the same value in a finite field, where sums have no order."""
    symbols = _coordinates(one) | _coordinates(other)
    for seed in range(_POINTS):
        at = {symbol: min((seed * 7 + 3) % 11, symbol.high) for symbol in symbols}
        try:
            if field_value(one, at, seed) != field_value(other, at, seed):
                return False
        except NotEvaluated:
            return False
    return True


def _coordinates(tree: Tree) -> set[Symbol]:
    return {
        atom
        for node in tree.walk()
        for formula in node.formulas()
        for atom in formula.atoms()
        if isinstance(atom, Symbol) and number_of_coordinate(atom) is not None
    }


def _parting(one: Tree, other: Tree) -> tuple[Tree, Tree]:
    """Return the outermost nodes in which two trees differ."""
    while one.what == other.what and one.detail == other.detail:
        pairs = zip(one.parts, other.parts, strict=False)
        parting = [(mine, theirs) for mine, theirs in pairs if mine is not theirs]
        if len(one.parts) != len(other.parts) or len(parting) != 1:
            break
        one, other = parting[0]
    return one, other
