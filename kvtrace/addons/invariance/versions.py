"""Comparison of two versions of a kernel, up to rounding and the order of sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import thread_time
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.invariance.compared import (
    Comparison,
    differing_integers,
)
from kvtrace.addons.invariance.determinism import FREE
from kvtrace.addons.invariance.input_kinds import (
    CANCELING,
    EXPONENTS,
    INPUTS,
    OVERFLOWING,
    PLAIN,
    SINGULAR,
    WITH_INTEGERS,
    FillValues,
    Inputs,
)
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.loaded_integers import compared_integers
from kvtrace.addons.invariance.rounding_bounds import bound_text
from kvtrace.addons.invariance.stores import Store, compare_stores, stored_alike, stores_of
from kvtrace.addons.invariance.trees import constants_of, exceeded_constants
from kvtrace.addons.invariance.version_values import (
    ROUNDINGS,
    VersionCalls,
    error_bounds,
    versions_differ,
    versions_differ_on,
)
from kvtrace.addons.invariance.witness import Witness, is_finite
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.symbolic.trees.tree import Tree
from kvtrace.symbolic.walk import summarize

if TYPE_CHECKING:
    from kvtrace.addons.invariance.version_values import Accuracy
    from kvtrace.recorded_calls.recorded import Call

    _Stores = Mapping[str, tuple["Store", ...] | None]

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
_MOST_CANCELED: Final = float(1 << 20)
"""Units in the last place beyond which cancellation explains no difference of two versions."""
_FAR_FROM_ZERO: Final[Inputs] = "numbers around 10,000"
_USUAL: Final = 2.0**13
"""Numbers below this are far from overflow in each type of floats with 16 bits and more."""
_SECONDS_OF_TREES: Final = 2.5
"""CPU time limit for building the trees of one version."""
_SECONDS: Final = 6.0
"""CPU time limit for comparing an output: trees, then evaluations on further inputs."""


class InputsDifference(Struct, frozen=True):
    """The difference of two versions on a kind of inputs; `witness` None: the bits are equal.

    `accuracy`: why values may differ by more than `ROUNDINGS`, or "lost" if they may not.
    """

    inputs: Inputs
    witness: Witness | None
    accuracy: Accuracy | None = None


class OutputMeaning(Struct, frozen=True):
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


def same_meaning(first: Call, second: Call) -> tuple[OutputMeaning, ...]:
    """Compare two versions of a kernel, called with the same tensors, output by output.

    Tensors are matched by their order.
    """
    deadline = thread_time() + _SECONDS_OF_TREES
    first_kernel = Kernel(first, this_call_only=True, deadline=deadline)
    pairs = _tensor_pairs(first, second)
    names = list(Kernel(second).names)
    for first_position, second_position in pairs:
        names[second_position] = first_kernel.names[first_position]
    second_kernel = Kernel(
        second, names, this_call_only=True, deadline=deadline + _SECONDS_OF_TREES
    )
    first_stores = stores_of(first_kernel)
    unfollowed = {name for name, stores in first_stores.items() if stores is None}
    trees = first_stores, stores_of(second_kernel, unfollowed)
    positions = {name: position for position, name in enumerate(first_kernel.names)}
    return tuple(
        _compare_output(first, second, name, positions.get(name, -1), pairs, trees)
        for name in dict.fromkeys((*trees[0], *trees[1]))
    )


def _tensor_pairs(first: Call, second: Call) -> list[tuple[int, int]]:
    """Return the positions of each tensor in both calls; empty if their numbers differ."""
    first_positions, second_positions = (
        [
            at
            for at, value in enumerate(call.arguments[: len(call.module.main.arguments)])
            if isinstance(value, TensorArgument)
        ]
        for call in (first, second)
    )
    if len(first_positions) != len(second_positions):
        return []
    return list(zip(first_positions, second_positions, strict=True))


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
    tensor = first.tensor_at(position)
    if difference is None and stored_alike(first, second, position, pairs):
        difference = False
    if first_stores is None or second_stores is None or difference is None or tensor is None:
        is_order_free = any(map(_has_free_order, (first, second)))
        if difference is False and isinstance(tensor, TensorArgument):
            integer_witness = _integer_witness(tensor, versions, deadline)
            if integer_witness is not None:
                witness, inputs = integer_witness
                return OutputMeaning(
                    first.kernel, name, "violation", witness=witness, inputs=inputs
                )
        if witness is None or (is_order_free and witness.ulps <= _SUMS):
            return OutputMeaning(first.kernel, name, "unknown")
        return OutputMeaning(first.kernel, name, "violation", witness=witness)
    comparison = compare_stores(first_stores, second_stores, tensor, deadline)
    result = OutputMeaning(
        first.kernel, name, comparison.relation, comparison.first, comparison.second, witness,
        compared_count=comparison.compared_count, elements=comparison.elements,
    )  # fmt: skip
    if witness is not None and _is_contracted(comparison, tensor, witness):
        comparison = replace(comparison, relation="exact")
        result = replace(result, meaning="exact")
    if comparison.relation in ("same", "equal"):
        meaning: Meaning = comparison.relation if comparison.is_whole else "sampled"
        return replace(result, meaning="violation" if witness else meaning)
    is_far = witness is not None and witness.ulps > _SUMS and not comparison.is_whole
    is_different = comparison.relation == "different"
    is_explained = witness is not None and _is_explained(witness, INPUTS[0], versions)
    is_violation = is_far or (is_different and witness is not None and not is_explained)
    differences = [InputsDifference(INPUTS[0], witness)]
    gained: OutputMeaning | None = None  # a number where the first version has none
    for inputs in INPUTS[1:]:
        is_decided = is_violation and witness is not None and witness.ulps > ROUNDINGS
        if is_decided or thread_time() > deadline:
            break
        if inputs in OVERFLOWING and (not is_different or witness is not None):
            continue  # sums of infinities go either way
        if inputs == CANCELING and is_different:
            continue
        if inputs == CANCELING or (inputs == _FAR_FROM_ZERO and not is_different):
            canceled = _witness_of_canceling(inputs, versions)
            if canceled is not None:
                return replace(result, meaning="violation", witness=canceled, inputs=inputs)
        further = versions_differ_on(inputs, versions)
        if inputs == EXPONENTS and isinstance(further, Witness) and further.is_finite:
            differences.append(InputsDifference(inputs, further, "a number"))
            continue
        if isinstance(further, Witness) and _shows_violation(further, inputs, comparison, witness):
            if not _is_explained(further, inputs, versions):
                shown = replace(result, meaning="violation", witness=further, inputs=inputs)
                if is_finite(further.values[0]):
                    return shown
                gained = gained or shown
        elif isinstance(further, Witness) and further.ulps > ROUNDINGS and not is_different:
            bounds = error_bounds(inputs, versions)
            accuracy = None if bounds is None else bounds.accuracy(inputs)
            if accuracy == "lost":
                return replace(result, meaning="violation", witness=further, inputs=inputs)
            differences.append(InputsDifference(inputs, further, accuracy))
        elif further is not None:
            differences.append(
                InputsDifference(inputs, further if isinstance(further, Witness) else None)
            )
    if is_violation or gained is not None:
        return replace(result, meaning="violation") if gained is None else gained
    if is_different:
        return replace(result, witness=None)
    meaning = comparison.relation if comparison.is_whole else "sampled"
    bound = bound_text(
        tuple(store.tree for store in stores) for stores in (first_stores, second_stores)
    )
    return replace(result, meaning=meaning, witness=None, apart=tuple(differences), bound=bound)


def _integer_witness(
    tensor: TensorArgument, versions: VersionCalls, deadline: float
) -> tuple[Witness, Inputs] | None:
    """Return an element of an output of integers with two values, and its inputs, or None."""
    if tensor.element.kind == "f":
        return None
    for inputs in sorted(WITH_INTEGERS):
        witness = versions_differ_on(inputs, versions) if thread_time() < deadline else None
        if isinstance(witness, Witness):
            return witness, inputs
    return None


def _is_contracted(comparison: Comparison, tensor: TensorArgument, witness: Witness) -> bool:
    """Return whether the same operations differ in roundings alone, as by a fused product."""
    is_kept = comparison.relation in ("same", "equal") and tensor.element.kind == "f"
    return is_kept and witness.is_finite and witness.ulps <= ROUNDINGS


def _witness_of_canceling(inputs: Inputs, versions: VersionCalls) -> Witness | None:
    """Return an element with two values beyond the roundings of one version, or None.

    That is the first version: the second may be more exact. Elements are compared by their own
    bounds: beside large ones, lost digits of small ones look like roundings.
    """
    bounds = error_bounds(inputs, versions)
    return None if bounds is None else bounds.farthest()


def _is_explained(witness: Witness, inputs: Inputs, versions: VersionCalls) -> bool:
    """Return whether the first version's error bound, derived from its IR, explains a difference.

    For example, `expm1(x)` differs from `exp(x) - 1`, which cancels most digits near 0.
    """
    if not witness.is_finite or not ROUNDINGS < witness.ulps < _MOST_CANCELED:
        return False
    bounds = error_bounds(inputs, versions)
    return bounds is not None and bounds.explains


def _shows_violation(
    further: Witness, inputs: Inputs, comparison: Comparison, witness: Witness | None
) -> bool:
    """Return whether two values on further inputs show a violation, not a rounding.

    `witness` has two values on random numbers, or is None. If formulas are equal except for
    roundings, no order of operations may explain the difference; else it must exceed roundings.
    """
    if _is_lost(further) and comparison.relation != "reassociated":
        return True
    if comparison.relation != "different":
        return _exceeds_reordering(further, inputs, witness)
    return witness is None or _exceeds_rounding(further, inputs)


def _is_lost(witness: Witness) -> bool:
    """Return whether a number of usual size became infinite or NaN, which no rounding explains."""
    before, after = witness.values
    return not is_finite(after) and is_finite(before) and abs(float(before)) < _USUAL


def _exceeds_rounding(witness: Witness, inputs: Inputs) -> bool:
    """Return whether two values differ by more than roundings, or only the second is not finite."""
    before, after = map(is_finite, witness.values)
    if inputs == _FAR_FROM_ZERO:  # which roundings may cancel
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
    """Return integers and constants from both versions' trees, to fill tensors with.

    Constants that loaded integers are compared with are included, and integers for which the
    versions' formulas may differ; there are none if loaded integers are in addresses.
    """
    trees, integers = (*first_trees, *second_trees), tuple[int, ...]()
    accesses = (access for call in (first, second) for access in summarize(call.module).accesses)
    if not any(access.argument is None or access.offset.symbols("content") for access in accesses):
        differing = sorted(differing_integers(first_trees, second_trees))
        integers = (-3, -2, -1, 0, 1, 2, 3, *compared_integers(trees), *differing)
    return FillValues(integers, constants_of(trees), exceeded_constants(trees))


def _has_free_order(call: Call) -> bool:
    """Return whether a kernel has atomic sums of floats, in no fixed order."""
    return any(access.operator in FREE for access in summarize(call.module).accesses)
