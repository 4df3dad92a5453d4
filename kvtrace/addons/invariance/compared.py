"""Comparison of two trees: equal, equal up to the order of sums, or the nodes that differ.

Random integers rarely show that two formulas differ: `a % 1000 == 7 and a // 1000 == 3` is true for
one of four billion integers. So formulas are compared by `kvtrace.symbolic.prover`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.addons.invariance.loaded_integers import compared_integers, data_keys
from kvtrace.addons.invariance.repeated import Arithmetic, NotEvaluated
from kvtrace.addons.invariance.whole_numbers import WholeNumbers
from kvtrace.addons.invariance.wording import coordinate_names, node_text
from kvtrace.symbolic.conditions import Condition, conjunction, disjunction, equal
from kvtrace.symbolic.prover import Decision, Given, Proven, Ranges, Refuted, prove
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.symbolic.trees.formulas import is_followed
from kvtrace.symbolic.trees.tree import COMMUTATIVE, Tree, operator_of

Relation = Literal["same", "equal", "reassociated", "exact", "different"]
"""
- same: one tree, for all elements and sizes.
- equal: different trees with the same operations in the same order for the compared elements.
- reassociated: equal up to the order of sums of floats and of maxima.
- exact: equal if sums, products, quotients and exponentials were not rounded.
- different: none of these.

Equal, reassociated and exact are found by evaluating both trees with random functions in place of
operations, at the recorded sizes.
"""

RELATIONS: Final[tuple[Relation, ...]] = ("same", "equal", "reassociated", "exact", "different")
"""From the closest relation to the most distant one."""

_ARITHMETIC: Final[tuple[tuple[Relation, Arithmetic], ...]] = (
    ("equal", "ordered"), ("reassociated", "sums"), ("exact", "exact"), ("exact", "functions"),
)  # fmt: skip
_FIRST: Final = 6
"""Number of elements that are compared first, with three sets of random memory contents."""
_SEEDS: Final = 3
_MOST_WORK: Final = 1 << 27
"""Limit on the numbers computed for an output in each version; larger outputs are sampled."""
_AT_ONCE: Final = 1 << 19
"""Limit on the numbers of a node that are computed at once."""
_SHARED: Final = "which of its stores writes an element is not known", None
_MOST_PAIRS: Final = 2_000
"""Limit on the pairs of nodes that are searched for the difference of two trees."""


class Elements(Struct, frozen=True):
    """The elements that a version computes by one tree; `at` has their coordinates' values."""

    tree: Tree
    at: Mapping[Symbol, NDArray[np.int64]]

    def values_at(self, places: NDArray[np.int64]) -> Mapping[Symbol, NDArray[np.int64]]:
        """Return each coordinate's values at the elements with the given indices."""
        return {symbol: numbers[places] for symbol, numbers in self.at.items()}


class Pair(Struct, frozen=True):
    """`count` elements of an output, with their tree in each version."""

    count: int
    first: Elements
    second: Elements


class Comparison(Struct, frozen=True):
    """The relation of two trees.

    `first` and `second` are the texts of the nodes that differ, if any. `evaluated`: both trees
    were evaluated; otherwise "different" trees may still be equal. `compared_count` of `elements`
    elements were compared.
    """

    relation: Relation
    first: str | None = None
    second: str | None = None
    evaluated: bool = False
    compared_count: int = 0
    elements: int = 0

    @property
    def is_whole(self) -> bool:
        """Return whether all elements were compared."""
        return self.compared_count == self.elements


def sampled_indices(extents: Sequence[int], most: int) -> tuple[int, list[NDArray[np.int64]]]:
    """Return the number of elements and their indices for each axis, in row-major order.

    Of more than `most` elements a sample, with the first and the last.
    """
    total = min(prod(extents), 2**63 - 1)
    if total <= most:
        numbers = np.arange(total, dtype=np.int64)
    else:
        sample = np.random.default_rng(0).integers(total, size=most - 2)
        numbers = np.unique(np.append(sample, (0, total - 1)))
    count, indices = numbers.size, []
    for extent in reversed(extents):
        numbers, index = np.divmod(numbers, extent)
        indices.append(index)
    return count, indices[::-1]


def compare_trees(
    first_tree: Tree,
    second_tree: Tree,
    pairs: Sequence[Pair],
    elements: int,
    deadline: float = float("inf"),
    store_conditions: Sequence[Condition] = (),
) -> Comparison:
    """Compare two trees with numbers in place of scalars and the same argument names.

    Args:
        first_tree: A tree.
        second_tree: The other tree.
        pairs: Elements of the output, by the tree of either version.
        elements: The number of the output's elements, also of those in no pair.
        deadline: The `time.thread_time` at which the comparison is given up.
        store_conditions: Conditions under which the output is written.
    """
    if first_tree is second_tree and all(_is_same(pair) for pair in pairs) and pairs:
        return Comparison("same", compared_count=elements, elements=elements)
    if (
        len(pairs) == 1
        and _is_placed_alike(pairs[0])
        and TreeProver().are_equal(first_tree, second_tree)
    ):
        return Comparison("equal", compared_count=pairs[0].count, elements=elements)
    first_text, second_text = (
        _SHARED if first_tree is second_tree else differing_node_texts(first_tree, second_tree)
    )
    difference = Comparison("different", first_text, second_text, elements=elements)
    if not pairs:
        return difference
    try:
        pairs = [
            replace(pair, first=_with_integers(pair.first), second=_with_integers(pair.second))
            for pair in pairs
        ]
        for relation, arithmetic in _ARITHMETIC:
            count = _count_agreeing(pairs, arithmetic, deadline, store_conditions)
            if count:
                return replace(difference, relation=relation, evaluated=True, compared_count=count)
    except NotEvaluated:
        return difference
    return replace(difference, evaluated=True, compared_count=sum(pair.count for pair in pairs))


def _with_integers(elements: Elements) -> Elements:
    return replace(elements, tree=WholeNumbers().tree(elements.tree))


def _is_same(pair: Pair) -> bool:
    return pair.first.tree is pair.second.tree and _is_placed_alike(pair)


def _is_placed_alike(pair: Pair) -> bool:
    """Return whether the symbols of both versions have the same numbers at each element."""
    first_values, second_values = pair.first.at, pair.second.at
    return first_values.keys() == second_values.keys() and all(
        np.array_equal(numbers, second_values[symbol]) for symbol, numbers in first_values.items()
    )


def _count_agreeing(
    pairs: Sequence[Pair],
    arithmetic: Arithmetic,
    deadline: float,
    store_conditions: Sequence[Condition],
) -> int:
    """Return the number of elements that were compared, few first; 0 if some element differs."""
    agreeing = 0
    trees = [elements.tree for pair in pairs for elements in (pair.first, pair.second)]
    integers, data_integers = compared_integers(trees), data_keys(trees, store_conditions)

    def evaluator_of(seed: int) -> FieldEvaluator:
        return FieldEvaluator(seed, arithmetic, integers, deadline, data_integers)

    for pair in pairs:
        sample = np.unique(np.linspace(0, pair.count - 1, _FIRST).astype(np.int64))
        costs = []
        for seed in range(_SEEDS):
            evaluator = evaluator_of(seed)
            if not _are_equal(pair, sample, evaluator):
                return 0
            costs.append((evaluator.work / (2 * sample.size), evaluator.largest / sample.size))
        cost_per_element, largest = map(max, zip(*costs, strict=True))
        sample_size = max(int(_MOST_WORK // cost_per_element), sample.size)
        sampled = np.random.default_rng(0).permutation(pair.count)[:sample_size]
        chunk = max(1, int(_AT_ONCE // max(largest, 1)))
        for chunk_start in range(0, sampled.size, chunk):
            places = np.sort(sampled[chunk_start : chunk_start + chunk])
            if not _are_equal(pair, places, evaluator_of(0)):
                return 0
        agreeing += sampled.size
    return agreeing


def _are_equal(pair: Pair, element_indices: NDArray[np.int64], evaluator: FieldEvaluator) -> bool:
    first_values, second_values = (
        evaluator.values(elements.tree, elements.values_at(element_indices))
        for elements in (pair.first, pair.second)
    )
    return bool((first_values == second_values).all())


# -- differing nodes -----------------------------------------------------------------------------


def differing_node_texts(first_root: Tree, second_root: Tree) -> tuple[str, str]:
    """Return the texts of the outermost pair of nodes that differ.

    If no such pair is found in `_MOST_PAIRS` pairs, both texts name the root.
    """
    names = coordinate_names((first_root, second_root))
    pending = deque([(first_root, second_root)])
    visited = {(first_root, second_root)}
    while pending and len(visited) < _MOST_PAIRS:
        first, second = pending.popleft()
        texts = node_text(first, names), node_text(second, names)
        if texts[0] != texts[1]:
            return texts
        if len(first.parts) != len(second.parts):
            return _text_with_part_count(texts[0], first), _text_with_part_count(texts[1], second)
        for pair in _differing_parts(first, second, names):
            if pair not in visited:
                visited.add(pair)
                pending.append(pair)
    root_text = node_text(first_root, names)
    return root_text, f"{root_text}, made of the same parts in another way"


def _text_with_part_count(text: str, node: Tree) -> str:
    return f"{text}, of {len(node.parts)} parts"


def _differing_parts(
    first_node: Tree, second_node: Tree, names: Mapping[int, str]
) -> Iterator[tuple[Tree, Tree]]:
    """Yield the different operands of two nodes in pairs; of sums, those not in both nodes."""
    first_parts, second_parts = list(first_node.parts), list(second_node.parts)
    if operator_of(first_node) in COMMUTATIVE:
        shared = set(first_parts) & set(second_parts)
        first_parts, second_parts = (
            sorted(
                (part for part in parts if part not in shared),
                key=lambda node: (node.what, node_text(node, names), len(node.parts)),
            )
            for parts in (first_parts, second_parts)
        )
    yield from (
        pair for pair in zip(first_parts, second_parts, strict=False) if pair[0] is not pair[1]
    )


_MOST_CLAIMS: Final = 12
"""Limit on the claims to prove about a pair of trees (0.3 s each), and on the pairs of trees."""
_COMMON_SYMBOLS: Final = frozenset({"content", "lane"})
"""Kinds of symbols that mean the same in two kernels; trips and programs may be of another loop or
grid."""
_FORMULAS: Final = ("integer", "condition")


class TreeProver:
    """Prover of the equality of trees over the same symbols; at most `_MOST_CLAIMS` claims."""

    def __init__(self) -> None:
        self._ranges = Ranges({})
        self._equal: dict[tuple[Tree, Tree], bool] = {}
        self._claims = 0

    def are_equal(self, first: Tree, second: Tree) -> bool:
        """Return whether two trees are proven to have the same value for all contents of memory."""
        if first is second:
            return True
        pair = first, second
        if pair not in self._equal:
            self._equal[pair] = self._is_proven(*pair)
        return self._equal[pair]

    def _is_proven(self, first: Tree, second: Tree) -> bool:
        if (
            first.what in _FORMULAS
            and first.what == second.what
            and first.detail[1:] == second.detail[1:]
        ):
            return isinstance(self._decide_equality(first.detail[0], second.detail[0]), Proven)
        if first.what != second.what or first.detail != second.detail:
            return False
        return len(first.parts) == len(second.parts) and all(
            map(self.are_equal, first.parts, second.parts)
        )

    def differing_integers(self, first: Tree, second: Tree) -> Iterator[int]:
        """Yield loaded integers for which the prover finds two trees' formulas unequal."""
        if first.what == second.what == "integer":
            yield from _refuting_contents(self._decide_equality(first.detail[0], second.detail[0]))
        first_conditions, second_conditions = (
            {node.detail[0] for node in tree.walk() if node.what == "condition"}
            for tree in (first, second)
        )
        for condition in sorted(first_conditions ^ second_conditions, key=repr):
            for claim in (condition, ~condition):
                yield from _refuting_contents(self._decide(claim))

    def _decide_equality(
        self, first: Term | Condition, second: Term | Condition
    ) -> Decision | None:
        if isinstance(first, Term) and isinstance(second, Term):
            return self._decide(equal(first, second))
        if isinstance(first, Condition) and isinstance(second, Condition):
            both, neither = conjunction((first, second)), conjunction((~first, ~second))
            return self._decide(disjunction((both, neither)))
        return None

    def _decide(self, claim: Condition) -> Decision | None:
        kinds = {atom.kind for atom in claim.atoms() if isinstance(atom, Symbol)}
        if self._claims == _MOST_CLAIMS or not is_followed(claim) or not kinds <= _COMMON_SYMBOLS:
            return None
        self._claims += 1
        return prove(claim, Given((), self._ranges))


def _refuting_contents(decision: Decision | None) -> Iterator[int]:
    if isinstance(decision, Refuted):
        for symbol, number in decision.model.items():
            if isinstance(symbol, Symbol) and symbol.kind == "content":
                yield number


def differing_integers(first_trees: Iterable[Tree], second_trees: Iterable[Tree]) -> set[int]:
    """Return loaded integers for which some tree of each version may differ."""
    prover = TreeProver()
    pairs = (
        (first, second) for first in first_trees for second in second_trees if first is not second
    )
    return {
        number
        for pair in islice(pairs, _MOST_CLAIMS)
        for number in prover.differing_integers(*pair)
    }
