"""Comparison of two versions of a kernel, up to rounding and the order of sums."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from time import thread_time
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from kvtrace.addons.invariance.alike import differing_integers
from kvtrace.addons.invariance.call_pairs import paired_calls
from kvtrace.addons.invariance.compared import Comparison, Elements, Pair, compare_trees
from kvtrace.addons.invariance.coordinates import Unfollowed, is_placing
from kvtrace.addons.invariance.determinism import FREE
from kvtrace.addons.invariance.elements import TooLarge
from kvtrace.addons.invariance.field import FieldEvaluator, compared_integers
from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.relative import bound_text
from kvtrace.addons.invariance.stored import stored_elements
from kvtrace.addons.invariance.trees import Tree, constants_of, exceeded_constants, level_of
from kvtrace.addons.invariance.version_values import (
    VersionCalls,
    error_bounds,
    versions_differ,
    versions_differ_on,
)
from kvtrace.addons.invariance.witness import Witness, is_finite
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.inputs.kinds import (
    CANCELING,
    EXPONENTS,
    INPUTS,
    PLAIN,
    SINGULAR,
    FillValues,
    Inputs,
)
from kvtrace.symbolic.conditions import conjunction
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.addons.invariance.version_values import Accuracy
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Selection
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.terms import Resolve

    _Stores = Mapping[str, tuple["_Store", ...] | None]

Meaning = Literal[
    "same", "equal", "reassociated", "exact", "violation", "sampled", "different", "unknown"
]
"""
- same: the same expression, so the same bits by TTIR, for the same elements.
- equal: the same operations in the same order at these sizes, for all elements.
- reassociated: the same up to the order of sums, at these sizes, for all elements.
- exact: equal if nothing were rounded, at these sizes, for all elements.
- violation: the evaluator gives an element two values that none of the above explains; or only one
  version writes some element.
- sampled: one of the above holds for the elements that were compared, but not all were.
- different: the expressions differ, and no element with two values was found.
- unknown: an output is not followed, or could not be evaluated.
"""

_SUMS: Final = 1 << 10
"""Units in the last place, at the output's largest element, up to which two values may differ by
random sums in another order; used if not all elements were compared."""
ROUNDINGS: Final = 32.0
"""Units in the last place up to which two values may be roundings of one number."""
_MOST_CANCELED: Final = float(1 << 20)
"""Units in the last place beyond which cancellation explains no difference of two versions."""
_SECONDS_OF_TREES: Final = 2.5
"""CPU time limit for building the trees of one version."""
_SECONDS: Final = 6.0
"""CPU time limit for comparing an output: trees, then evaluations on further inputs."""
_MOST_ELEMENTS: Final = 1 << 20
"""Limit on the elements of an output that are compared; larger outputs are sampled."""


@dataclass(frozen=True, slots=True)
class InputsDifference:
    """The difference of two versions on a kind of inputs; `witness` None: the bits are equal.

    `accuracy`: why values may differ by more than `ROUNDINGS`, or "lost" if they may not.
    """

    inputs: Inputs
    witness: Witness | None
    accuracy: Accuracy | None = None


@dataclass(frozen=True, slots=True)
class OutputMeaning:
    """The comparison of an output between two versions of a kernel.

    `first` and `second` are the parts at which the trees differ; `compared_count` of `elements`
    were compared. A `witness` is an element with two values, on a kind of `inputs`; `apart` has the
    rounding differences of the versions on each kind of inputs. `bound` is the text of a bound of
    the distance of versions that are equal in exact arithmetic, for all inputs in its range.
    """

    kernel: str
    output: str
    meaning: Meaning
    first: str | None = None
    second: str | None = None
    witness: Witness | None = None
    inputs: Inputs = INPUTS[0]
    apart: tuple[InputsDifference, ...] = ()
    compared_count: int = 0
    elements: int = 0
    bound: str | None = None


def meanings_of(
    before: Selection,
    after: Selection,
    kernels: Collection[str] | None = None,
    match: Mapping[str, str] = {},
) -> tuple[OutputMeaning, ...]:
    """Compare the kernels that two traces called with the same tensors, output by output.

    Args:
        before: Runs of the first version.
        after: Runs of the second version.
        kernels: Names of the kernels to compare; None: all.
        match: Names of kernels and tensors in the first version, by those of the second.
    """
    meanings: dict[OutputMeaning, None] = {}
    for pair in paired_calls(before, after, kernels, match, reordered=bool(match)).pairs:
        if pair.before is not None:
            meanings |= dict.fromkeys(same_meaning(pair.before, pair.after, match))
    return tuple(meanings)


def same_meaning(
    first: Call, second: Call, match: Mapping[str, str] = {}
) -> tuple[OutputMeaning, ...]:
    """Compare two versions of a kernel, called with the same tensors, output by output.

    Args:
        first: A call of the first version.
        second: A call of the second version.
        match: Names of tensors in the first version, by those of the second. Other tensors are
            matched by their order.

    """
    deadline = thread_time() + _SECONDS_OF_TREES
    first_kernel = Kernel(first, this_call_only=True, deadline=deadline)
    pairs = _tensor_pairs(first, second, match)
    names = list(Kernel(second).names)
    for first_position, second_position in pairs:
        names[second_position] = first_kernel.names[first_position]
    second_kernel = Kernel(
        second, names, this_call_only=True, deadline=deadline + _SECONDS_OF_TREES
    )
    first_stores = _stores(first_kernel)
    unfollowed = {name for name, stores in first_stores.items() if stores is None}
    trees = first_stores, _stores(second_kernel, unfollowed)
    positions = {name: position for position, name in enumerate(first_kernel.names)}
    return tuple(
        _compare_output(first, second, name, positions.get(name, -1), pairs, trees)
        for name in dict.fromkeys((*trees[0], *trees[1]))
    )


def _tensor_pairs(first: Call, second: Call, match: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return the positions of each tensor in both calls; empty if tensors cannot be matched."""
    first_positions, second_positions = (
        {
            value.name.lstrip("%"): position
            for position, (value, argument) in enumerate(
                zip(call.module.main.arguments, call.arguments, strict=False)
            )
            if isinstance(argument, TensorArgument)
        }
        for call in (first, second)
    )
    matches = {
        second_name: first_name
        for second_name, first_name in match.items()
        if second_name in second_positions and first_name in first_positions
    }
    unmatched = [name for name in first_positions if name not in matches.values()]
    for name in second_positions:
        if name not in matches and unmatched:
            matches[name] = unmatched.pop(0)
    if len(first_positions) != len(second_positions) or len({*matches.values()}) != len(
        first_positions
    ):
        return []
    return [
        (first_positions[first_name], second_positions[second_name])
        for second_name, first_name in matches.items()
    ]


def _compare_output(
    first: Call, second: Call, name: str, position: int, pairs: Sequence[tuple[int, int]],
    trees: tuple[_Stores, _Stores],
) -> OutputMeaning:  # fmt: skip
    deadline = thread_time() + _SECONDS
    first_stores, second_stores = (stores.get(name) for stores in trees)
    fill_values = _fill_values(
        first,
        second,
        *([store.tree for store in stores or ()] for stores in (first_stores, second_stores)),
    )
    versions = VersionCalls(first, second, position, pairs, fill_values)
    difference = versions_differ(versions)
    if isinstance(difference, str):
        return OutputMeaning(first.kernel, name, "violation", difference)
    witness = difference if isinstance(difference, Witness) else None
    tensor = first.arguments[position]
    if difference is None and stored_alike(first, second, position, pairs):
        difference = False
    if (
        first_stores is None
        or second_stores is None
        or difference is None
        or not isinstance(tensor, TensorArgument)
    ):
        is_order_free = any(map(_has_free_order, (first, second)))
        if witness is None or (is_order_free and witness.ulps <= _SUMS):
            return OutputMeaning(first.kernel, name, "unknown")
        return OutputMeaning(first.kernel, name, "violation", witness=witness)
    comparison = _compare_stores(first_stores, second_stores, tensor, deadline)
    result = OutputMeaning(
        first.kernel, name, comparison.relation, comparison.first, comparison.second, witness,
        compared_count=comparison.compared_count, elements=comparison.elements,
    )  # fmt: skip
    if comparison.relation in ("same", "equal"):
        meaning: Meaning = comparison.relation if comparison.is_whole else "sampled"
        return replace(result, meaning="violation" if witness else meaning)
    is_far = witness is not None and witness.ulps > _SUMS and not comparison.is_whole
    is_different = comparison.relation == "different"
    is_explained = witness is not None and _is_explained(witness, INPUTS[0], versions)
    is_violation = is_far or (is_different and witness is not None and not is_explained)
    differences = [InputsDifference(INPUTS[0], witness)]
    for inputs in INPUTS[1:]:
        is_decided = is_violation and witness is not None and witness.ulps > ROUNDINGS
        if is_decided or thread_time() > deadline:
            break
        if inputs == "infinities among numbers" and (not is_different or witness is not None):
            continue  # sums of infinities go either way
        if inputs == CANCELING:
            if is_different:
                continue
            canceled = _witness_of_canceling(versions)
            if canceled is not None:
                return replace(result, meaning="violation", witness=canceled, inputs=inputs)
        further = versions_differ_on(inputs, versions)
        if inputs == EXPONENTS and isinstance(further, Witness) and further.is_finite:
            differences.append(InputsDifference(inputs, further, "a number"))
            continue
        if isinstance(further, Witness) and _shows_violation(further, inputs, comparison, witness):
            if not _is_explained(further, inputs, versions):
                return replace(result, meaning="violation", witness=further, inputs=inputs)
        elif isinstance(further, Witness) and further.ulps > ROUNDINGS and not is_different:
            bounds = error_bounds(inputs, versions, ROUNDINGS)
            accuracy = None if bounds is None else bounds.accuracy(inputs)
            if accuracy == "lost":
                return replace(result, meaning="violation", witness=further, inputs=inputs)
            differences.append(InputsDifference(inputs, further, accuracy))
        elif further is not None:
            differences.append(
                InputsDifference(inputs, further if isinstance(further, Witness) else None)
            )
    if is_violation:
        return replace(result, meaning="violation")
    if is_different:
        return replace(result, witness=None)
    meaning = comparison.relation if comparison.is_whole else "sampled"
    bound = bound_text(
        tuple(store.tree for store in stores) for stores in (first_stores, second_stores)
    )
    return replace(result, meaning=meaning, witness=None, apart=tuple(differences), bound=bound)


def _witness_of_canceling(versions: VersionCalls) -> Witness | None:
    """Return an element with two values beyond the roundings of the more exact version, or None.

    Elements are compared by their own bounds: beside large elements, lost digits of small ones look
    like roundings.
    """
    bounds = error_bounds(CANCELING, versions, ROUNDINGS)
    return None if bounds is None else bounds.farthest()


def _is_explained(witness: Witness, inputs: Inputs, versions: VersionCalls) -> bool:
    """Return whether the first version's error bound, derived from its IR, explains a difference.

    For example, `expm1(x)` differs from `exp(x) - 1`, which cancels most digits near 0.
    """
    if not witness.is_finite or not ROUNDINGS < witness.ulps < _MOST_CANCELED:
        return False
    bounds = error_bounds(inputs, versions, ROUNDINGS)
    return bounds is not None and bounds.explains


def _shows_violation(
    further: Witness, inputs: Inputs, comparison: Comparison, witness: Witness | None
) -> bool:
    """Return whether two values on further inputs show a violation, not a rounding.

    `witness` has two values on random numbers, or is None. If formulas are equal except for
    roundings, no order of operations may explain the difference; else it must exceed roundings.
    """
    if comparison.relation != "different":
        return _exceeds_reordering(further, inputs, witness)
    return witness is None or _exceeds_rounding(further, inputs)


def _exceeds_rounding(witness: Witness, inputs: Inputs) -> bool:
    """Return whether two values differ by more than roundings, or only the second is not finite."""
    before, after = map(is_finite, witness.values)
    if inputs == "numbers around 10,000":  # which roundings may cancel
        return before and not after
    is_plain = inputs in PLAIN or inputs in ("tiny numbers", "integers that are 0")
    return is_plain and before and (not after or witness.ulps > ROUNDINGS)


def _exceeds_reordering(witness: Witness, inputs: Inputs, on_numbers: Witness | None) -> bool:
    """Return whether no other order of sums and products can explain two values.

    A NaN passes through sums and products in any order; 0 times a NaN is not 0. Another order may
    turn an infinity into a NaN, but not into its negative.
    """
    if "NaNs" in inputs and "infinities" not in inputs:
        return witness.has_one_nan and not (on_numbers is not None and on_numbers.has_one_nan)
    before, after = map(is_finite, witness.values)
    has_opposite_infinities = {*witness.values} == {"inf", "-inf"}
    return inputs in SINGULAR and (has_opposite_infinities or (before and not after))


def _fill_values(
    first: Call, second: Call, first_trees: Sequence[Tree], second_trees: Sequence[Tree]
) -> FillValues:
    """Return integers and constants from both versions' trees, to fill tensors with."""
    return FillValues(
        _integers(first, second, first_trees, second_trees),
        constants_of((*first_trees, *second_trees)),
        exceeded_constants((*first_trees, *second_trees)),
    )


def _integers(
    first: Call, second: Call, first_trees: Sequence[Tree], second_trees: Sequence[Tree]
) -> tuple[int, ...]:
    """Return integers to fill tensors with; empty if loaded integers are in addresses.

    Constants that loaded integers are compared with are included, and integers for which the
    versions' formulas may differ.
    """
    accesses = (access for call in (first, second) for access in summarize(call.module).accesses)
    if any(access.argument is None or access.offset.symbols("content") for access in accesses):
        return ()
    differing = sorted(differing_integers(first_trees, second_trees))
    return (-3, -2, -1, 0, 1, 2, 3, *compared_integers((*first_trees, *second_trees)), *differing)


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


def _has_free_order(call: Call) -> bool:
    """Return whether a kernel has atomic sums of floats, in no fixed order."""
    return any(access.operator in FREE for access in summarize(call.module).accesses)


def _compare_stores(
    first_stores: Sequence[_Store],
    second_stores: Sequence[_Store],
    tensor: TensorArgument,
    deadline: float,
) -> Comparison:
    first_tree, second_tree = first_stores[0].tree, second_stores[0].tree
    stores = [
        tuple(
            (
                store_of_either.tree,
                store_of_either.steps,
                store_of_either.active,
                store_of_either.base_offset,
            )
            for store_of_either in stores
        )
        for stores in (first_stores, second_stores)
    ]
    offsets = _offsets(tensor)
    if stores[0] == stores[1]:
        return Comparison("same", compared_count=prod(tensor.shape), elements=prod(tensor.shape))
    content = FieldEvaluator(
        0,
        "exact",
        compared_integers(
            [store_of_either.tree for store_of_either in (*first_stores, *second_stores)]
        ),
    ).content
    active = {store_of_either.active for store_of_either in (*first_stores, *second_stores)}
    first_owners, second_owners = (
        _owners(store_of_either, offsets, content, shared=len(active) == 1)
        for store_of_either in (first_stores, second_stores)
    )
    is_in_one_version = (first_owners == _NO_STORE) != (second_owners == _NO_STORE)
    is_in_one_version &= (first_owners != _UNKNOWN_STORE) & (second_owners != _UNKNOWN_STORE)
    if is_in_one_version.any():
        element = int(np.flatnonzero(is_in_one_version)[0])
        writer = "after" if first_owners[element] == _NO_STORE else "before"
        return Comparison("different", f"only {writer} writes some elements, depending on data")
    pairs: list[Pair] = []
    for first_index, first_store in enumerate(first_stores):
        for second_index, second_store in enumerate(second_stores):
            common = offsets[(first_owners == first_index) & (second_owners == second_index)]
            if common.size:
                pairs.append(
                    Pair(
                        common.size, _elements(first_store, common), _elements(second_store, common)
                    )
                )
    written = int(((first_owners != _NO_STORE) | (second_owners != _NO_STORE)).sum())
    total = written if offsets.size == prod(tensor.shape) else prod(tensor.shape)
    return compare_trees(first_tree, second_tree, pairs, total, deadline, tuple(active))


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


def _elements(store: _Store, offsets: NDArray[np.int64]) -> Elements:
    """Return elements at byte offsets with their coordinates, by the steps of a store."""
    coordinate_values: dict[Symbol, NDArray[np.int64]] = {}
    remaining = offsets - store.base_offset
    for symbol, step in store.steps:
        coordinate_values[symbol], remaining = np.divmod(remaining, step)
    return Elements(store.tree, coordinate_values)


def _owners(
    stores: Sequence[_Store], offsets: NDArray[np.int64], content: Resolve, *, shared: bool
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
class _Store:
    """The tree of a store and the elements that it writes.

    `steps` are the coordinates with their byte steps, `active` the condition of the store, and
    `base_offset` the byte offset of the element whose coordinates are 0.
    """

    tree: Tree
    steps: tuple[tuple[Symbol, int], ...]
    active: Condition
    base_offset: int


def _stores(
    kernel: Kernel, unfollowed: Collection[str] = ()
) -> dict[str, tuple[_Store, ...] | None]:
    """Return the stores of each output; None for an output with a store that is not followed.

    Outputs in `unfollowed` are None, too, to save seconds of building trees.
    """
    stores_by_output: dict[str, list[_Store] | None] = {}
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


def _store(access: Access, kernel: Kernel) -> _Store | None:
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
        result = _Store(
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
