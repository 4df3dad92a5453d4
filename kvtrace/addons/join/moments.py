"""Launches matched by time: the host requests a kernel while the launching function runs."""

import numpy as np

from kvtrace.addons.join.matches import Grade, Matches, Reason
from kvtrace.addons.join.sides import Executed, Launched
from kvtrace.figures.causes import NONE, Flags, Integers


def containing(launched: Launched, executed: Executed, chosen: Flags) -> Integers:
    """Return for each execution the row of the launch in which it was requested, or NONE.

    Of nested launches the innermost counts, on the request's thread. If the request's thread is not
    known, only a single thread may have been launching at that time. The launch must look like the
    execution.
    """
    row = np.full(executed.look.size, NONE)
    several = np.zeros(row.size, bool)
    requested = chosen & (executed.requested != NONE)
    for thread in np.unique(launched.thread).tolist():
        launches = np.flatnonzero((launched.thread == thread) & (launched.graph == NONE))
        launches = launches[np.lexsort((-launched.leave[launches], launched.enter[launches]))]
        requests = np.flatnonzero(
            requested & ((executed.thread == thread) | (executed.thread == NONE))
        )
        if not launches.size or not requests.size:
            continue
        inside = _innermost(
            launched.enter[launches], launched.leave[launches], executed.requested[requests]
        )
        inside_rows = np.flatnonzero(inside >= 0)
        executions = requests[inside_rows]
        several[executions] |= row[executions] != NONE
        row[executions] = launches[inside[inside_rows]]
    row[several] = NONE
    same = launched.look[row] == executed.look if launched.look.size else np.zeros(row.size, bool)
    return np.where((row != NONE) & same, row, NONE)


def join_by_time(launched: Launched, executed: Executed, chosen: Flags, matches: Matches) -> None:
    """Store the launches of the chosen executions that were requested inside a launch.

    A launch has one execution: if two were requested inside a launch, neither is certain.
    """
    row = containing(launched, executed, chosen)
    inside = np.flatnonzero(row != NONE)
    counts = np.bincount(row[inside], minlength=launched.seq.size)
    alone = inside[counts[row[inside]] == 1]
    launch_rows = row[alone]
    matches.add(alone, launched.seq[launch_rows], launched.call[launch_rows], Grade.EXACT)
    matches.refuse(inside, Reason.SHARED_LAUNCH)
    matches.refuse(np.flatnonzero(chosen & (row == NONE)), Reason.NOT_LAUNCHED)


def _innermost(enter: Integers, leave: Integers, moment: Integers) -> Integers:
    """Return the innermost interval around each moment, or -1; intervals are sorted by `enter`."""
    around = _around(leave, enter)
    interval = np.searchsorted(enter, moment, side="right") - 1
    while True:
        ended = (interval >= 0) & (leave[interval] < moment)
        if not ended.any():
            return interval
        interval = np.where(ended, around[interval], interval)


def _around(leave: Integers, enter: Integers) -> Integers:
    """Return for each interval the interval around it, or -1."""
    if (enter[1:] > leave[:-1]).all():
        return np.full(enter.size, -1)
    around = np.full(enter.size, -1)
    open_ones: list[int] = []
    for index, begin in enumerate(enter.tolist()):
        while open_ones and leave[open_ones[-1]] < begin:
            open_ones.pop()
        around[index] = open_ones[-1] if open_ones else -1
        open_ones.append(index)
    return around
