"""Recorded launches at several sizes of the batch, and the trees of a row in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from time import thread_time
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.invariance.compared import (
    RELATIONS,
    Comparison,
    Elements,
    Pair,
    compare_trees,
    sampled_indices,
)
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.trees.elements import TooLarge
from kvtrace.symbolic.trees.tree import Tree

_SECONDS: Final = 4.0
"""CPU time limit for comparing an output's trees of several sizes."""
_MOST_ELEMENTS: Final = 1 << 16
"""Limit on the elements at which trees are compared; larger rows or tensors are sampled."""


class Batch(Struct, frozen=True):
    """A recorded size of the batch: its number of rows, the number of the variant, the grid."""

    rows: int
    variant: int
    grid: tuple[int, int, int]


class SizeComparison(Struct, frozen=True):
    """The comparison of a row's trees between launches at several sizes of the batch.

    `trees` has, for each different tree, the batches in which it occurs, the smallest batch first.
    `comparison` is between the first tree and the tree that differs from it the most.
    """

    trees: tuple[tuple[Batch, ...], ...]
    comparison: Comparison


class ComparedCall(Struct, frozen=True, eq=False):
    """A recorded call whose trees of an output are compared with those of other calls.

    `tree(whole)` builds the tree of all rows, or of the first row, with the call's numbers in place
    of arguments; `has_all_rows` says whether the former is possible. `extents` are the
    extents of the output's coordinates, and `rows` the coordinates that are 0 in the first row.
    `stored` returns the mask of the elements that the call stores, or None.
    """

    batch: Batch
    has_all_rows: bool
    tree: Callable[[bool], Tree]
    call: Call
    position: int
    extents: Mapping[Symbol, int]
    rows: frozenset[Symbol]
    stored: Callable[[], NDArray[np.bool_] | None]


def calls_of_most_sizes(groups: Iterable[Sequence[ComparedCall]]) -> Sequence[ComparedCall]:
    """Return the group of calls with the most batch sizes; empty if there are no groups."""
    return max(groups, key=count_sizes, default=())


def calls_by_tree(calls: Sequence[ComparedCall]) -> dict[Tree, dict[Batch, ComparedCall]]:
    """Group calls by tree and batch, the smallest batch first; empty if a tree is too large."""
    of_all_rows = all(call.has_all_rows for call in calls)  # or else of the first row
    batches_by_tree: dict[Tree, dict[Batch, ComparedCall]] = {}
    for call in sorted(calls, key=lambda one: one.batch.rows):
        try:
            batches_by_tree.setdefault(call.tree(of_all_rows), {})[call.batch] = call
        except TooLarge:
            return {}
    return batches_by_tree


def worst_comparison(trees: Mapping[Tree, Mapping[Batch, ComparedCall]]) -> Comparison:
    """Compare the first tree with each other one; return the comparison that differs most."""
    worst = Comparison("same")
    deadline = thread_time() + _SECONDS
    (first, first_batches), *others = trees.items()
    of_all_rows = all(c.has_all_rows for batches in trees.values() for c in batches.values())
    for tree, batches in others:
        first_call, call = next(iter(first_batches.values())), next(iter(batches.values()))
        all_extents = {**call.extents, **first_call.extents}
        extents = {
            symbol: min(extent, call.extents.get(symbol, extent))
            for symbol, extent in all_extents.items()
            if of_all_rows or symbol not in (first_call.rows | call.rows)
        }
        comparison = compare_trees(
            first, tree, [_common_elements(first, tree, extents)], prod(extents.values()), deadline
        )
        if RELATIONS.index(comparison.relation) > RELATIONS.index(worst.relation):
            worst = comparison
    return worst


def _common_elements(first: Tree, second: Tree, extents: Mapping[Symbol, int]) -> Pair:
    """Return elements with equal coordinates in both trees; large extents are sampled."""
    count, indices = sampled_indices(tuple(extents.values()), _MOST_ELEMENTS)
    values = dict(zip(extents, indices, strict=True))
    return Pair(count, Elements(first, values), Elements(second, values))


def count_sizes(calls: Sequence[ComparedCall]) -> int:
    """Return the number of different batch sizes of calls."""
    return len({call.batch.rows for call in calls})
