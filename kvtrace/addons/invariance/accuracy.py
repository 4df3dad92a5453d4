"""How exact two versions are whose formulas are equal: by bounds that are derived from their IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import ml_dtypes
import numpy as np

from kvtrace.addons.invariance.witness import MOST_STEPS, filled_arguments, filled_with
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.shadows.deviation.deviations import Deviations
from kvtrace.evaluate.shadows.deviation.exact_values import exact_values
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.invariance.witness import Inputs
    from kvtrace.evaluate.shadows.deviation.exact_values import ExactValues
    from kvtrace.recorded_calls.recorded import Call

Accuracy = Literal["as exact", "lost"]
"""
- as exact: the second version's bound is at most a few times the first one's, wherever that says
  anything.
- lost: the second gives no number where the first one's bound says that it has digits.
"""

_TIMES: Final = 4.0
"""So many times the first version's bound the second's may be."""
_PLAIN: Final[frozenset[Inputs]] = frozenset({
    "random numbers", "small numbers", "negative numbers", "numbers around 10,000",
    "zeros and ones",
})  # fmt: skip
"""Inputs that no version may overflow on."""


def accuracy_of(
    inputs: Inputs,
    first: Call,
    second: Call,
    output: int,
    pairs: Sequence[tuple[int, int]],
    integers: Sequence[int],
    ulps: float,
) -> Accuracy | None:
    """Compare how far two versions may be from what both mean; None: neither is known.

    Args:
        inputs: What kind of numbers tensors hold.
        first: A call of the one version.
        second: A call of the other, whose formula is equal if nothing is rounded.
        output: The position of the output among the first one's arguments.
        pairs: The positions of each tensor among the arguments of the one and of the other.
        integers: What tensors of integers hold that were not recorded.
        ulps: Up to so many units in the last place, at the largest element, two values are alike.

    """
    theirs = dict(pairs).get(output)
    tensor = first.arguments[output]
    if theirs is None or not isinstance(tensor, TensorArgument) or tensor.element.kind != "f":
        return None
    found: list[ExactValues] = []
    for call, place, positions in zip(
        (first, second), (output, theirs), zip(*pairs, strict=True), strict=True
    ):
        fill = filled_with(inputs, first, second, positions, pairs, integers)
        arguments = fill and filled_arguments(call, fill, any_integers=True)
        values = None
        if arguments:
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
                    values = exact_values(left, deviations.memory, deviations.open)
            except (KvtraceError, *UNFIT):
                return None
            if deviations.open:
                return None
        if values is None:
            return None
        found.append(values)
    if found[0].evaluated.shape != found[1].evaluated.shape:
        return None
    return _compared(*found, ulps * float(ml_dtypes.finfo(tensor.element.memory).eps), inputs)


def _compared(one: ExactValues, other: ExactValues, unit: float, inputs: Inputs) -> Accuracy | None:
    is_number, is_still = (np.isfinite(each.evaluated) for each in (one, other))
    sizes = np.abs(one.exact[is_number & np.isfinite(one.exact)])
    largest = float(sizes.max(initial=0.0))
    says = is_number & (one.near < largest)  # elsewhere the first one's value may be anything
    if inputs in _PLAIN and (says & (one.near < np.abs(one.exact) / 2) & ~is_still).any():
        return "lost"
    alike = (is_number == is_still) | ~says
    alike &= np.where(is_number, True, _same(one, other))
    bounded = other.near <= _TIMES * one.near + unit * largest
    within = np.where(is_number & is_still & says, bounded, True)
    return "as exact" if bool((alike & within).all()) else None


def _same(one: ExactValues, other: ExactValues) -> np.ndarray:
    """Return where two numbers are equal, or both none."""
    both_none = np.isnan(one.evaluated) & np.isnan(other.evaluated)
    return np.asarray((one.evaluated == other.evaluated) | both_none)
