"""Stores of kernels: the elements that they write, their trees, and those of two versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.addons.invariance.compared import Comparison, Elements, Pair, compare_trees
from kvtrace.addons.invariance.coordinates import Unfollowed, is_placing
from kvtrace.addons.invariance.elements import TooLarge
from kvtrace.addons.invariance.field import FieldEvaluator
from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.loaded_integers import compared_integers
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.trees import Tree, level_of
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.symbolic.conditions import conjunction
from kvtrace.symbolic.terms import Symbol

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.terms import Resolve, Term

_MOST_ELEMENTS: Final = 1 << 20
"""Limit on the elements of an output that are compared; larger outputs are sampled."""


_NO_STORE: Final = -1
_UNKNOWN_STORE: Final = -2


def _offsets(tensor: TensorArgument) -> NDArray[np.int64]:
    """Return the byte offsets of a tensor's elements, each once; a large tensor is sampled."""
    total = prod(tensor.shape)
    flat_indices = np.arange(total, dtype=np.int64)
    if total > _MOST_ELEMENTS:
        random = np.random.default_rng(0).integers(total, size=_MOST_ELEMENTS - 2)
        flat_indices = np.unique(np.append(random, (0, total - 1)))
    indices = np.unravel_index(flat_indices, tensor.shape) if tensor.shape else ()
    steps = (index * stride for index, stride in zip(indices, tensor.strides, strict=True))
    return np.unique(sum(steps, np.zeros(flat_indices.size, np.int64)) * tensor.element.bytes)


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
        owners = np.where(is_stored, np.where(owners == _NO_STORE, index, _UNKNOWN_STORE), owners)
    return owners


@dataclass(frozen=True, slots=True)
class Store:
    """The tree of a store and the elements that it writes.

    `steps` are the coordinates with their byte steps, `active` the condition of the store, and
    `base_offset` the byte offset of the element whose coordinates are 0.
    """

    tree: Tree
    steps: tuple[tuple[Symbol, int], ...]
    active: Condition
    base_offset: int


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
    for tensor in _with_axes_joined(kernel.tensor(access.argument)):
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
            tree, tuple(kernel.steps(output)), _followed_parts(kernel.active(output)), base
        )
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
    before, after = (
        stored_elements(Kernel(first), position),
        stored_elements(Kernel(second), second_position),
    )
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
    return compare_trees(*trees, pairs, total, deadline, tuple(active))


_MOST_LANES: Final = 1 << 22
"""Limit on the lanes of all programs and trips that are enumerated for a store."""
_AT_ONCE: Final = 1 << 20


def stored_elements(kernel: Kernel, argument: int) -> NDArray[np.bool_] | None:
    """Return a mask of the elements that the recorded call stores, in the tensor's shape.

    None if data decide what is stored, a formula is not followed, or there are too many lanes.
    """
    tensor = kernel.tensor(argument)
    if tensor is None or 0 in tensor.shape or any(stride < 0 for stride in tensor.strides):
        return None
    stored = np.zeros(tensor.view_bytes[1] // tensor.element.bytes, np.bool_)
    for access in kernel.summary.accesses:
        if access.kind == "load" or access.argument != argument:
            continue
        offsets = _active_chunks(access, kernel)
        if offsets is None:
            return None
        for chunk in offsets:
            indices = (
                chunk[(chunk >= 0) & (chunk % tensor.element.bytes == 0)] // tensor.element.bytes
            )
            stored[indices[indices < stored.size]] = True
    return _viewed(stored, tensor)


def _viewed(stored: NDArray[np.bool_], tensor: TensorArgument) -> NDArray[np.bool_]:
    return np.lib.stride_tricks.as_strided(stored, tensor.shape, tensor.strides)


def _active_chunks(access: Access, kernel: Kernel) -> Iterator[NDArray[np.int64]] | None:
    """Return chunks of the byte offsets of all active lanes of an access, or None."""
    if not is_followed(access.offset) or not is_followed(access.active):
        return None
    atoms = access.offset.atoms() | access.active.atoms()
    symbols = {atom for atom in atoms if isinstance(atom, Symbol)}
    scalars = _scalars(symbols, kernel)
    if scalars is None:
        return None
    extents = _extents(access, kernel, symbols - scalars.keys())
    if extents is None or prod(extents.values()) > _MOST_LANES:
        return None
    return _offsets_of_active(access, extents, scalars)


def _scalars(symbols: Set[Symbol], kernel: Kernel) -> dict[Symbol, int] | None:
    """Return the recorded numbers of scalars and grid extents; None if one is not known."""
    uniform = [symbol for symbol in symbols if symbol.kind in ("scalar", "programs")]
    intervals = {symbol: kernel.bound.ranges.of(symbol) for symbol in uniform}
    if any(low != high for low, high in intervals.values()):
        return None
    return {symbol: low for symbol, (low, _) in intervals.items()}


def _extents(access: Access, kernel: Kernel, symbols: Set[Symbol]) -> dict[Symbol, int] | None:
    """Return the number of values of each symbol; None if it, or a loop's trips, is unknown."""
    extents_by_symbol = {
        symbol: kernel.call.grid[symbol.key] for symbol in symbols
        if symbol.kind == "program" and isinstance(symbol.key, int)
    }  # fmt: skip
    for loop in access.loops:
        if loop.trip not in symbols:
            continue
        trips = _most_trips(loop.trips, extents_by_symbol, kernel)
        if trips is None:
            return None
        extents_by_symbol[loop.trip] = max(trips, 0)
    extents_by_symbol |= {symbol: symbol.high + 1 for symbol in symbols if symbol.kind == "lane"}
    return extents_by_symbol if extents_by_symbol.keys() == symbols else None


def _most_trips(trips: Term, extents: Mapping[Symbol, int], kernel: Kernel) -> int | None:
    """Return the largest number of trips of a loop in any program, or None if unknown."""
    symbols = {atom for atom in trips.atoms() if isinstance(atom, Symbol)}
    scalars = _scalars(symbols, kernel) if is_followed(trips) else None
    if scalars is None:
        return None
    varying: dict[Symbol, int] = {}
    for symbol in symbols - scalars.keys():
        if symbol.kind == "program" and isinstance(symbol.key, int):
            varying[symbol] = kernel.call.grid[symbol.key]
        elif symbol in extents:
            varying[symbol] = extents[symbol]
        else:
            return None
    if prod(varying.values()) > _MOST_LANES:
        return None
    index_grids = np.ogrid[tuple(slice(extent) for extent in varying.values())]
    values: dict[Symbol, Any] = {**scalars, **dict(zip(varying, index_grids, strict=True))}
    return int(np.max(trips.values(values), initial=0))


def _offsets_of_active(
    access: Access, extents: dict[Symbol, int], scalars: dict[Symbol, int]
) -> Iterator[NDArray[np.int64]]:
    symbols = sorted(extents, key=lambda symbol: (symbol.kind != "program", symbol.order))
    total = prod(extents.values())
    shape = tuple(extents[symbol] for symbol in symbols)
    for begin in range(0, total, _AT_ONCE):
        flat = np.arange(begin, min(begin + _AT_ONCE, total), dtype=np.int64)
        indices = np.unravel_index(flat, shape) if shape else ()
        values: dict[Symbol, Any] = {**scalars, **dict(zip(symbols, indices, strict=True))}
        active = np.broadcast_to(access.active.values(values), flat.shape)
        offsets = np.broadcast_to(np.asarray(access.offset.values(values), np.int64), flat.shape)
        yield offsets[active]
