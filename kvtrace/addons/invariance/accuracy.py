"""The accuracy of two versions of a kernel, by error bounds derived from their IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.witness import MOST_STEPS, Witness, filled_arguments, filled_with
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.exact_values import exact_values
from kvtrace.inputs.kinds import PLAIN
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.evaluate.shadows.errors.exact_values import ExactValues
    from kvtrace.inputs.kinds import FillValues, Inputs
    from kvtrace.recorded_calls.recorded import Call

Accuracy = Literal["as exact", "a number", "lost"]
"""
The accuracy of the second version's result relative to the first version's.

- a number: both results are finite; larger differences are roundings of exponents.
- as exact: the second version's error bound is at most `_TIMES` times the first version's, for all
  elements for which the first version's bound is smaller than the output's largest element.
- lost: the second version gives no finite number for an element of which the first version's bound
  proves the leading digit.
"""

_ULPS: Final = 1e3
"""The distance of values beyond their bounds in multiples of the tolerance: no rounding."""
_TIMES: Final = 4.0
"""The second version's error bound may be this many times the first one's."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values of one output in two versions of a kernel on the same inputs, with error bounds.

    `unit` is the tolerance in multiples of the largest element.
    """

    first: ExactValues
    second: ExactValues
    unit: float

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
        are_same_kind &= np.where(is_finite_before, True, _same(before, after))
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
        return bool((np.where(are_finite, differences <= tolerances, _same(before, after))).all())

    def farthest(self) -> Witness | None:
        """Return the finite element that is farthest beyond the smaller of both versions' bounds.

        None if all differences are within twice that bound and roundings of the element itself.
        """
        before, after = self.first, self.second
        are_finite = np.isfinite(before.evaluated) & np.isfinite(after.evaluated)
        with np.errstate(all="ignore"):
            differences = np.abs(before.evaluated - after.evaluated)
            sizes = np.maximum(np.abs(before.exact), np.abs(before.evaluated))
            allowed = 2 * np.minimum(before.near, after.near) + self.unit * sizes
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


def error_bounds(
    inputs: Inputs,
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    drawn: FillValues,
    ulps: float,
) -> Bounds | None:
    """Evaluate one output of two versions, with error bounds.

    None: the output is not a float tensor of both versions, evaluation fails, or no bound can be
    derived.

    Args:
        inputs: The kind of numbers that tensors hold.
        first: A call of the first version.
        second: A call of the second version.
        output: The position of the output among the first call's arguments.
        pairs: The positions of each tensor among the arguments of the first and second call.
        drawn: Integers and constants for tensors to hold.
        ulps: The tolerance, in units in the last place of the largest element.
    """
    second_position = dict(pairs).get(output)
    tensor = first.arguments[output]
    if (
        second_position is None
        or not isinstance(tensor, TensorArgument)
        or tensor.element.kind != "f"
    ):
        return None
    results: list[ExactValues] = []
    for call, position, positions in zip(
        (first, second), (output, second_position), zip(*pairs, strict=True), strict=True
    ):
        fill = filled_with(inputs, first, second, positions, pairs, drawn)
        arguments = fill and filled_arguments(call, fill, any_integers=True)
        if not arguments:
            return None
        deviations = Deviations(call.module)
        try:
            with np.errstate(all="ignore"):
                evaluate(
                    call.module, arguments, call.grid, kernel=call.kernel,
                    instrument=deviations, most_steps=MOST_STEPS,
                )  # fmt: skip
                assert deviations.memory is not None
                deviations.memory.finish()
                output_tensor = arguments[position]
                assert isinstance(output_tensor, TensorArgument)
                results.append(exact_values(output_tensor, deviations.memory, deviations.open))
        except (KvtraceError, *UNFIT):
            return None
        if deviations.open:
            return None
    before, after = results
    if before.evaluated.shape != after.evaluated.shape:
        return None
    return Bounds(before, after, ulps * float(ml_dtypes.finfo(tensor.element.memory).eps))


def _same(before: ExactValues, after: ExactValues) -> NDArray[np.bool_]:
    """Return a mask of the elements that are equal in both versions, or NaN in both."""
    are_both_nan = np.isnan(before.evaluated) & np.isnan(after.evaluated)
    return np.asarray((before.evaluated == after.evaluated) | are_both_nan)
