"""Matching by time: the host requests a kernel's execution while the launching function runs."""

import numpy as np

from kvtrace.addons.join.matches import Grade, Matches, Reason
from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE, Flags, Integers


def requesting_launches(
    launched: RecordedLaunches, executed: TimedExecutions, chosen: Flags
) -> Integers:
    """Return for each execution the index of the launch during which it was requested, or NONE.

    Only executions in `chosen` have one. Of nested launches of the request's thread, the innermost
    counts. If the thread is not known, a launch is found only if no other thread was launching
    then. The launch must look like the execution.
    """
    row = np.full(executed.look.size, NONE)
    is_ambiguous = np.zeros(row.size, bool)
    requested = chosen & (executed.requested != NONE)
    for thread in np.unique(launched.thread).tolist():
        launches = np.flatnonzero((launched.thread == thread) & (launched.graph == NONE))
        launches = launches[np.lexsort((-launched.leave[launches], launched.enter[launches]))]
        requests = np.flatnonzero(
            requested & ((executed.thread == thread) | (executed.thread == NONE))
        )
        if not launches.size or not requests.size:
            continue
        inside = _innermost_interval(
            launched.enter[launches], launched.leave[launches], executed.requested[requests]
        )
        inside_rows = np.flatnonzero(inside >= 0)
        executions = requests[inside_rows]
        is_ambiguous[executions] |= row[executions] != NONE
        row[executions] = launches[inside[inside_rows]]
    row[is_ambiguous] = NONE
    looks_alike = (
        launched.look[row] == executed.look if launched.look.size else np.zeros(row.size, bool)
    )
    return np.where((row != NONE) & looks_alike, row, NONE)


def join_by_time(
    launched: RecordedLaunches, executed: TimedExecutions, chosen: Flags, matches: Matches
) -> None:
    """Store in `matches` the launches during which the chosen executions were requested.

    If two executions were requested during a launch, neither gets it. Executions without a launch
    get the reason.
    """
    row = requesting_launches(launched, executed, chosen)
    inside = np.flatnonzero(row != NONE)
    counts = np.bincount(row[inside], minlength=launched.seq.size)
    alone = inside[counts[row[inside]] == 1]
    launch_rows = row[alone]
    matches.add(alone, launched.seq[launch_rows], launched.call[launch_rows], Grade.EXACT)
    matches.refuse(inside, Reason.SHARED_LAUNCH)
    matches.refuse(np.flatnonzero(chosen & (row == NONE)), Reason.NOT_LAUNCHED)


def _innermost_interval(enter: Integers, leave: Integers, moment: Integers) -> Integers:
    """Return the index of the innermost interval around each moment, or -1.

    Intervals are sorted by `enter`.
    """
    around = _enclosing_intervals(leave, enter)
    interval = np.searchsorted(enter, moment, side="right") - 1
    while True:
        ended = (interval >= 0) & (leave[interval] < moment)
        if not ended.any():
            return interval
        interval = np.where(ended, around[interval], interval)


def _enclosing_intervals(leave: Integers, enter: Integers) -> Integers:
    """Return for each interval the index of the innermost interval that contains it, or -1."""
    if (enter[1:] > leave[:-1]).all():
        return np.full(enter.size, -1)
    around = np.full(enter.size, -1)
    open_intervals: list[int] = []
    for index, begin in enumerate(enter.tolist()):
        while open_intervals and leave[open_intervals[-1]] < begin:
            open_intervals.pop()
        around[index] = open_intervals[-1] if open_intervals else -1
        open_intervals.append(index)
    return around
