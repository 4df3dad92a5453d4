"""Whether a job's time is outside of what jobs before it let expect: claims only beyond chance.

As `kvtrace diff` claims a change of two sides whose medians' ratio has a 99 % interval without 1,
and that is beyond a threshold, so is a job compared here with those before. What differs is that
one job is no sample: what jobs differ by anyway is seen only in the jobs before it. So the interval
is that of one more of them, if the logarithms of their times are normally distributed.
"""

from collections.abc import Mapping, Sequence
from statistics import geometric_mean, median
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.diff.times import THRESHOLD
from kvtrace.converters.fleet.model import Change, Judged, Kind

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
    jobs = sorted(times)
    judged = _judged(np.log([times[job] for job in jobs]), _LEAST_THRESHOLD[kind])
    found = dict(zip(jobs, judged, strict=True))
    changes = _changes(jobs, [times[job] for job in jobs], judged, _LEAST_THRESHOLD[kind])
    if newest not in found:
        return None, "not in this job", changes
    if found[newest] is None:
        return None, f"fewer than {LEAST} jobs before", changes
    return found[newest], None, changes


def _judged(logs: Real, threshold: float) -> list[Judged | None]:
    centred = logs - logs.mean() if logs.size else logs
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred * centred)])
    at = np.arange(LEAST, logs.size)
    before = np.minimum(at, WINDOW)
    mean = (sums[at] - sums[at - before]) / before
    rest = squares[at] - squares[at - before] - before * mean * mean
    spread = np.sqrt(np.maximum(rest, 0.0) / (before - 1))
    reach = _T[before - LEAST] * spread * np.sqrt(1 + 1 / before)
    difference = centred[at] - mean
    ratios, lows, highs = (np.exp(d) for d in (difference, difference - reach, difference + reach))
    found: list[Judged | None] = [None] * min(LEAST, logs.size)
    for ratio, low, high in zip(ratios.tolist(), lows.tolist(), highs.tolist(), strict=True):
        claimed = (low > 1 or high < 1) and abs(ratio - 1) >= threshold
        found.append(Judged(ratio, (low, high), claimed))
    return found


def _changes(
    jobs: Sequence[int], times: Sequence[float], judged: Sequence[Judged | None], threshold: float
) -> tuple[Change, ...]:
    """Return the claims that the jobs after bear out, each told once.

    The jobs just after a change are outside of what those before it let expect, too: such a claim
    has to be beyond the threshold by the mean of the jobs since the change as well.
    """
    found: list[Change] = []
    since = 0
    for place, one in enumerate(judged):
        if one is None or not one.claimed:
            continue
        after = times[place + 1 : place + 1 + _AFTER]
        means = [times[place] / one.ratio]
        means += [geometric_mean(times[since:place])] if found else []
        seen = [times[place], *([median(after)] if after else [])]
        ratios = [ns / mean for ns in seen for mean in means]
        if all(abs(r - 1) >= threshold and (r > 1) == (one.ratio > 1) for r in ratios):
            found.append(Change(jobs[place], one))
            since = place
    return tuple(found)
