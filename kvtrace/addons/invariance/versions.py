"""Two versions of a kernel: do they compute the same, bit for bit, or up to the order of sums?"""

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
from kvtrace.symbolic.walk import summarise

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
"""Up to so many units in the last place two values may be roundings of one."""
_MOST_CANCELED: Final = float(1 << 20)
"""Units in the last place beyond which cancellation explains no difference of two versions."""
_SECONDS_OF_TREES: Final = 2.5
"""So long the trees of a version are built."""
_SECONDS: Final = 6.0
"""So long an output is compared: trees, then evaluations on further inputs."""
_MOST_ELEMENTS: Final = 1 << 20
"""Of an output that are looked up in both versions; of larger ones some are."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The difference of two versions on inputs of a kind; `witness` None: the bits are equal.

    `accuracy`: why values may be farther apart than `ROUNDINGS`, or that they may not be.
    """

    inputs: Inputs
    witness: Witness | None
    accuracy: Accuracy | None = None


@dataclass(frozen=True, slots=True)
class OutputMeaning:
    """How an output of two versions of a kernel compares.

    `first` and `second` are where the trees part, `compared` of `elements` were compared. A
    `witness` is an element with two values, on `inputs` of a kind; `apart` says how far the
    versions part on each kind of inputs, where they may by rounding.
    """

    kernel: str
    output: str
    meaning: Meaning
    first: str | None = None
    second: str | None = None
    witness: Witness | None = None
    inputs: Inputs = INPUTS[0]
    apart: tuple[Apart, ...] = ()
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
        before: Runs of the one version.
        after: Runs of the other.
        kernels: Names of those to compare; None: all.
        match: By names of kernels and tensors of the other version, what the one calls them.

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
        first: A call of the one.
        second: A call of the other.
        match: By names of the other's tensors, those of the first one's that they are. Tensors that
            it does not name are matched by their order.

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
    """Return the positions of the same tensors in both; none where there are not as many."""
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
    first: Call, second: Call, name: str, place: int, pairs: Sequence[tuple[int, int]],
    trees: tuple[_Stores, _Stores],
) -> OutputMeaning:  # fmt: skip
    deadline = thread_time() + _SECONDS
    mine, theirs = (each.get(name) for each in trees)
    drawn = _drawn(
        first, second, *([store.tree for store in each or ()] for each in (mine, theirs))
    )
    versions = (first, second, place, pairs, drawn)
    seen = versions_differ(*versions)
    if isinstance(seen, str):
        return OutputMeaning(first.kernel, name, "violation", seen)
    witness = seen if isinstance(seen, Witness) else None
    tensor = first.arguments[place]
    if seen is None and stored_alike(first, second, place, pairs):
        seen = False
    if mine is None or theirs is None or seen is None or not isinstance(tensor, TensorArgument):
        free = any(map(_has_free_order, (first, second)))
        if witness is None or (free and witness.ulps <= _SUMS):
            return OutputMeaning(first.kernel, name, "unknown")
        return OutputMeaning(first.kernel, name, "violation", witness=witness)
    comparison = _comparison(mine, theirs, tensor, deadline)
    found = OutputMeaning(
        first.kernel, name, comparison.relation, comparison.first, comparison.second, witness,
        compared=comparison.compared, elements=comparison.elements,
    )  # fmt: skip
    if comparison.relation in ("same", "equal"):
        meaning: Meaning = comparison.relation if comparison.is_whole else "sampled"
        return replace(found, meaning="violation" if witness else meaning)
    is_far = witness is not None and witness.ulps > _SUMS and not comparison.is_whole
    is_different = comparison.relation == "different"
    is_explained = witness is not None and _is_explained(witness, INPUTS[0], versions)
    is_violation = is_far or (is_different and witness is not None and not is_explained)
    apart = [Apart(INPUTS[0], witness)]
    for inputs in INPUTS[1:]:
        is_decided = is_violation and witness is not None and witness.ulps > ROUNDINGS
        if is_decided or thread_time() > deadline:
            break
        if inputs == "infinities among numbers" and (not is_different or witness is not None):
            continue  # sums of infinities go either way
        more = versions_differ_on(inputs, *versions)
        if inputs == EXPONENTS and isinstance(more, Witness) and more.is_finite:
            apart.append(Apart(inputs, more, "a number"))
            continue
        if isinstance(more, Witness) and _is_violation(more, inputs, comparison, witness):
            if not _is_explained(more, inputs, versions):
                return replace(found, meaning="violation", witness=more, inputs=inputs)
        elif isinstance(more, Witness) and more.ulps > ROUNDINGS and not is_different:
            bounds = bounds_of(inputs, *versions, ROUNDINGS)
            known = None if bounds is None else bounds.accuracy(inputs)
            if known == "lost":
                return replace(found, meaning="violation", witness=more, inputs=inputs)
            apart.append(Apart(inputs, more, known))
        elif more is not None:
            apart.append(Apart(inputs, more if isinstance(more, Witness) else None))
    if is_violation:
        return replace(found, meaning="violation")
    if is_different:
        return replace(found, witness=None)
    meaning = comparison.relation if comparison.is_whole else "sampled"
    return replace(found, meaning=meaning, witness=None, apart=tuple(apart))


def _is_explained(witness: Witness, inputs: Inputs, versions: _Versions) -> bool:
    """Whether a difference is within the first version's error bound, derived from its IR.

    An `expm1` for `exp(x) - 1` gives another number where that has lost its digits.
    """
    if not witness.is_finite or not ROUNDINGS < witness.ulps < _MOST_CANCELED:
        return False
    bounds = bounds_of(inputs, *versions, ROUNDINGS)
    return bounds is not None and bounds.explains


def _is_violation(
    more: Witness, inputs: Inputs, comparison: Comparison, witness: Witness | None
) -> bool:
    """Return whether two values on further inputs are other results, whatever random numbers gave.

    A `witness` on random numbers that may be a rounding is replaced by one that is none; of
    formulas that differ any is one; of formulas that are equal except for roundings few are.
    """
    if comparison.relation != "different":
        return _is_no_rounding(more, inputs, witness)
    return witness is None or _shows_more(more, inputs)


def _shows_more(witness: Witness, inputs: Inputs) -> bool:
    """Whether two values are farther apart than roundings bring them, or one is none any more."""
    before, after = map(is_finite, witness.values)
    if inputs == "numbers around 10,000":  # which roundings may cancel
        return before and not after
    is_plain = inputs in PLAIN or inputs in ("tiny numbers", "integers that are 0")
    return is_plain and before and (not after or witness.ulps > ROUNDINGS)


def _is_no_rounding(more: Witness, inputs: Inputs, on_numbers: Witness | None) -> bool:
    """Whether sums and products that are not rounded cannot be the reason of two values.

    A NaN passes through sums and products in any order; 0 times a NaN is not 0. Of an infinity one
    of them may make a NaN, but not its negative.
    """
    if "NaNs" in inputs and "infinities" not in inputs:
        return more.has_one_nan and not (on_numbers is not None and on_numbers.has_one_nan)
    before, after = map(is_finite, more.values)
    is_turned = {*more.values} == {"inf", "-inf"}
    return inputs in SINGULAR and (is_turned or (before and not after))


def _drawn(first: Call, second: Call, mine: Sequence[Tree], theirs: Sequence[Tree]) -> Drawn:
    """Return the integers and constants of both versions, for tensors to hold."""
    return Drawn(_integers(first, second, mine, theirs), constants_of((*mine, *theirs)))


def _integers(
    first: Call, second: Call, mine: Sequence[Tree], theirs: Sequence[Tree]
) -> tuple[int, ...]:
    """Return what integers in memory may be for an evaluation; none where they say where data are.

    Those that formulas compare them with, and at which formulas part, are among them.
    """
    accesses = (each for call in (first, second) for each in summarise(call.module).accesses)
    if any(each.argument is None or each.offset.symbols("content") for each in accesses):
        return ()
    parting = sorted(parting_integers(mine, theirs))
    return (-3, -2, -1, 0, 1, 2, 3, *integers_of((*mine, *theirs)), *parting)


def stored_alike(first: Call, second: Call, place: int, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether two calls store the same elements of a tensor, by the formulas of their addresses."""
    theirs = dict(pairs).get(place)
    if theirs is None:
        return False
    one, other = stored_elements(Kernel(first), place), stored_elements(Kernel(second), theirs)
    return one is not None and other is not None and bool((one == other).all())


def _has_free_order(call: Call) -> bool:
    """Whether a kernel has sums of floats whose order no version fixes."""
    return any(each.operator in FREE for each in summarise(call.module).accesses)


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
        by = "after" if owners[element] == _NOBODY else "before"
        return Comparison("different", f"where integers in memory say so, only {by} writes some")
    pairs: list[Pair] = []
    for number, store in enumerate(mine):
        for other_number, other_store in enumerate(theirs):
            both = offsets[(owners == number) & (theirs_of == other_number)]
            if both.size:
                pairs.append(Pair(both.size, _elements(store, both), _elements(other_store, both)))
    written = int(((owners != _NOBODY) | (theirs_of != _NOBODY)).sum())
    total = written if offsets.size == prod(tensor.shape) else prod(tensor.shape)
    return compared(one, other, pairs, total, deadline, tuple(active))


_NOBODY: Final = -1
_SEVERAL: Final = -2


def _offsets(tensor: TensorArgument) -> NDArray[np.int64]:
    """Return byte offsets of a tensor's elements, each once: of a large one of some of them."""
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
    """Return which store writes each element; it may be nobody, or several and so not known.

    `shared`: all stores of both versions have one condition, which need not be evaluated.
    """
    owners = np.full(offsets.size, _NOBODY, np.int64)
    for number, store in enumerate(stores):
        if any(step <= 0 for _, step in store.steps):
            return np.full(offsets.size, _SEVERAL, np.int64)
        at = _elements(store, offsets).at
        apart = offsets - store.base
        inside = (apart % min(step for _, step in store.steps) if store.steps else apart) == 0
        try:
            inside = inside & ((shared and len(stores) == 1) or store.active.values(at, content))
        except KeyError:
            if len(stores) > 1:
                return np.full(offsets.size, _SEVERAL, np.int64)
        owners = np.where(inside, np.where(owners == _NOBODY, number, _SEVERAL), owners)
    return owners


@dataclass(frozen=True, slots=True)
class _Store:
    """What a store writes: the coordinates of elements with their steps, and where it does.

    `base` is the byte offset of the element whose coordinates are 0.
    """

    tree: Tree
    steps: tuple[tuple[Symbol, int], ...]
    active: Condition
    base: int


def _stores(
    kernel: Kernel, unfollowed: Collection[str] = ()
) -> dict[str, tuple[_Store, ...] | None]:
    """Return what each output is given, store by store; None: one is not followed.

    Nor are `unfollowed` outputs, which the other version cannot be compared in: trees take seconds.
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
    found = None
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
        found = _Store(tree, tuple(kernel.steps(output)), _followed(kernel.active(output)), base)
        if not _is_placed_by_more(tree):
            break
    stores = [each for each in kernel.summary.accesses if each.kind != "load"]
    own = found and any(read_after_write(found.tree, store, kernel) for store in stores)
    return None if own else found


def _followed(active: Condition) -> Condition:
    """Return what formulas say about where a store writes; trees say the rest."""
    return conjunction(part for part in active.conjuncts() if is_followed(part))


def _with_axes_joined(tensor: TensorArgument | None) -> Iterator[TensorArgument | None]:
    """Yield a tensor as it is, and with two axes or more as one: a kernel may number their pairs.

    Only those whose elements are behind each other.
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
    """Whether programs, trips or lanes have a say in a tree, besides coordinates."""
    return any(
        is_placing(atom)
        for node in tree.walk()
        for formula in node.formulas()
        for atom in formula.atoms()
        if not (isinstance(atom, Symbol) and level_of(atom) is not None)
    )
