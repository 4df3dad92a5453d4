"""Recorded launches at several sizes of the batch, and the trees of a row in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from time import thread_time
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.invariance.compared import RELATIONS, Comparison, Elements, Pair, compared
from kvtrace.addons.invariance.elements import TooLarge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.terms import Symbol

_SECONDS: Final = 4.0
"""So long trees of several sizes are compared."""
_MOST_ELEMENTS: Final = 1 << 16
"""Of a row, or of all, at which trees are compared; of larger ones some elements are."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A recorded size of the batch: the number of rows, and the kernel variant that ran."""

    rows: int
    variant: int
    grid: tuple[int, int, int]


@dataclass(frozen=True)
class Across:
    """The comparison of a row's trees between launches at several sizes of the batch.

    `trees` has the batches of each tree that occurs; `comparison` is of the first and the one that
    differs the most from it.
    """

    trees: tuple[tuple[Batch, ...], ...]
    comparison: Comparison


@dataclass(frozen=True, eq=False)
class Kept:
    """A call with what makes an output's trees, numbers bound: of all rows, or of the first.

    `several`: the call has a tree of all rows. `extents` has the output's coordinates, `rows` those
    of them that are 0 in the first row; `places` the ops that the nodes of its trees were made for.
    `stored` gives which elements of the output the call stores, None where that is not known.
    """

    batch: Batch
    several: bool
    tree: Callable[[bool], Tree]
    call: Call
    access: Access
    position: int
    extents: Mapping[Symbol, int]
    rows: frozenset[Symbol]
    places: Mapping[Tree, Op]
    stored: Callable[[], NDArray[np.bool_] | None]


def with_most_sizes(kept: Iterable[Sequence[Kept]]) -> Sequence[Kept]:
    """Return the group of calls that has the most sizes of the batch."""
    return max(kept, key=sizes_of, default=())


def have_all_rows(kept: Sequence[Kept]) -> bool:
    """Return whether each call has a tree of all rows, to compare instead of the first row's."""
    return all(launch.several for launch in kept)


def by_tree(kept: Sequence[Kept]) -> dict[Tree, dict[Batch, Kept]]:
    """Return calls by their trees, the smallest batch first; none where a tree is too large."""
    whole = have_all_rows(kept)
    calls_by_tree: dict[Tree, dict[Batch, Kept]] = {}
    for launch in sorted(kept, key=lambda one: one.batch.rows):
        try:
            calls_by_tree.setdefault(launch.tree(whole), {})[launch.batch] = launch
        except TooLarge:
            return {}
    return calls_by_tree


def worst_comparison(trees: Mapping[Tree, Mapping[Batch, Kept]]) -> Comparison:
    """Return the comparison of the first tree with the one that differs most, where both exist."""
    worst = Comparison("same")
    deadline = thread_time() + _SECONDS
    (first, first_batches), *others = trees.items()
    whole = all(launch.several for batches in trees.values() for launch in batches.values())
    for tree, batches in others:
        one, other = (next(iter(launches.values())) for launches in (first_batches, batches))
        both = {**other.extents, **one.extents}
        extents = {
            symbol: min(extent, other.extents.get(symbol, extent))
            for symbol, extent in both.items()
            if whole or symbol not in (one.rows | other.rows)
        }
        comparison = compared(
            first, tree, [_pair(first, tree, extents)], prod(extents.values()), deadline
        )
        if RELATIONS.index(comparison.relation) > RELATIONS.index(worst.relation):
            worst = comparison
    return worst


def _pair(first: Tree, second: Tree, extents: Mapping[Symbol, int]) -> Pair:
    """Return elements whose coordinates are the same in both trees, and go so far."""
    total = prod(extents.values())
    places = np.arange(total, dtype=np.int64)
    if total > _MOST_ELEMENTS:
        random = np.random.default_rng(0).integers(total, size=_MOST_ELEMENTS - 2)
        places = np.unique(np.append(random, (0, total - 1)))
    indices = np.unravel_index(places, tuple(extents.values())) if extents else ()
    at = dict(zip(extents, indices, strict=True))
    return Pair(places.size, Elements(first, at), Elements(second, at))


def sizes_of(kept: Sequence[Kept]) -> int:
    """Return the number of batch sizes at which calls were launched."""
    return len({each.batch.rows for each in kept})
