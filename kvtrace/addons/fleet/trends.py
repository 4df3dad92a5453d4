"""Whether a job's time is outside of what jobs before it let expect: claims only beyond chance.

As `kvtrace diff` claims a change of two sides whose medians' ratio has a 99 % interval without 1,
and that is beyond a threshold, so is a job compared here with those before. What differs is that
one job is not a sample: what jobs differ by anyway is seen only in the jobs before it. So the
interval is that of one more of them, if the logarithms of their times are normally distributed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.addons.fleet.model import Change, Judged, Kind
from kvtrace.converters.diff.times import THRESHOLD

#: Jobs before, at most and at least.
WINDOW: Final = 20
LEAST: Final = 4
#: Jobs after a change that have to bear it out, where there are some.
_AFTER: Final = 3
#: Student's t of 0.995, by degrees of freedom from 3 on: 0.5 % are left out at each end.
_T: Final = np.array(
    [5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
     2.921, 2.898, 2.878, 2.861]
)  # fmt: skip
#: Host times as diff's of one process a side: processes differ in the speed of their core.
_LEAST_THRESHOLD: Final[dict[Kind, float]] = {"device": THRESHOLD, "host": 0.25}

Real = npt.NDArray[np.float64]


def judge_times(
    kind: Kind, times: Mapping[int, float], newest: int
) -> tuple[Judged | None, str | None, tuple[Change, ...]]:
    """Judge each job's time by those before it; of `newest`, and where there is none, why.

    Args:
        kind: Where it was measured; host times have to differ by more.
        times: Above 0, by job number.
        newest: The job that is asked for.

    """
    jobs, threshold = sorted(times), _LEAST_THRESHOLD[kind]
    ns = [times[job] for job in jobs]
    judged = _judged(np.log(ns), threshold)
    changes = _changes(jobs, ns, judged, threshold)
    if newest not in times:
        return None, "not in this job", changes
    place = jobs.index(newest)
    if place < LEAST:
        return None, f"fewer than {LEAST} jobs before", changes
    return judged.at(place), None, changes


@dataclass(frozen=True, slots=True)
class _Jobs:
    """What `Judged` says, of each job but the first `LEAST`."""

    ratio: Real
    low: Real
    high: Real
    claimed: npt.NDArray[np.bool_]

    def at(self, place: int) -> Judged:
        """Return the figures of the job of that place, among all."""
        ratio, low, high = (float(c[place - LEAST]) for c in (self.ratio, self.low, self.high))
        return Judged(ratio, (low, high), bool(self.claimed[place - LEAST]))


def _judged(logs: Real, threshold: float) -> _Jobs:
    centred = logs - logs.mean()
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred * centred)])
    at = np.arange(LEAST, logs.size)
    before = np.minimum(at, WINDOW)
    mean = (sums[at] - sums[at - before]) / before
    rest = squares[at] - squares[at - before] - before * mean * mean
    spread = np.sqrt(np.maximum(rest, 0.0) / (before - 1))
    reach = _T[before - LEAST] * spread * np.sqrt(1 + 1 / before)
    difference = centred[at] - mean
    ratio, low, high = (np.exp(d) for d in (difference, difference - reach, difference + reach))
    return _Jobs(ratio, low, high, ((low > 1) | (high < 1)) & (np.abs(ratio - 1) >= threshold))


def _changes(
    jobs: Sequence[int], times: Sequence[float], judged: _Jobs, threshold: float
) -> tuple[Change, ...]:
    """Return the claims that the jobs after bear out, each reported once.

    The jobs just after a change are outside of what those before it let expect, too: such a claim
    has to be beyond the threshold by the mean of the jobs since the change as well.
    """
    found: list[Change] = []
    since = 0
    for place in (np.flatnonzero(judged.claimed) + LEAST).tolist():
        one = judged.at(place)
        after = times[place + 1 : place + 1 + _AFTER]
        means = [times[place] / one.ratio]
        means += [geometric_mean(times[since:place])] if found else []
        seen = [times[place], *([median(after)] if after else [])]
        ratios = [ns / mean for ns in seen for mean in means]
        if all(abs(r - 1) >= threshold and (r > 1) == (one.ratio > 1) for r in ratios):
            found.append(Change(jobs[place], one))
            since = place
    return tuple(found)
