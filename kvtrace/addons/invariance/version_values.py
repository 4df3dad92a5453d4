"""Values of two versions of a kernel on the same inputs, and bounds of their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeVar

import ml_dtypes
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.invariance.input_kinds import (
    PLAIN,
    WITH_INTEGERS,
    WITHOUT_OVERFLOW,
    FillValues,
    Inputs,
    numbers_of,
)
from kvtrace.addons.invariance.launches import (
    MOST_STEPS,
    Fill,
    elements_of,
    filled_arguments,
    has_small_tensors,
    output_after,
    positions_of_leading,
    read_positions,
)
from kvtrace.addons.invariance.witness import Witness, bits_of, differing_element
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.exact_values import ExactValues, exact_values
from kvtrace.evaluate.shadows.errors.images import are_same
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError

_EXTREMES: Final = tuple(
    sign * number
    for bits in (7, 8, 15, 16, 31, 32, 63)
    for number in (2**bits - 1, 2**bits, 2 ** (bits - 1) + 5)
    for sign in (-1, 1)
)
"""Integers near the limits of types, for which arithmetic overflows."""

_Result = TypeVar("_Result")

Accuracy = Literal["as exact", "a number", "lost"]
"""
The accuracy of the second version's result relative to the first version's.

- a number: both results are finite; larger differences are roundings of exponents.
- as exact: the second version's error bound is at most `_TIMES` times the first version's, for all
  elements for which the first version's bound is smaller than the output's largest element.
- lost: the second version gives no finite number for an element of which the first version's bound
  proves the leading digit.
"""

ROUNDINGS: Final = 32.0
"""Units in the last place up to which two values may be roundings of one number."""
_ULPS: Final = 1e3
"""Distance of two values, in multiples of the tolerance, from which it is no rounding."""
_TIMES: Final = 4.0
"""The second version's error bound may be this many times the first one's."""


class VersionCalls(Struct, frozen=True):
    """A call of each version of a kernel, with an output that both may write.

    Attributes:
        first: A call of the first version.
        second: A call of the second version.
        output: The position of the output among the first call's arguments.
        pairs: The positions of each tensor among the arguments of the first and second call.
        fill_values: Integers and constants for tensors to hold; without integers, the tensors'
            integers must be recorded.
    """

    first: Call
    second: Call
    output: int
    pairs: Sequence[tuple[int, int]]
    fill_values: FillValues = FillValues()

    @property
    def rank(self) -> int | None:
        """The index of the output in `pairs`; None: only one version has it."""
        return next((n for n, (at, _) in enumerate(self.pairs) if at == self.output), None)

    @property
    def sides(self) -> Iterator[tuple[Call, Sequence[int]]]:
        """The call of each version, with the positions of the tensors in it."""
        return zip((self.first, self.second), zip(*self.pairs, strict=True), strict=True)


def versions_differ(versions: VersionCalls) -> Witness | str | bool | None:
    """Compare an output of two versions of a kernel by the evaluator, on random floats.

    Returns:
        An element with two values; a sentence if only one version writes some element; False if
        the results are equal; None if a version cannot be evaluated.
    """
    results = _of_both("random numbers", versions, _result_and_mask)
    if results is None:
        return None
    (first_values, first_mask), (second_values, second_mask) = results
    if first_values.size != second_values.size:
        return None
    if (first_mask != second_mask).any():
        element = int(np.flatnonzero(first_mask != second_mask)[0])
        writer = "the first" if first_mask[element] else "the second"
        return f"only {writer} version writes element {element}"
    return _witness_between(first_values, second_values)


def versions_differ_on(inputs: Inputs, versions: VersionCalls) -> Witness | bool | None:
    """Compare as `versions_differ` on a kind of inputs, or None; unwritten elements are equal."""
    outputs = _of_both(inputs, versions, partial(output_after, filled_integers=True))
    if outputs is None or outputs[0].size != outputs[1].size:
        return None
    return _witness_between(outputs[0], outputs[1], inputs)


def _of_both(
    inputs: Inputs, versions: VersionCalls, result_of: Callable[[Call, int, Fill], _Result | None]
) -> list[_Result] | None:
    """Return what a function finds of each version's call, output and inputs.

    None: it finds nothing of one of them, or only one version has the output.
    """
    rank = versions.rank
    if rank is None:
        return None
    results: list[_Result] = []
    for call, positions in versions.sides:
        fill = filled_with(inputs, versions, positions)
        result = fill and result_of(call, positions[rank], fill)
        if result is None:
            return None
        results.append(result)
    return results


def filled_with(inputs: Inputs, versions: VersionCalls, positions: Sequence[int]) -> Fill | None:
    """Return a function that fills the tensors at `positions` of a call with a kind of inputs.

    None if the kind needs integers or constants that are not known, if tensors are too large, or if
    a call has others than those of `pairs`, which are reached through memory.
    """
    for call, at in versions.sides:
        if sum(isinstance(argument, TensorArgument) for argument in call.arguments) != len(at):
            return None
    if not (has_small_tensors(versions.first) and has_small_tensors(versions.second)):
        return None
    values, needs_integers = versions.fill_values, inputs in WITH_INTEGERS
    integers = _integer_contents(versions, inputs)
    if integers is None or (needs_integers and not (integers and values.integers)):
        return None
    constants = {
        "constants of the kernels": values.constants,
        "numbers beside the constants": values.constants,
        "numbers beyond the constants": values.exceeded,
    }.get(inputs)
    if constants == ():
        return None

    def fill(tensor: TensorArgument, position: int) -> NDArray[Any]:
        rank = positions.index(position)
        if tensor.element.kind != "f":
            return integers[rank]
        return numbers_of(inputs, tensor.shape, tensor.element.memory, rank, constants or ())

    return fill


def _witness_between(
    first_values: NDArray[Any], second_values: NDArray[Any], inputs: Inputs = "random numbers"
) -> Witness | bool:
    """Return an element with two values, or False.

    Elements that are finite in the first version come first, as an overflow is weak evidence of a
    change. On inputs without overflow, a NaN in one version only is strong evidence, so that all
    elements count alike.
    """
    before, after = first_values.reshape(1, -1), second_values.reshape(1, -1)
    names = "the first version", "the second"
    witness = None
    if inputs not in WITHOUT_OVERFLOW:
        with np.errstate(invalid="ignore"):
            was_finite = np.isfinite(before.astype(np.float64))
        witness = differing_element(before, np.where(was_finite, after, before), *names)
    return witness or differing_element(before, after, *names) or False


def _result_and_mask(
    call: Call, position: int, fill: Fill
) -> tuple[NDArray[Any], NDArray[np.bool_]] | None:
    """Return (a tensor's contents after a launch, mask of the written elements), or None.

    Elements that keep two contents, in two launches, are not written.
    """
    tensor = call.tensor(position)
    contents = fill(tensor, position)
    other_contents = (
        numbers_of("random numbers", tensor.shape, tensor.element.memory, position + 1000)
        if tensor.element.kind == "f"
        else contents ^ contents.dtype.type(1)
    )
    results = []
    for before in (contents, other_contents):

        def with_output(
            argument: TensorArgument, at: int, before: NDArray[Any] = before
        ) -> NDArray[Any]:
            return before if at == position else fill(argument, at)

        result = output_after(call, position, with_output, filled_integers=True)
        if result is None:
            return None
        results.append((result, before))
    is_unchanged = np.logical_and(*(bits_of(after) == bits_of(before) for after, before in results))
    return results[0][0].reshape(-1), ~is_unchanged.reshape(-1)


def _integer_contents(versions: VersionCalls, inputs: Inputs) -> dict[int, NDArray[Any]] | None:
    """Return contents of integer tensors for both versions, by their index in `pairs`.

    Recorded contents are used, in kinds with other integers if they decide what is read, written
    or run; otherwise random choices of the integers to fill with. None if a version reads a tensor
    that was not recorded and there are no such integers.
    """
    contents: dict[int, NDArray[Any]] = {}
    calls, integers = (versions.first, versions.second), versions.fill_values.integers
    reads = [read_positions(call) for call in calls]
    for rank, positions in enumerate(versions.pairs):
        tensors = [call.tensor(n) for call, n in zip(calls, positions, strict=True)]
        if tensors[0].element.kind == "f":
            continue
        recorded = next((tensor for tensor in tensors if tensor.storage.data is not None), None)
        is_read = any(n in read for n, read in zip(positions, reads, strict=True))
        is_chosen = inputs in WITH_INTEGERS and not any(
            n in positions_of_leading(call) for call, n in zip(calls, positions, strict=True)
        )
        if recorded is not None and not is_chosen:
            contents[rank] = elements_of(recorded).copy()
        elif is_read and not integers:
            return None
        else:
            extremes = _EXTREMES if inputs in WITH_INTEGERS else ()
            drawn = _random_integers((*integers, *extremes), tensors[0], rank)
            if inputs == "integers that are 0":
                drawn = np.zeros_like(drawn)
            elif inputs == "negative integers" and drawn.dtype.kind == "i":
                drawn = np.minimum(drawn, -1 - drawn)
            contents[rank] = drawn
    return contents


def _random_integers(integers: Sequence[int], tensor: TensorArgument, seed: int) -> NDArray[Any]:
    """Return a random choice of the integers that a tensor's type can hold, in its shape."""
    limits = np.iinfo(tensor.element.memory) if tensor.element.memory.kind in "iu" else None
    low, high = (0, 1) if limits is None else (limits.min, limits.max)
    fitting = [integer for integer in integers if low <= integer <= high] or [0]
    numbers = np.random.default_rng(seed).choice(fitting, tensor.shape)
    return numbers.astype(tensor.element.memory)


# -- errors --------------------------------------------------------------------------------------


class Bounds(Struct, frozen=True):
    """The values of one output in two versions of a kernel on the same inputs, with error bounds.

    `unit` is the tolerance in multiples of the largest element, `limit` the output type's largest
    finite number.
    """

    first: ExactValues
    second: ExactValues
    unit: float
    limit: float

    def accuracy(self, inputs: Inputs) -> Accuracy | None:
        """Return the second version's accuracy relative to the first version's.

        None: not known. "lost" is returned only for `inputs` on which no version may overflow
        (`PLAIN`).
        """
        before, after = self.first, self.second
        is_finite_before = np.isfinite(before.evaluated)
        is_finite_after = np.isfinite(after.evaluated)
        has_bound = is_finite_before & (before.near < self._largest())
        has_digits = has_bound & (before.near < np.abs(before.exact) / 2)
        if inputs in PLAIN and (has_digits & ~is_finite_after).any():
            return "lost"
        are_same_kind = (is_finite_before == is_finite_after) | ~has_bound
        overflow = np.copysign(np.inf, after.exact)
        is_right = (np.abs(after.exact) > self.limit) & (after.evaluated == overflow)
        are_same_kind &= is_finite_before | is_right | are_same(before.evaluated, after.evaluated)
        bounded = after.near <= _TIMES * before.near + self.unit * self._largest()
        are_within_bound = np.where(is_finite_before & is_finite_after & has_bound, bounded, True)
        return "as exact" if bool((are_same_kind & are_within_bound).all()) else None

    @property
    def explains(self) -> bool:
        """Every difference is within twice the first version's error bound plus `unit`.

        Where a value is not finite, both values must be equal or NaN.
        """
        before, after = self.first, self.second
        with np.errstate(invalid="ignore"):
            differences = np.abs(before.evaluated - after.evaluated)
        are_finite = np.isfinite(before.evaluated) & np.isfinite(after.evaluated)
        tolerances = 2 * before.near + self.unit * self._largest()
        return bool(
            (
                np.where(
                    are_finite,
                    differences <= tolerances,
                    are_same(before.evaluated, after.evaluated),
                )
            ).all()
        )

    def farthest(self) -> Witness | None:
        """Return the finite element that is farthest beyond the first version's bound.

        None if all differences are within twice that bound and roundings of the element itself.
        """
        before, after = self.first, self.second
        are_finite = np.isfinite(before.evaluated) & np.isfinite(after.evaluated)
        with np.errstate(all="ignore"):
            differences = np.abs(before.evaluated - after.evaluated)
            sizes = np.maximum(np.abs(before.exact), np.abs(before.evaluated))
            allowed = 2 * before.near + self.unit * sizes
            shares = np.where(are_finite & (differences > allowed), differences / allowed, 0.0)
        if not shares.size or not shares.max() > 0:
            return None
        element = int(np.argmax(shares))
        values = [float(version.evaluated.reshape(-1)[element]) for version in (before, after)]
        scale = self.unit * max(float(sizes.reshape(-1)[element]), 1e-30)
        ulps = _ULPS * float(differences.reshape(-1)[element]) / scale
        return Witness(
            element, "the first version", "the second", (repr(values[0]), repr(values[1])), ulps
        )

    def _largest(self) -> float:
        before = self.first
        magnitudes = np.abs(before.exact[np.isfinite(before.evaluated) & np.isfinite(before.exact)])
        return float(magnitudes.max(initial=0.0))


def error_bounds(inputs: Inputs, versions: VersionCalls) -> Bounds | None:
    """Evaluate one output of two versions, with error bounds.

    None: the output is not a float tensor of both versions, evaluation fails, or no bound can be
    derived.

    Args:
        inputs: The kind of numbers that tensors hold.
        versions: The calls.
    """
    tensor = versions.first.tensor_at(versions.output)
    if tensor is None or tensor.element.kind != "f":
        return None
    results = _of_both(inputs, versions, _exact_values)
    if results is None or results[0].evaluated.shape != results[1].evaluated.shape:
        return None
    form = ml_dtypes.finfo(tensor.element.memory)
    return Bounds(results[0], results[1], ROUNDINGS * float(form.eps), float(form.max))


def _exact_values(call: Call, position: int, fill: Fill) -> ExactValues | None:
    """Return the values of an output after a launch, with error bounds; None: it has none."""
    arguments = filled_arguments(call, fill, filled_integers=True)
    if not arguments:
        return None
    deviations = Deviations(call.module)
    try:
        with np.errstate(all="ignore"):
            memory = deviations.run(arguments, call.grid, call.kernel, most_steps=MOST_STEPS)
            output = arguments[position]
            assert isinstance(output, TensorArgument)
            values = exact_values(output, memory, deviations.open)
    except KvtraceError:
        return None
    return None if deviations.open else values
