"""Drift of step times: whether steps became shorter or longer over a run, beyond their noise.

The test is that of Mann and Kendall: of all pairs of steps, how many more have the longer step
later than earlier. If steps come in random order, this number divided by its standard deviation is
about normally distributed. Steps near each other resemble each other, as on a machine that is busy
for some seconds, which widens the deviation by (1 + r) / (1 - r), where r is the correlation of
neighbors; it is estimated from the ranks' differences over one and over two steps, of which a slow
trend is no part. A few steps of any length move few pairs, so outliers do not count.

Example: 30 steps go evenly from 38 to 25 ms. All 435 pairs are in one direction, which is 7.8
deviations. H. B. Mann, Nonparametric tests against trend, Econometrica 13, 1945.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kvtrace.figures.columns import Integers

#: Fewest steps that have a drift.
_LEAST_STEPS: Final = 10
#: Start and end are the first and the last of so many parts of the steps, and at least 3 steps.
_PARTS: Final = 5
_LEAST_OF_END: Final = 3
#: Share of the shorter duration below which a change is not worth a sentence.
_LEAST_CHANGE: Final = 0.1
#: Standard deviations; random steps reach so many once in a thousand times.
_DEVIATIONS: Final = 3.3
#: Longer runs are compared by the medians of so many parts.
_MOST_COMPARED: Final = 200
_STRONGEST_CORRELATION: Final = 0.9


@dataclass(frozen=True, slots=True)
class Drift:
    """A change of step times over a run: median durations, in ns, of its first and last steps.

    `steps` is the number of steps at either end that the medians are of.
    """

    start_ns: float
    end_ns: float
    steps: int


def drift_of(duration_ns: Sequence[int]) -> Drift | None:
    """Return the drift of steps with these durations, in order; None if there is none."""
    durations = np.array(duration_ns, np.int64)
    if durations.size < _LEAST_STEPS:
        return None
    steps = max(_LEAST_OF_END, durations.size // _PARTS)
    start, end = float(np.median(durations[:steps])), float(np.median(durations[-steps:]))
    if abs(end - start) < _LEAST_CHANGE * min(start, end):
        return None
    deviations = _deviations(durations)
    if abs(deviations) < _DEVIATIONS or (deviations > 0) != (end > start):
        return None
    return Drift(start, end, steps)


def _deviations(durations: Integers) -> float:
    """Return the trend in standard deviations, positive if later steps are longer."""
    parts = np.array_split(durations, min(durations.size, _MOST_COMPARED))
    values = np.array([np.median(part) for part in parts])
    number = values.size
    signs = np.sign(values[None, :] - values[:, None])
    score = float(np.triu(signs, 1).sum())
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    # Of neighbors with correlation r, these variances are 2 (1 - r) and 2 (1 - r²) of the ranks'.
    by_one, by_two = float(np.var(ranks[1:] - ranks[:-1])), float(np.var(ranks[2:] - ranks[:-2]))
    correlation = np.clip(by_two / by_one - 1, 0, _STRONGEST_CORRELATION) if by_one else 0.0
    variance = number * (number - 1) * (2 * number + 5) / 18
    variance *= (1 + correlation) / (1 - correlation)
    return score / float(np.sqrt(variance))
