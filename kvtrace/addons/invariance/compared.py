"""Comparison of two trees: equal, equal up to the order of sums, or the nodes that differ."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from kvtrace.addons.invariance.alike import Alike
from kvtrace.addons.invariance.field import Arithmetic, NotEvaluated, Points, data_of, integers_of
from kvtrace.addons.invariance.trees import COMMUTATIVE
from kvtrace.addons.invariance.wording import coordinate_names, node_text
from kvtrace.ir.ops import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.terms import Symbol

Relation = Literal["same", "equal", "reassociated", "exact", "different"]
"""
- same: one tree, for all elements and sizes.
- equal: other trees, which make the compared elements in the same order at these sizes, as far as
  random functions for the operations tell.
- reassociated: the same up to the order of sums of floats, and of maxima, likewise.
- exact: the same where sums, products, quotients, exponentials, logarithms and roots are not
  rounded, likewise.
- different: none of these.
"""

RELATIONS: Final[tuple[Relation, ...]] = ("same", "equal", "reassociated", "exact", "different")
"""From the one that is nearest."""

_ARITHMETIC: Final[tuple[tuple[Relation, Arithmetic], ...]] = (
    ("equal", "ordered"), ("reassociated", "sums"), ("exact", "exact"), ("exact", "functions"),
)  # fmt: skip
_FIRST: Final = 6
"""Number of elements that are compared first, with three sets of random memory contents."""
_SEEDS: Final = 3
_SEEDS_OF_ROOTS: Final = 40
"""Sets of numbers in memory where roots are taken: `sqrt(x * x)` is x for half of the numbers."""
_MOST_WORK: Final = 1 << 27
"""Limit on the numbers computed for an output in each version; larger outputs are sampled."""
_AT_ONCE: Final = 1 << 19
"""Limit on the numbers of a node that are computed at once."""
_SHARED: Final = "which of its stores writes an element is not known", None
_MOST_PAIRS: Final = 2_000
"""Limit on the pairs of nodes that are searched for the difference of two trees."""


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of an output that a version computes by one tree: each symbol's values there."""

    tree: Tree
    at: Mapping[Symbol, NDArray[np.int64]]

    def chosen(self, places: NDArray[np.int64]) -> Mapping[Symbol, NDArray[np.int64]]:
        """Return each symbol's values at the elements with the given indices."""
        return {symbol: numbers[places] for symbol, numbers in self.at.items()}


@dataclass(frozen=True, slots=True)
class Pair:
    """`count` elements of an output, by the tree of either version."""

    count: int
    first: Elements
    second: Elements


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation of two trees; `first` and `second` are the parts that differ, as text.

    `evaluated`: both trees were evaluated; otherwise "different" trees may still be equal.
    `compared` of `elements` elements were compared.
    """

    relation: Relation
    first: str | None = None
    second: str | None = None
    evaluated: bool = False
    compared: int = 0
    elements: int = 0

    @property
    def is_whole(self) -> bool:
        """Return whether all elements were compared."""
        return self.compared == self.elements


def compared(
    one: Tree,
    other: Tree,
    pairs: Sequence[Pair],
    elements: int,
    deadline: float = float("inf"),
    placing: Sequence[Condition] = (),
) -> Comparison:
    """Compare two trees, whose numbers are bound and whose arguments have the same names.

    Args:
        one: A tree.
        other: The other tree.
        pairs: Elements of the output, by the tree of either version.
        elements: The number of the output's elements, also of those in no pair.
        deadline: The `time.thread_time` at which the comparison is given up.
        placing: Conditions under which the output is written.

    """
    if one is other and all(_is_same(pair) for pair in pairs) and pairs:
        return Comparison("same", compared=elements, elements=elements)
    if len(pairs) == 1 and _is_placed_alike(pairs[0]) and Alike().are_equal(one, other):
        return Comparison("equal", compared=pairs[0].count, elements=elements)
    first, second = _SHARED if one is other else parting_texts(one, other)
    difference = Comparison("different", first, second, elements=elements)
    if not pairs:
        return difference
    try:
        for relation, arithmetic in _ARITHMETIC:
            count = _agreeing(pairs, arithmetic, deadline, placing)
            if count:
                return replace(difference, relation=relation, evaluated=True, compared=count)
    except NotEvaluated:
        return difference
    return replace(difference, evaluated=True, compared=sum(pair.count for pair in pairs))


def _is_same(pair: Pair) -> bool:
    return pair.first.tree is pair.second.tree and _is_placed_alike(pair)


def _is_placed_alike(pair: Pair) -> bool:
    """Return whether the symbols of both versions have the same numbers at each element."""
    mine, theirs = pair.first.at, pair.second.at
    return mine.keys() == theirs.keys() and all(
        np.array_equal(numbers, theirs[symbol]) for symbol, numbers in mine.items()
    )


def _agreeing(
    pairs: Sequence[Pair], arithmetic: Arithmetic, deadline: float, placing: Sequence[Condition]
) -> int:
    """Return the number of elements that were compared and agree; 0 if any element differs."""
    total = 0
    trees = [elements.tree for pair in pairs for elements in (pair.first, pair.second)]
    integers, data = integers_of(trees), data_of(trees, placing)

    def points_of(seed: int) -> Points:
        return Points(seed, arithmetic, integers, deadline, data)

    for pair in pairs:
        few = np.unique(np.linspace(0, pair.count - 1, _FIRST).astype(np.int64))
        works = []
        has_roots = False
        for seed in range(_SEEDS_OF_ROOTS):
            if seed >= _SEEDS and not has_roots:
                break
            points = points_of(seed)
            if _unlike(pair, few, points) is None:
                return 0
            has_roots |= points.has_roots
            works.append((points.work / (2 * few.size), points.largest / few.size))
        work, largest = map(max, zip(*works, strict=True))
        most = max(int(_MOST_WORK // work), few.size)
        order = np.random.default_rng(0).permutation(pair.count)[:most]
        step = max(1, int(_AT_ONCE // max(largest, 1)))
        for begin in range(0, order.size, step):
            places = np.sort(order[begin : begin + step])
            for seed in range(_SEEDS_OF_ROOTS):
                undefined = _unlike(pair, places, points_of(seed))
                if undefined is None:
                    return 0
                places = places[undefined]
                if not places.size:
                    break
            if places.size:
                return 0
        total += order.size
    return total


def _unlike(pair: Pair, places: NDArray[np.int64], points: Points) -> NDArray[np.bool_] | None:
    """Return the mask of elements that cannot be compared: a root has no value in the field.

    None if an element has different values in the versions.
    """
    mine, theirs = (
        points.values(each.tree, each.chosen(places)) for each in (pair.first, pair.second)
    )
    undefined = np.broadcast_to(points.undefined, places.shape)
    return undefined if bool(((mine == theirs) | undefined).all()) else None


# -- where they part -----------------------------------------------------------------------------


def parting_texts(one: Tree, other: Tree) -> tuple[str, str]:
    """Return the texts of the outermost nodes at which two trees differ."""
    names = coordinate_names((one, other))
    pending = deque([(one, other)])
    visited = {(one, other)}
    while pending and len(visited) < _MOST_PAIRS:
        mine, theirs = pending.popleft()
        texts = node_text(mine, names), node_text(theirs, names)
        if texts[0] != texts[1]:
            return texts
        if len(mine.parts) != len(theirs.parts):
            return _counted(texts[0], mine), _counted(texts[1], theirs)
        for pair in _parting_parts(mine, theirs, names):
            if pair not in visited:
                visited.add(pair)
                pending.append(pair)
    text = node_text(one, names)
    return text, f"{text}, made of the same parts in another way"


def _counted(text: str, node: Tree) -> str:
    return f"{text}, of {len(node.parts)} parts"


def _parting_parts(one: Tree, other: Tree, names: Mapping[int, str]) -> Iterator[tuple[Tree, Tree]]:
    """Yield pairs of parts that differ; of commutative operands, those not in both nodes."""
    mine, theirs = list(one.parts), list(other.parts)
    if _operator(one) in COMMUTATIVE:
        shared = set(mine) & set(theirs)
        mine, theirs = (
            sorted(
                (part for part in parts if part not in shared),
                key=lambda node: (node.what, node_text(node, names), len(node.parts)),
            )
            for parts in (mine, theirs)
        )
    yield from (pair for pair in zip(mine, theirs, strict=False) if pair[0] is not pair[1])


def _operator(node: Tree) -> Any:
    name = node.detail[0] if node.what == "op" else ""
    return KINDS[name].operator if name in KINDS else ""
