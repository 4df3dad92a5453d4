"""The accuracy of two versions of a kernel, by error bounds derived from their IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.inputs import PLAIN
from kvtrace.addons.invariance.witness import MOST_STEPS, filled_arguments, filled_with
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.exact_values import exact_values
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.invariance.inputs import Drawn, Inputs
    from kvtrace.evaluate.shadows.errors.exact_values import ExactValues
    from kvtrace.recorded_calls.recorded import Call

Accuracy = Literal["as exact", "a number", "lost"]
"""
- a number: finite, as the first one's, where roundings of exponents are larger, too.
- as exact: the second version's bound is at most a few times the first one's, wherever that says
  anything.
- lost: the second gives no number where the first one's bound says that it has digits.
"""

_TIMES: Final = 4.0
"""The second version's error bound may be this many times the first one's."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """One output of two versions on the same inputs, each element with an error bound.

    `unit`: the tolerance, as a fraction of the largest element.
    """

    first: ExactValues
    second: ExactValues
    unit: float

    def accuracy(self, inputs: Inputs) -> Accuracy | None:
        """Return the second version's accuracy relative to the first; None: not known."""
        one, other = self.first, self.second
        is_number, is_still = (np.isfinite(each.evaluated) for each in (one, other))
        says = is_number & (one.near < self._largest())  # elsewhere the first's may be anything
        has_digits = says & (one.near < np.abs(one.exact) / 2)
        if inputs in PLAIN and (has_digits & ~is_still).any():
            return "lost"
        alike = (is_number == is_still) | ~says
        alike &= np.where(is_number, True, _same(one, other))
        bounded = other.near <= _TIMES * one.near + self.unit * self._largest()
        within = np.where(is_number & is_still & says, bounded, True)
        return "as exact" if bool((alike & within).all()) else None

    @property
    def explains(self) -> bool:
        """Return whether every difference is within twice the first version's error bound."""
        one, other = self.first, self.second
        with np.errstate(invalid="ignore"):
            apart = np.abs(one.evaluated - other.evaluated)
        are_numbers = np.isfinite(one.evaluated) & np.isfinite(other.evaluated)
        allowed = 2 * one.near + self.unit * self._largest()
        return bool((np.where(are_numbers, apart <= allowed, _same(one, other))).all())

    def _largest(self) -> float:
        one = self.first
        sizes = np.abs(one.exact[np.isfinite(one.evaluated) & np.isfinite(one.exact)])
        return float(sizes.max(initial=0.0))


def bounds_of(
    inputs: Inputs,
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    drawn: Drawn,
    ulps: float,
) -> Bounds | None:
    """Evaluate one output of two versions, with error bounds; None: no bound can be derived.

    Args:
        inputs: The kind of numbers that tensors hold.
        first: A call of the first version.
        second: A call of the second version.
        output: The position of the output among the first call's arguments.
        pairs: The positions of each tensor among the arguments of the first and second call.
        drawn: Integers and constants for tensors to hold.
        ulps: The tolerance, in units in the last place of the largest element.

    """
    theirs = dict(pairs).get(output)
    tensor = first.arguments[output]
    if theirs is None or not isinstance(tensor, TensorArgument) or tensor.element.kind != "f":
        return None
    exact: list[ExactValues] = []
    for call, place, positions in zip(
        (first, second), (output, theirs), zip(*pairs, strict=True), strict=True
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
                left = arguments[place]
                assert isinstance(left, TensorArgument)
                exact.append(exact_values(left, deviations.memory, deviations.open))
        except (KvtraceError, *UNFIT):
            return None
        if deviations.open:
            return None
    one, other = exact
    if one.evaluated.shape != other.evaluated.shape:
        return None
    return Bounds(one, other, ulps * float(ml_dtypes.finfo(tensor.element.memory).eps))


def _same(one: ExactValues, other: ExactValues) -> NDArray[np.bool_]:
    """Return where the values of both versions are equal, or both NaN."""
    both_none = np.isnan(one.evaluated) & np.isnan(other.evaluated)
    return np.asarray((one.evaluated == other.evaluated) | both_none)
