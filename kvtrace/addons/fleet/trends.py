"""Statistical comparison of a job's time with earlier jobs: changes are claimed beyond chance.

`kvtrace diff` claims a change if the 99 % interval of the medians' ratio excludes 1 and the ratio
is beyond a threshold. A single job is not a sample, so its variation is estimated from the jobs
before it: the interval here is the 99 % prediction interval for one more job, assuming log-normal
times. For example, with 10 earlier jobs whose logarithms have a standard deviation of 0.02, t =
3.25, and the ratio lies within exp(±3.25 · 0.02 · √(1 + 1/10)), or ×0.93 to ×1.07.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.addons.fleet.model import Change, JobComparison, Kind
from kvtrace.converters.diff.times import THRESHOLD

#: Earlier jobs to compare with, at most and at least.
WINDOW: Final = 20
LEAST: Final = 4
#: Later jobs that have to confirm a change, if there are any.
_AFTER: Final = 3
#: Student's t at 0.995 by degrees of freedom, from 3 on: 0.5 % lie beyond at each end.
_T: Final = np.array(
    [5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
     2.921, 2.898, 2.878, 2.861]
)  # fmt: skip
#: Thresholds of diff; processes differ in host times, by the speed of their core.
_LEAST_THRESHOLD: Final[dict[Kind, float]] = {"device": THRESHOLD, "host": 0.25}

Real = npt.NDArray[np.float64]


def judge_times(
    kind: Kind, times: Mapping[int, float], newest: int
) -> tuple[JobComparison | None, str | None, tuple[Change, ...]]:
    """Compare a kernel's time in each job with its times in earlier jobs.

    Returns the newest job's comparison, or None and the reason; and the changes of all jobs.

    Args:
        kind: Device times or host times; host times have a higher threshold.
        times: Positive times by job number.
        newest: The number of the newest job.
    """
    jobs, threshold = sorted(times), _LEAST_THRESHOLD[kind]
    ns = [times[job] for job in jobs]
    comparisons = _comparisons_of_jobs(np.log(ns), threshold)
    changes = _confirmed_changes(jobs, ns, comparisons, threshold)
    if newest not in times:
        return None, "not launched in this job", changes
    index = jobs.index(newest)
    if index < LEAST:
        return None, f"fewer than {LEAST} earlier jobs", changes
    return comparisons.at(index), None, changes


@dataclass(frozen=True, slots=True)
class _Comparisons:
    """The fields of `JobComparison`, as arrays over all jobs but the first `LEAST`."""

    ratio: Real
    low: Real
    high: Real
    claimed: npt.NDArray[np.bool_]

    def at(self, index: int) -> JobComparison:
        """Return the comparison of the job at an index among all jobs."""
        ratio, low, high = (float(c[index - LEAST]) for c in (self.ratio, self.low, self.high))
        return JobComparison(ratio, (low, high), bool(self.claimed[index - LEAST]))


def _comparisons_of_jobs(logs: Real, threshold: float) -> _Comparisons:
    centered = logs - logs.mean()
    sums = np.concatenate([[0.0], np.cumsum(centered)])
    squares = np.concatenate([[0.0], np.cumsum(centered * centered)])
    indexes = np.arange(LEAST, logs.size)
    window = np.minimum(indexes, WINDOW)
    mean = (sums[indexes] - sums[indexes - window]) / window
    squared_deviations = squares[indexes] - squares[indexes - window] - window * mean * mean
    spread = np.sqrt(np.maximum(squared_deviations, 0.0) / (window - 1))
    half_width = _T[window - LEAST] * spread * np.sqrt(1 + 1 / window)
    difference = centered[indexes] - mean
    ratio, low, high = (
        np.exp(d) for d in (difference, difference - half_width, difference + half_width)
    )
    return _Comparisons(
        ratio, low, high, ((low > 1) | (high < 1)) & (np.abs(ratio - 1) >= threshold)
    )


def _confirmed_changes(
    jobs: Sequence[int], times: Sequence[float], comparisons: _Comparisons, threshold: float
) -> tuple[Change, ...]:
    """Return the changes that later jobs confirm, each for its first job only.

    The jobs after a change also lie outside of the interval of the jobs before it. So a further
    change must also be beyond the threshold compared with the mean of the jobs since the last one.
    """
    changes: list[Change] = []
    last_change = 0
    for index in (np.flatnonzero(comparisons.claimed) + LEAST).tolist():
        comparison = comparisons.at(index)
        later_times = times[index + 1 : index + 1 + _AFTER]
        reference_means = [times[index] / comparison.ratio]
        reference_means += [geometric_mean(times[last_change:index])] if changes else []
        observed_times = [times[index], *([median(later_times)] if later_times else [])]
        ratios = [ns / mean for ns in observed_times for mean in reference_means]
        if all(abs(r - 1) >= threshold and (r > 1) == (comparison.ratio > 1) for r in ratios):
            changes.append(Change(jobs[index], comparison))
            last_change = index
    return tuple(changes)
