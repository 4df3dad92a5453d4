"""Grants: tolerances of a problem's results, measured on the reference alone.

Inputs are changed within the roundings of their types: the more the reference's results change, the
larger the tolerance. The candidate is not involved, so it cannot widen the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
    reference_losses,
)
from kvtrace.evaluate.shadows.errors.analysis import CHANCE
from kvtrace.evaluate.shadows.errors.roundings import deviations_for
from kvtrace.evaluate.shadows.errors.tt_dot import TF32_STEP

Numbers = NDArray[np.float64]


class CannotMeasure(Exception):
    """The reference raises an error for slightly changed inputs."""


#: Allowed error of each element, allowed error where dots cut to tf32, and the number of inputs
#: that an element is made of.
Grant = tuple[Numbers, Numbers, int]


def grants_of(
    results: Callable[[Draw], Sequence[Numbers]],
    exact: Sequence[Numbers],
    losses: Callable[[Draw], tuple[Sequence[Numbers], Sequence[Numbers]]],
    native: Sequence[tuple[Numbers, str]],
    inputs: Sequence[tuple[Numbers, str]],
) -> list[Grant] | None:
    """Return the grant of each result; None if the reference is not deterministic.

    Args:
        results: returns the reference's results in float64 for inputs changed by a draw.
        exact: the results in float64 for the unchanged inputs.
        losses: returns the results for inputs that are moved by a draw and rounded to their types:
            computed in these types, and in float64.
        native: the results in the inputs' types, and the types' names.
        inputs: the inputs of floats, and the types' names.
    """
    exact_by_name = {str(at): values for at, values in enumerate(exact)}
    input_types = [FLOATS[name] for _, name in inputs]
    result_types = [FLOATS.get(name, name) for _, name in native]
    moving_inputs = inputs_of([values for values, _ in inputs], input_types, results=result_types)

    def results_by_name(draw: Draw) -> Mapping[str, Numbers]:
        return {str(at): values for at, values in enumerate(results(draw))}

    def losses_by_name(draw: Draw) -> tuple[Mapping[str, Numbers], Mapping[str, Numbers]]:
        rounded, wide = ({str(at): v for at, v in enumerate(values)} for values in losses(draw))
        return rounded, wide

    try:
        repeated = results_by_name(Draw(0, 0.0))
        if any(not are_alike(values, repeated[at]) for at, values in exact_by_name.items()):
            return None
        measured = conditions(results_by_name, exact_by_name, moving_inputs)
        own_losses = reference_losses(losses_by_name, exact_by_name, measured, moving_inputs)
    except CannotMeasure:
        return None
    scales = deviations_for(CHANCE, sum(values.size for values in exact))
    tf32_inputs = replace(
        moving_inputs, units=tuple(max(unit, TF32_STEP) for unit in moving_inputs.units)
    )
    grants = []
    for at, values in exact_by_name.items():
        with np.errstate(all="ignore"):
            loss = np.abs(native[int(at)][0].reshape(values.shape) - values)
        loss = np.maximum(np.where(np.isfinite(loss), loss, 0.0), own_losses[at])
        condition, result_type = replace(measured[at], own=loss), result_types[int(at)]
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
