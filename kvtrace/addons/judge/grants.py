"""What a case grants its results: how far right ones may be off, by the reference alone.

The candidate is not part of this, so nothing that it computes can widen it.
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

#: A reference whose call takes longer is not called on inputs that move.
_MOST_SECONDS: Final = 1.25


class Unmeasured(Exception):
    """A reference that does not take inputs that move."""


#: How far each element may be off, the same where dots cut to tf32, and of how many inputs an
#: element is made.
Grant = tuple[Numbers, Numbers, int]


def grants_of(
    results: Callable[[Draw], Sequence[Numbers]],
    exact: Sequence[Numbers],
    own: Sequence[tuple[Numbers, str]],
    inputs: Sequence[tuple[Numbers, str]],
) -> list[Grant] | None:
    """Return the grant of each result.

    None: it is not known, for the reference takes too long, or gives something else each time.

    Args:
        results: what the reference gives in float64 for inputs as a draw moves them.
        exact: ... for inputs as they are.
        own: what it gives in the inputs' types, and the types' names.
        inputs: floats that it takes, and the types' names.

    """
    known = {str(at): each for at, each in enumerate(exact)}
    names = [FLOATS[name] for _, name in inputs]
    types = [FLOATS.get(name, name) for _, name in own]
    given = inputs_of([values for values, _ in inputs], names, results=types)

    def moved(draw: Draw) -> Mapping[str, Numbers]:
        return {str(at): each for at, each in enumerate(results(draw))}

    begun = time.monotonic()
    try:
        again = moved(Draw(0, 0.0))
        if time.monotonic() - begun > _MOST_SECONDS:
            return None
        if any(not are_alike(values, again[at]) for at, values in known.items()):
            return None
        measured = conditions(moved, known, given)
    except Unmeasured:
        return None
    scales = deviations_for(CHANCE, sum(each.size for each in exact))
    coarse = replace(given, units=tuple(max(unit, TF32_STEP) for unit in given.units))
    found = []
    for at, values in known.items():
        kept, type_ = own[int(at)][0], types[int(at)]
        with np.errstate(all="ignore"):
            square = (kept.reshape(values.shape) - values) ** 2
        lost = np.sqrt(np.mean(square, where=np.isfinite(square))) if square.size else 0.0
        condition = replace(measured[at], own=float(lost) if np.isfinite(lost) else 0.0)
        cut = Condition(
            condition.stored + condition.working * (TF32_STEP / given.working),
            condition.working,
            condition.length,
            condition.own,
        )
        found.append(
            (
                granted(values, condition, given, type_, scales),
                granted(values, cut, coarse, type_, scales),
                condition.length,
            )
        )
    return found


def as_numbers(tensor: Any) -> Numbers:
    """Return a tensor's elements in float64."""
    return np.asarray(tensor.detach().cpu().double().numpy(), np.float64)
