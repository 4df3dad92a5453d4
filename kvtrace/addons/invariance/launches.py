"""Launches that compute an output at several sizes of the batch, and the trees that they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.terms import Symbol


@dataclass(frozen=True, slots=True)
class Batch:
    """A size of the batch that was recorded: how many rows, and which variant ran."""

    rows: int
    variant: int
    grid: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Kept:
    """A call with an output's trees, numbers bound: of any row (None: it has one), of the first.

    `extents` has the output's coordinates, `rows` those of them that are 0 in the first row;
    `places` the ops that the nodes were made for.
    """

    batch: Batch
    whole: Tree | None
    first: Tree
    call: Call
    access: Access
    position: int
    extents: Mapping[Symbol, int]
    rows: frozenset[Symbol]
    places: Mapping[Tree, Op]


def with_most_sizes(kept: Iterable[Sequence[Kept]]) -> Sequence[Kept]:
    """Return those of several groups of calls that have the most sizes of the batch."""
    return max(kept, key=sizes_of, default=())


def sizes_of(kept: Sequence[Kept]) -> int:
    """Return at how many sizes of the batch an output was computed."""
    return len({each.batch.rows for each in kept})


def trees_of(kept: Sequence[Kept]) -> dict[Tree, dict[Batch, Kept]]:
    """Return the calls of each tree: of any row where all calls have that, else of the first."""
    whole = all(each.whole is not None for each in kept)
    found: dict[Tree, dict[Batch, Kept]] = {}
    for each in sorted(kept, key=lambda one: one.batch.rows):
        tree = each.whole if whole and each.whole is not None else each.first
        found.setdefault(tree, {})[each.batch] = each
    return found
