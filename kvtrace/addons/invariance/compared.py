"""Two trees side by side: the same, the same up to the order of sums, or where they part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from kvtrace.addons.invariance.field import NotEvaluated, field_value
from kvtrace.addons.invariance.wording import node_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.symbolic.terms import Symbol

Relation = Literal["same", "equal", "reassociated", "different"]
"""
- same: one tree, for all elements and sizes.
- equal: other trees, which make these elements in the same order at these sizes, as far as random
  functions for the operations tell.
- reassociated: the same up to the order of sums and products of floats, likewise.
- different: neither.
"""

RELATIONS: Final[tuple[Relation, ...]] = ("same", "equal", "reassociated", "different")
"""From the one that is nearest."""

POINTS: Final = 6
"""At so many elements trees are evaluated, the first and the last among them."""

Place = tuple["Tree", "Mapping[Symbol, int]"]
"""The tree of an element, and the numbers of its symbols there."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two trees relate; `first` and `second` are where they part, as text.

    `evaluated`: whether that was seen by evaluating both; else they may be equal all the same.
    """

    relation: Relation
    first: str | None = None
    second: str | None = None
    evaluated: bool = False


def compared(one: Tree, other: Tree, points: Sequence[tuple[Place, Place]]) -> Comparison:
    """Compare two trees, whose numbers are bound and whose arguments have the same names.

    Args:
        one: A tree.
        other: Another.
        points: Elements of the output, and what either version makes them of.

    """
    if one is other and all(mine == theirs for mine, theirs in points):
        return Comparison("same")
    first, second = _parting(one, other)
    relation: Relation = "different"
    try:
        if _agree(points, ordered=True):
            relation = "equal"
        elif _agree(points, ordered=False):
            relation = "reassociated"
    except NotEvaluated:
        return Comparison(relation, node_text(first), node_text(second))
    return Comparison(relation, node_text(first), node_text(second), evaluated=True)


def points_within(
    one: Tree, other: Tree, extents: Mapping[Symbol, int]
) -> list[tuple[Place, Place]]:
    """Return elements whose coordinates are the same in both trees, and go so far."""
    random = np.random.default_rng(0)
    points: list[tuple[Place, Place]] = []
    for point in range(POINTS):
        at = {
            symbol: (0, extent - 1, int(random.integers(extent)))[min(point, 2)]
            for symbol, extent in extents.items()
        }
        points.append(((one, at), (other, at)))
    return points


def _agree(points: Sequence[tuple[Place, Place]], *, ordered: bool) -> bool:
    """Whether two versions have the same value in a finite field at some elements."""
    for seed, pair in enumerate(points):
        first, second = (field_value(tree, at, seed, ordered=ordered) for tree, at in pair)
        if first != second:
            return False
    return bool(points)


def _parting(one: Tree, other: Tree) -> tuple[Tree, Tree]:
    """Return the outermost nodes in which two trees differ."""
    while one.what == other.what and one.detail == other.detail:
        pairs = zip(one.parts, other.parts, strict=False)
        parting = [(mine, theirs) for mine, theirs in pairs if mine is not theirs]
        if len(one.parts) != len(other.parts) or len(parting) != 1:
            break
        one, other = parting[0]
    return one, other
