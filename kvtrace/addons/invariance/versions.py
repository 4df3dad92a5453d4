"""Two versions of a kernel: do they compute the same, bit for bit, or up to the order of sums?"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Final, Literal, NoReturn

import numpy as np

from kvtrace.addons.invariance.compared import POINTS, Comparison, Place, compared
from kvtrace.addons.invariance.coordinates import Unfollowed, is_placing
from kvtrace.addons.invariance.elements import TooLarge
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.memory import read_after_write
from kvtrace.addons.invariance.places import coordinates_of
from kvtrace.addons.invariance.trees import Tree, level_of
from kvtrace.addons.invariance.witness import Witness, versions_differ
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.recorded_calls.recorded import Call, UnreadyCall, calls_of
from kvtrace.symbolic.terms import Symbol

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection
    from kvtrace.symbolic.conditions import Condition
    from kvtrace.symbolic.summary import Access

    _Stores = Mapping[str, tuple["_Store", ...] | None]

Meaning = Literal["same", "equal", "reassociated", "violation", "different", "unknown"]
"""
- same: the same expression, so the same bits by TTIR, for the same elements.
- equal: the same operations in the same order at these sizes.
- reassociated: the same up to the order of sums, at these sizes.
- violation: the expressions differ by more than the order of sums, and the evaluator gives an
  element two values farther apart than rounding explains; or one version leaves elements out that
  the other writes.
- different: the expressions differ, and no element was seen that differs by so much.
- unknown: an output is not followed, or could not be evaluated.

Of the last three and of `reassociated`, a witness shows an element whose bits differ.
"""


_ULPS: Final = 16
"""Beyond so many units in the last place of the output's type, at its largest element, two values
differ by more than sums in another order explain, where trees differ by more than that."""
_SUMS: Final = 1 << 10
"""Likewise, where trees were seen to differ in the order of sums alone, at some elements."""


@dataclass(frozen=True, slots=True)
class OutputMeaning:
    """How an output of two versions of a kernel compares."""

    kernel: str
    output: str
    meaning: Meaning
    first: str | None = None
    second: str | None = None
    witness: Witness | None = None


def meanings_of(
    before: Selection,
    after: Selection,
    kernels: Container[str] | None = None,
    match: Mapping[str, str] = {},
) -> tuple[OutputMeaning, ...]:
    """Compare the kernels that two traces called with the same arguments.

    Args:
        before: Runs of the one version.
        after: Runs of the other.
        kernels: Names of those to compare; None: all.
        match: By names of kernels and tensors of the other version, what the one calls them.

    """
    known: dict[tuple[object, ...], Call] = {}
    for call in _calls(before, kernels):
        known.setdefault(_key(call, match), call)
    found: dict[OutputMeaning, None] = {}
    for call in _calls(after, kernels):
        other = known.pop(_key(call, match), None)
        if other is not None:
            found |= dict.fromkeys(same_meaning(other, call, match))
    return tuple(found)


def _calls(selection: Selection, kernels: Container[str] | None) -> Iterator[Call]:
    for run in selection.runs:
        for call in calls_of(selection.trace, run):
            if not isinstance(call, UnreadyCall) and (kernels is None or call.kernel in kernels):
                yield call


def _key(call: Call, match: Mapping[str, str]) -> tuple[object, ...]:
    """Return what two calls have in common whose results can be compared."""
    numbers: list[object] = []
    tensors: list[tuple[object, ...]] = []
    for argument in call.arguments:
        if isinstance(argument, TensorArgument):
            tensors.append((str(argument.dtype), argument.shape, argument.strides))
        elif isinstance(argument, ScalarArgument) and isinstance(argument.value, float):
            numbers.append(argument.value)
    if match:  # tensors may have another order
        tensors.sort()
    return (match.get(call.kernel, call.kernel), *tensors, *numbers)


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
    one = Kernel(first, here=True)
    pairs = _pairs(first, second, match)
    names = list(Kernel(second).names)
    for mine, theirs in pairs:
        names[theirs] = one.names[mine]
    other = Kernel(second, names, here=True)
    trees = _stores(one), _stores(other)
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
    mine, theirs = (each.get(name) for each in trees)
    seen = versions_differ(first, second, place, pairs)
    if isinstance(seen, str):
        return OutputMeaning(first.kernel, name, "violation", seen)
    witness = seen if isinstance(seen, Witness) else None
    tensor = first.arguments[place]
    if mine is None or theirs is None or seen is None or not isinstance(tensor, TensorArgument):
        return OutputMeaning(first.kernel, name, "unknown", witness=witness)
    comparison = _comparison(mine, theirs, tensor)
    meaning: Meaning = comparison.relation
    if meaning == "same":
        witness = None
    elif witness and (meaning == "equal" or (meaning == "reassociated" and witness.ulps > _SUMS)):
        meaning = "different"  # at an element that trees were not evaluated at
    elif meaning == "different" and comparison.evaluated and witness and witness.ulps > _ULPS:
        meaning = "violation"
    return OutputMeaning(first.kernel, name, meaning, comparison.first, comparison.second, witness)


def _comparison(
    mine: Sequence[_Store], theirs: Sequence[_Store], tensor: TensorArgument
) -> Comparison:
    one, other = mine[0].tree, theirs[0].tree
    stores = [
        tuple((each.tree, each.steps, each.active) for each in stores) for stores in (mine, theirs)
    ]
    if stores[0] == stores[1]:
        return Comparison("same")
    points: list[tuple[Place, Place]] = []
    for offset in _offsets(mine, prod(tensor.shape) * tensor.element.bytes):
        places = _place(mine, offset), _place(theirs, offset)
        if places[0] is not None and places[1] is not None:
            points.append((places[0], places[1]))
        elif places != (None, None):
            return Comparison("different")
    return compared(one, other, points)


def _offsets(stores: Sequence[_Store], reach: int) -> Iterator[int]:
    """Yield byte offsets of elements: at the first and last coordinates of stores, and others."""
    random = np.random.default_rng(0)
    for store in stores:
        for point in range(2 * POINTS):
            offset, left = 0, reach
            for _, step in store.steps:
                extent = max(1, left // max(step, 1))
                choice = point if point < 2 else int(random.integers(3))
                offset += step * (0, extent - 1, int(random.integers(extent)))[choice]
                left = step
            if offset < reach:
                yield offset


def _place(stores: Sequence[_Store], offset: int) -> Place | None:
    """Return the tree of an element and its coordinates; None: no store writes it, or several."""
    found: list[Place] = []
    for store in stores:
        at, rest = {}, offset
        for symbol, step in store.steps:
            if step <= 0:
                return None
            at[symbol], rest = divmod(rest, step)
        try:
            if rest == 0 and (len(stores) == 1 or store.active.values(at, _no_content)):
                found.append((store.tree, at))
        except KeyError:
            return None
    return found[0] if len(found) == 1 else None


def _no_content(symbol: Symbol, _at: object) -> NoReturn:
    raise KeyError(symbol)


@dataclass(frozen=True, slots=True)
class _Store:
    """What a store writes: the coordinates of elements with their steps, and where it does."""

    tree: Tree
    steps: tuple[tuple[Symbol, int], ...]
    active: Condition


def _stores(kernel: Kernel) -> dict[str, tuple[_Store, ...] | None]:
    """Return what each output is given, store by store; None: one is not followed."""
    found: dict[str, list[_Store | None]] = {}
    for access in kernel.summary.accesses:
        if access.kind != "load":
            found.setdefault(kernel.name(access.argument), []).append(_store(access, kernel))
    return {
        name: None if None in each else tuple(store for store in each if store)
        for name, each in found.items()
    }


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
        found = _Store(tree, tuple(kernel.steps(output)), kernel.active(output))
        if not _is_placed_by_more(tree):
            break
    stores = [each for each in kernel.summary.accesses if each.kind != "load"]
    own = found and any(read_after_write(found.tree, store, kernel) for store in stores)
    return None if own else found


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
