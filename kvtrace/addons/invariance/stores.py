"""Stores of kernels: the elements that they write, their trees, and those of two versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.addons.invariance.compared import (
    Comparison,
    Elements,
    Pair,
    compare_trees,
    sampled_indices,
)
from kvtrace.addons.invariance.coordinates import Unfollowed, is_placing
from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.loaded_integers import compared_integers
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.observe import Access as ObservedAccess
from kvtrace.evaluate.observe import Observer
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import TRUE, Condition, conjunction, in_order
from kvtrace.symbolic.summary import Access
from kvtrace.symbolic.terms import Resolve, Symbol, Term
from kvtrace.symbolic.trees.elements import TooLarge
from kvtrace.symbolic.trees.formulas import is_followed
from kvtrace.symbolic.trees.tree import Tree, level_of
from kvtrace.verdicts.replaying import TooManyLanes, run

_MOST_ELEMENTS: Final = 1 << 20
"""Limit on the elements of an output that are compared; larger outputs are sampled."""


_NO_STORE: Final = -1
_UNKNOWN_STORE: Final = -2


def _offsets(tensor: TensorArgument) -> NDArray[np.int64]:
    """Return the byte offsets of a tensor's elements, each once; a large tensor is sampled."""
    count, indices = sampled_indices(tensor.shape, _MOST_ELEMENTS)
    steps = (index * stride for index, stride in zip(indices, tensor.strides, strict=True))
    return np.unique(sum(steps, np.zeros(count, np.int64)) * tensor.element.bytes)


def _elements(store: Store, offsets: NDArray[np.int64]) -> Elements:
    """Return elements at byte offsets with their coordinates, by the steps of a store."""
    coordinate_values: dict[Symbol, NDArray[np.int64]] = {}
    remaining = offsets - store.base_offset
    for symbol, step in store.steps:
        coordinate_values[symbol], remaining = np.divmod(remaining, step)
    return Elements(store.tree, coordinate_values)


def _owners(
    stores: Sequence[Store], offsets: NDArray[np.int64], content: Resolve, *, shared: bool
) -> NDArray[np.int64]:
    """Return the index of the store that writes each element, `_NO_STORE` or `_UNKNOWN_STORE`.

    `shared`: all stores of both versions have the same condition, which is then not evaluated.
    """
    owners = np.full(offsets.size, _NO_STORE, np.int64)
    for index, store in enumerate(stores):
        if any(step <= 0 for _, step in store.steps):
            return np.full(offsets.size, _UNKNOWN_STORE, np.int64)
        coordinate_values = _elements(store, offsets).at
        distances = offsets - store.base_offset
        is_stored = (
            distances % min(step for _, step in store.steps) if store.steps else distances
        ) == 0
        try:
            is_stored = is_stored & (
                (shared and len(stores) == 1) or store.active.values(coordinate_values, content)
            )
        except KeyError:
            if len(stores) > 1:
                return np.full(offsets.size, _UNKNOWN_STORE, np.int64)
        earlier = [_NO_STORE, *(n for n in range(index) if stores[n].is_overwritten_by(store))]
        owner = np.where(np.isin(owners, earlier), index, _UNKNOWN_STORE)
        owners = np.where(is_stored, owner, owners)
    return owners


@dataclass(frozen=True, slots=True)
class Store:
    """The tree of a store and the elements that it writes.

    `steps` are the coordinates with their byte steps, `active` the condition of the store, and
    `base_offset` the byte offset of the element whose coordinates are 0. `place` is the byte offset
    by program and lane of a store outside of loops and branches; None of others.
    """

    tree: Tree
    steps: tuple[tuple[Symbol, int], ...]
    active: Condition
    base_offset: int
    place: Term | None = field(default=None, compare=False)

    def is_overwritten_by(self, later: Store) -> bool:
        """Return whether the same lane of the same program writes each element again, later."""
        return self.place is not None and self.place == later.place


def stores_of(
    kernel: Kernel, unfollowed: Collection[str] = ()
) -> dict[str, tuple[Store, ...] | None]:
    """Return the stores of each output; None for an output with a store that is not followed.

    Outputs in `unfollowed` are None, too, to save seconds of building trees.
    """
    stores_by_output: dict[str, list[Store] | None] = {}
    for access in kernel.summary.accesses:
        if access.kind == "load":
            continue
        name = kernel.name(access.argument)
        stores = stores_by_output.setdefault(name, None if name in unfollowed else [])
        if stores is None:
            continue
        store = _store(access, kernel)
        stores_by_output[name] = None if store is None else [*stores, store]
    return {
        name: None if stores_or_none is None else tuple(stores_or_none)
        for name, stores_or_none in stores_by_output.items()
    }


def _store(access: Access, kernel: Kernel) -> Store | None:
    if access.kind == "atomic":
        return None
    result = None
    for tensor in _with_axes_joined(kernel.call.tensor_at(access.argument)):
        try:
            output = coordinates_of(
                access, tensor, kernel.bound.ranges, kernel.sizes, this_call_only=True
            )
            tree = kernel.tree(access, output, bound=True)
        except (Unfollowed, TooLarge):
            continue
        if any(node.what == "unknown" for node in tree.walk()):
            return None
        base = kernel.base_offset(output)
        if base is None:
            continue
        result = Store(
            tree, tuple(kernel.steps(output)), _followed_parts(kernel.active(output)), base,
            access.offset if access.guard == TRUE and not access.loops else None,
        )  # fmt: skip
        if not _is_placed_by_more(tree):
            break
    stores = [other for other in kernel.summary.accesses if other.kind != "load"]
    reads_own_writes = result and any(
        read_after_write(result.tree, store, kernel) for store in stores
    )
    return None if reads_own_writes else result


def _followed_parts(active: Condition) -> Condition:
    """Return the parts of a store's condition that are formulas; trees have the other parts."""
    return conjunction(part for part in active.conjuncts() if is_followed(part))


def _with_axes_joined(tensor: TensorArgument | None) -> Iterator[TensorArgument | None]:
    """Yield a tensor, then the tensor with contiguous axes joined, for each choice of axes.

    A kernel may use one index for the elements of several axes.
    """
    yield tensor
    if tensor is None:
        return
    pairs = [pair for pair in zip(tensor.shape, tensor.strides, strict=True) if pair[0] > 1]
    joinable = [axis for axis in range(len(pairs) - 1) if pairs[axis][1] == prod(pairs[axis + 1])]
    for count in range(1, len(joinable) + 1):
        for chosen in combinations(joinable, count):
            shape, strides = [1], [0]
            for axis, (extent, stride) in enumerate(pairs):
                if axis and axis - 1 in chosen:
                    shape[-1] *= extent
                    strides[-1] = stride
                else:
                    shape.append(extent)
                    strides.append(stride)
            yield replace(tensor, shape=tuple(shape[1:]), strides=tuple(strides[1:]))


def _is_placed_by_more(tree: Tree) -> bool:
    """Return whether a tree depends on programs, trips or lanes besides coordinates."""
    return any(
        is_placing(atom)
        for node in tree.walk()
        for formula in node.formulas()
        for atom in formula.atoms()
        if not (isinstance(atom, Symbol) and level_of(atom) is not None)
    )


def stored_alike(
    first: Call, second: Call, position: int, pairs: Sequence[tuple[int, int]]
) -> bool:
    """Return whether both calls provably store the same elements, by their address formulas."""
    second_position = dict(pairs).get(position)
    if second_position is None:
        return False
    before, after = stored_elements(first, position), stored_elements(second, second_position)
    return before is not None and after is not None and bool((before == after).all())


def compare_stores(
    first_stores: Sequence[Store],
    second_stores: Sequence[Store],
    tensor: TensorArgument,
    deadline: float,
) -> Comparison:
    """Compare the elements of a tensor that the stores of two versions write."""
    if first_stores == second_stores:
        return Comparison("same", compared_count=prod(tensor.shape), elements=prod(tensor.shape))
    offsets, stores = _offsets(tensor), (*first_stores, *second_stores)
    content = FieldEvaluator(
        0, "exact", compared_integers([store.tree for store in stores])
    ).content
    active = {store.active for store in stores}
    first_owners, second_owners = (
        _owners(of_version, offsets, content, shared=len(active) == 1)
        for of_version in (first_stores, second_stores)
    )
    is_in_one_version = (first_owners == _NO_STORE) != (second_owners == _NO_STORE)
    is_in_one_version &= (first_owners != _UNKNOWN_STORE) & (second_owners != _UNKNOWN_STORE)
    if is_in_one_version.any():
        element = int(np.flatnonzero(is_in_one_version)[0])
        writer = "after" if first_owners[element] == _NO_STORE else "before"
        return Comparison("different", f"only {writer} writes some elements, depending on data")
    pairs: list[Pair] = []
    for first_index, first in enumerate(first_stores):
        for second_index, second in enumerate(second_stores):
            common = offsets[(first_owners == first_index) & (second_owners == second_index)]
            if common.size:
                pair = Pair(common.size, _elements(first, common), _elements(second, common))
                pairs.append(pair)
    written = int(((first_owners != _NO_STORE) | (second_owners != _NO_STORE)).sum())
    total = written if offsets.size == prod(tensor.shape) else prod(tensor.shape)
    trees = first_stores[0].tree, second_stores[0].tree
    return compare_trees(*trees, pairs, total, deadline, in_order(active))


_MOST_LANES: Final = 1 << 22
"""Limit on the stored lanes that are listed, with the numbers that make all addresses."""
_LARGEST_MASK: Final = 1 << 28
"""Limit on the elements of a mask, which takes a byte for each."""


class _StoredElements(Observer):
    """Observer of the elements of an argument that a call stores; `stored` is None if not known."""

    def __init__(self, argument: int, element_bytes: int, count: int) -> None:
        self._argument = argument
        self._element_bytes = element_bytes
        self._lanes = 0
        self.stored: NDArray[np.bool_] | None = np.zeros(count, np.bool_)

    def access(self, access: ObservedAccess) -> None:
        """Add the elements of a batch of stores through the argument, or raise TooManyLanes."""
        is_store = access.kind != "load" and access.argument == self._argument
        self._lanes += access.lanes if is_store else _numbers_of(access)
        if self._lanes > _MOST_LANES:
            raise TooManyLanes(
                f"it stores more than {_MOST_LANES:,} lanes, or its addresses are more"
            )
        if not is_store or self.stored is None:
            return
        elements = access.elements() if access.certain and access.active is not None else None
        if elements is None:
            self.stored = None
            return
        offsets, size = elements[0], self._element_bytes
        indices = offsets[(offsets >= 0) & (offsets % size == 0)] // size
        self.stored[indices[indices < self.stored.size]] = True


def _numbers_of(access: ObservedAccess) -> int:
    """Return how many numbers an access's addresses are made of: mostly few, for many lanes."""
    return access.lanes if access.parts is None else sum(term.size for term in access.parts.terms)


def stored_elements(call: Call, argument: int) -> NDArray[np.bool_] | None:
    """Return a mask of the elements that the recorded call stores, in the tensor's shape.

    None if data decide what is stored, the call cannot be evaluated, or there are too many lanes
    or elements.
    """
    tensor = call.tensor_at(argument)
    if tensor is None or 0 in tensor.shape or min(tensor.strides, default=0) < 0:
        return None
    size = tensor.element.bytes
    count = tensor.view_bytes[1] // size
    if max(count, prod(tensor.shape)) > _LARGEST_MASK:
        return None
    observer = _StoredElements(argument, size, count)
    if run(call, [observer], contents="none") is not None or observer.stored is None:
        return None
    return np.lib.stride_tricks.as_strided(observer.stored, tensor.shape, tensor.strides)
