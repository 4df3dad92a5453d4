"""Comparison of two versions of a kernel: equal bits, or equal up to the order of sums?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from time import thread_time
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from kvtrace.addons.invariance.accuracy import bounds_of
from kvtrace.addons.invariance.alike import parting_integers
from kvtrace.addons.invariance.call_pairs import paired_calls
from kvtrace.addons.invariance.compared import Comparison, Elements, Pair, compared
from kvtrace.addons.invariance.coordinates import Unfollowed, is_placing
from kvtrace.addons.invariance.determinism import FREE
from kvtrace.addons.invariance.elements import TooLarge
from kvtrace.addons.invariance.field import Points, integers_of
from kvtrace.addons.invariance.formulas import is_followed
from kvtrace.addons.invariance.inputs import (
    EXPONENTS,
    INPUTS,
    PLAIN,
    SINGULAR,
    Drawn,
    Inputs,
    constants_of,
)
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.stored import stored_elements
from kvtrace.addons.invariance.trees import Tree, level_of
from kvtrace.addons.invariance.witness import (
    Witness,
    is_finite,
    versions_differ,
    versions_differ_on,
)
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.symbolic.conditions import conjunction
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvtrace.addons.invariance.accuracy import Accuracy
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Selection
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.summary import Access
    from kvtrace.symbolic.terms import Resolve

    _Versions = tuple[Call, Call, int, Sequence[tuple[int, int]], Drawn]
    _Stores = Mapping[str, tuple["_Store", ...] | None]

Meaning = Literal[
    "same", "equal", "reassociated", "exact", "violation", "sampled", "different", "unknown"
]
"""
- same: the same expression, so the same bits by TTIR, for the same elements.
- equal: the same operations in the same order at these sizes, for all elements.
- reassociated: the same up to the order of sums, at these sizes, for all elements.
- exact: equal if nothing were rounded, at these sizes, for all elements.
- violation: the evaluator gives an element two values that none of these explains; or one version
  leaves elements out that the other writes.
- sampled: one of these holds of the elements that were compared, which are not all.
- different: the expressions differ, and no element was seen that differs.
- unknown: an output is not followed, or could not be evaluated.
"""

_SUMS: Final = 1 << 10
"""Beyond so many units in the last place of the output's type, at its largest element, two values
differ by more than random sums in another order explain, where not all elements were compared."""
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

    `accuracy`: the reason for which values may differ by more than `ROUNDINGS`, or "lost" if they
    may not.
    """

    inputs: Inputs
    witness: Witness | None
    accuracy: Accuracy | None = None


@dataclass(frozen=True, slots=True)
class OutputMeaning:
    """The comparison of an output between two versions of a kernel.

    `first` and `second` are the parts at which the trees differ; `compared` of `elements` were
    compared. A `witness` is an element with two values, on a kind of `inputs`; `apart` has the
    rounding differences of the versions on each kind of inputs.
    """

    kernel: str
    output: str
    meaning: Meaning
    first: str | None = None
    second: str | None = None
    witness: Witness | None = None
    inputs: Inputs = INPUTS[0]
    apart: tuple[InputsDifference, ...] = ()
    compared: int = 0
    elements: int = 0


def meanings_of(
    before: Selection,
    after: Selection,
    kernels: Collection[str] | None = None,
    match: Mapping[str, str] = {},
) -> tuple[OutputMeaning, ...]:
    """Compare the kernels that two traces called with the same arguments.

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
    one = Kernel(first, here=True, deadline=deadline)
    pairs = _pairs(first, second, match)
    names = list(Kernel(second).names)
    for mine, theirs in pairs:
        names[theirs] = one.names[mine]
    other = Kernel(second, names, here=True, deadline=deadline + _SECONDS_OF_TREES)
    first_stores = _stores(one)
    unfollowed = {name for name, stores in first_stores.items() if stores is None}
    trees = first_stores, _stores(other, unfollowed)
    places = {name: place for place, name in enumerate(one.names)}
    return tuple(
        _compared(first, second, name, places.get(name, -1), pairs, trees)
        for name in dict.fromkeys((*trees[0], *trees[1]))
    )


def _pairs(first: Call, second: Call, match: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return the positions of each tensor in both calls; empty if tensors cannot be matched."""
    mine, theirs = (
        {
            value.name.lstrip("%"): n
            for n, (value, each) in enumerate(
                zip(call.module.main.arguments, call.arguments, strict=False)
            )
            if isinstance(each, TensorArgument)
        }
        for call in (first, second)
    )
    named = {other: one for other, one in match.items() if other in theirs and one in mine}
    rest = [name for name in mine if name not in named.values()]
    for name in theirs:
        if name not in named and rest:
            named[name] = rest.pop(0)
    if len(mine) != len(theirs) or len({*named.values()}) != len(mine):
        return []
    return [(mine[one], theirs[other]) for other, one in named.items()]


def _compared(
    first: Call, second: Call, name: str, position: int, pairs: Sequence[tuple[int, int]],
    trees: tuple[_Stores, _Stores],
) -> OutputMeaning:  # fmt: skip
    deadline = thread_time() + _SECONDS
    mine, theirs = (stores.get(name) for stores in trees)
    drawn = _drawn(
        first, second, *([store.tree for store in stores or ()] for stores in (mine, theirs))
    )
    versions = (first, second, position, pairs, drawn)
    difference = versions_differ(*versions)
    if isinstance(difference, str):
        return OutputMeaning(first.kernel, name, "violation", difference)
    witness = difference if isinstance(difference, Witness) else None
    tensor = first.arguments[position]
    if difference is None and stored_alike(first, second, position, pairs):
        difference = False
    if (
        mine is None
        or theirs is None
        or difference is None
        or not isinstance(tensor, TensorArgument)
    ):
        is_order_free = any(map(_has_free_order, (first, second)))
        if witness is None or (is_order_free and witness.ulps <= _SUMS):
            return OutputMeaning(first.kernel, name, "unknown")
        return OutputMeaning(first.kernel, name, "violation", witness=witness)
    comparison = _comparison(mine, theirs, tensor, deadline)
    result = OutputMeaning(
        first.kernel, name, comparison.relation, comparison.first, comparison.second, witness,
        compared=comparison.compared, elements=comparison.elements,
    )  # fmt: skip
    if comparison.relation in ("same", "equal"):
        meaning: Meaning = comparison.relation if comparison.is_whole else "sampled"
        return replace(result, meaning="violation" if witness else meaning)
    is_far = witness is not None and witness.ulps > _SUMS and not comparison.is_whole
    is_different = comparison.relation == "different"
    is_explained = witness is not None and _is_explained(witness, INPUTS[0], versions)
    is_violation = is_far or (is_different and witness is not None and not is_explained)
    apart = [InputsDifference(INPUTS[0], witness)]
    for inputs in INPUTS[1:]:
        is_decided = is_violation and witness is not None and witness.ulps > ROUNDINGS
        if is_decided or thread_time() > deadline:
            break
        if inputs == "infinities among numbers" and (not is_different or witness is not None):
            continue  # sums of infinities go either way
        further = versions_differ_on(inputs, *versions)
        if inputs == EXPONENTS and isinstance(further, Witness) and further.is_finite:
            apart.append(InputsDifference(inputs, further, "a number"))
            continue
        if isinstance(further, Witness) and _is_violation(further, inputs, comparison, witness):
            if not _is_explained(further, inputs, versions):
                return replace(result, meaning="violation", witness=further, inputs=inputs)
        elif isinstance(further, Witness) and further.ulps > ROUNDINGS and not is_different:
            bounds = bounds_of(inputs, *versions, ROUNDINGS)
            accuracy = None if bounds is None else bounds.accuracy(inputs)
            if accuracy == "lost":
                return replace(result, meaning="violation", witness=further, inputs=inputs)
            apart.append(InputsDifference(inputs, further, accuracy))
        elif further is not None:
            apart.append(
                InputsDifference(inputs, further if isinstance(further, Witness) else None)
            )
    if is_violation:
        return replace(result, meaning="violation")
    if is_different:
        return replace(result, witness=None)
    meaning = comparison.relation if comparison.is_whole else "sampled"
    return replace(result, meaning=meaning, witness=None, apart=tuple(apart))


def _is_explained(witness: Witness, inputs: Inputs, versions: _Versions) -> bool:
    """Return whether a difference is within the first version's error bound, derived from its IR.

    For example, `expm1(x)` differs from `exp(x) - 1` where the latter cancels most digits.
    """
    if not witness.is_finite or not ROUNDINGS < witness.ulps < _MOST_CANCELED:
        return False
    bounds = bounds_of(inputs, *versions, ROUNDINGS)
    return bounds is not None and bounds.explains


def _is_violation(
    more: Witness, inputs: Inputs, comparison: Comparison, witness: Witness | None
) -> bool:
    """Return whether two values on further inputs show a violation, not a rounding.

    `witness`: the element with two values on random numbers, if any. Formulas that are equal except
    for roundings need a difference that no rounding explains; other formulas need a difference that
    is larger than roundings, or any if random numbers gave none.
    """
    if comparison.relation != "different":
        return _is_no_rounding(more, inputs, witness)
    return witness is None or _shows_more(more, inputs)


def _shows_more(witness: Witness, inputs: Inputs) -> bool:
    """Return whether two values differ by more than roundings, or the second is not finite."""
    before, after = map(is_finite, witness.values)
    if inputs == "numbers around 10,000":  # which roundings may cancel
        return before and not after
    is_plain = inputs in PLAIN or inputs in ("tiny numbers", "integers that are 0")
    return is_plain and before and (not after or witness.ulps > ROUNDINGS)


def _is_no_rounding(more: Witness, inputs: Inputs, on_numbers: Witness | None) -> bool:
    """Return whether another order of sums and products cannot explain two values.

    A NaN passes through sums and products in any order; 0 times a NaN is not 0. Another order may
    turn an infinity into a NaN, but not into its negative.
    """
    if "NaNs" in inputs and "infinities" not in inputs:
        return more.has_one_nan and not (on_numbers is not None and on_numbers.has_one_nan)
    before, after = map(is_finite, more.values)
    is_turned = {*more.values} == {"inf", "-inf"}
    return inputs in SINGULAR and (is_turned or (before and not after))


def _drawn(first: Call, second: Call, mine: Sequence[Tree], theirs: Sequence[Tree]) -> Drawn:
    """Return integers and constants from both versions' trees, to fill tensors with."""
    return Drawn(_integers(first, second, mine, theirs), constants_of((*mine, *theirs)))


def _integers(
    first: Call, second: Call, mine: Sequence[Tree], theirs: Sequence[Tree]
) -> tuple[int, ...]:
    """Return integers to fill tensors with; empty if integers in memory lead to addresses.

    The numbers that formulas compare loaded integers with, and those at which the versions'
    formulas may differ, are among them.
    """
    accesses = (each for call in (first, second) for each in summarize(call.module).accesses)
    if any(each.argument is None or each.offset.symbols("content") for each in accesses):
        return ()
    parting = sorted(parting_integers(mine, theirs))
    return (-3, -2, -1, 0, 1, 2, 3, *integers_of((*mine, *theirs)), *parting)


def stored_alike(first: Call, second: Call, place: int, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether two calls store the same elements of a tensor, by their address formulas."""
    theirs = dict(pairs).get(place)
    if theirs is None:
        return False
    one, other = stored_elements(Kernel(first), place), stored_elements(Kernel(second), theirs)
    return one is not None and other is not None and bool((one == other).all())


def _has_free_order(call: Call) -> bool:
    """Return whether a kernel has sums of floats whose order no version fixes."""
    return any(access.operator in FREE for access in summarize(call.module).accesses)


def _comparison(
    mine: Sequence[_Store], theirs: Sequence[_Store], tensor: TensorArgument, deadline: float
) -> Comparison:
    one, other = mine[0].tree, theirs[0].tree
    stores = [
        tuple((each.tree, each.steps, each.active, each.base) for each in stores)
        for stores in (mine, theirs)
    ]
    offsets = _offsets(tensor)
    if stores[0] == stores[1]:
        return Comparison("same", compared=prod(tensor.shape), elements=prod(tensor.shape))
    content = Points(0, "exact", integers_of([each.tree for each in (*mine, *theirs)])).content
    active = {each.active for each in (*mine, *theirs)}
    owners, theirs_of = (
        _owners(each, offsets, content, shared=len(active) == 1) for each in (mine, theirs)
    )
    alone = (owners == _NOBODY) != (theirs_of == _NOBODY)
    alone &= (owners != _SEVERAL) & (theirs_of != _SEVERAL)
    if alone.any():
        element = int(np.flatnonzero(alone)[0])
        writer = "after" if owners[element] == _NOBODY else "before"
        return Comparison(
            "different", f"where integers in memory say so, only {writer} writes some"
        )
    pairs: list[Pair] = []
    for number, store in enumerate(mine):
        for other_number, other_store in enumerate(theirs):
            shared_offsets = offsets[(owners == number) & (theirs_of == other_number)]
            if shared_offsets.size:
                pairs.append(
                    Pair(
                        shared_offsets.size,
                        _elements(store, shared_offsets),
                        _elements(other_store, shared_offsets),
                    )
                )
    written = int(((owners != _NOBODY) | (theirs_of != _NOBODY)).sum())
    total = written if offsets.size == prod(tensor.shape) else prod(tensor.shape)
    return compared(one, other, pairs, total, deadline, tuple(active))


_NOBODY: Final = -1
_SEVERAL: Final = -2


def _offsets(tensor: TensorArgument) -> NDArray[np.int64]:
    """Return the byte offsets of a tensor's elements, each once; a large tensor is sampled."""
    total = prod(tensor.shape)
    places = np.arange(total, dtype=np.int64)
    if total > _MOST_ELEMENTS:
        random = np.random.default_rng(0).integers(total, size=_MOST_ELEMENTS - 2)
        places = np.unique(np.append(random, (0, total - 1)))
    indices = np.unravel_index(places, tensor.shape) if tensor.shape else ()
    steps = (index * stride for index, stride in zip(indices, tensor.strides, strict=True))
    return np.unique(sum(steps, np.zeros(places.size, np.int64)) * tensor.element.bytes)


def _elements(store: _Store, offsets: NDArray[np.int64]) -> Elements:
    at: dict[Symbol, NDArray[np.int64]] = {}
    rest = offsets - store.base
    for symbol, step in store.steps:
        at[symbol], rest = np.divmod(rest, step)
    return Elements(store.tree, at)


def _owners(
    stores: Sequence[_Store], offsets: NDArray[np.int64], content: Resolve, *, shared: bool
) -> NDArray[np.int64]:
    """Return the index of the store that writes each element, or `_NOBODY`, or `_SEVERAL`.

    `shared`: all stores of both versions have the same condition, which need not be evaluated.
    """
    owners = np.full(offsets.size, _NOBODY, np.int64)
    for number, store in enumerate(stores):
        if any(step <= 0 for _, step in store.steps):
            return np.full(offsets.size, _SEVERAL, np.int64)
        at = _elements(store, offsets).at
        distances = offsets - store.base
        is_stored = (
            distances % min(step for _, step in store.steps) if store.steps else distances
        ) == 0
        try:
            is_stored = is_stored & (
                (shared and len(stores) == 1) or store.active.values(at, content)
            )
        except KeyError:
            if len(stores) > 1:
                return np.full(offsets.size, _SEVERAL, np.int64)
        owners = np.where(is_stored, np.where(owners == _NOBODY, number, _SEVERAL), owners)
    return owners


@dataclass(frozen=True, slots=True)
class _Store:
    """The tree that a store writes, and the elements that it writes to.

    `steps` are the coordinates with their byte steps, `active` the condition of the store, and
    `base` the byte offset of the element whose coordinates are 0.
    """

    tree: Tree
    steps: tuple[tuple[Symbol, int], ...]
    active: Condition
    base: int


def _stores(
    kernel: Kernel, unfollowed: Collection[str] = ()
) -> dict[str, tuple[_Store, ...] | None]:
    """Return the stores to each output; None for an output with a store that is not followed.

    `unfollowed` outputs of the other version are skipped, as building trees takes seconds.
    """
    found: dict[str, list[_Store] | None] = {}
    for access in kernel.summary.accesses:
        if access.kind == "load":
            continue
        name = kernel.name(access.argument)
        stores = found.setdefault(name, None if name in unfollowed else [])
        if stores is None:
            continue
        store = _store(access, kernel)
        found[name] = None if store is None else [*stores, store]
    return {name: None if each is None else tuple(each) for name, each in found.items()}


def _store(access: Access, kernel: Kernel) -> _Store | None:
    if access.kind == "atomic":
        return None
    result = None
    for tensor in _with_axes_joined(kernel.tensor(access.argument)):
        try:
            output = coordinates_of(access, tensor, kernel.bound.ranges, kernel.sizes, here=True)
            tree = kernel.tree(access, output, bound=True)
        except (Unfollowed, TooLarge):
            continue
        if any(node.what == "unknown" for node in tree.walk()):
            return None
        base = kernel.base(output)
        if base is None:
            continue
        result = _Store(tree, tuple(kernel.steps(output)), _followed(kernel.active(output)), base)
        if not _is_placed_by_more(tree):
            break
    stores = [each for each in kernel.summary.accesses if each.kind != "load"]
    reads_own_writes = result and any(
        read_after_write(result.tree, store, kernel) for store in stores
    )
    return None if reads_own_writes else result


def _followed(active: Condition) -> Condition:
    """Return the parts of a store's condition that are formulas; trees have the other parts."""
    return conjunction(part for part in active.conjuncts() if is_followed(part))


def _with_axes_joined(tensor: TensorArgument | None) -> Iterator[TensorArgument | None]:
    """Yield a tensor, then the tensor with contiguous axes joined, for each choice of axes.

    A kernel may number the elements of several axes by one index.
    """
    yield tensor
    if tensor is None:
        return
    pairs = [pair for pair in zip(tensor.shape, tensor.strides, strict=True) if pair[0] > 1]
    joinable = [n for n in range(len(pairs) - 1) if pairs[n][1] == prod(pairs[n + 1])]
    for count in range(1, len(joinable) + 1):
        for chosen in combinations(joinable, count):
            shape, strides = [1], [0]
            for n, (extent, stride) in enumerate(pairs):
                if n and n - 1 in chosen:
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
