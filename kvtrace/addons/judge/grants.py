"""Tolerances that a problem grants its results, measured on the reference alone.

Inputs are moved within the roundings of their types: the further the reference's results move, the
further right results may be off. The candidate takes no part, so nothing that it computes can widen
the tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.condition import (
    FLOATS,
    Condition,
    Draw,
    are_alike,
    conditions,
    granted,
    inputs_of,
)
from kvtrace.evaluate.shadows.errors.analysis import CHANCE
from kvtrace.evaluate.shadows.errors.roundings import deviations_for
from kvtrace.evaluate.shadows.errors.tt_dot import TF32_STEP

Numbers = NDArray[np.float64]

#: A reference whose call takes longer than this is not measured.
_MOST_SECONDS: Final = 1.25


class Unmeasured(Exception):
    """The reference does not take inputs that are moved."""


#: Allowed error of each element, allowed error where dots cut to tf32, and the number of inputs
#: that an element is made of.
Grant = tuple[Numbers, Numbers, int]


def grants_of(
    results: Callable[[Draw], Sequence[Numbers]],
    exact: Sequence[Numbers],
    native: Sequence[tuple[Numbers, str]],
    inputs: Sequence[tuple[Numbers, str]],
) -> list[Grant] | None:
    """Return the grant of each result; None if the reference is too slow or not deterministic.

    Args:
        results: returns the reference's results in float64 for inputs moved by a draw.
        exact: the results in float64 for the inputs as they are.
        native: the results in the inputs' types, and the types' names.
        inputs: the inputs of floats, and the types' names.

    """
    exact_by_name = {str(at): values for at, values in enumerate(exact)}
    names = [FLOATS[name] for _, name in inputs]
    types = [FLOATS.get(name, name) for _, name in native]
    moving_inputs = inputs_of([values for values, _ in inputs], names, results=types)

    def moved(draw: Draw) -> Mapping[str, Numbers]:
        return {str(at): values for at, values in enumerate(results(draw))}

    begun = time.monotonic()
    try:
        again = moved(Draw(0, 0.0))
        if time.monotonic() - begun > _MOST_SECONDS:
            return None
        if any(not are_alike(values, again[at]) for at, values in exact_by_name.items()):
            return None
        measured = conditions(moved, exact_by_name, moving_inputs)
    except Unmeasured:
        return None
    scales = deviations_for(CHANCE, sum(values.size for values in exact))
    tf32_inputs = replace(
        moving_inputs, units=tuple(max(unit, TF32_STEP) for unit in moving_inputs.units)
    )
    grants = []
    for at, values in exact_by_name.items():
        native_values, result_type = native[int(at)][0], types[int(at)]
        with np.errstate(all="ignore"):
            square = (native_values.reshape(values.shape) - values) ** 2
        native_error = np.sqrt(np.mean(square, where=np.isfinite(square))) if square.size else 0.0
        condition = replace(
            measured[at], own=float(native_error) if np.isfinite(native_error) else 0.0
        )
        tf32_condition = Condition(
            condition.stored + condition.working * (TF32_STEP / moving_inputs.working),
            condition.working,
            condition.length,
            condition.own,
        )
        grants.append(
            (
                granted(values, condition, moving_inputs, result_type, scales),
                granted(values, tf32_condition, tf32_inputs, result_type, scales),
                condition.length,
            )
        )
    return grants


def as_numbers(tensor: Any) -> Numbers:
    """Return a tensor's elements in float64."""
    return np.asarray(tensor.detach().cpu().double().numpy(), np.float64)
